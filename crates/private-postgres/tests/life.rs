//! The whole life of a private server, on real programs.
#![expect(clippy::disallowed_methods, reason = "there is no schema here, and no settings")]
use anyhow::{Context, Result};
use private_postgres::{Options, Server, discard};
use sqlx::{Connection, PgConnection};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A directory that is gone at the end of the test, with whatever runs in it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = env::temp_dir().join(format!("private-postgres-{}-{name}", std::process::id()));
        Dir(dir)
    }

    fn start(&self) -> Result<Server> {
        Server::start(&self.0, &Options::for_tests())
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        if let Err(error) = discard(&self.0) {
            eprintln!("{} stays: {error:#}", self.0.display());
        }
    }
}

fn ask<T>(server: &Server, query: &str) -> Result<T>
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + 'static,
{
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut connection = PgConnection::connect(&server.url).await?;
        let (value,): (T,) = sqlx::query_as(query).fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(value)
    })
}

fn execute(server: &Server, statement: &str) -> Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut connection = PgConnection::connect(&server.url).await?;
        sqlx::raw_sql(statement).execute(&mut connection).await?;
        connection.close().await?;
        Ok(())
    })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777).unwrap_or_default()
}

fn kill_9(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[test]
fn a_second_start_continues_with_the_data() -> Result<()> {
    let dir = Dir::new("second");
    let server = dir.start()?;
    assert_eq!(server.notes, Vec::<String>::new());
    execute(&server, "CREATE TABLE kept AS SELECT 'still here'::text AS word")?;
    server.stop()?;
    assert!(!dir.data().join("postmaster.pid").exists());

    let server = dir.start()?;
    assert_eq!(ask::<String>(&server, "SELECT word FROM kept")?, "still here");
    assert_eq!(server.notes, Vec::<String>::new());
    server.stop()
}

#[test]
fn nobody_else_gets_in() -> Result<()> {
    let dir = Dir::new("private");
    let mut server = dir.start()?;
    assert_eq!(mode(&dir.data()), 0o700);
    assert_eq!(mode(&dir.0.join("socket")), 0o700);
    assert_eq!(mode(&dir.0.join("password")), 0o600);
    assert_eq!(ask::<String>(&server, "SHOW listen_addresses")?, "");

    let password = fs::read_to_string(dir.0.join("password"))?;
    server.url = server.url.replace(&password, "guessed");
    let error = ask::<i32>(&server, "SELECT 1").expect_err("a wrong password");
    assert!(format!("{error:#}").contains("password authentication failed"), "{error:#}");
    Ok(())
}

#[test]
fn a_directory_in_use_is_refused() -> Result<()> {
    let dir = Dir::new("in-use");
    let server = dir.start()?;
    let error = dir.start().err().context("started twice")?;
    assert!(error.to_string().contains(&format!("in use by process {}", std::process::id())), "{error:#}");
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    server.stop()
}

#[test]
fn a_killed_server_recovers() -> Result<()> {
    let dir = Dir::new("killed");
    let server = Server::start(&dir.0, &Options::default())?;
    execute(&server, "CREATE TABLE kept AS SELECT 7 AS number")?;
    kill_9(server.pid());
    drop(server);
    assert!(dir.data().join("postmaster.pid").exists());

    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT number FROM kept")?, 7);
    server.stop()
}

#[test]
fn a_pid_file_with_another_programs_number_does_no_harm() -> Result<()> {
    let dir = Dir::new("stale-pid");
    dir.start()?.stop()?;
    let mut other = Command::new("sleep").arg("60").spawn()?;
    fs::write(
        dir.data().join("postmaster.pid"),
        format!("{}\n{}\n0\n5432\n/nowhere\n\n", other.id(), dir.data().display()),
    )?;

    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    assert!(server.notes[0].contains("did not end properly"), "{:?}", server.notes);
    assert!(other.try_wait()?.is_none(), "the other program was touched");
    other.kill()?;
    other.wait()?;
    server.stop()
}

#[test]
fn half_made_data_are_moved_aside() -> Result<()> {
    let dir = Dir::new("half-made");
    for name in ["data", "data.new-123"] {
        fs::create_dir_all(dir.0.join(name))?;
        fs::write(dir.0.join(name).join("PG_VERSION"), "15\n")?;
    }
    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    assert_eq!(server.notes.len(), 2, "{:?}", server.notes);
    let aside =
        fs::read_dir(&dir.0)?.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("unfinished-"));
    assert_eq!(aside.filter(|entry| entry.path().join("PG_VERSION").exists()).count(), 2);
    server.stop()
}

