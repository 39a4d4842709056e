//! What templates a hub has, by watch: OpenShift's templates of VMs, and images with an instance type.
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
use model::{
    HubId, SizingId,
    disk::Bus,
    event::Change,
    nic::Adapter,
    template::{Parameter, TemplateNic, TemplateSpec, TemplateVm},
    vm::Disk,
};
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
    /// What each machine's disks are filled from, by volume.
    images: Vec<BTreeMap<String, String>>,
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
    let all = specs(known);
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

/// Source, uid and what a catalog shows.
fn specs(known: &Known) -> Vec<(String, String, TemplateSpec)> {
    let mut all: Vec<(String, String, TemplateSpec)> = Vec::new();
    for (key, found) in known.templates.iter().flatten() {
        let t = &found.template;
        // "hidden" is for the catalog of OpenShift itself: all of its VM templates are
        if t.deprecated || t.vms.is_empty() || !t.other_kinds.is_empty() {
            continue;
        }
        all.push((format!("template/{}/{}", key.namespace, key.name), t.meta.uid.clone(), of_template(found, known)));
    }
    let names: Vec<String> = all.iter().map(|(_, _, spec)| spec.name.clone()).collect();
    for (key, image) in known.images.iter().filter(|(_, i)| i.ready) {
        // an image without an instance type has no size to go by
        let Some(size) = image.default_instance_type.as_ref().and_then(|t| known.types.get(t)) else { continue };
        let name =
            if names.iter().any(|n| **n == *key.name) { format!("{} (image)", key.name) } else { key.name.to_string() };
        let source = format!("datasource/{}/{}", key.namespace, key.name);
        all.push((
            source.clone(),
            image.meta.uid.clone(),
            of_image(&name, &source, image, (size, known.image_mb(&source))),
        ));
    }
    all
}

fn of_template(found: &Found, known: &Known) -> TemplateSpec {
    let types = &known.types;
    let t = &found.template;
    let vms = t.vms.iter().zip(&found.images).map(|(vm, images)| {
        let typed = vm.instance_type.as_ref().and_then(|name| types.get(name));
        let cpus = vm.cpus.or(typed.map(|t| t.cpus)).unwrap_or(0);
        let memory = vm.memory_mb.or(typed.map(|t| t.memory_mb)).unwrap_or(0);
        let disks = vm.disks.iter().filter(|d| !d.cdrom).map(|d| Disk {
            name: d.name.clone(),
            size_mb: d.size_mb.unwrap_or_else(|| images.get(&d.volume).map_or(0, |image| known.image_mb(image))),
            image: images.get(&d.volume).cloned().unwrap_or_default(),
            storage_class: d.storage_class.clone().unwrap_or_default(),
            bus: Bus::parse(&d.bus).unwrap_or_default(),
            ..Disk::default()
        });
        let nics = vm.nics.iter().map(|n| TemplateNic {
            name: n.name.clone(),
            adapter: n.model.as_deref().and_then(Adapter::parse).unwrap_or_default(),
        });
        let within = |n: Option<i64>, most: i32| n.map_or(0, |n| i32::try_from(n).unwrap_or(0).clamp(0, most));
        TemplateVm {
            name: plain(&vm.name, &t.meta.key.name),
            cpus: i32::try_from(cpus).unwrap_or(0),
            memory_mb: memory,
            instance_type: vm.instance_type.clone().unwrap_or_default(),
            preference: vm.preference.clone().unwrap_or_default(),
            disks: disks.collect(),
            nics: nics.collect(),
            os: vm.os_name.clone().or_else(|| t.os_name.clone()).unwrap_or_default(),
            hardware: vm.hardware.clone(),
            start_order: within(vm.start_order, 1000),
            start_delay_s: within(vm.start_delay_s, 3600),
            properties: Vec::new(),
        }
    });
    // what names machines and disks is ours to choose
    let parameters = t.parameters.iter().filter(|p| p.name != "NAME").map(|p| Parameter {
        name: p.name.clone(),
        label: p.display_name.clone(),
        description: p.description.clone(),
        value: p.value.clone().unwrap_or_default(),
        required: p.required,
        generated: p.generated,
        bare: found.bare.contains(&p.name),
    });
    TemplateSpec {
        name: t.meta.key.name.to_string(),
        description: if t.description.is_empty() { t.display_name.clone() } else { t.description.clone() },
        os: t.os_name.clone().unwrap_or_else(|| t.os.first().cloned().unwrap_or_default()),
        icon: t.icon.clone().unwrap_or_default(),
        by_instance: found.by_instance,
        vms: vms.collect(),
        parameters: parameters.collect(),
    }
}

