//! Starting and stopping.
use crate::{
    account::command,
    cluster,
    home::{Home, moved_to},
    leftover,
};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Recovery after a crash may take a while; a start that hangs is to be told at last.
const START_PATIENCE: Duration = Duration::from_secs(300);
const STOP_PATIENCE: Duration = Duration::from_secs(60);
const LARGEST_LOG: u64 = 10 << 20;

#[derive(Debug, Clone)]
pub struct Options {
    /// Off for tests only: much faster, and a crash of the machine loses the data.
    pub durable: bool,
    /// In a process group of its own: Ctrl-C at the terminal is for the program in front, which stops the server in its own time.
    pub in_background: bool,
    pub max_connections: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { durable: true, in_background: true, max_connections: 100 }
    }
}

impl Options {
    pub fn for_tests() -> Self {
        Options { durable: false, in_background: false, max_connections: 400 }
    }
}

/// A running server. It is stopped by `stop`, or at the latest when this is dropped.
pub struct Server {
    /// With the password in it: not for logs.
    pub url: String,
    /// What its user should know about this start, in sentences.
    pub notes: Vec<String>,
    pub log: PathBuf,
    process: Child,
    temporary_socket_dir: Option<PathBuf>,
    stopped: bool,
    home: Home,
}

impl Server {
    /// Returns when the server answers. `dir` is created if needed; it belongs to this server alone.
    pub fn start(dir: &Path, options: &Options) -> Result<Server> {
        let mut notes = vec![];
        let home = Home::open(dir, &mut notes)?;
        leftover::clear(&home.data(), &mut notes)?;
        let binaries = cluster::prepare(&home, options.durable, &mut notes)?;
        let password = home.password().context("there is no password")?;
        let (socket_dir, temporary) = home.socket_dir()?;

        let log = home.log();
        if fs::metadata(&log).is_ok_and(|metadata| metadata.len() > LARGEST_LOG) {
            fs::rename(&log, log.with_extension("old"))?;
        }
        let output = File::options().append(true).create(true).mode(0o600).open(&log)?;
        let log_start = output.metadata()?.len();

        let mut postgres = command(&binaries.dir.join("postgres"), &home.dir, home.account);
        postgres.arg("-D").arg(home.data());
        for setting in settings(options, &socket_dir) {
            postgres.arg("-c").arg(setting);
        }
        if options.in_background {
            postgres.process_group(0);
        }
        postgres.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let process = postgres.spawn().context("postgres could not be started")?;
        let mut server = Server {
            url: url(&password, &socket_dir),
            notes,
            log,
            process,
            temporary_socket_dir: temporary.then_some(socket_dir),
            stopped: false,
            home,
        };
        server.wait_until_ready(log_start)?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, log_start: u64) -> Result<()> {
        let started = Instant::now();
        let pid_file = self.home.data().join("postmaster.pid");
        let pid = self.process.id().to_string();
        loop {
            if let Some(status) = self.process.try_wait()? {
                self.stopped = true;
                bail!(
                    "PostgreSQL did not start, {status}. The end of {}:\n{}",
                    self.log.display(),
                    tail(&self.log, log_start)
                );
            }
            let text = fs::read_to_string(&pid_file).unwrap_or_default();
            let mut lines = text.lines();
            // The first line tells it from a file left by an earlier run; the eighth is the status.
            if lines.next() == Some(&pid) && lines.nth(6).is_some_and(|status| status.trim() == "ready") {
                return Ok(());
            }
            if started.elapsed() > START_PATIENCE {
                bail!(
                    "PostgreSQL is not ready after 5 minutes. The end of {}:\n{}",
                    self.log.display(),
                    tail(&self.log, log_start)
                );
            }
            sleep(Duration::from_millis(10));
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends all connections, writes everything out and returns when the server is gone.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if self.stopped {
            return Ok(());
        }
        self.stopped = true;
        self.signal(Signal::INT);
        if !self.ends_within(STOP_PATIENCE)? {
            self.signal(Signal::QUIT);
            if !self.ends_within(Duration::from_secs(10))? {
                self.process.kill()?;
                self.process.wait()?;
            }
            bail!(
                "PostgreSQL did not stop within a minute and was made to. It will recover at the next start. Its log: {}",
                self.log.display()
            );
        }
        if let Some(dir) = &self.temporary_socket_dir {
            fs::remove_dir_all(dir)?;
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // Nothing to do when it has gone by itself.
            let _ = kill_process(pid, signal);
        }
    }

    fn ends_within(&mut self, patience: Duration) -> Result<bool> {
        let asked = Instant::now();
        while self.process.try_wait()?.is_none() {
            if asked.elapsed() > patience {
                return Ok(false);
            }
            sleep(Duration::from_millis(10));
        }
        Ok(true)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error:#}");
        }
    }
}

/// Stops whatever an earlier run left in `dir` and deletes it with its data. For tests, whose data nobody wants.
pub fn discard(dir: &Path) -> Result<()> {
    if !dir.exists() {
        return Ok(());
    }
    let mut notes = vec![];
    let home = Home::open(dir, &mut notes)?;
    leftover::clear(&home.data(), &mut notes)?;
    fs::remove_dir_all(&home.dir)?;
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    Ok(())
}

/// The address of the server that another process runs in `dir`.
pub fn url_of_running(dir: &Path) -> Result<String> {
    let dir = moved_to(dir).unwrap_or_else(|| dir.to_owned());
    let text = fs::read_to_string(dir.join("data/postmaster.pid")).context("no server runs there")?;
    // the fifth line is the socket's directory
    let socket_dir = text.lines().nth(4).filter(|line| !line.is_empty()).context("the server is only starting")?;
    let password = fs::read_to_string(dir.join("password")).context("the server's password can't be read")?;
    Ok(url(&password, Path::new(socket_dir)))
}

fn settings(options: &Options, socket_dir: &Path) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories=\"{}\"", socket_dir.display().to_string().replace('"', "\"\"")),
        "unix_socket_permissions=0700".to_owned(),
        "port=5432".to_owned(),
        format!("max_connections={}", options.max_connections),
        "timezone=UTC".to_owned(),
        "log_timezone=UTC".to_owned(),
        "lc_messages=C".to_owned(),
        "logging_collector=off".to_owned(),
    ];
    if !options.durable {
        settings.extend(["fsync=off", "synchronous_commit=off", "full_page_writes=off"].map(str::to_owned));
    }
    settings
}

fn url(password: &str, socket_dir: &Path) -> String {
    let name = cluster::NAME;
    let host: String = socket_dir
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    format!("postgres://{name}:{password}@localhost/{name}?host={host}")
}

fn tail(log: &Path, from: u64) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::Start(from))?;
        let mut text = vec![];
        file.read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_survives_odd_paths() {
        let url = url("secret", "/home/jürgen/a b/socket".as_ref());
        assert_eq!(url, "postgres://ssvirt:secret@localhost/ssvirt?host=/home/j%C3%BCrgen/a%20b/socket");
    }
}
