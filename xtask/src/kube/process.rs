//! One process of a cluster, with its log.
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Its log and the file with its id are named after it.
    pub(crate) fn start(program: &Path, args: &[String], folder: &Path) -> Result<Process> {
        let name = program.file_name().context("a program without a name")?.to_string_lossy().into_owned();
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log)?;
        let child = Command::new(program)
            .args(args)
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        fs::write(folder.join(format!("{name}.pid")), child.id().to_string())?;
        Ok(Process { name, child, log })
    }

    /// Waits for what shows that it is ready; says what it logged when it ends instead.
    pub(crate) fn until(&mut self, mut ready: impl FnMut() -> bool) -> Result<()> {
        let started = Instant::now();
        while !ready() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}. The end of its log:\n{}", self.name, self.last_lines());
            }
            if started.elapsed() > Duration::from_secs(180) {
                bail!("{} was not ready after 3 minutes. The end of its log:\n{}", self.name, self.last_lines());
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn last_lines(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    pub(crate) fn stop(mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // one that a test has stopped does not hear the second
            let _ = kill_process(pid, Signal::CONT);
            let _ = kill_process(pid, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(20) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
