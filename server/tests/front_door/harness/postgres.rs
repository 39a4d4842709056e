//! The PostgreSQL that tests run on: the one of `TEST_DATABASE_URL` or `DATABASE_URL`, else a private one.
use private_postgres::{Options, Server, discard};
use std::{
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{ChildStdin, Command, Stdio},
    sync::OnceLock,
};

/// Tells the helper process below that it is one.
const DIR: &str = "SSVIRT_TEST_POSTGRES_DIR";

/// An address of a database that others may be made beside.
#[expect(clippy::disallowed_methods, reason = "tests have no settings of their own")]
pub(super) fn url() -> String {
    let given = ["TEST_DATABASE_URL", "DATABASE_URL"].into_iter().find_map(|name| std::env::var(name).ok());
    given.filter(|url| !url.is_empty()).unwrap_or_else(start)
}

/// Held open as long as this process lives: when it ends, however it ends, the helper's input does too.
static HELPER: OnceLock<ChildStdin> = OnceLock::new();

/// Starts this very program once more to look after a server. A static is never dropped, so nobody here could stop it.
#[expect(clippy::zombie_processes, reason = "it lives a little longer than this process")]
fn start() -> String {
    let dir = std::env::temp_dir().join(format!("ssvirt-front-door-{}", std::process::id()));
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args(["harness::postgres::serves_until_its_input_ends", "--exact", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(helper.stdout.take().unwrap());
    let _ = HELPER.set(helper.stdin.take().unwrap());
    let url = said.lines().map_while(Result::ok).find(|line| line.starts_with("postgres://"));
    url.expect("a private PostgreSQL did not start; give one in DATABASE_URL")
}

#[test]
#[ignore = "no test: the process that keeps a PostgreSQL for one that runs tests"]
#[expect(clippy::disallowed_methods, reason = "how this process knows what it is for")]
fn serves_until_its_input_ends() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let server = Server::start(&dir, &Options::for_tests()).unwrap();
    println!("\n{}", server.url);
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    server.stop().unwrap();
    discard(&dir).unwrap();
}
