//! Builds target/site with the same steps, flags and directories as cargo-leptos, so that either continues the other's work.
use crate::{
    bindgen,
    command::{cargo, npm_tool, run, target_dir},
};
use anyhow::{Context, Result};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Instant, UNIX_EPOCH},
};

/// As `output-name` in the root Cargo.toml and LEPTOS_OUTPUT_NAME.
const NAME: &str = "ssvirt";
const SITE: &str = "target/site";
/// What each file was made from, so that nothing is made twice.
const STAMPS: &str = "target/site-stamps";

pub(crate) fn build(release: bool) -> Result<()> {
    let (site, pkg) = (Path::new(SITE), Path::new(SITE).join("pkg"));
    if release {
        // A release embeds whatever lies there: nothing old may.
        remove(Path::new(STAMPS))?;
        remove(site)?;
    }
    fs::create_dir_all(&pkg)?;
    fs::create_dir_all(STAMPS)?;

    step("public files", &[Path::new("public")], release, || copy(Path::new("public"), site))?;
    if Path::new("scripts/fonts.mjs").exists() {
        step("fonts", &[Path::new("scripts/fonts.mjs"), Path::new("package-lock.json")], release, || {
            run(Command::new("node").arg("scripts/fonts.mjs"))
        })?;
    }

    // the console's page alone loads it: no other needs it
    let novnc = Path::new("node_modules/@novnc/novnc/package.json");
    step("console script", &[Path::new("app/script"), novnc], release, || {
        run(npm_tool("esbuild")
            .arg("app/script/console.js")
            .args(["--bundle", "--format=esm", "--target=es2022", "--log-level=warning"])
            .arg("--banner:js=/*! With noVNC, MPL-2.0: https://github.com/novnc/noVNC */")
            .arg(format!("--outfile={}", pkg.join("console.js").display())))
    })?;

    let wasm = build_wasm(release)?;
    step("wasm-bindgen", &[&wasm], release, || {
        bindgen::generate(&wasm, NAME, &pkg)?;
        if release {
            let made = pkg.join(format!("{NAME}.wasm"));
            run(npm_tool("wasm-opt")
                .args(["-Oz", "--enable-bulk-memory", "--enable-nontrapping-float-to-int"])
                .arg(&made)
                .arg("-o")
                .arg(&made))?;
        }
        Ok(())
    })?;

    let style = Path::new("style/main.css");
    if style.exists() {
        let inputs = [Path::new("style"), Path::new("app/src"), Path::new("package-lock.json")];
        step("styles", &inputs, release, || {
            let mut tailwind = npm_tool("tailwindcss");
            tailwind.arg("--input").arg(style).arg("--output").arg(pkg.join(format!("{NAME}.css")));
            if release {
                tailwind.arg("--minify");
            }
            run(&mut tailwind)
        })?;
    }
    if release {
        run(Command::new("node").args(["scripts/pack-site.mjs", SITE]))?;
    }
    Ok(())
}

/// The command is exactly cargo-leptos's: cargo would build all again for another set of flags.
fn build_wasm(release: bool) -> Result<PathBuf> {
    let front = target_dir().join("front");
    let mut build = cargo();
    build.args(["build", "--package=app", "--lib", "--target=wasm32-unknown-unknown", "--no-default-features"]);
    build.arg("--features=hydrate").arg("--target-dir").arg(&front);
    if release {
        // erase_components makes debug builds quick; without it the wasm is 12 % smaller.
        build.arg("--profile=wasm-release").env("RUSTFLAGS", "");
    }
    run(&mut build)?;
    Ok(front.join("wasm32-unknown-unknown").join(if release { "wasm-release" } else { "debug" }).join("app.wasm"))
}

/// Does the work unless its inputs are the same files as last time.
fn step(name: &str, inputs: &[&Path], release: bool, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let started = Instant::now();
    let stamp = Path::new(STAMPS).join(name.replace(' ', "-"));
    let mut seen = format!("release={release}\n");
    for input in inputs {
        describe(input, &mut seen)?;
    }
    if fs::read_to_string(&stamp).is_ok_and(|last| last == seen) {
        return Ok(());
    }
    work().with_context(|| format!("the site's {name} could not be made"))?;
    fs::write(&stamp, seen)?;
    println!("ok   {name:<16} {:5.1} s", started.elapsed().as_secs_f32());
    Ok(())
}

/// Names, sizes and times of a file or of all files below a directory.
fn describe(path: &Path, into: &mut String) -> Result<()> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    if metadata.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| describe(entry, into));
    }
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH)?.as_nanos();
    writeln!(into, "{} {} {changed}", path.display(), metadata.len())?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn remove(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("{} cannot be removed", dir.display()))?;
    }
    Ok(())
}
