//! A hub with actors, and few words to ask it.
use hubsim::{
    Clock, Flavour, Hub, Options,
    actors::{self, Actors},
};
use kube::Client;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::sleep;

pub(crate) const NAMESPACE: &str = "tenant";
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub hub: Hub,
    pub actors: Option<Actors>,
    pub options: actors::Options,
    client: Client,
}

/// What a call answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub code: u16,
    pub text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }
}

impl World {
    pub(crate) async fn start() -> World {
        World::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut actors::Options)) -> World {
        let clock = Clock::default();
        let mut options = actors::Options { clock: clock.clone(), delay: Duration::ZERO, ..Default::default() };
        change(&mut options);
        let hub = Hub::start(Options { clock, ..Options::default() }).await.unwrap();
        actors::furnish(hub.inside(), &Flavour::default()).await.unwrap();
        let running = actors::attach(&hub, &options);
        let client = Client::try_from(hub.client_config().await.unwrap()).unwrap();
        let world = World { hub, actors: Some(running), options, client };
        let made = world.post("/api/v1/namespaces", json!({"metadata": {"name": NAMESPACE}})).await;
        assert_eq!(made.code, 201, "{}", made.text);
        world
    }

    async fn send(&self, method: &str, path: &str, content: &str, body: Vec<u8>) -> Reply {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .body(kube::client::Body::from(body))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 64 << 20).await.unwrap();
        Reply { code, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send("POST", path, "application/json", body.to_string().into_bytes()).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send("PATCH", path, "application/merge-patch+json", body.to_string().into_bytes()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "application/json", Vec::new()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, "application/json", Vec::new()).await
    }

    /// A call of virt-api.
    pub(crate) async fn call(&self, kind: &str, name: &str, call: &str, body: &str) -> Reply {
        let path = format!("/apis/subresources.kubevirt.io/v1/namespaces/{NAMESPACE}/{kind}/{name}/{call}");
        self.send("PUT", &path, "application/json", body.as_bytes().to_vec()).await
    }

    /// Waits until an object is as wanted; shows how it was when it never is.
    pub(crate) async fn until(&self, path: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let reply = self.get(path).await;
            if reply.code == 200 && wanted(&reply.json()) {
                return reply.json();
            }
            let shown = reply.json();
            assert!(begin.elapsed() < PATIENCE, "{path} never became {what}: {} {:#}", reply.code, shown["status"]);
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn until_gone(&self, path: &str) {
        let begin = Instant::now();
        loop {
            let reply = self.get(path).await;
            if reply.code == 404 {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{path} never went: {:#}", reply.json());
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until a machine shows a status.
    pub(crate) async fn until_shown(&self, name: &str, status: &str) -> Value {
        self.until(&vm_path(name), status, |vm| vm["status"]["printableStatus"] == status).await
    }

    pub(crate) async fn make(&self, vm: Value) -> Value {
        let reply = self.post(&vms(), vm).await;
        assert_eq!(reply.code, 201, "{}", reply.text);
        reply.json()
    }
}

pub(crate) fn vms() -> String {
    format!("/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines")
}

pub(crate) fn vm_path(name: &str) -> String {
    format!("{}/{name}", vms())
}

pub(crate) fn vmi_path(name: &str) -> String {
    format!("/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances/{name}")
}

pub(crate) fn dv_path(name: &str) -> String {
    format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datavolumes/{name}")
}

pub(crate) fn claim_path(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{name}")
}

/// A machine with a disk cloned from an image, an instance type and a NIC.
pub(crate) fn vm(name: &str, strategy: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "runStrategy": strategy,
            "instancetype": {"name": "u1.medium"},
            "preference": {"name": "fedora"},
            "dataVolumeTemplates": [{
                "metadata": {"name": format!("{name}-root")},
                "spec": {
                    "sourceRef": {"kind": "DataSource", "name": "fedora", "namespace": "openshift-virtualization-os-images"},
                    "storage": {"resources": {"requests": {"storage": "30Gi"}}},
                },
            }],
            "template": {"metadata": {"labels": {"vm": name}}, "spec": {
                "terminationGracePeriodSeconds": 60,
                "domain": {"devices": {
                    "disks": [{"name": "root", "disk": {}}],
                    "interfaces": [{"name": "default", "masquerade": {}}],
                }},
                "networks": [{"name": "default", "pod": {}}],
                "volumes": [{"name": "root", "dataVolume": {"name": format!("{name}-root")}}],
            }},
        },
    })
}

/// A machine without any storage of its own, with CPU and memory spelled out.
pub(crate) fn diskless(name: &str, strategy: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"runStrategy": strategy, "template": {"spec": {
            "domain": {"cpu": {"sockets": 2}, "memory": {"guest": "2Gi"}, "devices": {}},
            "volumes": [{"name": "root", "containerDisk": {"image": "quay.io/containerdisks/ubuntu:24.04"}}],
        }}},
    })
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let all = object["status"]["conditions"].as_array();
    all.and_then(|all| all.iter().find(|c| c["type"] == kind)).unwrap_or(&Value::Null)
}
