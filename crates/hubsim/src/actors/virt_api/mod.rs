//! virt-api: the calls below `/apis/subresources.kubevirt.io`, which act on machines and their instances.
mod instance;
mod machine;
mod refusal;
mod vnc;
mod volume;

pub use refusal::Refusal;

use super::{
    api::{Api, code, is_conflict, words},
    instance::guest,
    json::Look,
    kind::{INSTANCE, KUBEVIRT, MACHINE, MIGRATION},
};
use crate::Clock;
use http::Method;
use kube::Client;
use machine::{Accepted, Change};
use serde_json::{Value, json};

/// What a call answers: status, and a body if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub code: u16,
    pub body: Option<Value>,
}

#[derive(Clone)]
pub struct VirtApi {
    api: Api,
    clock: Clock,
    viewers: vnc::Viewers,
}

pub(crate) const GROUP: &str = "subresources.kubevirt.io";
pub(crate) const VERSIONS: [&str; 2] = ["v1", "v1alpha3"];
const MACHINE_CALLS: [&str; 6] = ["start", "stop", "restart", "migrate", "addvolume", "removevolume"];
const INSTANCE_CALLS: [&str; 4] = ["pause", "unpause", "softreboot", "reset"];
const INSTANCE_READS: [&str; 3] = ["guestosinfo", "userlist", "filesystemlist"];
const INSTANCE_STREAMS: [&str; 1] = ["vnc"];

/// Discovery's list of the calls.
pub(crate) fn resources() -> Vec<Value> {
    let of = |kind: &str, name: &str, verb: &str| json!({"name": format!("{kind}/{name}"), "singularName": "", "namespaced": true, "kind": "", "verbs": [verb]});
    let machine = MACHINE_CALLS.iter().map(|c| of("virtualmachines", c, "update"));
    let calls = INSTANCE_CALLS.iter().map(|c| of("virtualmachineinstances", c, "update"));
    let reads = INSTANCE_READS.iter().chain(&INSTANCE_STREAMS).map(|c| of("virtualmachineinstances", c, "get"));
    machine.chain(calls).chain(reads).collect()
}

impl VirtApi {
    pub fn new(client: Client, clock: Clock) -> VirtApi {
        VirtApi { api: Api::new(client), clock, viewers: vnc::Viewers::default() }
    }

    /// Answers one call; `path` is what follows `/apis/subresources.kubevirt.io/<version>/`.
    pub async fn call(&self, method: &Method, path: &str, body: &[u8]) -> Result<Answer, Refusal> {
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        match (method.as_str(), parts.as_slice()) {
            ("GET", ["version"]) => self.version().await,
            ("GET", ["healthz"]) => Ok(Answer { code: 200, body: Some(json!({"apiserver": {"connectivity": "ok"}})) }),
            ("PUT", ["namespaces", namespace, "virtualmachines", name, call]) if MACHINE_CALLS.contains(call) => {
                self.machine(namespace, name, call, &options(body)?).await
            }
            ("PUT", ["namespaces", namespace, "virtualmachineinstances", name, call])
                if INSTANCE_CALLS.contains(call) =>
            {
                self.instance(namespace, name, call, &options(body)?).await
            }
            ("GET", ["namespaces", namespace, "virtualmachineinstances", name, call])
                if INSTANCE_READS.contains(call) =>
            {
                self.read(namespace, name, call).await
            }
            _ => Err(Refusal::page_not_found()),
        }
    }

    async fn version(&self) -> Result<Answer, Refusal> {
        let all = self.api.page(KUBEVIRT, None).await.map_err(internal)?;
        let version = all.items.first().and_then(|kv| kv.text("/status/observedKubeVirtVersion"));
        Ok(Answer { code: 200, body: Some(json!({"gitVersion": version.unwrap_or_default()})) })
    }

    async fn machine(&self, namespace: &str, name: &str, call: &str, options: &Value) -> Result<Answer, Refusal> {
        match call {
            "restart" => machine::check_restart_options(options)?,
            "addvolume" | "removevolume" => {
                let all = self.api.page(KUBEVIRT, None).await.map_err(internal)?;
                volume::check_options(call, options, all.items.first())?;
            }
            _ => {}
        }
        let vm = self.api.get(MACHINE, namespace, name).await.map_err(internal)?;
        let vm = vm.ok_or_else(|| Refusal::not_found(refusal::MACHINE, name))?;
        let vmi = self.api.get(INSTANCE, namespace, name).await.map_err(internal)?;
        if call == "migrate" {
            return self.migrate(&vm, vmi.as_ref(), options).await;
        }
        let accepted = match call {
            "start" => machine::start(&vm, vmi.as_ref(), options)?,
            "stop" => machine::stop(&vm, vmi.as_ref(), options)?,
            "addvolume" => volume::add(&vm, options)?,
            "removevolume" => volume::remove(&vm, options)?,
            _ => machine::restart(&vm, vmi.as_ref(), options)?,
        };
        if options.list("/dryRun").is_empty() {
            self.apply(&vm, vmi.as_ref(), accepted).await?;
        }
        Ok(Answer { code: 202, body: None })
    }

