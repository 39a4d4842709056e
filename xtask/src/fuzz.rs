//! `make fuzz`: the targets of `fuzz/` by libFuzzer, with the compiler that everything else is built with. Coverage comes from a
//! pass of LLVM that any compiler has, so neither nightly nor cargo-fuzz is needed.
use crate::{
    command::{cargo, run, target_dir},
    tiers::{Count, failed},
};
use anyhow::{Context, Result, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
};

/// A target, and the feature that it needs.
const TARGETS: [(&str, &str); 7] = [
    ("xml", ""),
    ("fiql", ""),
    ("filter", ""),
    ("ovf", "uploads"),
    ("ova", "uploads"),
    ("image", "uploads"),
    ("kubeconfig", "hubs"),
];

/// What `make test` runs: what anybody can send who has signed in.
const IN_TESTS: [&str; 3] = ["xml", "fiql", "filter"];

/// What LLVM puts into code for libFuzzer to see where it has been, and `fuzzing` as others know it.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Filters as clients write them.
const FILTERS: [&str; 12] = [
    "name==web*",
    "(vdc==https%3A%2F%2Fcloud.example.com%2Fapi%2Fvdc%2F0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92;name==a%20b)",
    "isVAppTemplate==false;status==POWERED_ON,status==POWERED_OFF",
    "(orgVdc.id==urn:vcloud:vdc:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92;_context==includeAccessible)",
    "ownerRef.id==urn:vcloud:vdc:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92",
    "name==a\\,b\\(c\\)\\*",
    "numberOfCpus=ge=2;memoryMB=lt=4096",
    "creationDate=gt=2026-01-31T12:00:00.000Z",
    "metadata:season==STRING:winter;metadata@SYSTEM:cost=le=NUMBER:5",
    "((a!=1,b==2);(c==3,(d==4;e==5)))",
    "id%3D%3D0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92%3Bname%3D%3Da%2520b",
    "name==%C3%BC%F0%9F%98%80+x",
];

/// With names, those targets alone. SECONDS is how long each is run.
pub(crate) fn command(only: &[&str]) -> Result<ExitCode> {
    for name in only {
        ensure!(TARGETS.iter().any(|(known, _)| known == name), "there is no target {name}");
    }
    let all: Vec<&str> =
        TARGETS.iter().map(|(name, _)| *name).filter(|n| only.is_empty() || only.contains(n)).collect();
    let seconds = env::var("SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let count = fuzz(&all, seconds)?;
    Ok(if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// As a tier of the tests.
pub(crate) fn tier() -> Result<Count> {
    fuzz(&IN_TESTS, 60)
}

/// All of them at once, each for so long.
fn fuzz(names: &[&str], seconds: u64) -> Result<Count> {
    let dir = build(names)?;
    let mut children: Vec<(&str, Child, PathBuf)> = vec![];
    for name in names {
        children.push(start(name, seconds, &dir)?);
    }
    let mut count = Count::default();
    for (name, mut child, log) in children {
        let status = child.wait()?;
        let said = fs::read_to_string(&log).unwrap_or_default();
        let runs = said.lines().rev().find(|l| l.starts_with("Done ")).unwrap_or("it did not come to its end");
        println!("{name:<12} {runs}");
        if status.success() {
            count.passed += 1;
        } else {
            count.failed += 1;
            let end: Vec<&str> = said.lines().rev().take(30).collect();
            let end: Vec<&str> = end.into_iter().rev().collect();
            failed(format!(
                "fuzz target {name}: {status}. What it was given is in {}\n{}",
                crashes(&dir).display(),
                end.join("\n")
            ));
        }
    }
    Ok(count)
}

/// Where libFuzzer leaves what a target did not survive.
fn crashes(dir: &Path) -> PathBuf {
    dir.join("crashes")
}

/// Gives back the directory of all that is about fuzzing.
fn build(names: &[&str]) -> Result<PathBuf> {
    let version = Command::new("rustc").arg("-vV").output().context("rustc could not be started")?;
    let version = String::from_utf8(version.stdout)?;
    let host = version.lines().find_map(|l| l.strip_prefix("host: ")).context("rustc names no host")?;
    let dir = target_dir().join("fuzz");
    fs::create_dir_all(crashes(&dir))?;
    let dir = fs::canonicalize(dir)?;
    let mut features: Vec<&str> = TARGETS.iter().filter(|(name, _)| names.contains(name)).map(|(_, f)| *f).collect();
    features.retain(|f| !f.is_empty());
    let mut command = cargo();
    // with a target named, build scripts and macros are left as they are
    command.args(["build", "--release", "--locked", "--quiet", "--manifest-path=fuzz/Cargo.toml", "--target", host]);
    command.arg("--target-dir").arg(&dir).arg("--features").arg(features.join(","));
    command.args(names.iter().flat_map(|name| ["--bin", *name]));
    run(command.env("RUSTFLAGS", FLAGS)).context(
        "if fuzz/Cargo.lock is older than what crates use, `cargo metadata --manifest-path fuzz/Cargo.toml` mends it",
    )?;
    Ok(dir)
}

fn start<'a>(name: &'a str, seconds: u64, dir: &Path) -> Result<(&'a str, Child, PathBuf)> {
    let corpus = dir.join("corpus").join(name);
    seed(name, &corpus)?;
    let binary = fs::read_dir(dir)?
        .filter_map(|entry| Some(entry.ok()?.path().join("release").join(name)))
        .find(|path| path.is_file())
        .with_context(|| format!("{name} was not built"))?;
    let log = dir.join(format!("{name}.log"));
    let file = fs::File::create(&log)?;
    let child = Command::new(binary)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/{name}-", crashes(dir).display()))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=0"])
        .arg(corpus)
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .with_context(|| format!("{name} could not be started"))?;
    Ok((name, child, log))
}

