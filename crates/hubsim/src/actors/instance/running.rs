//! A guest that runs: how it looks from the beginning, its agent, and what is plugged into it.
use super::{POLL, Visit, guest, schedule, volumes};
use crate::actors::{
    actor::Again,
    address::Range,
    api::Result,
    condition::{self, Say},
    failure::Failure,
    json::{Look, put},
    kind::{DATA_VOLUME, INSTANCE, SECRET},
    mirror::Key,
    network, quantity,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use std::collections::HashSet;

impl Visit<'_> {
    fn interfaces(&self, agent: bool) -> Value {
        guest::interfaces(self.vmi, self.vm, agent, self.world.chance, |name| self.address(name))
    }

    /// The address of an interface: the one it has, else a free one of its network, if that hands any out.
    fn address(&self, interface: &str) -> Option<String> {
        let (vmi, world) = (self.vmi, self.world);
        let named = |i: &&Value| i.text("/name") == Some(interface);
        let has = vmi.list("/status/interfaces").iter().find(named).and_then(|i| i.text("/ipAddress"));
        if let Some(has) = has {
            return Some(has.to_owned());
        }
        let mut taken = HashSet::new();
        let range = match network::subnet_of(world, vmi, interface) {
            Some((name, subnet)) => {
                for other in world.all(INSTANCE).iter().filter(|i| i.namespace() == vmi.namespace()) {
                    let all = other.list("/status/interfaces").iter();
                    taken.extend(all.filter_map(|n| n.text("/ipAddress").map(str::to_owned)));
                }
                Range::of(&name, &subnet)?
            }
            None if vmi.list("/spec/networks").iter().any(|n| named(&n) && n.has("/pod")) => Range::pods(),
            None => return None,
        };
        Some(world.addresses.choose(&range, &taken, world.chance, vmi.uid(), interface))
    }

    /// The status of a guest that just began to run.
    pub(super) fn started(&self) -> Value {
        let (world, vmi, now) = (self.world, self.vmi, self.world.now());
        let mut status = self.status();
        condition::set(&mut status, condition::yes("Ready"), now);
        let (say, message, method) = volumes::migratable(vmi, |name| self.claim(name));
        condition::set(&mut status, Say { message: &message, ..say }, now);
        if say.status == "True" || say.reason != "DisksNotLiveMigratable" {
            condition::set(&mut status, condition::yes("StorageLiveMigratable"), now);
        }
        let with_data_volumes = vmi
            .list("/spec/volumes")
            .iter()
            .any(|v| volumes::claim_name(v).is_some_and(|n| world.find(DATA_VOLUME, vmi.namespace(), n).is_some()));
        if with_data_volumes {
            let say = Say {
                reason: "AllDVsReady",
                message: "All of the VMI's DVs are bound and ready",
                ..condition::yes("DataVolumesReady")
            };
            condition::set(&mut status, say, now);
        }
        if vmi.text("/spec/startStrategy") == Some("Paused") {
            let say = Say { reason: "PausedByUser", message: "VMI was paused by user", ..condition::yes("Paused") };
            condition::set(&mut status, say, now);
        }
        status["interfaces"] = self.interfaces(false);
        status["volumeStatus"] = volumes::status(vmi, |name| self.claim(name));
        status["migrationMethod"] = json!(method);
        status["migrationTransport"] = json!("Unix");
        status["machine"] = json!({"type": machine_type(vmi)});
        status["selinuxContext"] = json!("none");
        status["currentCPUTopology"] = topology(vmi);
        let guest_memory = vmi.pointer("/spec/domain/memory/guest").cloned().unwrap_or_default();
        let overhead = schedule::pod_memory(vmi) - quantity::whole(&guest_memory).unwrap_or(0);
        status["memory"] = json!({
            "guestAtBoot": guest_memory,
            "guestCurrent": guest_memory,
            "guestRequested": guest_memory,
            "memoryOverhead": quantity::bytes(overhead),
        });
        if let Some(vm) = self.vm {
            let generation = vmi.annotation("kubevirt.io/vm-generation").unwrap_or("1");
            status["virtualMachineRevisionName"] = json!(format!("revision-start-vm-{}-{generation}", vm.uid()));
        }
        status
    }

    /// The agent connects some time after the guest began to run; hotplugs arrive.
    pub(super) async fn run(&self) -> Result<Again> {
        let mut status = self.status();
        let mut again = Again::No;
        let plugging = ["HotVCPUChange", "HotMemoryChange"].iter().any(|k| condition::is(self.vmi, k, "True"));
        if plugging {
            let stage = format!("plug {} {}", self.vmi["spec"]["domain"]["cpu"], self.vmi["spec"]["domain"]["memory"]);
            match self.wait(&stage, 2) {
                Some(wait) => return Ok(Again::In(wait)),
                None => self.plugged(&mut status),
            }
        }
        self.attach_interfaces(&mut status).await?;
        if let Some(again) = self.attach_volumes(&mut status).await? {
            return Ok(again);
        }
        let paused = condition::is(self.vmi, "Paused", "True");
        let without = self.fails(Failure::NoGuestAgent);
        if !condition::is(self.vmi, "AgentConnected", "True") && !paused && !without {
            match self.wait("agent", 2) {
                Some(wait) => again = again.or_in(wait),
                None => {
                    condition::set(&mut status, condition::yes("AgentConnected"), self.world.now());
                    status["guestOSInfo"] = guest::os_info(self.vmi, self.vm);
                    status["interfaces"] = self.interfaces(true);
                    self.take_told_addresses(&mut status).await?;
                }
            }
        } else if condition::is(self.vmi, "AgentConnected", "True") && !without {
            // a reboot begins the wait anew
            self.world.forget_pace(INSTANCE, &Key::of(self.vmi));
        } else if without && condition::unset(&mut status, "AgentConnected") {
            status["guestOSInfo"] = json!({});
        }
        self.world.write_status(INSTANCE, self.vmi, status).await?;
        Ok(again)
    }

    /// Interfaces that were plugged in or taken out show so.
    async fn attach_interfaces(&self, status: &mut Value) -> Result<()> {
        let names = |list: &[Value]| list.iter().map(|i| i["name"].clone()).collect::<Vec<_>>();
        let wanted = names(self.vmi.list("/spec/domain/devices/interfaces"));
        if names(status.list("/interfaces")) != wanted {
            status["interfaces"] = self.interfaces(condition::is(self.vmi, "AgentConnected", "True"));
            self.take_told_addresses(status).await?;
        }
        Ok(())
    }

    /// A guest with an agent has the addresses that cloud-init's network data gives to its cards, and says so.
    async fn take_told_addresses(&self, status: &mut Value) -> Result<()> {
        let named = |v: &Value| v.text("/cloudInitNoCloud/networkDataSecretRef/name").map(str::to_owned);
        let Some(name) = self.vmi.list("/spec/volumes").iter().find_map(named) else { return Ok(()) };
        let Some(secret) = self.world.api.get(SECRET, self.vmi.namespace(), &name).await? else { return Ok(()) };
        let data = secret.text("/data/networkdata").and_then(|d| BASE64_STANDARD.decode(d).ok()).unwrap_or_default();
        let told: Value = serde_json::from_slice(&data).unwrap_or_default();
        let cards = told.pointer("/ethernets").and_then(Value::as_object).cloned().unwrap_or_default();
        for interface in status["interfaces"].as_array_mut().into_iter().flatten() {
            let card = cards.values().find(|c| c.text("/match/macaddress") == interface.text("/mac"));
            let own = card.and_then(|c| c.text("/addresses/0")).and_then(|a| a.split('/').next()).map(str::to_owned);
            if let Some(own) = own {
                interface["ipAddress"] = json!(own);
                interface["ipAddresses"] = json!([own]);
            }
        }
        Ok(())
    }

    fn plugged(&self, status: &mut Value) {
        condition::unset(status, "HotVCPUChange");
        condition::unset(status, "HotMemoryChange");
        status["currentCPUTopology"] = topology(self.vmi);
        let memory = self.vmi.pointer("/spec/domain/memory/guest").cloned().unwrap_or_default();
        put(status, "/memory/guestCurrent", memory.clone());
        put(status, "/memory/guestRequested", memory);
    }

    /// Volumes plugged in later become ready, and those taken out go; what to do meanwhile, if there are any.
    async fn attach_volumes(&self, status: &mut Value) -> Result<Option<Again>> {
        let before = status.list("/volumeStatus").to_vec();
        let mut after = volumes::status(self.vmi, |name| self.claim(name));
        let mut waiting = false;
        for now in after.as_array_mut().into_iter().flatten() {
            let known = before.iter().find(|b| b["name"] == now["name"]);
            match known {
                Some(ready) if ready.text("/phase").is_none_or(|p| p == "Ready") => *now = ready.clone(),
                known => {
                    let bound = self
                        .vmi
                        .list("/spec/volumes")
                        .iter()
                        .find(|v| v["name"] == now["name"])
                        .and_then(volumes::claim_name)
                        .and_then(|name| self.claim(name))
                        .is_some_and(|c| c.text("/status/phase") == Some("Bound"));
                    let stage = format!("volume {}", now["name"]);
                    let ready = bound && known.is_some() && self.wait(&stage, 2).is_none();
                    waiting |= !ready;
                    volumes::plug(now, self.vmi, ready, self.world.chance);
                }
            }
        }
        let changed = json!(before) != after;
        status["volumeStatus"] = after;
        if !changed && !waiting {
            return Ok(None);
        }
        self.world.write_status(INSTANCE, self.vmi, status.clone()).await?;
        let pace = self.world.delay.clamp(POLL / 20, POLL);
        Ok(Some(if waiting { Again::In(pace) } else { Again::No }))
    }
}

fn topology(vmi: &Value) -> Value {
    let of = |field: &str| json!(vmi.int(&format!("/spec/domain/cpu/{field}")).unwrap_or(1));
    json!({"sockets": of("sockets"), "cores": of("cores"), "threads": of("threads")})
}

fn machine_type(vmi: &Value) -> String {
    match vmi.text("/spec/domain/machine/type") {
        Some("q35") | None => "pc-q35-rhel9.6.0".to_owned(),
        Some(other) => other.to_owned(),
    }
}
