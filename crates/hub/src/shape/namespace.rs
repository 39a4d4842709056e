//! What a VDC is on a hub: a namespace, a quota as a second fence, and network policies that close it.
use crate::{
    read::quantity::milli,
    shape::{
        names::{HUB, MANAGED_BY, OURS, Place},
        patch::{changes, exactly},
    },
};
use model::quota::Limits;
use serde_json::{Map, Value, json};

pub const QUOTA: &str = "ssvirt";

/// The names of the policies, for reading and removing them.
pub const POLICIES: [&str; 5] =
    ["ssvirt-closed", "ssvirt-same-vdc", "ssvirt-platform", "ssvirt-egress", "ssvirt-egress-import"];

/// May what runs in a VDC reach out?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Egress {
    /// Anywhere; other VDCs still don't let it in.
    #[default]
    Open,
    /// Only inside the VDC and to DNS; disks are still imported.
    Inside,
}

/// `primary_network`: a user-defined network is to be the VDC's own. It can't be said later.
pub fn namespace(place: &Place, enabled: bool, primary_network: bool) -> Value {
    let mut labels = place.labels();
    if primary_network {
        labels.insert("k8s.ovn.org/primary-user-defined-network".into(), json!(""));
    }
    let mut annotations = place.annotations();
    annotations.insert("ssvirt.io/enabled".into(), json!(enabled.to_string()));
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": place.namespace, "labels": labels, "annotations": annotations,
    }})
}

/// Where we keep our own objects on a hub.
pub fn of_hub(name: &str, hub: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {MANAGED_BY: OURS, HUB: hub}}})
}

/// What may be used where we keep our own objects on a hub, images above all. It is the exact number: nothing there is counted
/// by ourselves.
pub fn quota_of_hub(namespace: &str, hub: &str, limits: &Limits) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {
        "name": QUOTA, "namespace": namespace, "labels": {MANAGED_BY: OURS, HUB: hub},
    }, "spec": {"hard": exact(limits)}})
}

/// What brings that quota there, with limits of others left alone; None: it is there already.
pub fn quota_of_hub_change(limits: &Limits, seen: &Value) -> Option<Value> {
    let mut hard = exact(limits);
    for key in ["requests.cpu", "requests.memory", "requests.storage"] {
        hard.entry(key).or_insert(Value::Null);
    }
    without_same(&mut hard, seen);
    Some(json!({"spec": {"hard": hard}})).filter(|patch| changes(patch, seen))
}

fn exact(limits: &Limits) -> Map<String, Value> {
    let mut hard = Map::new();
    hard.extend(limits.cpus.map(|cpus| ("requests.cpu".into(), json!(cpus.to_string()))));
    hard.extend(limits.memory_mb.map(|mb| ("requests.memory".into(), json!(format!("{mb}Mi")))));
    hard.extend(limits.storage_mb.map(|mb| ("requests.storage".into(), json!(format!("{mb}Mi")))));
    hard
}

/// Names and state change, the namespace stays: the merge patch for it (`patch_fenced` adds the uid).
pub fn namespace_patch(place: &Place, enabled: bool) -> Value {
    let mut annotations = place.annotations();
    annotations.insert("ssvirt.io/enabled".into(), json!(enabled.to_string()));
    json!({"metadata": {"labels": place.labels_patch(), "annotations": annotations}})
}

/// What brings the namespace there; None: it is there already.
pub fn namespace_change(place: &Place, enabled: bool, seen: &Value) -> Option<Value> {
    Some(namespace_patch(place, enabled)).filter(|patch| changes(patch, seen))
}

/// The hub's quota. Ours in the database is the exact one, so this leaves room: launcher pods need more memory than their
/// guests, a migration counts twice, imports need scratch space, and counts lag behind deletes.
///
/// `classes`: what the VDC may have of single storage classes, in MB.
pub fn resource_quota(place: &Place, limits: &Limits, classes: &[(String, i64)]) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {
        "name": QUOTA, "namespace": place.namespace, "labels": place.labels(),
    }, "spec": {"hard": hard(limits, classes)}})
}

/// Null removes a limit that was there before: `there` is the quota as it is now.
fn resource_quota_patch(limits: &Limits, classes: &[(String, i64)], there: &Value) -> Value {
    let mut all = hard(limits, classes);
    for key in [VMS, "requests.cpu", "requests.memory", "requests.storage"] {
        all.entry(key).or_insert(Value::Null);
    }
    for key in there["spec"]["hard"].as_object().into_iter().flat_map(|h| h.keys()).filter(|k| k.ends_with(OF_CLASS)) {
        all.entry(key).or_insert(Value::Null);
    }
    json!({"spec": {"hard": all}})
}

