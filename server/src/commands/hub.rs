//! `ssvirt hub`: hubs from the command line. An address that the operator names needs no leave of `hubs.allow`.

use crate::{
    database,
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
};
use ::hub::{Client, address::Gate, client::Options, kubeconfig};
use anyhow::{Context, bail};
use clap::Subcommand;
use domain::{
    Domain, catalog, difference,
    hub::{self, Trust},
    network, probe, vdc,
};
use model::{
    Action, Actor, HubId,
    hub::{Capability, CheckState, Hub, HubCheck, HubSpec, HubType},
    list::{ListQuery, TEMPLATES, VDCS},
    quota::Measure,
    template::{Template, TemplateVm},
};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Register, check and change hubs, the clusters that VMs run on
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all hubs
    List(Only),
    /// Try a hub by a kubeconfig or by its id, and say what is wrong with it
    Check(Check),
    /// Register a hub
    Register(Register),
    /// Change a hub; what is not given stays
    Set(Set),
    /// Place nothing new on a hub; what runs goes on
    Cordon(One),
    /// Open a cordoned hub for new VMs
    Uncordon(One),
    /// Forget a hub that has no VMs; on the hub itself nothing is touched
    Delete(One),
    /// Give up a hub that is lost for ever: everything on it is gone here, with what it used
    Abandon(One),
    /// Say which hub a VM of this size would go to, and why not the others
    Explain(Explain),
}

