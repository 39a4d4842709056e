//! KubeVirt's and CDI's admission webhooks: what they fill in and what they refuse, as pure functions over JSON.
mod cause;
mod data_volume;
mod defaults;
mod devices;
mod machine;
mod migration;
mod networks;
mod snapshot;
mod volumes;

pub(crate) use cause::Cause;
pub use data_volume::{check_data_volume, check_data_volume_update};
pub use defaults::fill_machine;
pub use machine::{check_machine, check_machine_update};

use super::{
    chance::Chance,
    json::Look,
    kind::{KUBEVIRT, Kind, TEMPLATE_INSTANCE},
};
use crate::hooks::{Denial, Operation, Review, Webhook};
use serde_json::{Value, json};
use std::sync::Arc;

/// Other objects a webhook has to see.
pub trait Objects {
    fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<Value>>;
    fn all(&self, kind: Kind) -> Vec<Arc<Value>>;
}

/// The configuration in the KubeVirt object; empty where there is none.
pub(crate) fn config(objects: &dyn Objects) -> Value {
    let all = objects.all(KUBEVIRT);
    all.first().and_then(|kv| kv.pointer("/spec/configuration")).cloned().unwrap_or_else(|| json!({}))
}

/// The webhooks as a hub registers them.
pub struct Admission {
    chance: Chance,
}

impl Admission {
    pub fn new(seed: u64) -> Admission {
        Admission { chance: Chance::new(seed) }
    }
}

const MACHINES: &str = "virtualmachine-validator.kubevirt.io";
const INSTANCES: &str = "virtualmachineinstances-update-validator.kubevirt.io";
const MIGRATIONS: &str = "migration-create-validator.kubevirt.io";
const SNAPSHOTS: &str = "virtualmachinesnapshot-validator.snapshot.kubevirt.io";
const RESTORES: &str = "virtualmachinerestore-validator.snapshot.kubevirt.io";
const DATA_VOLUMES: &str = "datavolume-validate.cdi.kubevirt.io";

/// What each webhook is asked about: its name, the group and the resources.
pub(crate) const ASKED: [(&str, &str, &[&str]); 6] = [
    (MACHINES, "kubevirt.io", &["virtualmachines", "virtualmachines/status"]),
    (INSTANCES, "kubevirt.io", &["virtualmachineinstances"]),
    (MIGRATIONS, "kubevirt.io", &["virtualmachineinstancemigrations"]),
    (SNAPSHOTS, "snapshot.kubevirt.io", &["virtualmachinesnapshots"]),
    (RESTORES, "snapshot.kubevirt.io", &["virtualmachinerestores"]),
    (DATA_VOLUMES, "cdi.kubevirt.io", &["datavolumes"]),
];
pub(crate) const MUTATOR: &str = "virtualmachines-mutator.kubevirt.io";
/// OpenShift's own API does it; a server that only has the definition of the kind is told by us.
pub(crate) const REQUESTER: &str = "templateinstances.template.openshift.io";

fn denied(webhook: &str, causes: Vec<Cause>) -> Result<(), Denial> {
    if causes.is_empty() {
        return Ok(());
    }
    let message = cause::message(&causes);
    let mut denial = Denial::invalid(webhook, causes);
    denial.message = message;
    Err(denial)
}

/// What is wrong with the request and not with a field of it.
fn bad_request(webhook: &str, message: &str) -> Denial {
    Denial {
        webhook: webhook.to_owned(),
        code: 400,
        reason: "BadRequest",
        message: message.to_owned(),
        causes: Vec::new(),
    }
}

struct Around<'a>(&'a Review<'a>);

impl Objects for Around<'_> {
    fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let namespace = if kind.namespaced { namespace } else { "" };
        self.0.objects.get(kind.group, kind.plural, namespace, name)
    }

    fn all(&self, kind: Kind) -> Vec<Arc<Value>> {
        self.0.objects.list(kind.group, kind.plural, None)
    }
}

