//! A server that outlived the program that started it, and the pid file of one that did not.
use anyhow::{Result, bail};
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process, test_kill_process},
};
use std::{
    fs,
    path::Path,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

/// Longer than any shutdown checkpoint of a demo's data.
const PATIENCE: Duration = Duration::from_secs(60);

/// Leaves the data directory without a running server and without a pid file that would keep a new one from starting.
pub(crate) fn clear(data: &Path, notes: &mut Vec<String>) -> Result<()> {
    let pid_file = data.join("postmaster.pid");
    let Some(pid) = first_line(&pid_file).and_then(|line| Pid::from_raw(line.parse().ok()?)) else {
        return Ok(());
    };
    if test_kill_process(pid) == Err(Errno::SRCH) {
        return Ok(()); // PostgreSQL sees that itself and goes on
    }
    let Some(args) = arguments(pid) else {
        bail!(
            "{} names process {}, which cannot be looked at. Is a PostgreSQL running on these data?",
            pid_file.display(),
            number(pid)
        );
    };
    if args.iter().any(|arg| Path::new(arg) == data) {
        notes.push(format!(
            "PostgreSQL was still running after an earlier run (process {}); it is started anew.",
            number(pid)
        ));
        return stop(pid, &pid_file);
    }
    if args.first().is_some_and(|program| program.ends_with("postgres")) {
        bail!(
            "{} says that process {} serves these data, and that is a PostgreSQL which was started in another way:\n  {}\nStop it first.",
            pid_file.display(),
            number(pid),
            args.join(" ")
        );
    }
    // The number belongs to another program by now, or to a process that is dead and still listed. PostgreSQL would refuse to
    // start; its parent's number it takes for stale, and still looks whether anybody uses the old server's shared memory.
    let text = fs::read_to_string(&pid_file)?;
    let rest: Vec<&str> = text.lines().skip(1).collect();
    fs::write(&pid_file, format!("{}\n{}\n", std::process::id(), rest.join("\n")))?;
    notes.push("PostgreSQL did not end properly in an earlier run; it recovers by itself.".to_owned());
    Ok(())
}

fn stop(pid: Pid, pid_file: &Path) -> Result<()> {
    let asked = Instant::now();
    kill_process(pid, Signal::INT)?;
    // The file goes at the very end. The process may stay as a zombie when nobody waits for it.
    while pid_file.exists() && test_kill_process(pid).is_ok() {
        if asked.elapsed() > PATIENCE {
            bail!("PostgreSQL (process {}) does not stop. Stop it by hand: kill -QUIT {}", number(pid), number(pid));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn first_line(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

/// A process's command line: nothing in it when the process is dead and still listed, `None` when it cannot be known.
fn arguments(pid: Pid) -> Option<Vec<String>> {
    if let Ok(line) = fs::read(format!("/proc/{}/cmdline", number(pid))) {
        return Some(line.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect());
    }
    let ps = Command::new("ps").args(["-o", "args=", "-p", &number(pid).to_string()]).output().ok()?;
    ps.status.success().then(|| String::from_utf8_lossy(&ps.stdout).split_whitespace().map(str::to_owned).collect())
}
