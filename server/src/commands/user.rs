//! `ssvirt user create-admin`: the first administrator, since no installation comes with one.

use crate::{
    database,
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
};
use anyhow::{Context, bail};
use clap::Subcommand;
use model::user::Password;
use rand::Rng;
use std::{io::BufRead, process::ExitCode};

/// Manage users from the command line
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    CreateAdmin(CreateAdmin),
}

/// Create an administrator of the provider or of an organization
#[derive(Debug, clap::Args)]
struct CreateAdmin {
    /// The organization; System is the provider's
    #[arg(long, default_value = model::org::PROVIDER)]
    org: String,
    #[arg(long)]
    name: String,
    /// Read the password from the first line of standard input; otherwise one is made and printed once
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Command::CreateAdmin(args) = args.command;
    let settings = Settings::build(&Resolved::read(&Sources::of_this_process(args.settings)), Need::Database)?;
    let domain = database::open(&settings)?;
    if domain.store.migrations_pending().await.map_err(database::explained)? > 0 {
        bail!("the database is not up to date; run ssvirt migrate first");
    }
    let password = if args.password_stdin { read_password()? } else { random_password() };
    let created =
        domain::bootstrap::create_admin(&domain, Some(&args.org), &args.name, Password::new(password.clone())).await;
    match created {
        Ok(_) => {}
        Err(model::Error::NotFound(_)) => bail!("there is no organization {}", args.org),
        Err(error) => return Err(database::explained(error)),
    }
    domain.store.close().await;
    println!("Created {} in {}.", args.name, args.org);
    if !args.password_stdin {
        println!("Password, shown only this once: {password}");
    }
    Ok(ExitCode::SUCCESS)
}

fn read_password() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("the password could not be read from standard input")?;
    let password = line.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        bail!("standard input held no password");
    }
    Ok(password.to_owned())
}

/// 20 characters of 55, without those that look alike: 115 bits.
fn random_password() -> String {
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";
    let mut rng = rand::rng();
    (0..20).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect()
}
