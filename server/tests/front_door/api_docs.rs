//! The table of addresses in the docs, and the OpenAPI document, are printed from the code.
use crate::cli::ssvirt;
use std::path::Path;

const MARK: &str = "<!-- From here on: printed by `ssvirt routes`. -->\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "how a developer says that the file is to follow the code")]
fn the_committed_table_of_addresses_is_the_codes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/API-VCD.md");
    let committed = std::fs::read_to_string(&file).unwrap();
    let (words, table) = committed.split_once(MARK).unwrap();
    let printed = vcd::markdown(&vcd::list());
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&file, format!("{words}{MARK}{printed}")).unwrap();
    }
    let differing: Vec<_> = printed.lines().filter(|line| !table.lines().any(|c| c == *line)).collect();
    assert!(
        table == printed,
        "docs/API-VCD.md does not list what is served. If the code is right, write it anew:\n  \
         UPDATE=1 cargo test -p server --test front_door api_docs\nLines that differ:\n{}",
        differing.join("\n")
    );
}

#[test]
fn the_commands_print_them() {
    let output = ssvirt(&["routes"], &[]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), vcd::markdown(&vcd::list()));
    let output = ssvirt(&["openapi"], &[]).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document, vcd::openapi(&vcd::list()));
}
