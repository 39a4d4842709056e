//! User defined networks (OVN-Kubernetes): each becomes a NetworkAttachmentDefinition that guests are attached by.
use super::{
    actor::{Actor, Again},
    api::{Result, is_conflict},
    condition::{self, Say},
    json::{Look, controlled_by, is_controlled_by, list_mut},
    kind::{ATTACHMENT, CLUSTER_NETWORK, INSTANCE, Kind, NAMESPACE, NETWORK},
    mirror::Key,
    world::World,
};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Networks of one namespace.
pub(crate) struct Networks;
/// Networks that span the namespaces a selector names.
pub(crate) struct ClusterNetworks;

const FINALIZER: &str = "k8s.ovn.org/user-defined-network-protection";
pub(crate) const LABEL: &str = "k8s.ovn.org/user-defined-network";
const POLL: Duration = Duration::from_secs(1);
/// Nobody tells a network that a namespace came or goes which it selects.
const NAMESPACES: Duration = Duration::from_secs(1);

fn own_key(old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
    new.or(old).map(Key::of).into_iter().collect()
}

impl Actor for Networks {
    const KIND: Kind = NETWORK;
    const HEARS: &'static [Kind] = &[NETWORK];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        own_key(old, new)
    }

    async fn look(world: &World, network: Arc<Value>) -> Result<Again> {
        let visit = Visit { world, kind: NETWORK, network: &network, spec: &network["spec"] };
        visit.go(&[network.namespace().to_owned()]).await
    }

    fn gone(_: &World, _: &Key) {}
}

impl Actor for ClusterNetworks {
    const KIND: Kind = CLUSTER_NETWORK;
    const HEARS: &'static [Kind] = &[CLUSTER_NETWORK];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        own_key(old, new)
    }

    async fn look(world: &World, network: Arc<Value>) -> Result<Again> {
        let selector = &network["spec"]["namespaceSelector"];
        let selected = |n: &&Arc<Value>| !n.dying() && selects(selector, n);
        let mut spaces: Vec<String> =
            world.all(NAMESPACE).iter().filter(selected).map(|n| n.name().to_owned()).collect();
        spaces.sort();
        let visit = Visit { world, kind: CLUSTER_NETWORK, network: &network, spec: &network["spec"]["network"] };
        visit.go(&spaces).await.map(|again| again.or_in(NAMESPACES))
    }

    fn gone(_: &World, _: &Key) {}
}

/// Whether a label selector names an object.
fn selects(selector: &Value, object: &Value) -> bool {
    let wanted = selector.pointer("/matchLabels").and_then(Value::as_object);
    let labels = wanted.into_iter().flatten().all(|(key, value)| object.label(key) == value.as_str());
    labels
        && selector.list("/matchExpressions").iter().all(|e| {
            let has = object.label(e.text("/key").unwrap_or_default());
            let listed = || e.list("/values").iter().any(|v| v.as_str() == has);
            match e.text("/operator") {
                Some("In") => has.is_some() && listed(),
                Some("NotIn") => has.is_none() || !listed(),
                Some("Exists") => has.is_some(),
                Some("DoesNotExist") => has.is_none(),
                _ => false,
            }
        })
}

/// The part of a spec that its topology names.
fn layer(spec: &Value) -> &Value {
    match spec.text("/topology") {
        Some("Layer3") => &spec["layer3"],
        Some("Localnet") => &spec["localnet"],
        _ => &spec["layer2"],
    }
}

fn is_primary(spec: &Value) -> bool {
    layer(spec).text("/role") == Some("Primary")
}

struct Visit<'a> {
    world: &'a World,
    kind: Kind,
    network: &'a Value,
    spec: &'a Value,
}

