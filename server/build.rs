//! The site lies in target/site of this clone, wherever cargo's own target directory is.

#[expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts through the environment")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A release carries the site inside; a debug build reads it from disk and need not be built again for it.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed=../target/site");
    }
    std::fs::create_dir_all("../target/site").expect("target/site can be created");
}
