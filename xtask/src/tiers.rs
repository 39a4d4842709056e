//! `make test`: every tier runs, even after one has failed, and one line at the end says how it went.
use crate::{
    command::{cargo, npm_tool, run, target_dir},
    demo::Demo,
    duplicates, fuzz, postgres, queries, rooms, site,
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::{Mutex, PoisonError},
    time::Instant,
};

#[derive(Default, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

struct Tier {
    name: &'static str,
    seconds: f32,
    count: Count,
}

/// How the runs with faults ended, to be said once more as well.
static RUNS: Mutex<String> = Mutex::new(String::new());

/// What went wrong in short, to be said once more at the very end.
static FAILURES: Mutex<Vec<String>> = Mutex::new(vec![]);

pub(crate) fn failed(what: impl Into<String>) {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
}

pub(crate) fn run_all() -> Result<ExitCode> {
    let mut tiers = vec![];
    let mut tier = |name, work: &dyn Fn() -> Result<Count>| {
        println!("\n== {name}");
        let started = Instant::now();
        let count = work().unwrap_or_else(|error| {
            eprintln!("{name}: {error:#}");
            failed(format!("{name}: {error:#}"));
            Count { passed: 0, failed: 1 }
        });
        tiers.push(Tier { name, seconds: started.elapsed().as_secs_f32(), count });
    };
    tier("format", &|| check(format()));
    tier("lints", &|| check(lints()));
    tier("lints of the browser's half", &|| check(browser_lints()));
    tier("duplicated crates", &|| check(duplicates::check()));
    tier("site", &|| check(site::build(false)));
    match postgres::for_tests() {
        Ok(server) => {
            tier("descriptions of queries", &|| check(queries::check(&server.url)));
            tier("cargo tests", &|| cargo_tests(&server.url));
            if let Err(error) = postgres::end(server) {
                eprintln!("{error:#}");
            }
        }
        Err(error) => tier("PostgreSQL for the tests", &|| bail!("{error:#}")),
    }
    tier("browser tests", &browser_tests);
    tier("fuzz targets", &fuzz::tier);

    for what in FAILURES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("\nFailed: {what}");
    }
    println!();
    let mut total = Count::default();
    for Tier { name, seconds, count } in &tiers {
        let word = if count.failed == 0 { "ok  " } else { "FAIL" };
        let tests = match count {
            Count { passed: 0, .. } => String::new(),
            Count { passed, failed } => format!("   {passed} passed, {failed} failed"),
        };
        println!("{word} {name:<30} {seconds:6.1} s{tests}");
        total.passed += count.passed;
        total.failed += count.failed;
    }
    println!("\n{}", RUNS.lock().unwrap_or_else(PoisonError::into_inner));
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn lint() -> Result<()> {
    format()?;
    lints()?;
    browser_lints()?;
    duplicates::check()
}

/// `make test-faults`: everything that can go wrong, with everything that people do.
pub(crate) fn faults() -> Result<ExitCode> {
    let server = postgres::for_tests()?;
    let count = count_lines(
        cargo()
            .args(["test", "--workspace", "--test=faults", "--", "--nocapture"])
            .env("DATABASE_URL", &server.url)
            .env("FAULTS", "full"),
    );
    postgres::end(server)?;
    println!("\n{}", RUNS.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(if count?.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A check counts only when it fails.
fn check(result: Result<()>) -> Result<Count> {
    result.map(|()| Count::default())
}

fn format() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"])).context("`make fmt` mends it")
}

fn lints() -> Result<()> {
    rooms::check()?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn browser_lints() -> Result<()> {
    run(cargo()
        .args(["clippy", "--package=app", "--lib", "--target=wasm32-unknown-unknown", "--no-default-features"])
        .arg("--features=hydrate")
        .arg("--target-dir")
        .arg(target_dir().join("front"))
        .args(["--", "-D", "warnings"]))
}

fn cargo_tests(database_url: &str) -> Result<Count> {
    // most of their time they wait: for hubs, leases and what comes by itself
    let at_once = std::thread::available_parallelism().map_or(4, |cores| 2 * cores.get());
    count_lines(
        cargo()
            .args(["test", "--workspace", "--no-fail-fast"])
            .env("DATABASE_URL", database_url)
            .env("RUST_TEST_THREADS", at_once.to_string()),
    )
}

/// Passes the output on and sums up what each test binary says of itself.
pub(crate) fn count_lines(command: &mut Command) -> Result<Count> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut count = Count::default();
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        let line = line?;
        println!("{line}");
        if let Some(name) = line.strip_prefix("test ").and_then(|l| l.strip_suffix(" ... FAILED")) {
            failed(name);
        }
        if line.starts_with("runs ") && line.contains(", lost ") {
            RUNS.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&line);
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            count.passed += number_before(result, " passed");
            count.failed += number_before(result, " failed");
        }
    }
    let status = child.wait()?;
    // A test binary that was not built or did not live to its last line counts as well.
    if !status.success() && count.failed == 0 {
        count.failed = 1;
    }
    Ok(count)
}

pub(crate) fn number_before(text: &str, word: &str) -> u64 {
    let digits = text.split(word).next().unwrap_or_default();
    digits.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The browser tests alone, with a demo of their own.
pub(crate) fn browser() -> Result<ExitCode> {
    let count = browser_tests()?;
    for what in FAILURES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("\nFailed: {what}");
    }
    println!("\n{} passed, {} failed", count.passed, count.failed);
    Ok(if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn browser_tests() -> Result<Count> {
    let demo = Demo::start("target/end2end")?;
    let report = Path::new("target/end2end/report.json");
    if report.exists() {
        fs::remove_file(report)?;
    }
    let status = npm_tool("playwright")
        .args(["test", "--config", "end2end"])
        .env("BASE_URL", format!("http://{}", demo.http))
        .env("BASE_URL_HTTPS", format!("https://{}", demo.https))
        .envs(demo.for_operators()?)
        .env("E2E_REPORT", fs::canonicalize("target/end2end")?.join("report.json"))
        .status()
        .context("Playwright could not be started")?;
    let text = fs::read_to_string(report).context("Playwright left no report")?;
    let report: serde_json::Value = serde_json::from_str(&text)?;
    failures_in(&report["suites"]);
    let number = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
    let count = Count { passed: number("expected") + number("flaky"), failed: number("unexpected") };
    ensure!(status.success() || count.failed > 0, "Playwright failed: {status}");
    Ok(count)
}

/// A failed test's name and the first lines of what it said; suites hold suites.
fn failures_in(suites: &serde_json::Value) {
    for suite in suites.as_array().into_iter().flatten() {
        failures_in(&suite["suites"]);
        for spec in suite["specs"].as_array().into_iter().flatten().filter(|s| s["ok"] == false) {
            let said = spec["tests"][0]["results"][0]["errors"][0]["message"].as_str().unwrap_or("it did not end");
            let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(20).collect();
            failed(format!("{}\n  {}", spec["title"].as_str().unwrap_or_default(), said.join("\n  ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::number_before;

    #[test]
    fn counts_are_read_from_a_test_binarys_last_line() {
        let line = "ok. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(number_before(line, " passed"), 12);
        assert_eq!(number_before(line, " failed"), 3);
        assert_eq!(number_before("nothing", " passed"), 0);
    }
}
