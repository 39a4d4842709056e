//! The demonstration's catalogs and vApps, made by the same operations that people use, once.

use super::taken_is_fine;
use domain::{Domain, bootstrap, catalog, disk, network, vapp};
use model::{
    Action, Actor, Result, VappId, VdcId,
    catalog::CatalogSpec,
    disk::DiskSpec,
    list::{ListQuery, TEMPLATES, VDCS},
    nic::{Attach, IpMode, NicSpec},
    org::PROVIDER,
};
use std::time::Duration;

struct Machine {
    org: &'static str,
    vdc: &'static str,
    template: &'static str,
    name: &'static str,
    description: &'static str,
    power_on: bool,
    /// A second NIC on this one.
    network: Option<&'static str>,
}

const VAPPS: [Machine; 5] = [
    Machine {
        org: "acme",
        vdc: "acme-prod",
        template: "web-and-db",
        name: "shop",
        description: "The web shop.",
        power_on: true,
        network: Some("acme-net"),
    },
    Machine {
        org: "acme",
        vdc: "acme-prod",
        template: "ubuntu-24.04",
        name: "mail",
        description: "",
        power_on: true,
        network: Some("acme-net"),
    },
    Machine {
        org: "acme",
        vdc: "acme-dev",
        template: "fedora-43",
        name: "playground",
        description: "Anything goes.",
        power_on: false,
        network: None,
    },
    Machine {
        org: "acme",
        vdc: "acme-dev",
        template: "rhel-9",
        name: "build",
        description: "Builds and tests.",
        power_on: true,
        network: None,
    },
    Machine {
        org: "globex",
        vdc: "globex-prod",
        template: "ubuntu-24.04",
        name: "collector",
        description: "",
        power_on: true,
        network: None,
    },
];

/// An independent disk.
const DISK: &str = "archive";

/// Templates come from hubs, and hubs need a moment.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn run(domain: &Domain) -> Result<()> {
    let operator = bootstrap::operator(domain).await?;
    let mut names: Vec<String> = VAPPS.iter().map(|v| v.name.to_owned()).collect();
    names.extend(["linux", DISK].map(str::to_owned));
    let made = domain.store.made_by_operator(&names).await?;
    let is_made = |action: Action, name: &str| made.iter().any(|m| m.action == action.key() && m.name == name);
    if let (false, Some(id)) = (is_made(Action::CatalogCreate, "linux"), domain.store.org_id(PROVIDER).await?) {
        let spec = CatalogSpec {
            name: "linux".into(),
            description: "What the hubs offer, for everybody.".into(),
            shared_to_all: true,
            from_hubs: true,
            ..CatalogSpec::default()
        };
        taken_is_fine(catalog::create(domain, &operator, id, spec).await)?;
    }
    for machine in VAPPS.iter().filter(|v| !is_made(Action::VappCreate, v.name)) {
        taken_is_fine(deploy(domain, &operator, machine).await)?;
    }
    if let (false, Some(vdc)) = (is_made(Action::DiskCreate, DISK), vdc(domain, &operator, "acme", "acme-prod").await?)
    {
        let spec = DiskSpec {
            name: DISK.into(),
            description: "What the shop keeps for ten years.".into(),
            size_mb: 20 * 1024,
            ..DiskSpec::default()
        };
        taken_is_fine(disk::create(domain, &operator, vdc, spec).await)?;
    }
    Ok(())
}

async fn vdc(d: &Domain, actor: &Actor, org: &str, name: &str) -> Result<Option<VdcId>> {
    let Some(org) = d.store.org_id(org).await? else { return Ok(None) };
    let vdcs = domain::vdc::list(d, actor, Some(org), &ListQuery::first(&VDCS)).await?;
    Ok(vdcs.items.into_iter().find(|v| v.name == name).map(|v| v.id))
}

/// The template's own NIC, and one on the network that is named.
async fn nics(d: &Domain, actor: &Actor, vdc: VdcId, name: &str) -> Result<Option<Vec<NicSpec>>> {
    let network = network::in_reach(d, actor, vdc).await?.into_iter().find(|n| n.name() == name);
    Ok(network.map(|n| {
        let own = NicSpec { primary: true, ..NicSpec::default() };
        vec![own, NicSpec { index: 1, attach: Attach::Network(n.id), mode: IpMode::Pool, ..NicSpec::default() }]
    }))
}

async fn deploy(d: &Domain, actor: &Actor, m: &Machine) -> Result<Option<VappId>> {
    let Some(org) = d.store.org_id(m.org).await? else { return Ok(None) };
    let Some(vdc) = vdc(d, actor, m.org, m.vdc).await? else { return Ok(None) };
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let query = ListQuery { search: m.template.into(), ..ListQuery::first(&TEMPLATES) };
        let found = catalog::templates(d, actor, Some(org), &query).await?;
        if let Some(template) = found.items.into_iter().find(|t| t.name == m.template && t.catalog_name == "linux") {
            let nics = match m.network {
                Some(network) => nics(d, actor, vdc, network).await?,
                None => None,
            };
            let all = |nics: Vec<NicSpec>| template.vms.iter().map(move |v| (v.name.clone(), nics.clone())).collect();
            let ask = vapp::Deploy {
                name: m.name.into(),
                description: m.description.into(),
                power_on: m.power_on,
                nics: nics.map(all).unwrap_or_default(),
                ..vapp::Deploy::default()
            };
            return Ok(Some(vapp::deploy(d, actor, vdc, template.id, ask).await?.vapp));
        }
        if tokio::time::Instant::now() > until {
            tracing::warn!(name = m.name, template = m.template, "the demo leaves out a vApp: no hub has its template");
            return Ok(None);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
