//! `make test-clients`: unmodified clients of VCD against a demo of its own, over http and https.
use crate::{
    command::target_dir,
    demo::Demo,
    tiers::{Count, number_before},
};
use anyhow::{Context, Result, ensure};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

/// Where the demo keeps its data.
const DIR: &str = "target/clients/demo";
/// A directory with more suites: pyvcloud_flow.py, vcd_cli_flow.sh, terraform/run.sh. They are run with the demo's names.
const SHARED: &str = "SSVIRT_SHARED_CLIENTS";
/// Where they are looked for if nothing names another place.
const BESIDE: &str = "../shared/clients";

struct Suite {
    name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    /// Terraform's provider takes no other addresses.
    only_https: bool,
}

/// With names, those suites alone.
pub(crate) fn run(only: &[&str]) -> Result<ExitCode> {
    let venv = fs::canonicalize(target_dir().join("clients/venv/bin"))
        .context("the Python clients are not here yet: `make test-clients` gets them")?;
    let mut suites = own(&venv)?;
    let dir = match env::var_os(SHARED) {
        Some(dir) => Some(fs::canonicalize(&dir).with_context(|| format!("{SHARED} names no directory"))?),
        None => fs::canonicalize(BESIDE).ok(),
    };
    if let Some(dir) = dir {
        suites.extend(shared(&venv, &dir));
    }
    for name in only {
        ensure!(suites.iter().any(|s| s.name == *name), "there is no suite {name}");
    }
    suites.retain(|s| only.is_empty() || only.contains(&s.name));
    let terraform = have_terraform();
    let demo = Demo::start(DIR)?;
    let mut lines = vec![];
    let mut total = Count::default();
    for suite in &suites {
        if suite.only_https && !terraform {
            lines.push(format!("skip {:<24} Terraform is not built, and there is no Go to build it with", suite.name));
            continue;
        }
        let hosts = [format!("http://{}", demo.http), format!("https://{}", demo.https)];
        for host in hosts.iter().skip(usize::from(suite.only_https)) {
            println!("\n== {} at {host}", suite.name);
            let started = Instant::now();
            let count = counted(suite, host, &venv)?;
            let (word, scheme) =
                (if count.failed == 0 { "ok  " } else { "FAIL" }, host.split(':').next().unwrap_or(""));
            let seconds = started.elapsed().as_secs_f32();
            let Count { passed, failed } = count;
            lines.push(format!(
                "{word} {:<16} {scheme:<7} {seconds:6.1} s   {passed} passed, {failed} failed",
                suite.name
            ));
            total.passed += passed;
            total.failed += failed;
        }
    }
    println!("\n{}\n\n{} passed, {} failed", lines.join("\n"), total.passed, total.failed);
    Ok(if total.failed == 0 && total.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn own(venv: &Path) -> Result<Vec<Suite>> {
    let dir = fs::canonicalize("end2end/clients")?;
    let suite = |name, file: &str, only_https| Suite {
        name,
        program: venv.join("python"),
        args: vec![dir.join(file).to_string_lossy().into_owned()],
        only_https,
    };
    Ok(vec![
        suite("pyvcloud", "pyvcloud_suite.py", false),
        suite("vcd-cli", "vcd_cli_suite.py", false),
        suite("terraform", "terraform_suite.py", true),
        suite("as-code", "as_code_suite.py", false),
        Suite { name: "openapi", program: dir.join("openapi.sh"), args: Vec::new(), only_https: false },
    ])
}

fn shared(venv: &Path, dir: &Path) -> Vec<Suite> {
    let names = "--org acme --user acme-admin --password ssvirt-demo --provider-user administrator --provider-password ssvirt-demo \
                 --vdc acme-prod --catalog linux --template ubuntu-24.04 --network acme-net";
    let suite = |name, program: &Path, file: &str, only_https| {
        let file = dir.join(file);
        file.exists().then(|| Suite {
            name,
            program: program.to_owned(),
            args: [file.to_string_lossy().into_owned()]
                .into_iter()
                .chain(names.split(' ').map(str::to_owned))
                .collect(),
            only_https,
        })
    };
    let (python, bash) = (venv.join("python"), Path::new("bash"));
    [
        suite("shared-pyvcloud", &python, "pyvcloud_flow.py", false),
        suite("shared-vcd-cli", bash, "vcd_cli_flow.sh", false),
        suite("shared-terraform", bash, "terraform/run.sh", true),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Passes the output on. The last line says how many steps there were; a suite that does not come to it has failed.
fn counted(suite: &Suite, host: &str, venv: &Path) -> Result<Count> {
    let mut child = Command::new(&suite.program)
        .args(&suite.args)
        .args(["--host", host])
        .env("VCD", venv.join("vcd"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // they go before what clients are told: that the demo's certificate is nobody's
        .env_remove("REQUESTS_CA_BUNDLE")
        .env_remove("CURL_CA_BUNDLE")
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} could not be started", suite.program.display()))?;
    let mut last = String::new();
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        last = line?;
        println!("{last}");
    }
    let status = child.wait()?;
    let mut count = Count { passed: number_before(&last, " passed"), failed: number_before(&last, " failed") };
    if !status.success() && count.failed == 0 {
        count.failed = 1;
    }
    Ok(count)
}

fn have_terraform() -> bool {
    let there = Command::new("end2end/clients/terraform/build.sh").arg("--there").stdout(Stdio::null()).status();
    there.is_ok_and(|status| status.success())
}