#[derive(Debug, clap::Args)]
struct Only {
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct One {
    id: String,
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct Check {
    #[arg(required_unless_present = "kubeconfig", conflicts_with = "kubeconfig")]
    id: Option<String>,
    /// A kubeconfig that is not registered yet
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct Register {
    id: String,
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Where SSVirt keeps its own objects on the hub
    #[arg(long, default_value = "vmaas-system")]
    namespace: String,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct Set {
    id: String,
    /// Replaces the kubeconfig. It is tried first; if the hub does not answer, is another cluster or can't run VMs with it, the
    /// old one stays
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Use that kubeconfig untried, also if it leads to another cluster
    #[arg(long, requires = "kubeconfig")]
    anyway: bool,
    #[arg(long)]
    namespace: Option<String>,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Debug, clap::Args)]
struct Given {
    /// What it is for: vmaas, cluster or hybrid
    #[arg(long = "type", value_name = "TYPE", value_parser = hub_type)]
    hub_type: Option<HubType>,
    /// What it is open for: virtualmachines, clusters; may be given several times. Without it: what its type says
    #[arg(long = "capability", value_name = "CAPABILITY", value_parser = capability)]
    capabilities: Vec<Capability>,
    #[arg(long)]
    region: Option<String>,
    #[arg(long)]
    zone: Option<String>,
    #[arg(long)]
    description: Option<String>,
    /// Make it the default hub, where what fits goes first: --default or --default=false
    #[arg(long = "default", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    is_default: Option<bool>,
    /// How many CPUs may be used in its own namespace, where images are; none: as many as there are
    #[arg(long, value_name = "N", value_parser = bound)]
    quota_cpus: Option<Bound>,
    /// How much memory may be used there, in GB; none: as much as there is
    #[arg(long, value_name = "N", value_parser = bound)]
    quota_memory_gb: Option<Bound>,
    /// How much storage may be used there, in GB; none: as much as there is
    #[arg(long, value_name = "N", value_parser = bound)]
    quota_storage_gb: Option<Bound>,
}

/// A limit, or that there is none.
#[derive(Clone, Copy, Debug)]
struct Bound(Option<i64>);

fn bound(word: &str) -> Result<Bound, String> {
    match word.parse::<i64>() {
        Ok(n) if n >= 0 => Ok(Bound(Some(n))),
        _ if word == "none" => Ok(Bound(None)),
        _ => Err("a whole number, or none".into()),
    }
}

#[derive(Debug, clap::Args)]
struct Explain {
    #[arg(long, value_name = "ORG/VDC")]
    vdc: String,
    /// Without it: what the template has, or 1
    #[arg(long, value_name = "N")]
    cpus: Option<i64>,
    /// Without it: what the template has, or 1
    #[arg(long, value_name = "N")]
    memory_gb: Option<i64>,
    /// What is to be deployed, as TEMPLATE or CATALOG/TEMPLATE
    #[arg(long, value_name = "TEMPLATE")]
    template: Option<String>,
    /// A storage policy of its disks; may be given several times. Without it: the VDC's default
    #[arg(long, value_name = "POLICY")]
    storage: Vec<String>,
    /// A network that it is to be on; may be given several times
    #[arg(long, value_name = "NETWORK")]
    network: Vec<String>,
    #[command(flatten)]
    settings: SettingFlags,
}

fn hub_type(word: &str) -> Result<HubType, String> {
    HubType::parse(word).ok_or_else(|| "vmaas, cluster or hybrid".into())
}

fn capability(word: &str) -> Result<Capability, String> {
    Capability::parse(word).ok_or_else(|| "virtualmachines or clusters".into())
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List(a) => list(a).await,
        Command::Check(a) => check(a).await,
        Command::Register(a) => register(a).await,
        Command::Set(a) => set(a).await,
        Command::Cordon(a) => cordon(a, true).await,
        Command::Uncordon(a) => cordon(a, false).await,
        Command::Delete(a) => delete(a).await,
        Command::Abandon(a) => abandon(a).await,
        Command::Explain(a) => explain(a).await,
    }
}

async fn list(args: Only) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let hubs = hub::list(&domain, &operator).await.map_err(database::explained)?;
    println!(
        "{:20} {:14} {:10} {:25} {:>6}  {:10} {:14} SERVER",
        "ID", "STATE", "TYPE", "CAPABILITIES", "VMS", "KUBEVIRT", "REGION"
    );
    for h in hubs {
        let state = if h.cordoned { format!("{}, cordoned", h.state.key()) } else { h.state.key().to_owned() };
        let (id, kind, version) = (&h.id.0, h.hub_type.key(), &h.kubevirt_version);
        let open = h.capabilities.iter().map(|c| c.key()).collect::<Vec<_>>().join(",");
        println!("{id:20} {state:14} {kind:10} {open:25} {:>6}  {version:10} {:14} {}", h.vms, h.region, h.server);
        if !h.last_error.is_empty() {
            println!("{:20} {} {}", "", h.last_error, h.next_step);
        }
    }
    domain.store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn check(args: Check) -> anyhow::Result<ExitCode> {
    let resolved = Resolved::read(&Sources::of_this_process(args.settings));
    let settings = Settings::build(&resolved, Need::Nothing)?;
    if let (Some(file), None) = (&args.kubeconfig, &settings.database.url) {
        return check_alone(file).await;
    }
    let (domain, operator) = open_with(&Settings::build(&resolved, Need::Database)?).await?;
    let (name, found) = match (args.kubeconfig, args.id) {
        (Some(file), _) => {
            let text = read(&file)?;
            let tried = probe::probe(&domain, &operator, Action::HubView, &text, Trust::Operator).await;
            ("this hub".to_owned(), tried.map_err(|e| of_file(&file, e))?)
        }
        (None, id) => {
            let id = HubId(id.unwrap_or_default());
            let tried = probe::registered(&domain, &operator, &id).await.map_err(|e| of_hub(&id, e))?;
            (id.0, tried)
        }
    };
    let differences = difference::of(&domain, &operator, &name, &found).await.map_err(database::explained)?;
    domain.store.close().await;
    let code = print(&found.checks);
    if !differences.is_empty() {
        println!("\nDifferences to the other hubs that run VMs");
    }
    for d in &differences {
        println!("  {}\n     {}\n     {}", d.what, d.line(), d.means);
    }
    Ok(code)
}

/// Without an installation there is nothing to compare it with.
async fn check_alone(file: &Path) -> anyhow::Result<ExitCode> {
    let credential = kubeconfig::parse(&read(file)?).map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?;
    let client = Client::new(&credential, &Gate::open(), domain::system_clock(), Options::default());
    let client = client.map_err(|e| anyhow::anyhow!("{}: {} {}", file.display(), e.message(), e.next_step()))?;
    let found = ::hub::check::check(&client, &credential, domain::system_clock()()).await;
    Ok(print(&found.checks.iter().map(Into::into).collect::<Vec<_>>()))
}

/// The check list; what failed makes the exit code 1.
fn print(checks: &[HubCheck]) -> ExitCode {
    for c in checks {
        let mark = match c.state {
            CheckState::Ok => "✅",
            CheckState::Warning => "⚠️ ",
            CheckState::Failed => "❌",
            CheckState::Skipped => "– ",
        };
        println!("{mark} {:28} {}", c.title, c.detail);
        if !c.what_to_do.is_empty() {
            println!("   {:28} To do: {}", "", c.what_to_do);
        }
    }
    let failed = checks.iter().any(|c| c.state == CheckState::Failed);
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn register(args: Register) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let text = read(&args.kubeconfig)?;
    let spec = HubSpec { id: args.id, namespace: args.namespace, hub_type: HubType::Vmaas, ..HubSpec::default() };
    let spec = args.given.over(spec);
    let made = hub::register(&domain, &operator, spec, &text, Trust::Operator).await;
    let made = made.map_err(|e| of_file(&args.kubeconfig, e))?;
    domain.store.close().await;
    println!("Registered {} at {}.", made.id, made.server);
    Ok(ExitCode::SUCCESS)
}

async fn set(args: Set) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let id = HubId(args.id);
    let known = hub::get(&domain, &operator, &id).await.map_err(|e| of_hub(&id, e))?;
    let mut spec = args.given.over(HubSpec::from(&known));
    if let Some(namespace) = args.namespace {
        spec.namespace = namespace;
    }
    if spec != HubSpec::from(&known) {
        hub::edit(&domain, &operator, &id, known.version, spec).await.map_err(|e| of_hub(&id, e))?;
    }
    if let Some(file) = args.kubeconfig {
        let (text, trust) = (read(&file)?, Trust::Operator);
        let changed = probe::change_credential(&domain, &operator, &id, &text, trust, args.anyway).await;
        changed.map_err(|e| of_file(&file, e))?;
    }
    domain.store.close().await;
    println!("{id} is set.");
    Ok(ExitCode::SUCCESS)
}

impl Given {
    /// What is not given stays as it is.
    fn over(self, spec: HubSpec) -> HubSpec {
        // capabilities alone say what it is for, if they are more than that
        let fits = |t: HubType| self.capabilities.iter().all(|c| t.capabilities().contains(c));
        let implied = HubType::of(&self.capabilities).filter(|_| !fits(spec.hub_type));
        let hub_type = self.hub_type.or(implied).unwrap_or(spec.hub_type);
        let retyped = hub_type != spec.hub_type;
        let mut quota = spec.quota;
        let bounds = [
            (Measure::Cpus, self.quota_cpus),
            (Measure::Memory, self.quota_memory_gb),
            (Measure::Storage, self.quota_storage_gb),
        ];
        for (measure, Bound(n)) in bounds.into_iter().filter_map(|(m, bound)| Some((m, bound?))) {
            quota.set(measure, n.map(|n| n.saturating_mul(measure.per_unit())));
        }
        HubSpec {
            hub_type,
            // another type means its capabilities, unless they are named
            capabilities: if retyped || !self.capabilities.is_empty() { self.capabilities } else { spec.capabilities },
            region: self.region.unwrap_or(spec.region),
            zone: self.zone.unwrap_or(spec.zone),
            description: self.description.unwrap_or(spec.description),
            is_default: self.is_default.unwrap_or(spec.is_default),
            quota,
            ..spec
        }
    }
}

async fn cordon(args: One, cordoned: bool) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let id = HubId(args.id);
    let h: Hub = hub::set_cordoned(&domain, &operator, &id, cordoned).await.map_err(|e| of_hub(&id, e))?;
    domain.store.close().await;
    println!("{} is {}.", h.id, if cordoned { "cordoned: nothing new goes there" } else { "open for new VMs" });
    Ok(ExitCode::SUCCESS)
}

