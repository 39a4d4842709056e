//! `ssvirt start controller`: the reconcilers alone, beside servers that run elsewhere on the same database.

use super::hub::{of_file, read};
use crate::{
    database, listen,
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
    shutdown::Shutdown,
};
use anyhow::Context;
use clap::Subcommand;
use domain::{Domain, hub, probe};
use model::{
    Actor, HubId,
    hub::{HubSpec, HubType},
};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Start a part of SSVirt by itself
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Controller(Controller),
}

/// Bring hubs to what was asked for, without serving anything
#[derive(Debug, clap::Args)]
struct Controller {
    #[command(flatten)]
    hub: VmaasHub,
    /// Taken and not used: the controller works on the database
    #[arg(long, value_name = "ADDRESS")]
    grpc_server_address: Option<String>,
    /// Taken and not used: the controller works on the database
    #[arg(long, alias = "token-file", value_name = "FILE")]
    grpc_token_file: Option<PathBuf>,
    /// Taken and not used: the controller works on the database
    #[arg(long, alias = "ca-file", value_name = "FILE")]
    grpc_ca_file: Option<PathBuf>,
    /// Taken and not used; the certificates of hubs are always checked
    #[arg(long)]
    grpc_server_insecure: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

/// A hub for VMs that is registered at the start, or given its new kubeconfig
#[derive(Debug, clap::Args)]
pub(super) struct VmaasHub {
    /// Register the hub of this kubeconfig at the start; without it none is registered
    #[arg(long, value_name = "FILE", default_value = "")]
    vmaas_hub_kubeconfig: String,
    /// Where SSVirt keeps its own objects on that hub
    #[arg(long, value_name = "NAME", default_value = "vmaas-system")]
    vmaas_hub_namespace: String,
    /// What that hub is called
    #[arg(long, value_name = "ID", default_value = "vmaas-primary")]
    vmaas_hub_id: String,
}

impl VmaasHub {
    /// The file is read before anything is started; an empty name means none.
    pub(super) fn read(&self) -> anyhow::Result<Option<String>> {
        let file = Path::new(&self.vmaas_hub_kubeconfig);
        if self.vmaas_hub_kubeconfig.is_empty() {
            return Ok(None);
        }
        let text = read(file)?;
        ::hub::kubeconfig::parse(&text).map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?;
        Ok(Some(text))
    }

    /// What of the file is in use then, which is what `follow` begins with. A kubeconfig that a hub that is there can't be
    /// worked with stops no start: the old one stays, and it is tried again.
    pub(super) async fn register(&self, domain: &Domain, kubeconfig: Option<String>) -> anyhow::Result<Option<String>> {
        let Some(kubeconfig) = kubeconfig else { return Ok(None) };
        let operator = domain::bootstrap::operator(domain).await.map_err(database::explained)?;
        let spec = HubSpec {
            id: self.vmaas_hub_id.clone(),
            namespace: self.vmaas_hub_namespace.clone(),
            hub_type: HubType::Vmaas,
            ..HubSpec::default()
        };
        let (id, file) = (HubId(spec.id.clone()), Path::new(&self.vmaas_hub_kubeconfig));
        match hub::register_or_update(domain, &operator, spec, &kubeconfig, false).await {
            Ok(_) => Ok(Some(kubeconfig)),
            Err(e) if e.fields().iter().any(|f| f.field == "kubeconfig") && is_there(domain, &operator, &id).await => {
                let why = of_file(file, e).to_string();
                tracing::warn!(hub_id = %id, error = why, "{NOT_USED}");
                Ok(Some(String::new()))
            }
            Err(e) => Err(of_file(file, e)).context("the hub could not be registered"),
        }
    }

    /// Looks at the file now and then: a mounted Secret changes without a restart. What it holds by then is tried, and
    /// takes the place of the old one if the hub answers.
    pub(super) async fn follow(self, domain: Domain, known: Option<String>) {
        let Some(mut known) = known else { return };
        let (file, id) = (PathBuf::from(&self.vmaas_hub_kubeconfig), HubId(self.vmaas_hub_id.clone()));
        let mut said = String::new();
        loop {
            tokio::time::sleep(FOLLOW).await;
            // a file that is being replaced may be away for a moment
            let Ok(text) = tokio::fs::read_to_string(&file).await else { continue };
            if text == known {
                continue;
            }
            match self.take(&domain, &id, &text).await {
                Ok(()) => {
                    tracing::info!(hub_id = %id, file = %file.display(), "the hub's new kubeconfig is in use");
                    (known, said) = (text, String::new());
                }
                Err(error) => {
                    let why = of_file(&file, error).to_string();
                    if why != said {
                        tracing::warn!(hub_id = %id, error = why, "{NOT_USED}");
                    }
                    said = why;
                }
            }
        }
    }

