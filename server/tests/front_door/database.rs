//! One installation from an empty database to its end, with the database gone in the middle.

use crate::cli::ssvirt;
use private_postgres::{Options, Server};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

const SECRET: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";

fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

/// A PostgreSQL that is thrown away at the end, however the test ends.
struct Postgres {
    dir: PathBuf,
    server: Option<Server>,
}

impl Postgres {
    fn start(name: &str) -> Postgres {
        let dir = std::env::temp_dir().join(format!("ssvirt-{name}-{}", std::process::id()));
        let mut postgres = Postgres { dir, server: None };
        postgres.resume();
        postgres
    }

    fn resume(&mut self) {
        self.server = Some(Server::start(&self.dir, &Options::for_tests()).unwrap());
    }

    fn pause(&mut self) {
        self.server.take().unwrap().stop().unwrap();
    }

    fn url(&self) -> String {
        self.server.as_ref().unwrap().url.clone()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.server.take());
        let _ = private_postgres::discard(&self.dir);
    }
}

/// A running `ssvirt` that does not outlive the test.
struct Running {
    process: Child,
    address: String,
    log: PathBuf,
}

impl Running {
    fn start(mut command: Command, name: &str) -> Running {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.log"));
        let output = std::fs::File::create(&log).unwrap();
        let address = format!("127.0.0.1:{port}");
        command.args(["--http", &address]).stdout(output.try_clone().unwrap()).stderr(output);
        Running { process: command.spawn().unwrap(), address, log }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// The status and text of /readyz; 0 when nobody answers.
    fn ready(&self) -> (u16, String) {
        use std::io::Read;
        let ask = || -> std::io::Result<String> {
            let mut stream = std::net::TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET /readyz HTTP/1.0\r\nhost: localhost\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let text = ask().unwrap_or_default();
        (text.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0), text)
    }

    fn wait_for(&mut self, status: u16) -> String {
        let started = Instant::now();
        loop {
            let (now, text) = self.ready();
            if now == status {
                return text;
            }
            assert!(self.process.try_wait().unwrap().is_none(), "it ended:\n{}", self.said());
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "/readyz is {now}, not {status}:\n{text}\n{}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.process.id() as i32).unwrap(), signal).unwrap();
    }

    fn end(&mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "it does not end:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn an_installation_from_its_first_day_to_its_last() {
    let mut postgres = Postgres::start("installation");
    let url = postgres.url();
    let env = [("DATABASE_URL", url.as_str()), ("SSVIRT_SECRET", SECRET), ("LOG_FORMAT", "json")];

    let (code, said) = run(&mut ssvirt(&["check"], &env));
    assert!(code == 1 && said.contains("run ssvirt migrate"), "{said}");
    let admin = ["user", "create-admin", "--name", "root", "--password-stdin"];
    let (code, said) = run(&mut ssvirt(&admin, &env));
    assert!(code == 1 && said.contains("run ssvirt migrate first"), "{said}");

    // two replicas at once
    let both: Vec<Child> = (0..2).map(|_| ssvirt(&["migrate"], &env).stdout(Stdio::null()).spawn().unwrap()).collect();
    for mut one in both {
        assert!(one.wait().unwrap().success());
    }
    let (code, said) = run(&mut ssvirt(&["migrate"], &env));
    assert_eq!((code, said.as_str()), (0, "The database is up to date.\n"));
    let (code, said) = run(&mut ssvirt(&["check"], &env));
    assert!(code == 0 && said.contains("reachable and up to date"), "{said}");
    assert!(said.contains("no hub is registered") && said.contains("Nothing is wrong, but for the warnings"), "{said}");
    assert!(!said.contains(SECRET), "{said}");

    let with_password = |name: &str, password: &str| {
        let mut command = ssvirt(&["user", "create-admin", "--name", name, "--password-stdin"], &env);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        process.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, said) = with_password("root", "a canary in a coal mine\n");
    assert!(code == 0 && said == "Created root in System.\n", "{said}");
    let (code, said) = with_password("root", "a canary in a coal mine\n");
    assert!(code == 1 && said.contains("has that name") && !said.contains("canary"), "{said}");
    let (code, said) = with_password("other", "\n");
    assert!(code == 1 && said.contains("no password"), "{said}");
    let (code, said) = run(&mut ssvirt(&["user", "create-admin", "--name", "second"], &env));
    assert!(code == 0 && said.contains("shown only this once: "), "{said}");
    let (code, said) = run(&mut ssvirt(&["user", "create-admin", "--name", "x", "--org", "nowhere"], &env));
    assert!(code == 1 && said.contains("there is no organization nowhere"), "{said}");

    let mut server = Running::start(ssvirt(&["serve"], &env), "serve");
    server.wait_for(200);
    postgres.pause();
    let said = server.wait_for(503);
    assert!(said.contains("retry-after: 5") && said.contains("does not answer"), "{said}");
    postgres.resume();
    assert_eq!(postgres.url(), url, "the test needs the same address again");
    server.wait_for(200);
    server.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    server.wait_for(200);
    let status = server.end(Signal::TERM);
    assert!(status.success(), "{status}\n{}", server.said());
    let log = server.said();
    assert!(log.contains("\"message\":\"stopped\""), "{log}");
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "not JSON: {line}");
    }
    let password = url.split(':').nth(2).and_then(|rest| rest.split('@').next()).unwrap();
    assert!(!log.contains(SECRET) && !log.contains(password), "{log}");
}

#[test]
fn serve_starts_before_its_database_does() {
    let mut postgres = Postgres::start("late");
    let url = postgres.url();
    postgres.pause();
    let env = [("DATABASE_URL", url.as_str()), ("SSVIRT_SECRET", SECRET)];
    let mut server = Running::start(ssvirt(&["serve"], &env), "late");
    assert!(server.wait_for(503).contains("starting"));
    postgres.resume();
    server.wait_for(200);
    assert!(server.end(Signal::INT).success(), "{}", server.said());
}

#[test]
fn the_demo_brings_its_own_database_and_keeps_it() {
    let dir = std::env::temp_dir().join(format!("ssvirt-demo-{}", std::process::id()));
    let start = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssvirt"));
        command.args(["demo", "--https", "127.0.0.1:0", "--data-dir"]).arg(&dir).env_remove("DATABASE_URL");
        Running::start(command, name)
    };
    let mut demo = start("demo");
    demo.wait_for(200);
    let said = demo.said();
    assert!(said.contains("SSVirt is ready") && said.contains("administrator"), "{said}");
    let secret = std::fs::read_to_string(dir.join("secret")).unwrap();
    assert!(!said.contains(&secret));
    assert!(demo.end(Signal::TERM).success(), "{}", demo.said());

    let mut again = start("demo-again");
    again.wait_for(200);
    assert_eq!(std::fs::read_to_string(dir.join("secret")).unwrap(), secret);
    assert!(again.end(Signal::HUP).success(), "{}", again.said());
    private_postgres::discard(&dir.join("postgres")).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
