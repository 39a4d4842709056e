//! `ssvirt demo`: everything on one machine with data to look at. Its passwords are known to all, so it listens on loopback only.

use super::start;
use crate::{
    database, demo,
    settings::{Need, Resolved, Secret, SettingFlags, Settings, Sources},
    shutdown::Shutdown,
    tls,
};
use anyhow::Context;
use base64::Engine;
use domain::Domain;
use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Run a demonstration with its own PostgreSQL and data to look at
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the demo keeps everything: database, certificate, secret
    #[arg(long, value_name = "DIR", default_value = ".ssvirt")]
    data_dir: PathBuf,
    /// How long each step of a simulated hub takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 500)]
    sim_delay: u64,
    /// Make so many more organizations, with users, VDCs and history, for benchmarks; 1 makes none
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seed_scale: u32,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let shutdown = Shutdown::default();
    shutdown.listen_for_signals(true)?;
    let dir = &args.data_dir;
    // open to walk through, not to look into: as root, PostgreSQL runs under another account
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(dir)
        .with_context(|| format!("{} cannot be made", dir.display()))?;

    let mut sources = Sources::of_this_process(args.settings)
        .with_default("api.http", "localhost:8080")
        .with_default("api.https", "localhost:8443")
        .with_default("log.format", "pretty")
        .with_default("images.directory", dir.join("images").to_string_lossy())
        // clients' own test suites make users with passwords that are easy to guess
        .with_default("auth.password_min", "8")
        .with_default("auth.password_rules", "length")
        // so that one can watch a lease run out
        .with_default("leases.minimum", "1s")
        // anything, as without a list, and this machine besides: simulated hubs are on it
        .with_default("hubs.allow", "0.0.0.0/0, ::/0, 127.0.0.0/8, ::1")
        .with_default("hubs.ports", "any");
    let own_certificate = |key| Resolved::read(&sources).get(key).is_none_or(|found| found.text.is_none());
    if own_certificate("api.tls_cert_file") && own_certificate("api.tls_key_file") {
        let files = tls::self_signed(dir, domain::system_clock()())?;
        sources = sources
            .with_default("api.tls_cert_file", files.cert.to_string_lossy())
            .with_default("api.tls_key_file", files.key.to_string_lossy());
    }
    sources = sources.with_default("auth.secret", secret(dir)?.expose());
    let mut settings = Settings::build(&Resolved::read(&sources), Need::Nothing)?;
    crate::telemetry::start(&settings.log);

    // the sockets first: a port in use is known before a database is started
    let sockets = start::Sockets::open(&settings, &shutdown).await?;
    let postgres = match settings.database.url {
        Some(_) => None,
        None => Some(start_postgres(dir.join("postgres")).await?),
    };
    if let Some(postgres) = &postgres {
        settings.database.url = Some(Secret::new(postgres.url.clone()));
    }
    let hubs = demo::hubs::start(&dir.join("hubs"), Duration::from_millis(args.sim_delay)).await?;
    let result =
        if shutdown.has_begun() { Ok(()) } else { serve(settings, sockets, shutdown, args.seed_scale, &hubs).await };
    hubs.stop().await;
    if let Some(postgres) = postgres {
        tokio::task::spawn_blocking(|| postgres.stop()).await??;
    }
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(
    settings: Settings,
    sockets: start::Sockets,
    shutdown: Shutdown,
    seed_scale: u32,
    hubs: &demo::hubs::Simulated,
) -> anyhow::Result<()> {
    let welcome = welcome(&sockets);
    let ended = shutdown.clone();
    let seed_and_say_so = async |domain: &Domain| {
        tokio::select! {
            () = ended.begun() => return Ok(()),
            seeded = seed(domain, seed_scale, hubs) => seeded?,
        }
        println!("{welcome}");
        Ok(())
    };
    start::serve(settings, sockets, shutdown, false, Some(hubs.switches()), seed_and_say_so).await
}

async fn seed(domain: &Domain, scale: u32, hubs: &demo::hubs::Simulated) -> anyhow::Result<()> {
    let made = async {
        hubs.register(domain).await?;
        demo::seed::run(domain).await?;
        demo::storage::run(domain).await?;
        demo::networks::run(domain).await?;
        demo::media::run(domain).await?;
        demo::machines::run(domain).await?;
        demo::scale::run(domain, scale).await
    };
    made.await.map_err(database::explained).context("the demo's data could not be made")
}

async fn start_postgres(dir: PathBuf) -> anyhow::Result<private_postgres::Server> {
    let start = move || private_postgres::Server::start(&dir, &private_postgres::Options::default());
    let server = tokio::task::spawn_blocking(start).await?.context("the demo's PostgreSQL could not be started")?;
    for note in &server.notes {
        tracing::info!("{note}");
    }
    Ok(server)
}

/// The demo's master secret: random, made once, readable by its owner only.
fn secret(dir: &Path) -> anyhow::Result<Secret> {
    let path = dir.join("secret");
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(Secret::new(text.trim())),
        _ => {
            let text = base64::engine::general_purpose::STANDARD.encode(rand::random::<[u8; 32]>());
            tls::write_private(&path, &text)?;
            Ok(Secret::new(text))
        }
    }
}

fn welcome(sockets: &start::Sockets) -> String {
    let mut lines = vec![String::new(), "SSVirt is ready".to_owned()];
    for (scheme, address) in sockets.addresses().filter(|(_, address)| address.is_ipv4() || !address.ip().is_loopback())
    {
        let host = if address.ip().is_loopback() || address.ip().is_unspecified() {
            "localhost".to_owned()
        } else {
            address.ip().to_string()
        };
        let note = if scheme == "https" { "  (its certificate is self-signed)" } else { "" };
        lines.push(format!("  {scheme}://{host}:{}{note}", address.port()));
    }
    lines.push(String::new());
    lines.push(format!("  {:14}{:16}{:16}{}", "Organization", "User", "Password", "Role"));
    for u in demo::seed::USERS {
        lines.push(format!("  {:14}{:16}{:16}{}", u.org, u.name, demo::PASSWORD, u.role.name()));
    }
    lines.push(String::new());
    lines.push("  Ctrl-C stops it; the data stay for the next start".to_owned());
    lines.join("\n")
}
