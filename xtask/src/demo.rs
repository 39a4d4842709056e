//! A demo of its own for tests from outside: free ports, its own data, stopped at the end.
use crate::command::target_dir;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

pub(crate) struct Demo {
    process: Child,
    dir: PathBuf,
    pub(crate) http: String,
    pub(crate) https: String,
}

impl Demo {
    /// Its data and its log are in that directory, anew.
    pub(crate) fn start(dir: &str) -> Result<Demo> {
        let dir = PathBuf::from(dir);
        let data = dir.join("data");
        private_postgres::discard(&data.join("postgres"))?;
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        fs::create_dir_all(&dir)?;
        let log = File::create(log(&dir))?;
        let (http, https) = (free_address()?, free_address()?);
        let process = Command::new(target_dir().join("debug/ssvirt"))
            .args(["demo", "--http", &http, "--https", &https, "--data-dir"])
            .arg(data)
            .env_remove("DATABASE_URL")
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("the demo could not be started")?;
        let mut demo = Demo { process, dir, http, https };
        demo.wait_until_ready()?;
        Ok(demo)
    }

    /// What a test needs to run an operator's command on this demo, and to reach its hubs.
    pub(crate) fn for_operators(&self) -> Result<[(&'static str, String); 4]> {
        let data = self.dir.join("data");
        let hubs = fs::canonicalize(data.join("hubs"))?;
        let program = fs::canonicalize(target_dir().join("debug/ssvirt"))?;
        Ok([
            ("DEMO_DATABASE_URL", private_postgres::url_of_running(&data.join("postgres"))?),
            ("DEMO_SECRET", fs::read_to_string(data.join("secret"))?.trim().to_owned()),
            ("DEMO_HUBS", hubs.to_str().context("the path of this clone is not UTF-8")?.to_owned()),
            ("SSVIRT", program.to_str().context("the path of this clone is not UTF-8")?.to_owned()),
        ])
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while !answers(&self.http) {
            if let Some(status) = self.process.try_wait()? {
                bail!("the demo ended with {status}:\n{}", fs::read_to_string(log(&self.dir))?);
            }
            if started.elapsed() > Duration::from_secs(120) {
                bail!("the demo was not ready after 2 minutes:\n{}", fs::read_to_string(log(&self.dir))?);
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(30) {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        eprintln!("The demo did not stop within 30 s of SIGTERM and was killed. Its log: {}", log(&self.dir).display());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn log(dir: &Path) -> PathBuf {
    dir.join("demo.log")
}

/// Free at this moment; nobody else is likely to take it in the next one.
pub(crate) fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn answers(address: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().is_ok_and(|answer| answer.ends_with(" 200"))
}