fn of_image(name: &str, source: &str, image: &ObservedImage, (size, mb): (&InstanceType, i64)) -> TemplateSpec {
    let root = Disk { name: "root".into(), size_mb: mb, image: source.into(), ..Disk::default() };
    let vm = TemplateVm {
        name: image.meta.key.name.to_string(),
        cpus: i32::try_from(size.cpus).unwrap_or(1),
        memory_mb: size.memory_mb,
        instance_type: size.meta.key.name.to_string(),
        preference: image.default_preference.clone().unwrap_or_default(),
        disks: vec![root],
        nics: vec![TemplateNic { name: "nic-0".into(), ..TemplateNic::default() }],
        os: image.default_preference.clone().unwrap_or_default(),
        ..TemplateVm::default()
    };
    TemplateSpec {
        name: name.to_owned(),
        description: format!("Image with the size {}.", size.meta.key.name),
        os: image.default_preference.clone().unwrap_or_default(),
        icon: String::new(),
        by_instance: false,
        vms: vec![vm],
        parameters: Vec::new(),
    }
}

fn found(object: &Value) -> Option<Found> {
    if !read::is_vm_template(object) {
        return None;
    }
    let by_instance = object["metadata"]["annotations"][INSTANTIATE] == "template-instance";
    let vms = object["objects"].as_array().into_iter().flatten().filter(|o| o["kind"] == "VirtualMachine");
    let images = vms.map(|vm| images(object, vm)).collect();
    let template = read::template(object)?;
    let text = object["objects"].to_string();
    let names = template.parameters.iter().map(|p| p.name.clone());
    let bare = names.filter(|name| text.contains(&format!("${{{{{name}}}}}"))).collect();
    Some(Found { template, by_instance, bare, images })
}

/// By the names of its volumes: the image each is filled from, with the template's own defaults put in.
fn images(template: &Value, vm: &Value) -> BTreeMap<String, String> {
    let text = |v: &Value| with_defaults(template, v.as_str().unwrap_or_default());
    let volumes = vm["spec"]["dataVolumeTemplates"].as_array().into_iter().flatten();
    let image = |spec: &Value| match (&spec["sourceRef"]["name"], &spec["source"]["registry"]["url"]) {
        (Value::String(_), _) => {
            format!("datasource/{}/{}", text(&spec["sourceRef"]["namespace"]), text(&spec["sourceRef"]["name"]))
        }
        (_, Value::String(_)) => text(&spec["source"]["registry"]["url"]),
        _ => text(&spec["source"]["http"]["url"]),
    };
    volumes.map(|v| (text(&v["metadata"]["name"]), image(&v["spec"]))).collect()
}

fn with_defaults(template: &Value, text: &str) -> String {
    let mut out = text.to_owned();
    for p in template["parameters"].as_array().into_iter().flatten() {
        if let (Some(name), Some(value)) = (p["name"].as_str(), p["value"].as_str()) {
            out = out.replace(&format!("${{{name}}}"), value);
        }
    }
    out
}

/// The part of a name that is not a parameter: `${NAME}-web` is `web`.
fn plain(name: &str, template: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let out = out.trim_matches(['-', '.', '_']);
    if out.is_empty() { template.to_owned() } else { out.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_name_is_what_is_left_without_parameters() {
        assert_eq!(plain("${NAME}-web", "x"), "web");
        assert_eq!(plain("${NAME}", "fedora"), "fedora");
        assert_eq!(plain("db", "x"), "db");
    }
}
