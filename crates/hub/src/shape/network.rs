//! A network on a hub. Its spec can't be changed once it is made, so what may change later stays out of it.
use crate::shape::names::{MANAGED_BY, NETWORK, NETWORK_ID, ORG_ID, OURS, Place};
use crate::{
    Resource,
    resource::{CLUSTER_NETWORKS, NETWORK_ATTACHMENTS, USER_DEFINED_NETWORKS},
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    pub place: Place,
    pub id: Uuid,
    /// As people call it.
    pub name: String,
    /// Its name on the hub.
    pub object: String,
    /// Where the hub hands out addresses from; None: it hands out none.
    pub dhcp_from: Option<String>,
}

/// What a network is made of, by what the hub has and how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A UserDefinedNetwork: of one namespace, over all nodes.
    UserDefined,
    /// A ClusterUserDefinedNetwork: of all namespaces of the organization.
    Shared,
    /// A NetworkAttachmentDefinition with a bridge: of one namespace, on each node by itself.
    Bridge,
}

impl Form {
    pub const ALL: [Form; 3] = [Form::UserDefined, Form::Shared, Form::Bridge];

    pub fn key(self) -> &'static str {
        match self {
            Form::UserDefined => "udn",
            Form::Shared => "cudn",
            Form::Bridge => "nad",
        }
    }

    pub fn parse(key: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|f| f.key() == key)
    }

    pub fn resource(self) -> &'static Resource {
        match self {
            Form::UserDefined => &USER_DEFINED_NETWORKS,
            Form::Shared => &CLUSTER_NETWORKS,
            Form::Bridge => &NETWORK_ATTACHMENTS,
        }
    }
}

impl Network {
    fn labels(&self, form: Form) -> Map<String, Value> {
        let mut labels = self.place.labels();
        if form == Form::Shared {
            // it is of no single VDC
            labels.retain(|key, _| key == MANAGED_BY || key.starts_with("ssvirt.io/organization"));
        }
        labels.insert(NETWORK_ID.into(), json!(self.id));
        labels
    }

    fn annotations(&self) -> Map<String, Value> {
        let mut annotations = Map::new();
        annotations.insert(NETWORK.into(), json!(self.name));
        annotations.insert(NETWORK_ID.into(), json!(format!("urn:vcloud:network:{}", self.id)));
        annotations
    }
}

pub fn manifest(network: &Network, form: Form) -> Value {
    let resource = form.resource();
    let mut metadata = json!({
        "name": network.object, "labels": network.labels(form), "annotations": network.annotations(),
    });
    if resource.namespaced {
        metadata["namespace"] = json!(network.place.namespace);
    }
    let spec = match form {
        Form::UserDefined => layer2(network),
        Form::Shared => json!({
            "namespaceSelector": {"matchLabels": {MANAGED_BY: OURS, ORG_ID: network.place.org.to_string()}},
            "network": layer2(network),
        }),
        Form::Bridge => json!({"config": bridge(network).to_string()}),
    };
    json!({"apiVersion": resource.api_version(), "kind": resource.kind, "metadata": metadata, "spec": spec})
}

/// The name of a VDC's own network in its namespace.
pub const OWN: &str = "ssvirt-own";

/// What its machines get addresses from. It is the same in every VDC, for nobody meets there; it is none of what OpenShift takes
/// for pods, services and joins by default.
const OWN_SUBNET: &str = "10.198.0.0/16";

/// The network that every machine of a VDC is on unless told otherwise: a namespace's primary one.
pub fn own(place: &Place) -> Value {
    let resource = &USER_DEFINED_NETWORKS;
    json!({
        "apiVersion": resource.api_version(), "kind": resource.kind,
        "metadata": {"name": OWN, "namespace": place.namespace, "labels": place.labels(), "annotations": place.annotations()},
        "spec": {"topology": "Layer2", "layer2": {"role": "Primary", "subnets": [OWN_SUBNET], "ipam": {"lifecycle": "Persistent"}}},
    })
}

