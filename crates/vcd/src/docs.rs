//! Every address that is served, as a table for people. The second half of `docs/API-VCD.md` is this, and a test compares them.
use crate::routes::RouteInfo;
use std::{collections::BTreeMap, fmt::Write};

/// One row an address, with what it answers to.
pub fn markdown(list: &[RouteInfo]) -> String {
    let mut paths: BTreeMap<&str, Vec<&RouteInfo>> = BTreeMap::new();
    for route in list {
        paths.entry(route.path).or_default().push(route);
    }
    let mut out = String::new();
    for (title, under) in [("XML: /api", "/api"), ("JSON: /cloudapi", "/cloudapi"), ("Tokens: /oauth", "/oauth")] {
        let part: Vec<_> = paths.iter().filter(|(path, _)| path.split('/').nth(1) == under.split('/').nth(1)).collect();
        let _ = write!(out, "\n## {title}\n\n{} addresses.\n\n", part.len());
        out.push_str("| address | methods | what |\n|---|---|---|\n");
        for (path, routes) in part {
            let methods: Vec<String> =
                routes.iter().map(|r| format!("{}{}", r.method, if r.open { "*" } else { "" })).collect();
            let mut said: Vec<&str> = routes.iter().filter_map(|r| r.told.as_ref().map(|told| told.summary)).collect();
            said.dedup();
            let _ = writeln!(out, "| `{path}` | {} | {} |", methods.join(" "), said.join(". "));
        }
    }
    out
}