/// A hub may write a number in another way than we do.
fn without_same(hard: &mut Map<String, Value>, seen: &Value) {
    let number = |value: &Value| value.as_str().and_then(milli);
    hard.retain(|key, wanted| {
        let there = &seen["spec"]["hard"][key];
        wanted != there && (number(wanted).is_none() || number(wanted) != number(there))
    });
}

/// What brings the quota there, with limits of others left alone; None: it is there already.
pub fn quota_change(place: &Place, limits: &Limits, classes: &[(String, i64)], seen: &Value) -> Option<Value> {
    let mut patch = resource_quota_patch(limits, classes, seen);
    if let Value::Object(hard) = &mut patch["spec"]["hard"] {
        without_same(hard, seen);
        // a hub does not write down that there are no limits: that is no difference
        if hard.is_empty() {
            patch = json!({});
        }
    }
    patch["metadata"] = json!({"labels": place.labels_patch()});
    Some(patch).filter(|patch| changes(patch, seen))
}

/// What makes a network policy of a VDC what it should be, and nothing else; None: it is so already.
pub fn policy_change(place: &Place, wanted: &Value, seen: &Value) -> Option<Value> {
    let patch = json!({"metadata": {"labels": place.labels_patch()}, "spec": exactly(&wanted["spec"], &seen["spec"])});
    Some(patch).filter(|patch| changes(patch, seen))
}

/// How the line of a storage class ends.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/requests.storage";

const VMS: &str = "count/virtualmachines.kubevirt.io";

fn hard(limits: &Limits, classes: &[(String, i64)]) -> Map<String, Value> {
    let mut hard = Map::new();
    if let Some(vms) = limits.vms {
        hard.insert(VMS.into(), json!((vms + (vms / 10).max(2)).to_string()));
    }
    if let Some(cpus) = limits.cpus {
        // a launcher asks for a tenth of its vCPUs by default; with dedicated CPUs for all of them
        hard.insert("requests.cpu".into(), json!((cpus + cpus / 2).max(1).to_string()));
    }
    if let Some(memory) = limits.memory_mb {
        // overhead is guest/512 + about 280 Mi + 8 Mi a vCPU
        let vms = limits.vms.unwrap_or(memory / 1024).max(1);
        let cpus = limits.cpus.unwrap_or(vms * 2);
        let with_overhead = memory + memory / 512 + vms * 280 + cpus * 8;
        hard.insert("requests.memory".into(), json!(format!("{}Mi", with_overhead + with_overhead / 2)));
    }
    if let Some(storage) = limits.storage_mb {
        hard.insert("requests.storage".into(), json!(format!("{}Mi", storage * 2)));
    }
    for (class, storage) in classes {
        hard.insert(format!("{class}{OF_CLASS}"), json!(format!("{}Mi", storage * 2)));
    }
    hard
}