impl Visit<'_> {
    async fn go(&self, spaces: &[String]) -> Result<Again> {
        if self.network.dying() {
            return self.remove().await;
        }
        if !self.network.list("/metadata/finalizers").iter().any(|f| f == FINALIZER) {
            let mut new = self.network.clone();
            list_mut(&mut new, "/metadata/finalizers").push(json!(FINALIZER));
            self.world.write(self.kind, &new).await?;
            return Ok(Again::No);
        }
        if let Some(wait) = self.world.wait_for(self.kind, self.network, "create", 1) {
            return Ok(Again::In(wait));
        }
        let mut held = None;
        // a namespace that is left or ends would be held by what is in it
        for left in self.attachments().iter().filter(|a| !spaces.iter().any(|s| s == a.namespace())) {
            held = self.drop_one(left).await?.or(held);
        }
        for space in spaces {
            if let Some(other) = self.other_primary(space) {
                let message = format!("primary network already exist in namespace {space:?}: {other:?}");
                return self
                    .say(condition::no("NetworkCreated", "NetworkAttachmentDefinitionSyncError", &message))
                    .await;
            }
            self.make(space).await?;
        }
        if let Some(message) = held {
            return self.say(condition::no("NetworkCreated", "SyncError", &message)).await;
        }
        let message = if self.kind == NETWORK {
            "NetworkAttachmentDefinition has been created".to_owned()
        } else {
            format!("NetworkAttachmentDefinition has been created in following namespaces: [{}]", spaces.join(", "))
        };
        let created =
            Say { reason: "NetworkAttachmentDefinitionCreated", message: &message, ..condition::yes("NetworkCreated") };
        self.say(created).await?;
        Ok(Again::No)
    }

    async fn say(&self, say: Say<'_>) -> Result<Again> {
        let mut status = self.network.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
        condition::set_plain(&mut status, say, self.world.now());
        if say.status == "True" {
            let words = "Network allocation succeeded for all synced nodes.";
            let allocated = Say {
                reason: "NetworkAllocationSucceeded",
                message: words,
                ..condition::yes("NetworkAllocationSucceeded")
            };
            condition::set_plain(&mut status, allocated, self.world.now());
        }
        self.world.write_status(self.kind, self.network, status).await?;
        Ok(if say.status == "True" { Again::No } else { Again::In(POLL) })
    }

    /// Another network that is the primary one of a namespace already.
    fn other_primary(&self, space: &str) -> Option<String> {
        if !is_primary(self.spec) {
            return None;
        }
        let taken = self.world.all(ATTACHMENT);
        taken
            .iter()
            .find(|a| {
                a.namespace() == space
                    && !is_controlled_by(a, self.network)
                    && attachment(a).text("/role") == Some("primary")
            })
            .map(|a| a.name().to_owned())
    }

    async fn make(&self, space: &str) -> Result<()> {
        let name = self.network.name();
        if self.world.find(ATTACHMENT, space, name).is_some() {
            return Ok(());
        }
        let full = if self.kind == NETWORK { format!("{space}_{name}") } else { format!("cluster_udn_{name}") };
        let layer = layer(self.spec);
        let subnets: Vec<&str> =
            layer.list("/subnets").iter().filter_map(|s| s.as_str().or_else(|| s.text("/cidr"))).collect();
        let mut config = json!({
            "cniVersion": "1.0.0",
            "type": "ovn-k8s-cni-overlay",
            "name": full,
            "netAttachDefName": format!("{space}/{name}"),
            "topology": self.spec.text("/topology").unwrap_or("Layer2").to_lowercase(),
            "role": layer.text("/role").unwrap_or("Secondary").to_lowercase(),
        });
        if !subnets.is_empty() {
            config["subnets"] = json!(subnets.join(","));
        }
        if let Some(mtu) = layer.int("/mtu") {
            config["mtu"] = json!(mtu);
        }
        if layer.text("/ipam/lifecycle") == Some("Persistent") {
            config["allowPersistentIPs"] = json!(true);
        }
        let wanted = json!({
            "apiVersion": ATTACHMENT.api_version(),
            "kind": ATTACHMENT.kind,
            "metadata": {
                "name": name, "namespace": space, "labels": {LABEL: ""}, "finalizers": [FINALIZER],
                "ownerReferences": controlled_by(self.network),
            },
            "spec": {"config": config.to_string()},
        });
        match self.world.create(ATTACHMENT, &wanted).await {
            Ok(_) => Ok(()),
            Err(e) if is_conflict(&e) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Who still uses the network in a namespace, as the names of their pods.
    fn users(&self, space: &str) -> Vec<String> {
        let name = self.network.name();
        let full = format!("{space}/{name}");
        let uses = |vmi: &Value| {
            vmi.list("/spec/networks").iter().any(|n| match n.text("/multus/networkName") {
                Some(used) => used == name || used == full,
                None => is_primary(self.spec) && n.has("/pod"),
            })
        };
        let mut all: Vec<String> = self
            .world
            .all(INSTANCE)
            .iter()
            .filter(|i| i.namespace() == space && uses(i))
            .map(|i| format!("{space}/virt-launcher-{}-{}", i.name(), self.world.chance.suffix(&["pod", i.uid()], 5)))
            .collect();
        all.sort();
        all
    }

    fn attachments(&self) -> Vec<Arc<Value>> {
        self.world.all(ATTACHMENT).into_iter().filter(|a| is_controlled_by(a, self.network)).collect()
    }

    /// Who holds it, in the words of a condition; None: it is gone.
    async fn drop_one(&self, attachment: &Value) -> Result<Option<String>> {
        let users = self.users(attachment.namespace());
        if !users.is_empty() {
            return Ok(Some(format!("network in use by the following pods: [{}]", users.join(" "))));
        }
        self.world.api.delete(ATTACHMENT, attachment, DeleteParams::default()).await?;
        if let Some(now) = self.world.api.get(ATTACHMENT, attachment.namespace(), attachment.name()).await?
            && let Some(written) = self.world.api.drop_finalizers(ATTACHMENT, &now, &[FINALIZER]).await?
        {
            self.world.learn(ATTACHMENT, written);
        }
        Ok(None)
    }

    async fn remove(&self) -> Result<Again> {
        for attachment in self.attachments() {
            if let Some(message) = self.drop_one(&attachment).await? {
                return self.say(condition::no("NetworkCreated", "SyncError", &message)).await;
            }
        }
        if let Some(written) = self.world.api.drop_finalizers(self.kind, self.network, &[FINALIZER]).await? {
            self.world.learn(self.kind, written);
        }
        Ok(Again::No)
    }
}

/// The configuration inside a NetworkAttachmentDefinition.
fn attachment(object: &Value) -> Value {
    object.text("/spec/config").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The network an interface is on, by a key of its own, and its first subnet if it hands out addresses.
pub(crate) fn subnet_of(world: &World, vmi: &Value, interface: &str) -> Option<(String, String)> {
    let network = vmi.list("/spec/networks").iter().find(|n| n.text("/name") == Some(interface))?;
    let space = vmi.namespace();
    let found = match network.text("/multus/networkName") {
        Some(name) => {
            let (space, name) = name.split_once('/').unwrap_or((space, name));
            world.find(ATTACHMENT, space, name)?
        }
        None => world
            .all(ATTACHMENT)
            .into_iter()
            .find(|a| a.namespace() == space && attachment(a).text("/role") == Some("primary"))?,
    };
    let config = attachment(&found);
    let subnet = config.text("/subnets")?.split(',').find(|s| s.contains('.'))?.trim().to_owned();
    Some((config.text("/name").unwrap_or_default().to_owned(), subnet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_name_namespaces_by_labels_and_expressions() {
        let space = json!({"metadata": {"labels": {"org": "acme", "tier": "dev"}}});
        for (selector, want) in [
            (json!({}), true),
            (json!({"matchLabels": {"org": "acme"}}), true),
            (json!({"matchLabels": {"org": "globex"}}), false),
            (json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["dev", "test"]}]}), true),
            (json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["dev"]}]}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}), true),
            (json!({"matchExpressions": [{"key": "org", "operator": "Exists"}]}), true),
        ] {
            assert_eq!(selects(&selector, &space), want, "{selector}");
        }
    }

    #[test]
    fn the_layer_is_that_of_the_topology() {
        let spec = json!({"topology": "Layer3", "layer3": {"role": "Primary"}, "layer2": {"role": "Secondary"}});
        assert!(is_primary(&spec));
        assert!(!is_primary(&json!({"topology": "Layer2", "layer2": {"role": "Secondary"}})));
    }
}
