//! `ssvirt idp`: the identity provider that users of an organization sign in by.

use crate::{
    database, oidc,
    settings::{Need, Resolved, SettingFlags, Settings, Sources, group_role},
};
use anyhow::{Context, bail, ensure};
use clap::Subcommand;
use domain::{
    Domain,
    idp::{self, ClientSecret},
};
use model::{
    Actor,
    idp::{GROUPS_CLAIM, IdpSpec, SCOPES},
    org::PROVIDER,
};
use std::{io::BufRead, process::ExitCode};

/// Set, show or remove the identity provider of an organization
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Set(Set),
    /// Show the identity provider of an organization, but for its secret
    Show(Which),
    /// Remove the identity provider of an organization; users that it vouched for stay, but can't sign in
    Remove(Which),
}

/// Let users of an organization sign in by an OpenID Connect provider; see docs/SIGN-IN.md
#[derive(Debug, clap::Args)]
struct Set {
    /// The organization; System is the provider's
    #[arg(long)]
    org: String,
    /// The provider's address, exactly as it names itself: https://login.example.com/realms/acme
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// What the provider calls this installation
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// Read the client's secret from the first line of standard input; without this the one set before stays
    #[arg(long)]
    client_secret_stdin: bool,
    /// A group and the role it gives; may be given several times. Other groups give nothing
    #[arg(long = "group", value_name = "GROUP=ROLE", value_parser = group_role)]
    groups: Vec<(String, String)>,
    /// The role of users who are in none of the groups; without it they can't sign in
    #[arg(long, value_name = "ROLE")]
    default_role: Option<String>,
    /// The claim that holds a user's groups
    #[arg(long, value_name = "NAME", default_value = GROUPS_CLAIM)]
    groups_claim: String,
    /// What the provider is asked for, separated by spaces
    #[arg(long, value_name = "SCOPES", default_value = SCOPES)]
    scopes: String,
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The organization; System is the provider's
    #[arg(long)]
    org: String,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Set(args) => set(args).await?,
        Command::Show(args) => show(args).await?,
        Command::Remove(args) => remove(args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn set(args: Set) -> anyhow::Result<()> {
    let (settings, domain, operator) = open(args.settings, &args.org).await?;
    let sealer = oidc::sealer(&settings.auth).context("auth.secret is not set; client secrets are sealed with it")?;
    let secret = if args.client_secret_stdin { Some(read_secret()?) } else { None };
    let spec = IdpSpec {
        issuer: args.issuer,
        client_id: args.client_id,
        groups_claim: args.groups_claim,
        scopes: args.scopes,
        groups: args.groups,
        default_role: args.default_role,
    };
    let issuer = spec.issuer.clone();
    let org = &args.org;
    let changed = idp::set(&domain, &operator, &sealer, org, spec, secret).await.map_err(database::explained)?;
    domain.store.close().await;
    match changed {
        true => println!("Users of {org} can sign in by {issuer}. Sessions begun by an earlier setting have ended."),
        false => println!("Everything was set so already."),
    }
    println!("Redirect address to register there: <this installation's address>{}", oidc::CALLBACK_PATH);
    if let Err(why) = oidc::try_issuer(&issuer).await {
        eprintln!("ssvirt: {issuer} was tried from here and does not answer as it should: {why}");
    }
    Ok(())
}

async fn show(args: Which) -> anyhow::Result<()> {
    let (domain, operator) = open_to_look(args.settings).await?;
    let spec = idp::show(&domain, &operator, &args.org).await.map_err(database::explained)?;
    domain.store.close().await;
    let default_role = spec.default_role.as_deref().unwrap_or("none: who is in no listed group can't sign in");
    for (name, value) in [
        ("Organization", args.org.as_str()),
        ("Issuer", &spec.issuer),
        ("Client id", &spec.client_id),
        ("Scopes", &spec.scopes),
        ("Groups claim", &spec.groups_claim),
        ("Default role", default_role),
    ] {
        println!("{name:14}{value}");
    }
    for (group, role) in &spec.groups {
        println!("{:14}{group} = {role}", "Group");
    }
    Ok(())
}

async fn remove(args: Which) -> anyhow::Result<()> {
    let (_, domain, operator) = open(args.settings, &args.org).await?;
    idp::remove(&domain, &operator, &args.org).await.map_err(database::explained)?;
    domain.store.close().await;
    println!("{} has no identity provider any more. Users that it vouched for stay, but can't sign in.", args.org);
    Ok(())
}

/// For changing something: what the settings say is theirs to change.
async fn open(flags: SettingFlags, org: &str) -> anyhow::Result<(Settings, Domain, Actor)> {
    let settings = Settings::build(&Resolved::read(&Sources::of_this_process(flags)), Need::Database)?;
    ensure!(
        settings.auth.oidc.is_none() || !org.eq_ignore_ascii_case(PROVIDER),
        "the identity provider of {PROVIDER} is set by the settings auth.oidc_*: change it there"
    );
    let (domain, operator) = connect(&settings).await?;
    Ok((settings, domain, operator))
}

async fn open_to_look(flags: SettingFlags) -> anyhow::Result<(Domain, Actor)> {
    connect(&Settings::build(&Resolved::read(&Sources::of_this_process(flags)), Need::Database)?).await
}

async fn connect(settings: &Settings) -> anyhow::Result<(Domain, Actor)> {
    let domain = database::open(settings)?;
    if domain.store.migrations_pending().await.map_err(database::explained)? > 0 {
        bail!("the database is not up to date; run ssvirt migrate first");
    }
    let operator = domain::bootstrap::operator(&domain).await.map_err(database::explained)?;
    Ok((domain, operator))
}

fn read_secret() -> anyhow::Result<ClientSecret> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("the secret could not be read from standard input")?;
    let secret = line.trim_end_matches(['\r', '\n']);
    ensure!(!secret.is_empty(), "standard input held no secret");
    Ok(ClientSecret::new(secret))
}
