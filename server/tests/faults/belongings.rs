//! What belongs to machines and is not one: snapshots, ways back to them, sizes and networks on hubs. It is there if and only
//! if it was asked for.
use crate::{
    oracle::{Findings, Harm, name, rows, text},
    stage::Stage,
    witness::{VM_ID, label, uid},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

const SNAPSHOTS: (&str, &str) = ("snapshot.kubevirt.io", "virtualmachinesnapshots");
const RESTORES: (&str, &str) = ("snapshot.kubevirt.io", "virtualmachinerestores");
const SIZES: (&str, &str) = ("instancetype.kubevirt.io", "virtualmachineclusterinstancetypes");
const SHARED_NETWORKS: (&str, &str) = ("k8s.ovn.org", "clusteruserdefinednetworks");

pub(crate) async fn check(stage: &Stage, found: &mut Findings, may_fail: bool) {
    snapshots(stage, found, may_fail).await;
    reverts(stage, found).await;
    sizes(stage, found).await;
    shared_networks(stage, found).await;
}

/// All of a kind that carry our mark, on all hubs.
fn ours(stage: &Stage, kind: (&str, &str)) -> Vec<(String, Arc<Value>)> {
    let marked = |o: &Arc<Value>| label(o, "app.kubernetes.io/managed-by") == "ssvirt";
    let of = |hub: &hubsim::Hub| {
        hub.objects(kind.0, kind.1).into_iter().filter(marked).map(|o| (hub.name().to_owned(), o)).collect::<Vec<_>>()
    };
    stage.hubs().flat_map(of).collect()
}

/// I1, I2, I3: a snapshot that is ready has its object, the very one that was made, and one that is gone has none.
async fn snapshots(stage: &Stage, found: &mut Findings, may_fail: bool) {
    let all = rows(
        stage,
        "select s.*, v.deleted_at as vm_deleted, v.obs_state as vm_state, v.problem, v.outside from snapshots s join vms v on v.id = s.vm_id",
    )
    .await;
    let mut there: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, object) in ours(stage, SNAPSHOTS) {
        there.entry(label(&object, "ssvirt.io/snapshot-id")).or_default().push(uid(&object));
    }
    for s in &all {
        let what = format!("snapshot {} ({})", text(s, "name"), text(s, "id"));
        let objects = there.remove(&text(s, "id")).unwrap_or_default();
        if objects.len() > 1 {
            found.add("I2", Harm::Duplicated, format!("{what} is there {} times", objects.len()));
        }
        let trouble = s["vm_state"] == "missing" || !text(s, "problem").is_empty() || !text(s, "outside").is_empty();
        match (s["gone_at"].is_null(), text(s, "state").as_str()) {
            (false, _) if !objects.is_empty() => {
                found.add("I3", Harm::Lost, format!("{what} is gone, and its object is there"));
            }
            (false, _) => {}
            (true, _) if may_fail && trouble => {}
            (true, _) if !s["deleted_at"].is_null() || !s["vm_deleted"].is_null() => {
                found.add("I1", Harm::Lost, format!("{what} was deleted and is not gone"));
            }
            (true, "asked") => found.add("I1", Harm::Lost, format!("{what} is not taken")),
            (true, "failed") if !may_fail => {
                found.add("I1", Harm::Lost, format!("{what} failed: {}", text(s, "reason")));
            }
            (true, "ready") if !objects.contains(&text(s, "uid")) => {
                found.add("I3", Harm::WronglyDeleted, format!("{what} is ready, and its object is not there"));
            }
            _ => {}
        }
    }
    for id in there.keys() {
        found.add("I3", Harm::Lost, format!("a snapshot on a hub: nobody knows {id}"));
    }
}

/// I3: a way back is there only while a machine is being brought back.
async fn reverts(stage: &Stage, found: &mut Findings) {
    let under_way = rows(stage, "select revert_id from vms where revert_id is not null and gone_at is null").await;
    for (hub, object) in ours(stage, RESTORES) {
        let id = label(&object, "ssvirt.io/revert-id");
        if !under_way.iter().any(|v| text(v, "revert_id") == id) {
            let vm = label(&object, VM_ID);
            found.add("I3", Harm::Lost, format!("{} on {hub} is left of a way back of VM {vm}", name(&object)));
        }
    }
}

/// I1, I3: sizes that were deleted are gone, and what is on a hub is known.
async fn sizes(stage: &Stage, found: &mut Findings) {
    let all = rows(stage, "select id, name, deleted_at, gone_at from sizing_policies").await;
    for size in all.iter().filter(|s| !s["deleted_at"].is_null() && s["gone_at"].is_null()) {
        found.add("I1", Harm::Lost, format!("the size {} was deleted and is not gone", text(size, "name")));
    }
    for (hub, object) in ours(stage, SIZES) {
        let id = label(&object, "ssvirt.io/sizing-id");
        if !all.iter().any(|s| text(s, "id") == id && s["gone_at"].is_null()) {
            found.add("I3", Harm::Lost, format!("the size {} on {hub}: it was deleted, and is there", name(&object)));
        }
    }
    let missing = rows(
        stage,
        "select v.name, v.hub_id, v.sizing_id from vms v where v.gone_at is null and v.uid is not null and v.sizing_id is not null
         and v.instance_type <> ''",
    )
    .await;
    for vm in missing {
        let hub = stage.hub(&text(&vm, "hub_id"));
        let sizes = hub.objects(SIZES.0, SIZES.1);
        if !sizes.iter().any(|o| label(o, "ssvirt.io/sizing-id") == text(&vm, "sizing_id")) {
            found.add("I3", Harm::Lost, format!("VM {} has a size that its hub does not have", text(&vm, "name")));
        }
    }
}

/// I1, I2, I3: a shared network is on a hub once, as long as it is known.
async fn shared_networks(stage: &Stage, found: &mut Findings) {
    let places = rows(
        stage,
        "select distinct n.id, p.hub_id, p.uid from networks n join network_places p on p.network_id = n.id
         where p.form = 'cudn' and p.ready_at is not null and n.gone_at is null",
    )
    .await;
    let mut there: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (hub, object) in ours(stage, SHARED_NETWORKS) {
        there.entry((hub, label(&object, "ssvirt.io/network-id"))).or_default().push(uid(&object));
    }
    for place in &places {
        let objects = there.remove(&(text(place, "hub_id"), text(place, "id"))).unwrap_or_default();
        if objects != [text(place, "uid")] {
            found.add("I2", Harm::Duplicated, format!("the shared network {} is {objects:?} there", text(place, "id")));
        }
    }
    for (hub, id) in there.keys() {
        found.add("I3", Harm::Lost, format!("a shared network on {hub}: nobody knows {id}"));
    }
}
