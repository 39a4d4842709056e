//! What templates a hub has, by watch: OpenShift's templates of VMs, and images with an instance type.
mod spec;

use crate::{
    Shared,
    drill::{Step, at},
};
use futures::stream::{StreamExt, select_all};
use hub::{
    Client, Key,
    read::{self, InstanceType, ObservedImage, ObservedTemplate},
    resource::{DATA_SOURCES, INSTANCE_TYPES, TEMPLATES, VOLUME_CLAIMS},
    shape::names::size_of,
    watch::{Event, Follow},
};
use model::{HubId, SizingId, event::Change};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// Marks a template whose machines OpenShift is to make itself.
const INSTANTIATE: &str = "ssvirt.io/instantiate";
/// Changes within this time are written together.
const CALM: Duration = Duration::from_millis(200);
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Known {
    /// By the namespace they are watched in.
    templates: Vec<BTreeMap<Key, Found>>,
    images: BTreeMap<Key, ObservedImage>,
    types: BTreeMap<String, InstanceType>,
    /// How large the claims behind images are, in MB.
    claims: BTreeMap<Key, i64>,
}

/// A template, with what reading it as one leaves out.
struct Found {
    template: ObservedTemplate,
    by_instance: bool,
    /// Parameters that are put in as they are: `${{NAME}}`.
    bare: Vec<String>,
}

pub(crate) async fn run(shared: Arc<Shared>, hub: HubId, client: Client, mut epoch: watch::Receiver<Option<i64>>) {
    let spaces = &shared.template_namespaces;
    let mut known = Known { templates: spaces.iter().map(|_| BTreeMap::new()).collect(), ..Known::default() };
    let mut templates = select_all(spaces.iter().enumerate().map(|(i, namespace)| {
        let follow = Follow { namespace: Some(namespace.clone()), ..Follow::new(TEMPLATES, "") };
        Box::pin(client.watch(follow, found).stream().map(move |event| (i, event)))
    }));
    let mut images = pin!(client.watch(Follow::new(DATA_SOURCES, ""), read::image).stream());
    let mut types = pin!(client.watch(Follow::new(INSTANCE_TYPES, ""), read::instance_type).stream());
    let mut listed = vec![false; 2 + spaces.len()];
    let mut write_at: Option<Instant> = None;
    loop {
        let due = write_at.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        let changed = tokio::select! {
            Some((i, event)) = templates.next() => {
                heard(&hub, event, &mut known.templates[i], &mut listed[2 + i], |f| f.template.meta.key.clone())
            }
            Some(event) = images.next() => heard(&hub, event, &mut known.images, &mut listed[0], |i| i.meta.key.clone()),
            Some(event) = types.next() => heard(&hub, event, &mut known.types, &mut listed[1], |t| t.meta.key.name.to_string()),
            // it is ours to write now: what came meanwhile is written down
            changed = epoch.changed() => match changed {
                Ok(()) => true,
                Err(_) => return,
            },
            () = tokio::time::sleep_until(due) => {
                at(Step::Templates, measure(&client, &mut known)).await;
                // the database may be away for a moment
                write_at = if write(&shared, &hub, &known).await { None } else { Some(Instant::now() + AGAIN) };
                false
            }
        };
        if changed && listed.iter().all(|l| *l) && epoch.borrow().is_some() {
            write_at.get_or_insert(Instant::now() + CALM);
        }
    }
}

/// Keeps the map in step. True if something is to be written. A hub without a group simply has none of it.
fn heard<T, K>(hub: &HubId, event: Event<T>, all: &mut BTreeMap<K, T>, listed: &mut bool, key: impl Fn(&T) -> K) -> bool
where
    K: Ord + From<Named>,
{
    match event {
        Event::Snapshot(found) => {
            *all = found.into_iter().map(|one| (key(&one), one)).collect();
            *listed = true;
            true
        }
        Event::Changed(one) => {
            all.insert(key(&one), one);
            true
        }
        Event::Gone { key, .. } => all.remove(&K::from(Named(key))).is_some(),
        Event::Alive(_) => false,
        Event::Trouble(hub::Error::NotFound(_) | hub::Error::NotServed(_)) => {
            let first = !*listed;
            *listed = true;
            first
        }
        Event::Trouble(e) => {
            tracing::warn!(hub_id = %hub, error = %e, "Failed to query OpenShift templates");
            false
        }
    }
}