impl Webhook for Admission {
    fn mutate(&self, review: &Review<'_>) -> Result<Option<Value>, Denial> {
        let whole = review.subresource.is_none() && review.operation != Operation::Delete;
        if whole
            && review.operation == Operation::Create
            && (review.group, review.resource) == (TEMPLATE_INSTANCE.group, TEMPLATE_INSTANCE.plural)
        {
            return Ok(with_requester(review));
        }
        if !whole || (review.group, review.resource) != ("kubevirt.io", "virtualmachines") || review.new.dying() {
            return Ok(None);
        }
        let mut vm = review.new.clone();
        let chance = self.chance;
        match fill_machine(&mut vm, review.operation == Operation::Create, review.namespace, &Around(review), chance) {
            Ok(()) => Ok(Some(vm)),
            Err(causes) => denied(MUTATOR, causes).map(|()| None),
        }
    }

    fn validate(&self, review: &Review<'_>) -> Result<Vec<String>, Denial> {
        let (operation, old) = (review.operation, review.old);
        if operation == Operation::Delete || review.new.dying() {
            return Ok(Vec::new());
        }
        match (review.group, review.resource, review.subresource) {
            ("kubevirt.io", "virtualmachines", None) => {
                let around = Around(review);
                denied(MACHINES, check_machine(review.new, review.namespace, &around))?;
                if let Some(old) = old.filter(|_| operation == Operation::Update) {
                    denied(MACHINES, check_machine_update(old, review.new))?;
                }
                Ok(machine::warnings(review.new))
            }
            ("kubevirt.io", "virtualmachines", Some("status")) => {
                denied(MACHINES, machine::check_volume_requests(review.new))?;
                Ok(Vec::new())
            }
            ("kubevirt.io", "virtualmachineinstances", None) => {
                let changed = old.is_some_and(|o| o.get("spec") != review.new.get("spec"));
                if changed && !is_component(review.user) {
                    let message = "update of VMI object is restricted".to_owned();
                    denied(INSTANCES, vec![Cause { reason: "FieldValueNotSupported", message, field: String::new() }])?;
                }
                Ok(Vec::new())
            }
            ("kubevirt.io", "virtualmachineinstancemigrations", None) if operation == Operation::Create => {
                denied(MIGRATIONS, migration::check(review.new, review.namespace, &Around(review)))?;
                Ok(Vec::new())
            }
            ("snapshot.kubevirt.io", "virtualmachinesnapshots", None) => {
                if operation == Operation::Create && !snapshot::enabled(&Around(review)) {
                    return Err(bad_request(SNAPSHOTS, "snapshot feature gate not enabled"));
                }
                denied(SNAPSHOTS, snapshot::check_snapshot(old, review.new))?;
                Ok(Vec::new())
            }
            ("snapshot.kubevirt.io", "virtualmachinerestores", None) => {
                denied(RESTORES, snapshot::check_restore(old, review.new, review.namespace, &Around(review)))?;
                Ok(Vec::new())
            }
            ("cdi.kubevirt.io", "datavolumes", None) => {
                let causes = match old.filter(|_| operation == Operation::Update) {
                    Some(old) => check_data_volume_update(old, review.new),
                    None => check_data_volume(review.new, review.namespace, &Around(review)),
                };
                denied(DATA_VOLUMES, causes)?;
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// An instance says who asked for it: what it makes is made with their rights.
fn with_requester(review: &Review<'_>) -> Option<Value> {
    if review.new.pointer("/spec/requester/username").is_some() {
        return None;
    }
    let mut instance = review.new.clone();
    instance["spec"]["requester"] = json!({"username": review.user, "groups": review.groups});
    Some(instance)
}

/// The actors come in by the hub's inner door, under a name of its own.
fn is_component(user: &str) -> bool {
    user == "system:inside"
}
