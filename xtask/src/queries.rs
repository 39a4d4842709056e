//! `.sqlx` describes every checked query, so that the code compiles without a database. It is made anew on a real one.
use crate::{
    command::{cargo, run},
    postgres,
};
use anyhow::{Context, Result, bail};
use sqlx::{Connection, PgConnection, migrate::Migrator};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
    time::SystemTime,
};

const COMMITTED: &str = ".sqlx";
/// The only crate that knows SQL.
const CRATE: &str = "store";
const CRATE_ROOT: &str = "crates/store/src/lib.rs";

pub(crate) fn describe() -> Result<()> {
    let server = postgres::for_tests()?;
    let made = make(&server.url)?;
    postgres::end(server)?;
    fs::create_dir_all(COMMITTED)?;
    for name in read(Path::new(COMMITTED))?.keys().filter(|name| !made.contains_key(*name)) {
        fs::remove_file(Path::new(COMMITTED).join(name))?;
    }
    for (name, text) in &made {
        fs::write(Path::new(COMMITTED).join(name), text)?;
    }
    println!("{} queries are described in {COMMITTED}", made.len());
    Ok(())
}

pub(crate) fn check(database_url: &str) -> Result<()> {
    let (made, committed) = (make(database_url)?, read(Path::new(COMMITTED))?);
    let differing: Vec<&String> = made
        .keys()
        .chain(committed.keys().filter(|name| !made.contains_key(*name)))
        .filter(|name| made.get(*name) != committed.get(*name))
        .collect();
    if !differing.is_empty() {
        bail!("{COMMITTED} does not describe the queries as they are; `make sqlx` mends it. Differing: {differing:?}");
    }
    println!("{} queries are described rightly", made.len());
    Ok(())
}

/// Every query's description by its file name, from compiling the crate against a database with our migrations.
fn make(database_url: &str) -> Result<BTreeMap<String, String>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut connection = PgConnection::connect(database_url).await?;
        Migrator::new(Path::new("migrations")).await?.run(&mut connection).await?;
        connection.close().await
    })?;
    let dir = std::env::current_dir()?.join("target/sqlx");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    // Cargo must think that the crate has changed, and only now.
    let root = File::options().write(true).open(CRATE_ROOT)?;
    let changed = root.metadata()?.modified()?;
    root.set_modified(SystemTime::now())?;
    let compiled = run(cargo()
        .args(["check", "--package", CRATE, "--all-targets"])
        .env("DATABASE_URL", database_url)
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", &dir));
    root.set_modified(changed)?;
    compiled?;
    read(&dir)
}

fn read(dir: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file name is not UTF-8")?;
        files.insert(name, fs::read_to_string(entry.path())?);
    }
    Ok(files)
}