/// A key as the maps here are ordered by.
struct Named(Key);

impl From<Named> for Key {
    fn from(n: Named) -> Key {
        n.0
    }
}

impl From<Named> for String {
    fn from(n: Named) -> String {
        n.0.name.to_string()
    }
}

/// Looks at the claims behind images that were not looked at yet. Of one that the hub does not show the size stays unknown.
async fn measure(client: &Client, known: &mut Known) {
    known.claims.retain(|key, _| known.images.values().any(|i| i.claim.as_ref() == Some(key)));
    let claims: BTreeSet<Key> = known.images.values().filter(|i| i.ready).filter_map(|i| i.claim.clone()).collect();
    for key in claims.into_iter().filter(|key| !known.claims.contains_key(key)).collect::<Vec<_>>() {
        if let Some(mb) = client.get(&VOLUME_CLAIMS, &key).await.ok().and_then(|claim| read::claim_room_mb(&claim)) {
            known.claims.insert(key, mb);
        }
    }
}

impl Known {
    /// How large an image is; 0: the hub does not say.
    fn image_mb(&self, image: &str) -> i64 {
        let key = image.strip_prefix("datasource/").and_then(|s| s.split_once('/'));
        let image = key.and_then(|(namespace, name)| self.images.get(&Key::new(namespace, name)));
        image.and_then(|i| self.claims.get(i.claim.as_ref()?)).copied().unwrap_or(0)
    }
}

/// Sizes of policies that somebody took away, or that have another size by now, are made again.
async fn sizes(shared: &Shared, hub: &HubId, known: &Known) -> model::Result<()> {
    let of = |(name, t): (&String, &InstanceType)| Some((SizingId(size_of(name)?), t.cpus, t.memory_mb));
    let there: Vec<(SizingId, i64, i64)> =
        known.types.iter().filter(|(_, t)| t.meta.deleting.is_none()).filter_map(of).collect();
    for id in shared.store.sizings_seen(hub, &there).await? {
        tracing::warn!(hub_id = %hub, policy_id = %id, "a sizing policy's instance type was removed or changed by hand, and is made again");
    }
    Ok(())
}

/// False: it could not be written.
async fn write(shared: &Shared, hub: &HubId, known: &Known) -> bool {
    if let Err(e) = sizes(shared, hub, known).await {
        tracing::warn!(hub_id = %hub, error = %e, "a hub's instance types could not be held against the sizing policies");
        return false;
    }
    let all = spec::specs(known, &shared.image_namespaces);
    match at(Step::Templates, shared.store.hub_templates_set(hub, &all)).await {
        Ok(true) => {
            tracing::info!(hub_id = %hub, count = all.len(), "the hub's templates changed");
            let _ = shared.store.wake_waiting("").await;
            for org in shared.store.org_ids().await.unwrap_or_default() {
                shared.store.tell(Change {
                    org,
                    user: None,
                    owner: None,
                    kind: model::Kind::Template,
                    id: None,
                    shares: Vec::new(),
                });
            }
        }
        Ok(false) => {}
        Err(e) => {
            tracing::warn!(hub_id = %hub, error = %e, "a hub's templates could not be written");
            return false;
        }
    }
    true
}

fn found(object: &Value) -> Option<Found> {
    if !read::is_vm_template(object) {
        return None;
    }
    let by_instance = object["metadata"]["annotations"][INSTANTIATE] == "template-instance";
    let template = read::template(object)?;
    let text = object["objects"].to_string();
    let names = template.parameters.iter().map(|p| p.name.clone());
    let bare = names.filter(|name| text.contains(&format!("${{{{{name}}}}}"))).collect();
    Some(Found { template, by_instance, bare })
}