#[test]
fn a_server_that_outlived_its_starter_is_taken_over() -> Result<()> {
    let dir = Dir::new("outlived");
    let pid = start_and_kill_the_starter(&dir)?;
    assert!(fs::read_to_string(dir.data().join("postmaster.pid"))?.starts_with(&pid.to_string()), "it is still there");

    let server = dir.start()?;
    assert!(
        server.notes[0].contains(&format!("still running after an earlier run (process {pid})")),
        "{:?}",
        server.notes
    );
    assert_eq!(ask::<i32>(&server, "SELECT number FROM kept")?, 3);
    server.stop()
}

/// Where nobody waits for orphans, as in many containers, the server's number stays taken.
#[test]
fn a_server_killed_with_its_starter_recovers() -> Result<()> {
    let dir = Dir::new("both-killed");
    kill_9(start_and_kill_the_starter(&dir)?);
    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    server.stop()
}

fn start_and_kill_the_starter(dir: &Dir) -> Result<u32> {
    let mut starter = Command::new(env::current_exe()?)
        .args(["--exact", "starter", "--nocapture"])
        .env("STARTER_DIR", &dir.0)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(starter.stdout.take().context("no output")?).lines();
    let pid = loop {
        let line = lines.next().context("the starter said nothing")??;
        if let Some((_, pid)) = line.split_once("server is ") {
            break pid.trim().parse()?;
        }
    };
    kill_9(starter.id());
    starter.wait()?;
    Ok(pid)
}

/// The other half of the tests above, which start this again in a process of its own and kill it.
#[test]
fn starter() -> Result<()> {
    let Some(dir) = env::var_os("STARTER_DIR") else {
        return Ok(());
    };
    let server = Server::start(Path::new(&dir), &Options::for_tests())?;
    execute(&server, "CREATE TABLE kept AS SELECT 3 AS number")?;
    println!("server is {}", server.pid());
    loop {
        std::thread::park();
    }
}

#[test]
fn data_of_another_version_are_left_alone_and_explained() -> Result<()> {
    let dir = Dir::new("version");
    dir.start()?.stop()?;
    let version = dir.data().join("PG_VERSION");
    let right = fs::read_to_string(&version)?;
    fs::write(&version, "9\n")?;
    let error = dir.start().err().context("started on data of another version")?;
    let text = format!("{error:#}");
    assert!(text.contains("were made by PostgreSQL 9") && text.contains("Install PostgreSQL 9"), "{text}");

    fs::write(&version, right)?;
    dir.start()?.stop()
}

#[test]
fn a_lost_password_is_replaced() -> Result<()> {
    let dir = Dir::new("password");
    let server = dir.start()?;
    let old = server.url.clone();
    server.stop()?;
    fs::remove_file(dir.0.join("password"))?;
    let server = dir.start()?;
    assert_ne!(server.url, old);
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    server.stop()
}

#[test]
fn a_long_and_odd_path_gets_its_socket_elsewhere() -> Result<()> {
    let dir = Dir::new(&format!("a \"quoted\", odd % name {}", "x".repeat(100)));
    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    let socket_dir = PathBuf::from(ask::<String>(&server, "SHOW unix_socket_directories")?.replace('"', ""));
    assert!(!socket_dir.starts_with(&dir.0));
    assert_eq!(mode(&socket_dir), 0o700);
    server.stop()?;
    assert!(!socket_dir.exists());
    Ok(())
}

/// As root in a directory like /root, which PostgreSQL's account cannot enter. Without root there is no such account.
#[test]
fn root_in_a_closed_directory_gets_the_data_elsewhere() -> Result<()> {
    let closed = env::temp_dir().join(format!("private-postgres-{}-closed", std::process::id()));
    fs::create_dir_all(&closed)?;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700))?;
    let dir = Dir(closed.join("postgres"));
    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT 1")?, 1);
    let elsewhere = fs::read_to_string(dir.0.join("moved-to")).ok();
    if let Some(elsewhere) = &elsewhere {
        assert!(server.notes[0].contains(elsewhere.trim()), "{:?}", server.notes);
    } else {
        assert_eq!(server.notes, Vec::<String>::new());
    }
    execute(&server, "CREATE TABLE kept AS SELECT 5 AS number")?;
    server.stop()?;

    let server = dir.start()?;
    assert_eq!(ask::<i32>(&server, "SELECT number FROM kept")?, 5);
    server.stop()?;
    drop(dir);
    assert!(elsewhere.is_none_or(|elsewhere| !Path::new(elsewhere.trim()).exists()));
    Ok(fs::remove_dir(closed)?)
}
