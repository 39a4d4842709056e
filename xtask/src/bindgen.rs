//! wasm-bindgen as a library, so that no tool of exactly the right version has to be installed.
use anyhow::{Context, Result, bail};
use std::{env, fs, os::unix, path::Path};
use wasm_bindgen_cli_support::Bindgen;

/// Of the library this is built with. The root Cargo.toml pins it together with the crate's version: they must be the same.
const VERSION: &str = "0.2.130";

/// Writes `{name}.js` and `{name}.wasm` into a directory.
pub(crate) fn generate(wasm: &Path, name: &str, into: &Path) -> Result<()> {
    Bindgen::new().input_path(wasm).out_name(name).web(true)?.typescript(false).generate(into)?;
    fs::rename(into.join(format!("{name}_bg.wasm")), into.join(format!("{name}.wasm")))?;
    Ok(())
}

pub(crate) fn link() -> Result<()> {
    fs::create_dir_all("target/tools")?;
    let link = Path::new("target/tools/wasm-bindgen");
    if link.is_symlink() {
        fs::remove_file(link)?;
    }
    Ok(unix::fs::symlink(env::current_exe()?, link)?)
}

/// As much of wasm-bindgen's own command line as cargo-leptos uses.
pub(crate) fn command_line(args: &[String]) -> Result<()> {
    let mut bindgen = Bindgen::new();
    let mut out_dir = None;
    for arg in args {
        match arg.split_once('=').unwrap_or((arg, "")) {
            ("--version" | "-V", _) => {
                println!("wasm-bindgen {VERSION}");
                return Ok(());
            }
            ("--target", "web") => drop(bindgen.web(true)?),
            ("--no-typescript", _) => drop(bindgen.typescript(false)),
            ("--debug", _) => drop(bindgen.debug(true)),
            ("--keep-debug", _) => drop(bindgen.keep_debug(true)),
            ("--keep-lld-exports", _) => drop(bindgen.keep_lld_exports(true)),
            ("--no-demangle", _) => drop(bindgen.demangle(false)),
            ("--out-name", name) => drop(bindgen.out_name(name)),
            ("--out-dir", dir) => out_dir = Some(dir),
            (option, _) if option.starts_with('-') => bail!("unknown option {option}"),
            _ => drop(bindgen.input_path(arg)),
        }
    }
    bindgen.generate(out_dir.context("--out-dir is missing")?)
}
