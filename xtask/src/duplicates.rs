//! Crates that the server carries in several versions: each costs build time and bytes, so their number may only fall.
use crate::command::cargo;
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// Lower it when it can be lowered. Raise it only for a crate that is worth its weight.
const CEILING: usize = 11;

pub(crate) fn check() -> Result<()> {
    let output = cargo()
        .args([
            "tree",
            "--duplicates",
            "--package=server",
            "--edges=normal,no-proc-macro",
            "--depth=0",
            "--prefix=none",
        ])
        .output()?;
    ensure!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout);
    let duplicated = duplicated(&tree);
    let names: Vec<String> =
        duplicated.iter().map(|(name, versions)| format!("{name} {}", versions.join(" and "))).collect();
    ensure!(
        duplicated.len() <= CEILING,
        "{} crates are there in several versions, {CEILING} are allowed (xtask/src/duplicates.rs):\n  {}",
        duplicated.len(),
        names.join("\n  ")
    );
    println!("{} crates are there in several versions, {CEILING} are allowed", duplicated.len());
    Ok(())
}

/// cargo also lists crates that are built twice with different features; those are no duplicates of ours.
fn duplicated(tree: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree.lines() {
        if let [name, version, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
            versions.entry(name).or_default().insert(version);
        }
    }
    versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| (name, versions.into_iter().collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::duplicated;

    #[test]
    fn only_different_versions_count() {
        let tree = "base64 v0.21.7\n\nbase64 v0.22.1\n\nslab v0.4.12\n\nslab v0.4.12\n";
        assert_eq!(duplicated(tree).into_iter().collect::<Vec<_>>(), [("base64", vec!["v0.21.7", "v0.22.1"])]);
    }
}
