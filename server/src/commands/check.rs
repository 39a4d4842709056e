//! `ssvirt check`: every setting, its value, where it came from, and what is wrong.

use crate::{
    database, oidc,
    settings::{self, Need, Resolved, Secret, SettingFlags, Settings, Sources},
    tls,
};
use domain::{Domain, Store, hub, keys, probe};
use model::{
    Actor, OrgId,
    hub::{CheckState, Hub},
    org::PROVIDER,
};
use std::process::ExitCode;
use time::OffsetDateTime;
use uuid::Uuid;

/// From then on the end of a certificate or credential is worth a word.
const SOON: time::Duration = time::Duration::days(14);

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
        match warnings.is_empty() {
            true => println!("Nothing is wrong."),
            false => println!("Nothing is wrong, but for the warnings above."),
        }
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
        Ok(end) if end < now + SOON => {
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
        // it only looks, so nothing is recorded under its name
        let operator = Actor::operator(OrgId(Uuid::nil()), PROVIDER);
        keys(settings, &domain, &operator, problems, warnings).await.map_err(database::explained)?;
        hubs(&domain, &operator, problems, warnings).await.map_err(database::explained)?;
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

/// Asks every hub, all at once: does it answer, and until when are its credentials good?
async fn hubs(
    domain: &Domain,
    operator: &Actor,
    problems: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> model::Result<()> {
    let hubs = hub::list(domain, operator).await?;
    if hubs.is_empty() {
        warnings.push(
            "no hub is registered, so nothing can be deployed; ssvirt hub register ID --kubeconfig FILE registers one"
                .into(),
        );
        return Ok(());
    }
    println!("Hubs");
    let asked = hubs.iter().map(|h| async move { (h, probe::registered(domain, operator, &h.id).await) });
    for (h, told) in futures::future::join_all(asked).await {
        let (line, next_step) = match &told {
            Ok(found) if found.answers => ("reachable".to_owned(), String::new()),
            Ok(found) => match found.failed() {
                Some(check) => (format!("not reachable: {}", check.detail), check.what_to_do.clone()),
                None => ("not reachable".to_owned(), String::new()),
            },
            Err(error) => (format!("can't be asked: {}", plain(error)), String::new()),
        };
        println!("  {:20} {line}", h.id.0);
        if !next_step.is_empty() {
            println!("  {:20} To do: {next_step}", "");
        }
        if !told.as_ref().is_ok_and(|found| found.answers) {
            problems.push(format!("hub {}: {line} {next_step}", h.id).trim_end().to_owned());
        }
        let failed = told.iter().flat_map(|found| &found.checks).filter(|c| c.state == CheckState::Failed);
        for check in failed.filter(|_| told.as_ref().is_ok_and(|found| found.answers)) {
            warnings.push(format!("hub {}: {}: {} {}", h.id, check.title, check.detail, check.what_to_do));
        }
        println!("  {:20} {}", "", credential(h, domain.now(), warnings));
    }
    println!();
    Ok(())
}

/// Until when the credential of a hub is good, with a warning while that is soon.
fn credential(h: &Hub, now: OffsetDateTime, warnings: &mut Vec<String>) -> String {
    let Some(end) = h.credential_expires_at else { return "its credential names no end".to_owned() };
    let (line, soon) = match end {
        end if end <= now => (format!("its credential ended on {}", end.date()), true),
        end => (format!("its credential is good until {}", end.date()), h.credential_ends_soon(now).is_some()),
    };
    if soon {
        let renew = format!("ssvirt hub set {} --kubeconfig FILE gives it a newer one", h.id);
        warnings.push(format!("hub {}: {line}; {renew}", h.id));
    }
    line
}

/// With the cause of an internal error.
fn plain(error: &model::Error) -> String {
    match error {
        model::Error::Internal(cause) => cause.clone(),
        error => error.fields().first().map_or_else(|| error.to_string(), |field| field.message.clone()),
    }
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