async fn delete(args: One) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let id = HubId(args.id);
    hub::delete(&domain, &operator, &id).await.map_err(|e| of_hub(&id, e))?;
    domain.store.close().await;
    println!("{id} is deleted here. On the hub itself nothing was touched.");
    Ok(ExitCode::SUCCESS)
}

async fn abandon(args: One) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let id = HubId(args.id);
    let lost = hub::abandon(&domain, &operator, &id).await.map_err(|e| of_hub(&id, e))?;
    domain.store.close().await;
    let hub::LostWithHub { vapps, vms, disks, versions } = lost;
    println!(
        "{id} is given up, and with it {vapps} vApps, {vms} VMs, {disks} disks and {versions} captured templates."
    );
    Ok(ExitCode::SUCCESS)
}

async fn explain(args: Explain) -> anyhow::Result<ExitCode> {
    let (domain, operator) = open(args.settings).await?;
    let Some((org, name)) = args.vdc.split_once('/') else { bail!("--vdc must be ORG/VDC, as acme/production") };
    let missing = || format!("there is no VDC {}", args.vdc);
    let org = domain.store.org_by_name(&operator, Action::OrgView, org).await.map_err(database::explained);
    let org = org.with_context(missing)?.id;
    let query = ListQuery::read(&VDCS, [("q", name)]).map_err(database::explained)?;
    let page = vdc::list(&domain, &operator, Some(org), &query).await.map_err(database::explained)?;
    let Some(found) = page.items.iter().find(|v| v.name.eq_ignore_ascii_case(name)) else { bail!(missing()) };
    let template = match &args.template {
        Some(name) => Some(template(&domain, &operator, name).await?),
        None => None,
    };
    let of_template =
        |size: fn(&TemplateVm) -> i64| template.as_ref().map_or(0, |t| t.vms.iter().map(size).sum::<i64>());
    let networks = network::in_reach(&domain, &operator, found.id).await.map_err(database::explained)?;
    let mut joined = Vec::new();
    for name in &args.network {
        let of_that_name = networks.iter().find(|n| n.name().eq_ignore_ascii_case(name));
        joined.push(of_that_name.with_context(|| format!("{} reaches no network {name}", args.vdc))?.id);
    }
    let asked = hub::Asked {
        cpus: args.cpus.unwrap_or_else(|| of_template(|vm| vm.cpus.into()).max(1)),
        memory_mb: match args.memory_gb {
            Some(gb) => gb.saturating_mul(1024),
            None => of_template(|vm| vm.memory_mb).max(1024),
        },
        template: template.as_ref().map(|t| t.id),
        policies: args.storage,
        networks: joined,
    };
    let placement = hub::explain(&domain, &operator, org, found.id, asked).await;
    let placement = placement.map_err(with_fields)?;
    domain.store.close().await;
    match &placement.hub {
        Some(hub) => println!("{hub}: {}", placement.because),
        None => println!("No hub: {}", placement.because),
    }
    for refused in &placement.refused {
        println!("not {}: {}", refused.hub, refused.why);
    }
    Ok(if placement.hub.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// By its name, with that of its catalog before it if there are several.
async fn template(domain: &Domain, operator: &Actor, wanted: &str) -> anyhow::Result<Template> {
    let (of, name) = wanted.rsplit_once('/').map_or((None, wanted), |(catalog, name)| (Some(catalog), name));
    let query = ListQuery::read(&TEMPLATES, [("q", name)]).map_err(database::explained)?;
    let page = catalog::templates(domain, operator, None, &query).await.map_err(database::explained)?;
    let fits = |t: &Template| {
        t.name.eq_ignore_ascii_case(name) && of.is_none_or(|catalog| t.catalog_name.eq_ignore_ascii_case(catalog))
    };
    let mut found: Vec<Template> = page.items.into_iter().filter(fits).collect();
    match found.len() {
        0 => bail!("there is no template {wanted}"),
        1 => Ok(found.remove(0)),
        _ => bail!("several catalogs have a template {name}: say CATALOG/{name}"),
    }
}

pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("the kubeconfig {} can't be read", file.display()))
}

