//! What somebody with kubectl does to the hub's VMs, past everybody who manages them.

use crate::{api::Api, meta};
use serde_json::Value;
use std::{fmt, sync::Arc};

const MACHINES: (&str, &str) = ("kubevirt.io", "virtualmachines");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Stops a VM that is to run, and starts one that is not.
    EditMachine,
    DeleteMachine,
}

impl Deed {
    pub const ALL: [Self; 2] = [Self::EditMachine, Self::DeleteMachine];

    pub fn name(self) -> &'static str {
        match self {
            Self::EditMachine => "edit-vm",
            Self::DeleteMachine => "delete-vm",
        }
    }

    /// What it does, for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::EditMachine => "Edit the VM: one that runs is to stop, one that is stopped to run",
            Self::DeleteMachine => "Delete the VM",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|deed| deed.name() == name)
    }
}

/// Hands on one hub. Clones are of the same hub.
#[derive(Clone)]
pub struct ByHand(pub(crate) Arc<Api>);

impl fmt::Debug for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByHand")
    }
}

impl ByHand {
    /// The VM that is meant, as `namespace/name`: by its name, with or without its namespace, or by what a label or an
    /// annotation of it says. Without a word it is the first one there is.
    pub fn machine(&self, meant: &str) -> Option<String> {
        let state = self.0.state();
        let id = state.find(MACHINES.0, MACHINES.1)?;
        let mut all: Vec<_> = state.list(id, None).filter(|vm| !meta::is_terminating(vm)).collect();
        all.sort_by_key(|vm| (meta::namespace(vm).to_owned(), meta::name(vm).to_owned()));
        let place = |vm: &Value| format!("{}/{}", meta::namespace(vm), meta::name(vm));
        let called = |vm: &Value| {
            let says =
                |of: &str| vm["metadata"][of].as_object().is_some_and(|all| all.values().any(|value| value == meant));
            meta::name(vm) == meant || place(vm) == meant || says("labels") || says("annotations")
        };
        all.into_iter().find(|vm| meant.is_empty() || called(vm)).map(|vm| place(vm))
    }

    /// Does it to the VM at `namespace/name`. False: it is not there any more.
    pub fn act(&self, deed: Deed, machine: &str) -> bool {
        let Some((namespace, name)) = machine.split_once('/') else { return false };
        let mut state = self.0.state();
        let Some(id) = state.find(MACHINES.0, MACHINES.1) else { return false };
        match deed {
            Deed::DeleteMachine => state.remove(id, namespace, name).is_ok_and(|gone| gone.is_some()),
            Deed::EditMachine => {
                let Some(vm) = state.get(id, namespace, name) else { return false };
                let mut vm = (*vm).clone();
                let halted = vm["spec"]["runStrategy"] == "Halted";
                vm["spec"]["runStrategy"] = if halted { "RerunOnFailure" } else { "Halted" }.into();
                let generation = vm["metadata"]["generation"].as_i64().unwrap_or(1);
                meta::set(&mut vm, "generation", generation + 1);
                state.put(id, vm).is_ok()
            }
        }
    }

    /// Lets everything go that the fault `stuck-finalizer` holds, and says how much that was.
    pub fn release_stuck(&self) -> anyhow::Result<usize> {
        let mut state = self.0.state();
        let held: Vec<_> = state
            .kinds()
            .flat_map(|(id, _)| state.list(id, None).map(move |object| (id, object.clone())))
            .filter(|(_, object)| meta::finalizers(object).contains(&crate::api::STUCK))
            .collect();
        for (id, object) in &held {
            let left: Vec<&str> =
                meta::finalizers(object).into_iter().filter(|one| *one != crate::api::STUCK).collect();
            let mut changed = (**object).clone();
            meta::set_finalizers(&mut changed, &left);
            let done = if left.is_empty() && meta::is_terminating(object) {
                state.remove(*id, meta::namespace(object), meta::name(object)).map(drop)
            } else {
                state.put(*id, changed).map(drop)
            };
            done.map_err(|refusal| anyhow::anyhow!(refusal.message))?;
        }
        Ok(held.len())
    }
}