/// Closed from outside, open inside; the platform's own ingress, monitoring and disk upload come in.
pub fn network_policies(place: &Place, egress: Egress) -> Vec<Value> {
    let [closed, same, platform, out, import] = POLICIES;
    let policy = |name: &str, spec: Value| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": place.namespace, "labels": place.labels()}, "spec": spec})
    };
    let group = |name: &str| json!({"namespaceSelector": {"matchLabels": {name: ""}}});
    let mut all = vec![
        policy(closed, json!({"podSelector": {}, "policyTypes": ["Ingress"]})),
        policy(
            same,
            json!({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}),
        ),
        policy(
            platform,
            json!({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [
                group("policy-group.network.openshift.io/ingress"),
                group("policy-group.network.openshift.io/host-network"),
                {"namespaceSelector": {"matchLabels": {"network.openshift.io/policy-group": "monitoring"}}},
                {"namespaceSelector": {"matchExpressions": [{
                    "key": "kubernetes.io/metadata.name", "operator": "In",
                    "values": ["kubevirt", "cdi", "openshift-cnv", "monitoring"],
                }]}},
            ]}]}),
        ),
    ];
    if egress == Egress::Inside {
        let dns = ["UDP", "TCP"].iter().flat_map(|p| [53, 5353].map(|port| json!({"protocol": p, "port": port})));
        all.push(policy(
            out,
            json!({"podSelector": {}, "policyTypes": ["Egress"], "egress": [
                {"to": [{"podSelector": {}}]},
                {"to": [{"namespaceSelector": {"matchExpressions": [{
                    "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-system", "openshift-dns"],
                }]}}], "ports": dns.collect::<Vec<_>>()},
            ]}),
        ));
        all.push(policy(
            import,
            json!({"podSelector": {"matchLabels": {"app": "containerized-data-importer"}}, "policyTypes": ["Egress"],
                "egress": [{}]}),
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::names::VDC_ID;
    use model::{OrgId, VdcId};
    use uuid::Uuid;

    fn place() -> Place {
        Place {
            org: OrgId(Uuid::from_u128(1)),
            org_name: "acme".into(),
            vdc: VdcId(Uuid::from_u128(2)),
            vdc_name: "prod".into(),
            namespace: "vdc-acme-prod".into(),
        }
    }

    #[test]
    fn a_namespace_carries_the_vdcs_id_and_its_network_label_only_when_asked() {
        let n = namespace(&place(), true, false);
        assert_eq!(n["metadata"]["labels"][VDC_ID], Uuid::from_u128(2).to_string());
        assert_eq!(n["metadata"]["annotations"]["ssvirt.io/enabled"], "true");
        let label = "k8s.ovn.org/primary-user-defined-network";
        assert!(n["metadata"]["labels"].get(label).is_none());
        assert_eq!(namespace(&place(), true, true)["metadata"]["labels"][label], "");
        assert!(namespace_patch(&place(), false)["metadata"]["labels"].get(label).is_none());
    }

    #[test]
    fn a_quota_leaves_room_and_names_only_what_is_limited() {
        let limits = Limits { vms: Some(10), cpus: Some(8), memory_mb: Some(4096), storage_mb: Some(1024) };
        let q = resource_quota(&place(), &limits, &[("fast".to_owned(), 10)]);
        let hard = &q["spec"]["hard"];
        assert_eq!(hard[VMS], "12");
        assert_eq!(hard["requests.cpu"], "12");
        assert_eq!(hard["requests.memory"], "10452Mi");
        assert_eq!(hard["requests.storage"], "2048Mi");
        assert_eq!(resource_quota(&place(), &Limits::default(), &[])["spec"]["hard"], json!({}));
        let line = "fast.storageclass.storage.k8s.io/requests.storage";
        assert_eq!(q["spec"]["hard"][line], "20Mi");
        let patch = resource_quota_patch(&Limits { vms: Some(0), ..Limits::default() }, &[], &q);
        assert!(patch["spec"]["hard"].get(line).is_some_and(Value::is_null), "{patch}");
        assert_eq!(patch["spec"]["hard"][VMS], "2");
        assert_eq!(patch["spec"]["hard"]["requests.cpu"], Value::Null);
    }

    #[test]
    fn what_is_as_it_should_be_is_left_alone_however_a_hub_writes_it() {
        let limits = Limits { vms: Some(10), cpus: Some(8), memory_mb: None, storage_mb: Some(1024) };
        let mut seen = resource_quota(&place(), &limits, &[]);
        assert_eq!(quota_change(&place(), &limits, &[], &seen), None);
        seen["spec"]["hard"]["requests.storage"] = json!("2Gi");
        seen["spec"]["hard"]["pods"] = json!("100");
        assert_eq!(quota_change(&place(), &limits, &[], &seen), None, "2Gi are 2048Mi, and pods are not ours");
        seen["spec"]["hard"]["requests.cpu"] = json!("1200");
        let patch = quota_change(&place(), &limits, &[], &seen).unwrap();
        assert_eq!(patch["spec"]["hard"], json!({"requests.cpu": "12"}));
        let found = namespace(&place(), true, true);
        assert_eq!(namespace_change(&place(), true, &found), None);
        assert!(namespace_change(&place(), false, &found).is_some());
    }

    #[test]
    fn a_policy_that_was_opened_by_hand_is_closed_again() {
        let wanted = network_policies(&place(), Egress::Open).remove(0);
        let mut seen = wanted.clone();
        seen["metadata"]["labels"]["theirs"] = json!("stays");
        assert_eq!(policy_change(&place(), &wanted, &seen), None);
        seen["spec"]["ingress"] = json!([{}]);
        seen["spec"]["podSelector"] = json!({"matchLabels": {"nothing": "has this"}});
        let patch = policy_change(&place(), &wanted, &seen).unwrap();
        assert_eq!(patch["spec"]["ingress"], Value::Null);
        assert_eq!(patch["spec"]["podSelector"], json!({"matchLabels": null}));
        let mut bare = wanted.clone();
        bare["metadata"]["labels"] = json!({});
        assert!(policy_change(&place(), &wanted, &bare).is_some());
    }

    #[test]
    fn a_vdc_is_closed_first_and_opened_to_itself() {
        let all = network_policies(&place(), Egress::Open);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0]["spec"], json!({"podSelector": {}, "policyTypes": ["Ingress"]}));
        assert!(all.iter().all(|p| p["metadata"]["namespace"] == "vdc-acme-prod"));
        let closed = network_policies(&place(), Egress::Inside);
        assert_eq!(closed.len(), POLICIES.len());
        assert!(closed.iter().zip(POLICIES).all(|(p, name)| p["metadata"]["name"] == name));
    }
}
