//! Who may do what is one committed table, printed from the code.
use crate::cli::ssvirt;
use model::permissions::markdown;
use std::path::Path;

#[test]
#[expect(clippy::disallowed_methods, reason = "how a developer says that the file is to follow the code")]
fn the_committed_table_is_the_codes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/PERMISSIONS.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, markdown()).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let differing: Vec<_> =
        markdown().lines().map(str::to_owned).filter(|line| !committed.lines().any(|c| c == line)).collect();
    assert!(
        committed == markdown(),
        "docs/PERMISSIONS.md does not say what the code does. If the code is right, write it anew:\n  \
         UPDATE=1 cargo test -p server --test front_door permissions\nLines that differ:\n{}",
        differing.join("\n")
    );
}

#[test]
fn the_command_prints_it() {
    let output = ssvirt(&["permissions"], &[]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), markdown());
}