/// What a target begins with: documents as we write them, what clients send, and what tests read.
fn seed(name: &str, corpus: &Path) -> Result<()> {
    fs::create_dir_all(corpus)?;
    let seeds: Vec<Vec<u8>> = match name {
        "xml" => {
            let golden = fs::read_dir("server/tests/front_door/vcd/golden")?.filter_map(|file| Some(file.ok()?.path()));
            let golden = golden.filter(|path| path.extension().is_some_and(|ending| ending == "xml"));
            golden.map(fs::read).collect::<Result<_, _>>()?
        }
        "fiql" | "filter" => FILTERS.map(|filter| filter.as_bytes().to_vec()).into(),
        "ovf" => vec![descriptor()?, b"SHA256(disk1.vmdk)= 00\n".to_vec()],
        "ova" => vec![archive(&descriptor()?)],
        "image" => [(0, &b"QFI\xfb\0\0\0\x03"[..]), (0, b"KDMV\x03"), (32_769, b"CD001"), (510, b"\x55\xaa")]
            .map(|(at, magic)| [vec![0; at], magic.to_vec(), vec![0; 600]].concat())
            .into(),
        _ => vec![KUBECONFIG.as_bytes().to_vec()],
    };
    for (n, bytes) in seeds.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{n:03}")), bytes)?;
    }
    Ok(())
}

/// The one that the tests of the reader are about.
fn descriptor() -> Result<Vec<u8>> {
    let tests = fs::read_to_string("crates/ovf/tests/common/mod.rs")?;
    let text = tests.split("r#\"").nth(1).and_then(|rest| rest.split("\"#").next());
    Ok(text.context("the tests of OVF have no descriptor any more")?.as_bytes().to_vec())
}

/// A tar with that one file in it.
fn archive(file: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 512];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, "shop.ovf");
    for (at, number) in [(100, "0000644"), (108, "0000000"), (116, "0000000")] {
        put(at, number);
    }
    put(124, &format!("{:011o}\0", file.len()));
    put(136, "00000000000\0        0");
    put(257, "ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; file.len().next_multiple_of(512) - file.len() + 1024];
    [head, file.to_vec(), padding].concat()
}

const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: a, user: a, namespace: n}\n\
    clusters:\n- name: a\n  cluster: {server: 'https://hub.example.com:6443', certificate-authority-data: Zm9v}\n\
    users:\n- name: a\n  user: {token: secret}\n";
