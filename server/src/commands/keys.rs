//! `ssvirt keys`: which keys secrets are sealed with, and changing them while replicas run.

use crate::{
    database, oidc,
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
};
use anyhow::{Context, bail};
use clap::Subcommand;
use domain::{
    Domain,
    idp::Sealer,
    keys::{self, Keys, Rotate},
};
use model::Actor;
use std::process::ExitCode;

/// See and change the keys that secrets are sealed with
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List master secrets and data keys, and how many secrets need each
    #[command(visible_alias = "status")]
    List(List),
    /// Seal everything that auth.old_secret opens with auth.secret; may be stopped and run again
    Rotate(RotateArgs),
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct RotateArgs {
    /// Also make a new data key and seal every kubeconfig, cloud-init and parameter with it
    #[arg(long)]
    data_keys: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List(args) => list(args).await,
        Command::Rotate(args) => rotate(args).await,
    }
}

async fn list(args: List) -> anyhow::Result<ExitCode> {
    let (domain, operator, sealer) = open(args.settings).await?;
    let keys = keys::list(&domain, &operator, &sealer).await.map_err(database::explained)?;
    domain.store.close().await;
    println!("{:18} {:16} {:>9} {:>15}", "MASTER SECRET", "SET AS", "DATA KEYS", "CLIENT SECRETS");
    for m in &keys.masters {
        let name = if m.name.is_empty() { "unknown" } else { &m.name };
        println!("{name:18} {:16} {:>9} {:>15}", m.setting.unwrap_or("not set"), m.data_keys, m.client_secrets);
    }
    println!();
    println!("{:38} {:12} {:18} {:>6} {:>6} {:>6}", "DATA KEY", "MADE", "MASTER SECRET", "HUBS", "VMS", "VAPPS");
    for k in &keys.data_keys {
        let made = k.made.map_or("missing".to_owned(), |at| at.date().to_string());
        let master = if k.master.is_empty() { "unknown" } else { &k.master };
        println!("{:38} {made:12} {master:18} {:>6} {:>6} {:>6}", k.id.to_string(), k.hubs, k.vms, k.vapps);
    }
    Ok(left(&keys))
}

async fn rotate(args: RotateArgs) -> anyhow::Result<ExitCode> {
    let (domain, operator, sealer) = open(args.settings).await?;
    let how = Rotate { data_keys: args.data_keys, ..Rotate::default() };
    let progress = |so_far: &keys::Rotated| {
        let secrets = counted(so_far.secrets, "secret");
        eprintln!("so far: {}, {secrets}", sealed(so_far));
    };
    let done = keys::rotate(&domain, &operator, &sealer, how, progress).await.map_err(database::explained)?;
    let keys = keys::list(&domain, &operator, &sealer).await.map_err(database::explained)?;
    domain.store.close().await;
    println!("Sealed with the master secret {}: {}.", done.master, sealed(&done));
    if args.data_keys {
        let which = match done.new_data_key {
            Some(id) => format!("the new data key {id}"),
            None => "the data key of an earlier run".to_owned(),
        };
        println!("Sealed with {which}: {}.", counted(done.secrets, "secret"));
        println!("Left on older data keys: {}.", keys.on_older_keys());
    }
    println!("Left on an older master secret: {}.", keys.behind());
    Ok(left(&keys))
}

/// "1 data key, 2 client secrets".
fn sealed(r: &keys::Rotated) -> String {
    format!("{}, {}", counted(r.data_keys, "data key"), counted(r.client_secrets, "client secret"))
}

fn counted(n: i64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// What can't be opened makes the exit code 1.
fn left(keys: &Keys) -> ExitCode {
    let lost = keys.lost();
    for line in &lost {
        eprintln!("ssvirt: {line}");
    }
    if lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn open(flags: SettingFlags) -> anyhow::Result<(Domain, Actor, Sealer)> {
    let settings = Settings::build(&Resolved::read(&Sources::of_this_process(flags)), Need::Database)?;
    let sealer = oidc::sealer(&settings.auth).context("auth.secret is not set; secrets are sealed with it")?;
    let domain = database::open(&settings)?;
    if domain.store.migrations_pending().await.map_err(database::explained)? > 0 {
        bail!("the database is not up to date; run ssvirt migrate first");
    }
    let operator = domain::bootstrap::operator(&domain).await.map_err(database::explained)?;
    Ok((domain, operator, sealer))
}
