//! Dependencies between our own crates point one way: which room may know which is one table.
use crate::command::cargo;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// Each of our crates, with those of ours that it may use. Tests may use more.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("model", &[]),
    // what people upload is read by something that knows nothing else
    ("xml", &[]),
    ("ovf", &["xml"]),
    ("transfer", &[]),
    ("store", &["model"]),
    ("hub", &["model"]),
    ("hubsim", &[]),
    ("private-postgres", &[]),
    // domain: what ends by itself, as a lease, ends by the operations that people use
    ("work", &["domain", "hub", "model", "ovf", "store", "transfer"]),
    // of hubs it reads kubeconfigs and cloud-init, and tries one before it is saved
    ("domain", &["hub", "model", "ovf", "store", "transfer"]),
    // no page sees a client of a hub, nor SQL
    ("app", &["domain", "model"]),
    // the same for VCD's clients
    ("vcd", &["domain", "model", "xml"]),
    ("server", &["app", "domain", "hub", "hubsim", "model", "private-postgres", "store", "transfer", "vcd", "work"]),
    ("xtask", &["private-postgres"]),
];

pub(crate) fn check() -> Result<()> {
    let output = cargo().args(["metadata", "--no-deps", "--format-version=1"]).output()?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata is no JSON")?;
    let wrong = strays(&metadata);
    ensure!(wrong.is_empty(), "these crates may not know each other (xtask/src/rooms.rs):\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Every use that the table does not name, and every crate that it does not know.
fn strays(metadata: &serde_json::Value) -> Vec<String> {
    let table = BTreeMap::from(MAY_USE);
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = table.get(name) else {
            wrong.push(format!("{name} has no line in the table"));
            continue;
        };
        let uses = package["dependencies"].as_array().into_iter().flatten().filter(|d| d["kind"] != "dev");
        let uses = uses.filter_map(|d| d["name"].as_str()).filter(|d| table.contains_key(d));
        wrong.extend(uses.filter(|d| !allowed.contains(d)).map(|d| format!("{name} uses {d}")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_use_against_the_direction_is_named_and_one_of_tests_is_fine() {
        let uses = |name: &str, kind: Option<&str>| json!({"name": name, "kind": kind});
        let metadata = json!({"packages": [
            {"name": "app", "dependencies": [uses("domain", None), uses("hub", None), uses("leptos", None)]},
            {"name": "hub", "dependencies": [uses("model", None), uses("hubsim", Some("dev"))]},
            {"name": "attic", "dependencies": []},
        ]});
        assert_eq!(strays(&metadata), ["app uses hub", "attic has no line in the table"]);
    }
}