    async fn take(&self, domain: &Domain, id: &HubId, kubeconfig: &str) -> model::Result<()> {
        let operator = domain::bootstrap::operator(domain).await?;
        // another replica that follows the same file may have been quicker
        if !hub::has_credential(domain, &operator, id, kubeconfig).await? {
            probe::change_credential(domain, &operator, id, kubeconfig, hub::Trust::Operator, false).await?;
        }
        Ok(())
    }
}

const NOT_USED: &str = "the hub's new kubeconfig is not used, the old one stays";

async fn is_there(domain: &Domain, operator: &Actor, id: &HubId) -> bool {
    hub::get(domain, operator, id).await.is_ok()
}

/// How often the file of a kubeconfig is looked at.
const FOLLOW: Duration = Duration::from_secs(3);

/// The hub that the settings name becomes the default one: now, or as soon as it is registered, wherever that is done.
pub(super) async fn set_default(domain: &Domain, settings: &Settings) -> anyhow::Result<()> {
    let Some(id) = settings.hubs.default.clone().map(HubId) else { return Ok(()) };
    if make_default(domain, &id).await.map_err(database::explained)? {
        return Ok(());
    }
    tracing::warn!(hub_id = %id, "hubs.default names a hub that is not registered yet");
    let domain = domain.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(FOLLOW).await;
            match make_default(&domain, &id).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => tracing::debug!(hub_id = %id, %error, "the default hub could not be set"),
            }
        }
        tracing::info!(hub_id = %id, "the hub that hubs.default names is registered, and is the default one");
    });
    Ok(())
}

/// False: it is not registered.
async fn make_default(domain: &Domain, id: &HubId) -> model::Result<bool> {
    let operator = domain::bootstrap::operator(domain).await?;
    match hub::set(domain, &operator, id, |h| HubSpec { is_default: true, ..h }).await {
        Ok(_) => Ok(true),
        Err(model::Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Command::Controller(args) = args.command;
    let kubeconfig = args.hub.read()?;
    let resolved = Resolved::read(&Sources::of_this_process(args.settings));
    let settings = Settings::build(&resolved, Need::Database)?;
    crate::telemetry::start(&settings.log);
    for warning in &resolved.warnings {
        tracing::warn!("{warning}");
    }
    for (flag, given) in [
        ("--grpc-server-address", args.grpc_server_address.is_some()),
        ("--grpc-token-file", args.grpc_token_file.is_some()),
        ("--grpc-ca-file", args.grpc_ca_file.is_some()),
        ("--grpc-server-insecure", args.grpc_server_insecure),
    ] {
        if given {
            tracing::info!(flag, "not used: the controller works on the database");
        }
    }
    let shutdown = Shutdown::default();
    shutdown.listen_for_signals(false)?;
    crate::metrics::recorder();
    let sockets = match &settings.controller_http {
        Some(http) => listen::open(http, None).await?,
        None => Vec::new(),
    };
    let domain = database::open(&settings)?;
    let vault = domain.vault.clone().context("auth.secret is not set; kubeconfigs are sealed with it")?;
    tokio::select! {
        () = shutdown.begun() => return Ok(ExitCode::SUCCESS),
        migrated = database::migrate(&domain.store) => migrated?,
    }
    let kubeconfig = args.hub.register(&domain, kubeconfig).await?;
    set_default(&domain, &settings).await?;
    let following = tokio::spawn(args.hub.follow(domain.clone(), kubeconfig));
    let follower = tokio::spawn({
        let store = domain.store.clone();
        async move { store.follow_changes().await }
    });
    let config = work::Config {
        store: domain.store.clone(),
        vault,
        gate: domain.gate.clone(),
        clock: domain.clock.clone(),
        template_namespaces: settings.hubs.template_namespaces.clone(),
        image_namespaces: settings.hubs.image_namespaces.clone(),
        times: work::drill::times(),
    };
    let controller = work::Controller::start_with(config, domain.area.clone());
    for socket in &sockets {
        tracing::info!(address = format!("http://{}/metrics", socket.address), "listening");
    }
    tracing::info!("the controller runs");
    let numbers = crate::metrics::of_controller(domain.store.clone());
    let listening = listen::serve(sockets, numbers, &settings.limits, shutdown.clone(), settings.shutdown_grace);
    let (served, ()) = tokio::join!(listening, shutdown.begun());
    following.abort();
    controller.stop().await;
    follower.abort();
    domain.store.close().await;
    tracing::info!("stopped");
    served.map(|()| ExitCode::SUCCESS)
}
