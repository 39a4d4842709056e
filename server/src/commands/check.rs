//! `ssvirt check`: every setting, its value, where it came from, and what is wrong.

use crate::{
    database, oidc,
    settings::{self, Need, Resolved, Secret, SettingFlags, Settings, Sources},
    tls,
};
use domain::{Domain, Store, keys};
use model::Actor;
use std::process::ExitCode;

/// Show every setting, its value and source, and try what they lead to
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print the documentation of all settings and do nothing else
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.markdown {
        print!("{}", settings::markdown());
        return Ok(ExitCode::SUCCESS);
    }
    let resolved = Resolved::read(&Sources::of_this_process(args.settings));
    println!("Settings\n{}", settings::print(&resolved));
    let mut problems = Vec::new();
    let mut warnings = resolved.warnings.clone();
    let settings = match Settings::build(&resolved, Need::Serve) {
        Ok(settings) => {
            certificate(&settings, &mut problems, &mut warnings);
            Some(settings)
        }
        Err(settings::Problems(wrong)) => {
            problems.extend(wrong);
            None
        }
    };
    // whatever else is wrong, it helps to know whether the database is
    if let Some(url) = resolved.database_url() {
        match (database(&url).await, settings) {
            (Some(wrong), _) => problems.push(wrong),
            (None, Some(settings)) => contents(&settings, &mut problems, &mut warnings).await,
            (None, None) => {}
        }
    }
    list("Warnings", &warnings);
    list("Problems", &problems);
    if problems.is_empty() {
        println!("Nothing is wrong.");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn certificate(settings: &Settings, problems: &mut Vec<String>, warnings: &mut Vec<String>) {
    let Some(files) = &settings.api.tls else { return };
    if let Err(error) = tls::load(files) {
        problems.push(format!("{error:#}"));
        return;
    }
    let now = domain::system_clock()();
    match tls::expiry(&files.cert) {
        Ok(end) if end < now => problems.push(format!("{} ended on {}", files.cert.display(), end.date())),
        Ok(end) if end < now + time::Duration::days(14) => {
            warnings.push(format!("{} ends soon, on {}", files.cert.display(), end.date()));
        }
        Ok(_) => {}
        Err(error) => problems.push(format!("{error:#}")),
    }
}

/// Tries the database: does it answer, is it new enough, is it migrated?
async fn database(url: &Secret) -> Option<String> {
    let store = match Store::open(url.expose(), 1) {
        Ok(store) => store,
        Err(error) => return Some(format!("database.url cannot be used: {}", database::explained(error))),
    };
    let version = match store.postgres_version().await {
        Ok(version) => version,
        Err(model::Error::Unavailable(_)) => {
            return Some(
                "the database does not answer within 3 seconds; is its address right, and does it run?".into(),
            );
        }
        Err(error) => return Some(format!("the database cannot be used: {}", database::explained(error))),
    };
    if version < store::OLDEST_POSTGRES {
        return Some(format!("the database is PostgreSQL {version}, but must be {} or later", store::OLDEST_POSTGRES));
    }
    let pending = match store.refuse_newer().await {
        Ok(()) => store.migrations_pending().await,
        Err(error) => Err(error),
    };
    store.close().await;
    match pending {
        Ok(0) => {
            println!("Database\n  PostgreSQL {version}, reachable and up to date\n");
            None
        }
        Ok(n) => Some(format!("the database lacks {n} migrations; run ssvirt migrate")),
        Err(error) => Some(format!("the database cannot be used: {}", database::explained(error))),
    }
}

/// Tries what the database holds with these settings.
async fn contents(settings: &Settings, problems: &mut Vec<String>, warnings: &mut Vec<String>) {
    let tried = async {
        let domain = database::open(settings)?;
        let operator = domain::bootstrap::operator(&domain).await.map_err(database::explained)?;
        keys(settings, &domain, &operator, problems, warnings).await.map_err(database::explained)?;
        domain.store.close().await;
        anyhow::Ok(())
    };
    let tried: anyhow::Result<()> = tried.await;
    if let Err(error) = tried {
        problems.push(format!("what the database holds cannot be checked: {error:#}"));
    }
}

/// Can every secret be opened, and is a change of the master secret left half done?
async fn keys(
    settings: &Settings,
    domain: &Domain,
    operator: &Actor,
    problems: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> model::Result<()> {
    let Some(sealer) = oidc::sealer(&settings.auth) else { return Ok(()) };
    let keys = keys::list(domain, operator, &sealer).await?;
    problems.extend(keys.lost());
    match keys.behind() {
        0 if settings.auth.old_secret.is_some() => {
            warnings.push("nothing needs auth.old_secret any more; take it out of the settings".to_owned());
        }
        0 => {}
        n => warnings.push(format!(
            "{n} data keys and client secrets are sealed with auth.old_secret; run ssvirt keys rotate, and take it out then"
        )),
    }
    Ok(())
}

fn list(title: &str, lines: &[String]) {
    if !lines.is_empty() {
        println!("{title}");
        for line in lines {
            println!("  {line}");
        }
        println!();
    }
}
