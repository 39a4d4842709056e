//! The data directory: made whole or not at all, and never deleted.
use crate::{
    account::{Account, command, give},
    binaries::{Binaries, find},
    home::Home,
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

/// The superuser and the database of every private server.
pub(crate) const NAME: &str = "ssvirt";

/// What data are called, followed by our process's number, until they are whole.
const NEW: &str = "data.new-";

/// Byte order for sorting, Unicode for upper and lower case; macOS has no such locale.
const LOCALE: &str = if cfg!(target_os = "linux") { "C.UTF-8" } else { "en_US.UTF-8" };

/// The programs for the data in `home`; the data are made if there are none.
pub(crate) fn prepare(home: &Home, durable: bool, notes: &mut Vec<String>) -> Result<Binaries> {
    let data = home.data();
    let mut unfinished: Vec<PathBuf> = fs::read_dir(&home.dir)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NEW)))
        .collect();
    if data.exists() && !is_whole(&data) {
        unfinished.push(data.clone());
    }
    for dir in &unfinished {
        let aside = move_aside(dir)?;
        notes.push(format!("An earlier set-up of PostgreSQL was interrupted; what it left is in {}.", aside.display()));
    }
    if data.exists() {
        let binaries = for_existing(&data)?;
        let binaries = within_reach(binaries, home)?;
        if home.password().is_none() {
            let password = home.new_password()?;
            single_user(&binaries, home, &data, &format!("ALTER ROLE {NAME} PASSWORD '{password}'"))?;
            notes.push("PostgreSQL's password file was missing; there is a new password now.".to_owned());
        }
        return Ok(binaries);
    }
    let binaries = within_reach(find(None)?, home)?;
    create(&binaries, home, durable)?;
    Ok(binaries)
}

/// initdb writes PG_VERSION first and the control file last but one.
fn is_whole(data: &Path) -> bool {
    data.join("PG_VERSION").exists() && data.join("global/pg_control").exists()
}

fn move_aside(dir: &Path) -> Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut aside = dir.with_file_name(format!("unfinished-{seconds}"));
    while aside.exists() {
        aside.as_mut_os_string().push("x");
    }
    fs::rename(dir, &aside).with_context(|| format!("{} cannot be moved aside", dir.display()))?;
    Ok(aside)
}

fn for_existing(data: &Path) -> Result<Binaries> {
    let version = fs::read_to_string(data.join("PG_VERSION"))?;
    let major: u32 =
        version.trim().parse().with_context(|| format!("{} is no data directory of ours", data.display()))?;
    find(Some(major)).with_context(|| {
        format!(
            "The data in {} were made by PostgreSQL {major} and need it again. Install PostgreSQL {major} \
             (or name its directory: SSVIRT_PG_BIN=/path/to/bin); or keep them for later and start with empty data: mv {} {}.old",
            data.display(),
            data.display(),
            data.display()
        )
    })
}

fn create(binaries: &Binaries, home: &Home, durable: bool) -> Result<()> {
    // With a name of its own: the initdb of a killed run may still be writing under the old one.
    let (data, new) = (home.data(), home.dir.join(format!("{NEW}{}", std::process::id())));
    home.make_private(&new)?;
    home.new_password()?;
    let mut initdb = command(&binaries.dir.join("initdb"), &home.dir, home.account);
    initdb.arg("--pgdata").arg(&new).arg("--pwfile").arg(home.password_file());
    initdb.args([
        "--username",
        NAME,
        "--auth",
        "scram-sha-256",
        "--encoding",
        "UTF8",
        "--locale",
        LOCALE,
        "--no-instructions",
    ]);
    if !durable {
        initdb.arg("--no-sync");
    }
    succeed(&mut initdb, "", "initdb")?;
    single_user(binaries, home, &new, &format!("CREATE DATABASE {NAME}"))?;
    fs::rename(&new, &data)?;
    if durable {
        File::open(&home.dir)?.sync_all()?;
    }
    Ok(())
}

/// Runs one statement without a server: no client is needed, and nobody else can connect meanwhile.
fn single_user(binaries: &Binaries, home: &Home, data: &Path, statement: &str) -> Result<()> {
    let mut postgres = command(&binaries.dir.join("postgres"), &home.dir, home.account);
    postgres.arg("--single").arg("-D").arg(data).args(["-c", "exit_on_error=on", "postgres"]);
    succeed(&mut postgres, statement, "postgres --single")
}

fn succeed(command: &mut Command, input: &str, name: &str) -> Result<()> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{name} could not be started"))?;
    writeln!(child.stdin.take().context("no input")?, "{input}").or_else(|error| {
        // It may have ended without reading; its own message says more.
        if error.kind() == std::io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
    })?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{name} failed, {}:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// The npm package may lie where root's other account cannot get at it: then it is copied to where the data are.
fn within_reach(binaries: Binaries, home: &Home) -> Result<Binaries> {
    let Some(account) = home.account.filter(|account| !account.can_reach(&binaries.dir)) else {
        return Ok(binaries);
    };
    let Some(native) = binaries.dir.parent().filter(|native| native.ends_with("native")) else {
        bail!("PostgreSQL in {} cannot be run by an account other than root.", binaries.dir.display());
    };
    let copy = home.dir.join(format!("postgresql-{}", binaries.major));
    let dir = copy.join("bin");
    if !copy.exists() {
        let new = copy.with_extension("new");
        if new.exists() {
            fs::remove_dir_all(&new)?;
        }
        copy_tree(native, &new, account)?;
        fs::rename(&new, &copy)?;
    }
    Ok(Binaries { dir, major: binaries.major })
}

fn copy_tree(from: &Path, to: &Path, account: Account) -> Result<()> {
    fs::create_dir_all(to)?;
    give(to, Some(account))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target, account)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            give(&target, Some(account))?;
        }
    }
    Ok(())
}
