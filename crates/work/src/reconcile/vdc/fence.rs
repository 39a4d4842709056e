//! What closes a VDC on a hub: the names of its namespace, its quota and its network policies. All of it is read and held
//! against what it should be; what differs is put back, and what is missing is made again.
use crate::{
    Shared,
    drill::{Step, at},
};
use hub::{
    Client, Key, Resource,
    apply::{Home, Owner},
    resource::{NAMESPACES, NETWORK_POLICIES, RESOURCE_QUOTAS},
    shape::{names::Place as Labels, namespace as shape},
};
use model::Result;
use serde_json::Value;
use sha2::{Digest, Sha256};
use store::{Place, VdcWork};

/// As it should be.
pub(super) struct Fence<'a> {
    labels: &'a Labels,
    vdc: &'a VdcWork,
    classes: Vec<(String, i64)>,
    quota: Value,
    policies: Vec<Value>,
}

/// As it is, in a namespace that was read before.
pub(super) struct There {
    namespace: Value,
    quota: Option<Value>,
    policies: Vec<Value>,
}

/// Something that is not as it should be.
pub(super) struct Difference {
    /// For people: "the quota was changed".
    pub(super) what: String,
    step: Step,
    resource: &'static Resource,
    key: Key,
    /// None: it is not there.
    patch: Option<(String, Value)>,
    manifest: Value,
}

impl<'a> Fence<'a> {
    pub(super) async fn of(shared: &Shared, vdc: &'a VdcWork, labels: &'a Labels, there: &Place) -> Result<Fence<'a>> {
        let classes = shared.store.class_limits(vdc.id, &there.hub).await?;
        let classes: Vec<(String, i64)> = classes.into_iter().map(|c| (c.class, c.limit_mb)).collect();
        let quota = shape::resource_quota(labels, &vdc.limits, &classes);
        let policies = shape::network_policies(labels, shape::Egress::Open);
        Ok(Fence { labels, vdc, classes, quota, policies })
    }

    /// What tells it from the fence of another moment, also of another release.
    pub(super) fn hash(&self) -> String {
        let namespace = shape::namespace_patch(self.labels, self.vdc.enabled);
        let all: Vec<&Value> = [&namespace, &self.quota].into_iter().chain(&self.policies).collect();
        format!("{:x}", Sha256::digest(serde_json::to_vec(&all).unwrap_or_default()))
    }

    pub(super) fn differences(&self, there: &There) -> Vec<Difference> {
        let namespace = &self.labels.namespace;
        let mut all = Vec::new();
        if let Some(patch) = shape::namespace_change(self.labels, self.vdc.enabled, &there.namespace) {
            all.push(Difference {
                what: "the labels of its namespace were changed".into(),
                step: Step::NamespacePatch,
                resource: &NAMESPACES,
                key: Key::global(namespace),
                patch: Some((uid(&there.namespace), patch)),
                manifest: Value::Null,
            });
        }
        let lost = there.quota.is_none();
        let change =
            there.quota.as_ref().map(|q| (q, shape::quota_change(self.labels, &self.vdc.limits, &self.classes, q)));
        if lost || matches!(change, Some((_, Some(_)))) {
            all.push(Difference {
                what: format!("the quota {} was {}", shape::QUOTA, word(lost)),
                step: if lost { Step::QuotaMake } else { Step::QuotaPatch },
                resource: &RESOURCE_QUOTAS,
                key: Key::new(namespace, shape::QUOTA),
                patch: change.and_then(|(seen, patch)| Some((uid(seen), patch?))),
                manifest: self.quota.clone(),
            });
        }
        for wanted in &self.policies {
            let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
            let seen = there.policies.iter().find(|p| p["metadata"]["name"] == name);
            let patch = seen.and_then(|seen| Some((uid(seen), shape::policy_change(self.labels, wanted, seen)?)));
            if seen.is_none() || patch.is_some() {
                all.push(Difference {
                    what: format!("the network policy {name} was {}", word(seen.is_none())),
                    step: if patch.is_none() { Step::PolicyMake } else { Step::PolicyPatch },
                    resource: &NETWORK_POLICIES,
                    key: Key::new(namespace, name),
                    patch,
                    manifest: wanted.clone(),
                });
            }
        }
        all
    }
}

impl There {
    /// Two calls where nothing is to be done.
    pub(super) async fn look(client: &Client, namespace: Value, name: &str) -> hub::Result<There> {
        let quota = match client.get(&RESOURCE_QUOTAS, &Key::new(name, shape::QUOTA)).await {
            Ok(quota) => Some(quota),
            Err(hub::Error::NotFound(_)) => None,
            Err(e) => return Err(e),
        };
        let policies = client.list(&NETWORK_POLICIES, Some(name), "", |p| Some(p.clone())).await?.0;
        // what is on its way out is as good as gone, and can't be made again yet
        for one in quota.iter().chain(&policies) {
            if !one["metadata"]["deletionTimestamp"].is_null() {
                return Err(hub::Error::BeingDeleted(format!("{}", one["metadata"]["name"])));
            }
        }
        Ok(There { namespace, quota, policies })
    }

    pub(super) fn quota_uid(&self) -> Option<String> {
        self.quota.as_ref().map(uid)
    }
}

impl Difference {
    /// The uid of what is there then. What was never ours is not touched: `first` is for a namespace in which we have made
    /// nothing yet.
    pub(super) async fn mend(&self, client: &Client, owner: &Owner, home: &Home, first: bool) -> hub::Result<String> {
        if let Some((uid, patch)) = self.patch.as_ref().filter(|_| !first || self.manifest.is_null()) {
            let patched = client.patch_fenced(self.resource, &self.key, uid, patch.clone());
            return at(self.step, patched).await.map(|_| uid.clone());
        }
        let made = client.create_or_adopt(self.resource, &self.manifest, owner, Some(home));
        let made = at(self.step, made).await?;
        // what an earlier try made may be of an earlier version
        if let Some((uid, patch)) = self.patch.as_ref().filter(|_| made.adopted) {
            at(self.step, client.patch_fenced(self.resource, &self.key, uid, patch.clone())).await?;
        }
        Ok(made.uid)
    }

    pub(super) fn is_quota(&self) -> bool {
        &*self.key.name == shape::QUOTA && !self.manifest.is_null()
    }
}

fn word(lost: bool) -> &'static str {
    if lost { "deleted" } else { "changed" }
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
