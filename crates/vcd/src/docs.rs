//! Every address that is served, as a table for people. The second half of `docs/API-VCD.md` is this, and a test compares them.
use crate::{purpose, routes::RouteInfo};
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
            said.extend(purpose::of(path).filter(|_| said.is_empty()));
            let _ = writeln!(out, "| `{path}` | {} | {} |", methods.join(" "), said.join(". "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_said_of_every_address_what_it_is_for() {
        let printed = super::markdown(&crate::list());
        let silent: Vec<&str> =
            printed.lines().filter(|line| line.starts_with("| `") && line.ends_with("|  |")).collect();
        assert!(silent.is_empty(), "Say in purpose.rs what these are for:\n{}", silent.join("\n"));
    }

    #[test]
    fn what_is_said_is_said_of_something() {
        let served: Vec<String> =
            crate::list().iter().filter_map(|r| crate::purpose::of(r.path)).map(str::to_owned).collect();
        let idle: Vec<&str> = crate::purpose::all().filter(|what| !served.iter().any(|s| s == what)).collect();
        assert!(idle.is_empty(), "No address is for this: {idle:?}");
    }
}
