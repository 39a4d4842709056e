//! Documents of `/api` in JSON, for clients that ask for `application/*+json`.
use serde_json::{Map, Value};
use xml::{Element, Limits};

const LIMITS: Limits = Limits {
    what: "document",
    bytes: 64 << 20,
    depth: 64,
    elements: 2_000_000,
    attributes: 256,
    name_bytes: 255,
    lenient: true,
};

/// What there may be several of: a list also where there is one.
const LISTS: &[&str] = &[
    "link",
    "record",
    "reference",
    "org",
    "task",
    "file",
    "vm",
    "item",
    "networkConfig",
    "networkConnection",
    "ipScope",
    "ipRange",
    "resourceEntity",
    "network",
    "vdcStorageProfile",
    "catalogItem",
    "metadataEntry",
    "accessSetting",
    "diskSettings",
    "versionInfo",
    "userReference",
    "roleReference",
    "rightReference",
    "catalogReference",
    "vdc",
    "vmReference",
    "vmAffinityRule",
    "productSection",
    "property",
    "supportedHardwareVersion",
    "providerVdcReference",
];
const NUMBERS: &[&str] = &[
    "total",
    "page",
    "pageSize",
    "status",
    "size",
    "sizeMb",
    "numberOfVMs",
    "numberOfCpus",
    "memoryMB",
    "memoryAllocationMB",
    "storageKB",
    "progress",
    "majorErrorCode",
    "deploymentLeaseInSeconds",
    "storageLeaseInSeconds",
    "networkConnectionIndex",
    "primaryNetworkConnectionIndex",
    "numCpus",
    "numCoresPerSocket",
    "configured",
    "bytesTransferred",
    "nicQuota",
    "networkQuota",
    "vmQuota",
    "allocated",
    "limit",
    "used",
    "reserved",
];

/// None: it is no document of ours.
pub(crate) fn convert(document: &str) -> Option<String> {
    let root = xml::parse(document, &LIMITS).ok()?;
    Some(value(&root, &root.name).to_string())
}

fn value(e: &Element, parent: &str) -> Value {
    let attributes: Vec<_> = e.attrs().collect();
    if attributes.is_empty() && e.children.is_empty() {
        return scalar(&lower(&e.name), &e.text);
    }
    let mut out = Map::new();
    if parent == "QueryResultRecords" && e.name != "Link" && e.name != parent {
        out.insert("_type".into(), format!("QueryResult{}Type", e.name).into());
    }
    // a Property has its value twice, as an attribute and as a child: the child stands for both
    let beside = |name: &str| e.children.iter().any(|child| lower(&child.name) == name);
    for (name, text) in attributes.into_iter().filter(|(name, _)| !beside(name)) {
        out.insert(name.to_owned(), scalar(name, text));
    }
    for child in &e.children {
        let mut name = lower(&child.name);
        if e.name == "QueryResultRecords" && child.name != "Link" {
            "record".clone_into(&mut name);
        }
        let value = value(child, &e.name);
        match out.get_mut(&name) {
            Some(Value::Array(all)) => all.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
            None if LISTS.contains(&name.as_str()) => drop(out.insert(name, Value::Array(vec![value]))),
            None => drop(out.insert(name, value)),
        }
    }
    if e.children.is_empty() && !e.text.trim().is_empty() {
        out.insert("value".into(), e.text.trim().into());
    }
    if e.name == "QueryResultRecords" && !out.contains_key("record") {
        out.insert("record".into(), Value::Array(Vec::new()));
    }
    Value::Object(out)
}

fn scalar(name: &str, text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        text if NUMBERS.contains(&name) => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        text => text.into(),
    }
}

fn lower(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|c| c.to_ascii_lowercase().to_string() + chars.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_and_a_child_of_one_name_are_no_list() {
        let text = r#"<Property key="site" value="north"><Label>Site</Label><Value value="north"/></Property>"#;
        let json: Value = serde_json::from_str(&convert(text).expect("a document")).expect("JSON");
        assert_eq!(json, serde_json::json!({"key": "site", "label": "Site", "value": {"value": "north"}}));
    }

    #[test]
    fn records_are_a_list_with_the_name_of_their_type() {
        let text = r#"<QueryResultRecords total="1" page="1" name="vm"><VMRecord name="7" status="POWERED_ON" isDeployed="true"/></QueryResultRecords>"#;
        let json: Value = serde_json::from_str(&convert(text).expect("a document")).expect("JSON");
        assert_eq!(json["total"], 1);
        assert_eq!(json["record"][0]["_type"], "QueryResultVMRecordType");
        assert_eq!(
            (&json["record"][0]["name"], &json["record"][0]["isDeployed"]),
            (&Value::from("7"), &Value::Bool(true))
        );
        let none = convert(r#"<QueryResultRecords total="0"/>"#).expect("a document");
        assert!(none.contains(r#""record":[]"#));
    }
}