/// Names the file when its content is what is wrong.
pub(super) fn of_file(file: &Path, error: model::Error) -> anyhow::Error {
    match error.fields().first() {
        Some(e) if e.field == "kubeconfig" => anyhow::anyhow!("{}: {}", file.display(), e.message),
        _ => with_fields(error),
    }
}

fn of_hub(id: &HubId, error: model::Error) -> anyhow::Error {
    match error {
        model::Error::NotFound(_) => anyhow::anyhow!("there is no hub {id}"),
        error => with_fields(error),
    }
}

/// What is wrong with each field, one a line.
fn with_fields(error: model::Error) -> anyhow::Error {
    if error.fields().is_empty() {
        return database::explained(error);
    }
    let lines: Vec<String> = error.fields().iter().map(|e| format!("{}: {}", e.field, e.message)).collect();
    anyhow::anyhow!(lines.join("\n"))
}

async fn open(flags: SettingFlags) -> anyhow::Result<(Domain, Actor)> {
    open_with(&Settings::build(&Resolved::read(&Sources::of_this_process(flags)), Need::Database)?).await
}

async fn open_with(settings: &Settings) -> anyhow::Result<(Domain, Actor)> {
    let domain = database::open(settings)?;
    if domain.store.migrations_pending().await.map_err(database::explained)? > 0 {
        bail!("the database is not up to date; run ssvirt migrate first");
    }
    let operator = domain::bootstrap::operator(&domain).await.map_err(database::explained)?;
    Ok((domain, operator))
}
