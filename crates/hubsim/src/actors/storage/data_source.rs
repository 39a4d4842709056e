//! Data sources: names for images, ready when what they point to is.
use crate::actors::{
    actor::{Actor, Again},
    api::Result,
    condition::{self, Say},
    json::Look,
    kind::{CLAIM, DATA_SOURCE, DATA_VOLUME, Kind},
    mirror::Key,
    world::World,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct DataSources;

impl Actor for DataSources {
    const KIND: Kind = DATA_SOURCE;
    const HEARS: &'static [Kind] = &[DATA_SOURCE];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, source: Arc<Value>) -> Result<Again> {
        if source.dying() {
            return Ok(Again::No);
        }
        let say = readiness(world, &source);
        let mut status = source.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
        condition::set_plain(&mut status, say, world.now());
        status["source"] = source.pointer("/spec/source").cloned().unwrap_or_else(|| json!({}));
        world.write_status(DATA_SOURCE, &source, status).await?;
        // nobody tells when the claim behind it changes
        Ok(Again::In(Duration::from_secs(if say.status == "True" { 30 } else { 1 })))
    }

    fn gone(_: &World, _: &Key) {}
}

fn readiness(world: &World, source: &Value) -> Say<'static> {
    let no = |reason, message| condition::no("Ready", reason, message);
    let yes = Say { reason: "Ready", message: "DataSource is ready to be consumed", ..condition::yes("Ready") };
    match origin(world, source) {
        Origin::None => no("NoSource", "No source PVC set"),
        Origin::Snapshot => yes,
        Origin::Claim(namespace, name) => match world.find(CLAIM, &namespace, &name) {
            Some(claim) if claim.text("/status/phase") == Some("Bound") => yes,
            _ => match world.find(DATA_VOLUME, &namespace, &name).as_deref().and_then(|d| d.text("/status/phase")) {
                Some("ImportScheduled") => no("ImportScheduled", "Import DataVolume ImportScheduled"),
                Some("ImportInProgress") => no("ImportInProgress", "Import DataVolume ImportInProgress"),
                Some(_) => no("Pending", "Import DataVolume Pending"),
                None => no("NotFound", "PVC not found"),
            },
        },
    }
}

pub(crate) enum Origin {
    None,
    Snapshot,
    Claim(String, String),
}

/// What a data source points to in the end; one data source may point to another.
pub(crate) fn origin(world: &World, source: &Value) -> Origin {
    let mut here = Arc::new(source.clone());
    // more steps than anybody makes, and an end where they go in circles
    for _ in 0..4 {
        if let Some(claim) = here.pointer("/spec/source/pvc") {
            let namespace = claim.text("/namespace").unwrap_or_else(|| here.namespace()).to_owned();
            return match claim.text("/name") {
                Some(name) => Origin::Claim(namespace, name.to_owned()),
                None => Origin::None,
            };
        }
        if here.has("/spec/source/snapshot") {
            return Origin::Snapshot;
        }
        let Some(next) = here.pointer("/spec/source/dataSource") else { return Origin::None };
        let namespace = next.text("/namespace").unwrap_or_else(|| here.namespace());
        match world.find(DATA_SOURCE, namespace, next.text("/name").unwrap_or_default()) {
            Some(found) => here = found,
            None => return Origin::None,
        }
    }
    Origin::None
}
