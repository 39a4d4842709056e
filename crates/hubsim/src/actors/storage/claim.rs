//! Claims: every one that nobody else fills is bound at once, and grows when it is asked to.
use crate::actors::{
    actor::{Actor, Again},
    api::Result,
    json::{Look, controller_of},
    kind::{CLAIM, DATA_VOLUME, INSTANCE, Kind},
    mirror::Key,
    quantity,
    storage::class,
    world::World,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct Claims;

impl Actor for Claims {
    const KIND: Kind = CLAIM;
    const HEARS: &'static [Kind] = &[CLAIM];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, claim: Arc<Value>) -> Result<Again> {
        if claim.dying() {
            return Ok(Again::No);
        }
        let bound = claim.text("/status/phase") == Some("Bound");
        if bound {
            return grow(world, &claim).await;
        }
        if controller_of(&claim).is_some_and(|r| r.text("/kind") == Some(DATA_VOLUME.kind)) {
            return Ok(Again::No);
        }
        let Some(class) = class::find(world, claim.text("/spec/storageClassName")) else {
            return Ok(Again::In(Duration::from_secs(5)));
        };
        if class::waits_for_consumer(&class) && !has_consumer(world, &claim) {
            return Ok(Again::In(Duration::from_secs(1)));
        }
        if let Some(wait) = world.wait_for(CLAIM, &claim, "bind", 1) {
            return Ok(Again::In(wait));
        }
        bind(world, &claim).await?;
        Ok(Again::No)
    }

    fn gone(_: &World, _: &Key) {}
}

/// Whether an instance wants to use a claim.
pub(crate) fn has_consumer(world: &World, claim: &Value) -> bool {
    let uses = |vmi: &Value| {
        vmi.list("/spec/volumes").iter().any(|v| {
            let name = v.text("/dataVolume/name").or_else(|| v.text("/persistentVolumeClaim/claimName"));
            name == Some(claim.name())
        })
    };
    world.all(INSTANCE).iter().any(|i| i.namespace() == claim.namespace() && !i.dying() && uses(i))
}

/// Gives a claim its volume.
pub(crate) async fn bind(world: &World, claim: &Value) -> Result<()> {
    let mut claim = claim.clone();
    if !claim.has("/spec/volumeName") {
        claim["spec"]["volumeName"] = json!(format!("pvc-{}", claim.uid()));
        claim = world.write(CLAIM, &claim).await?;
    }
    let status = json!({
        "phase": "Bound",
        "accessModes": claim["spec"]["accessModes"],
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
    });
    world.write_status(CLAIM, &claim, status).await?;
    Ok(())
}

async fn grow(world: &World, claim: &Value) -> Result<Again> {
    let size = |pointer: &str| claim.pointer(pointer).and_then(quantity::whole);
    if size("/spec/resources/requests/storage") <= size("/status/capacity/storage") {
        return Ok(Again::No);
    }
    if let Some(wait) = world.wait_for(CLAIM, claim, "grow", 1) {
        return Ok(Again::In(wait));
    }
    let mut status = claim["status"].clone();
    status["capacity"]["storage"] = claim["spec"]["resources"]["requests"]["storage"].clone();
    world.write_status(CLAIM, claim, status).await?;
    Ok(Again::No)
}