/// Why machines can't be put on a network yet that a hub makes, in the hub's words or none; None: they can.
pub fn waits(object: &Value) -> Option<&str> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    match conditions.into_iter().find(|c| c["type"] == "NetworkCreated") {
        Some(c) if c["status"] == "True" => None,
        Some(c) if c["status"] == "False" => Some(c["message"].as_str().unwrap_or_default()),
        _ => Some(""),
    }
}

fn layer2(network: &Network) -> Value {
    let layer2 = match &network.dhcp_from {
        // a machine keeps its address over restarts and moves
        Some(cidr) => json!({"role": "Secondary", "subnets": [cidr], "ipam": {"lifecycle": "Persistent"}}),
        // addresses are ours to give: the hub must not hold others against them
        None => json!({"role": "Secondary", "ipam": {"mode": "Disabled"}}),
    };
    json!({"topology": "Layer2", "layer2": layer2})
}

fn bridge(network: &Network) -> Value {
    // an interface's name has at most 15 letters
    let hex = network.id.simple().to_string();
    json!({
        "cniVersion": "0.4.0", "name": network.object, "type": "bridge", "bridge": format!("ss{}", &hex[hex.len() - 12..]),
        "macspoofchk": true, "ipam": {},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{OrgId, VdcId};

    fn network(dhcp_from: Option<&str>) -> Network {
        let place = Place {
            org: OrgId(Uuid::from_u128(1)),
            org_name: "acme".into(),
            vdc: VdcId(Uuid::from_u128(2)),
            vdc_name: "prod".into(),
            namespace: "vdc-acme-prod".into(),
        };
        Network {
            place,
            id: Uuid::from_u128(3),
            name: "Back end".into(),
            object: "back-end-3".into(),
            dhcp_from: dhcp_from.map(str::to_owned),
        }
    }

    #[test]
    fn a_network_of_one_vdc_leaves_addresses_to_us_unless_the_hub_hands_them_out() {
        let own = manifest(&network(None), Form::UserDefined);
        assert_eq!(own["spec"]["layer2"], json!({"role": "Secondary", "ipam": {"mode": "Disabled"}}));
        assert_eq!(own["metadata"]["namespace"], "vdc-acme-prod");
        assert_eq!(own["metadata"]["labels"][NETWORK_ID], Uuid::from_u128(3).to_string());
        let theirs = manifest(&network(Some("10.0.0.0/24")), Form::UserDefined);
        assert_eq!(theirs["spec"]["layer2"]["subnets"], json!(["10.0.0.0/24"]));
    }

    #[test]
    fn a_vdcs_own_network_is_the_primary_one_and_is_waited_for() {
        let mut own = own(&network(None).place);
        assert_eq!(own["spec"]["layer2"]["role"], "Primary");
        assert_eq!(own["metadata"]["namespace"], "vdc-acme-prod");
        assert_eq!(waits(&own), Some(""));
        own["status"]["conditions"] = json!([{"type": "NetworkCreated", "status": "False", "message": "no room"}]);
        assert_eq!(waits(&own), Some("no room"));
        own["status"]["conditions"][0]["status"] = json!("True");
        assert_eq!(waits(&own), None);
    }

    #[test]
    fn a_shared_network_reaches_the_namespaces_of_its_organization_and_no_other() {
        let shared = manifest(&network(None), Form::Shared);
        assert!(shared["metadata"].get("namespace").is_none());
        assert!(shared["metadata"]["labels"].get("ssvirt.io/vdc-id").is_none());
        let selector = &shared["spec"]["namespaceSelector"]["matchLabels"];
        assert_eq!(selector[ORG_ID], Uuid::from_u128(1).to_string());
    }

    #[test]
    fn a_bridge_has_a_name_that_an_interface_can_have() {
        let nad = manifest(&network(None), Form::Bridge);
        let config: Value = serde_json::from_str(nad["spec"]["config"].as_str().expect("text")).expect("JSON");
        assert!(config["bridge"].as_str().is_some_and(|b| b.len() <= 15), "{config}");
    }
}