    async fn migrate(&self, vm: &Value, vmi: Option<&Value>, options: &Value) -> Result<Answer, Refusal> {
        let migration = machine::migration(vm, vmi, options)?;
        if options.list("/dryRun").is_empty() {
            // what its webhook refuses comes out as an internal error
            self.api.create(MIGRATION, &migration).await.map_err(internal)?;
        }
        Ok(Answer { code: 202, body: None })
    }

    async fn apply(&self, vm: &Value, vmi: Option<&Value>, accepted: Accepted) -> Result<(), Refusal> {
        if let (Some(grace), Some(vmi)) = (accepted.grace, vmi) {
            let patch = json!([{"op": "add", "path": "/spec/terminationGracePeriodSeconds", "value": grace}]);
            self.api.json_patch(INSTANCE, vmi, "", &patch).await.map_err(internal)?;
        }
        let result = match accepted.change {
            None => return Ok(()),
            Some(Change::RunStrategy(new)) => {
                let patch = match vm.pointer("/spec/running") {
                    Some(old) if !old.is_null() => json!([
                        {"op": "test", "path": "/spec/running", "value": old},
                        {"op": "replace", "path": "/spec/running", "value": new == "Always"},
                    ]),
                    _ => json!([
                        {"op": "test", "path": "/spec/runStrategy", "value": vm["spec"]["runStrategy"]},
                        {"op": "replace", "path": "/spec/runStrategy", "value": new},
                    ]),
                };
                self.api.json_patch(MACHINE, vm, "", &patch).await
            }
            Some(Change::Requests(requests)) => self.put_status(vm, "stateChangeRequests", requests).await,
            Some(Change::Volumes(requests)) => self.put_status(vm, "volumeRequests", requests).await,
        };
        // a failed test of a JSON patch is a lost race
        result.map(drop).map_err(|e| match code(&e) {
            Some(409) => Refusal::conflict(refusal::MACHINE, vm.name(), &words(&e)),
            Some(422) if words(&e).starts_with("the server rejected our request") => {
                Refusal::conflict(refusal::MACHINE, vm.name(), &words(&e))
            }
            _ => internal(e),
        })
    }

    /// Puts a list into a machine's status, if that list is still as it was read.
    async fn put_status(&self, vm: &Value, field: &str, list: Value) -> Result<Value, kube::Error> {
        let path = format!("/status/{field}");
        let patch = match (vm.has("/status"), vm.pointer(&path)) {
            (false, _) => {
                let mut status = json!({});
                status[field] = list;
                json!([{"op": "add", "path": "/status", "value": status}])
            }
            (true, None) => json!([{"op": "add", "path": path, "value": list}]),
            (true, Some(old)) => json!([
                {"op": "test", "path": path, "value": old},
                {"op": "replace", "path": path, "value": list},
            ]),
        };
        self.api.json_patch(MACHINE, vm, "/status", &patch).await
    }

    async fn instance(&self, namespace: &str, name: &str, call: &str, options: &Value) -> Result<Answer, Refusal> {
        // the actors write to instances too; whoever comes second reads again
        for _ in 0..20 {
            let vmi = self.api.get(INSTANCE, namespace, name).await.map_err(internal)?;
            let vmi = vmi.ok_or_else(|| Refusal::not_found(refusal::INSTANCE, name))?;
            let status = match call {
                "pause" => instance::pause(&vmi, self.clock.now())?,
                "unpause" => {
                    let vm = self.api.get(MACHINE, namespace, name).await.map_err(internal)?;
                    instance::unpause(&vmi, vm.as_ref())?
                }
                "softreboot" => instance::soft_reboot(&vmi)?,
                _ => instance::reset(&vmi)?,
            };
            if !options.list("/dryRun").is_empty() {
                return Ok(Answer { code: 200, body: None });
            }
            let mut new = vmi;
            new["status"] = status;
            match self.api.replace_status(INSTANCE, &new).await {
                Ok(_) => return Ok(Answer { code: 200, body: None }),
                Err(e) if is_conflict(&e) => {}
                Err(e) => return Err(internal(e)),
            }
        }
        Err(Refusal::internal("the instance changes too fast"))
    }

    async fn read(&self, namespace: &str, name: &str, call: &str) -> Result<Answer, Refusal> {
        let vmi = self.api.get(INSTANCE, namespace, name).await.map_err(internal)?;
        let vmi = vmi.ok_or_else(|| Refusal::not_found(refusal::INSTANCE, name))?;
        let all = instance::guest_info(&vmi)?;
        let body = match call {
            "userlist" => json!({"items": all["userList"], "metadata": {}}),
            "filesystemlist" => json!({"items": all["fsInfo"]["disks"], "metadata": {}}),
            _ => guest::agent_info(&vmi),
        };
        Ok(Answer { code: 200, body: Some(body) })
    }
}

fn internal(e: kube::Error) -> Refusal {
    Refusal::internal(&words(&e))
}

/// Options may be missing altogether.
fn options(body: &[u8]) -> Result<Value, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(json!({}));
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(value) if value.is_object() || value.is_null() => Ok(value),
        Ok(_) => Err(Refusal::bad_request("Can not unmarshal Request body to struct, error: json: cannot unmarshal")),
        Err(e) => Err(Refusal::bad_request(format!("Can not unmarshal Request body to struct, error: {e}"))),
    }
}
