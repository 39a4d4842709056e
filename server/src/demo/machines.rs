//! The demonstration's catalogs and vApps, made by the same operations that people use, once.

use domain::{Domain, bootstrap, catalog, vapp};
use model::{
    Action, Actor, Error, Result, VappId,
    catalog::CatalogSpec,
    list::{ListQuery, TEMPLATES, VDCS},
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
}

const VAPPS: [Machine; 5] = [
    Machine {
        org: "acme",
        vdc: "acme-prod",
        template: "web-and-db",
        name: "shop",
        description: "The web shop.",
        power_on: true,
    },
    Machine { org: "acme", vdc: "acme-prod", template: "ubuntu-24.04", name: "mail", description: "", power_on: true },
    Machine {
        org: "acme",
        vdc: "acme-dev",
        template: "fedora-43",
        name: "playground",
        description: "Anything goes.",
        power_on: false,
    },
    Machine {
        org: "acme",
        vdc: "acme-dev",
        template: "rhel-9",
        name: "build",
        description: "Builds and tests.",
        power_on: true,
    },
    Machine {
        org: "globex",
        vdc: "globex-prod",
        template: "ubuntu-24.04",
        name: "collector",
        description: "",
        power_on: true,
    },
];

/// Templates come from hubs, and hubs need a moment.
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn run(domain: &Domain) -> Result<()> {
    let operator = bootstrap::operator(domain).await?;
    let mut names: Vec<String> = VAPPS.iter().map(|v| v.name.to_owned()).collect();
    names.extend(["linux".to_owned(), "acme-images".to_owned()]);
    let made = domain.store.made_by_operator(&names).await?;
    let is_made = |action: Action, name: &str| made.iter().any(|m| m.action == action.key() && m.name == name);
    for (org, name, shared, description) in [
        (PROVIDER, "linux", true, "What the hubs offer, for everybody."),
        ("acme", "acme-images", false, "Acme's own choice."),
    ] {
        if is_made(Action::CatalogCreate, name) {
            continue;
        }
        let Some(id) = domain.store.org_id(org).await? else { continue };
        let spec = CatalogSpec {
            name: name.into(),
            description: description.into(),
            shared_to_all: shared,
            from_hubs: true,
            ..CatalogSpec::default()
        };
        taken_is_fine(catalog::create(domain, &operator, id, spec).await)?;
    }
    let missing: Vec<&Machine> = VAPPS.iter().filter(|v| !is_made(Action::VappCreate, v.name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for machine in missing {
        taken_is_fine(deploy(domain, &operator, machine).await)?;
    }
    Ok(())
}

async fn deploy(d: &Domain, actor: &Actor, m: &Machine) -> Result<Option<VappId>> {
    let Some(org) = d.store.org_id(m.org).await? else { return Ok(None) };
    let vdcs = domain::vdc::list(d, actor, Some(org), &ListQuery::first(&VDCS)).await?;
    let Some(vdc) = vdcs.items.into_iter().find(|v| v.name == m.vdc) else { return Ok(None) };
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let query = ListQuery { search: m.template.into(), ..ListQuery::first(&TEMPLATES) };
        let found = catalog::templates(d, actor, Some(org), &query).await?;
        if let Some(template) = found.items.into_iter().find(|t| t.name == m.template && t.catalog_name == "linux") {
            let ask = vapp::Deploy {
                name: m.name.into(),
                description: m.description.into(),
                power_on: m.power_on,
                ..vapp::Deploy::default()
            };
            return Ok(Some(vapp::deploy(d, actor, vdc.id, template.id, ask).await?.vapp));
        }
        if tokio::time::Instant::now() > until {
            tracing::warn!(name = m.name, template = m.template, "the demo leaves out a vApp: no hub has its template");
            return Ok(None);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Somebody made one of that name themselves, or left no room for it.
fn taken_is_fine<T>(result: Result<T>) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(e @ (Error::Taken(_) | Error::Invalid(_) | Error::OverQuota(_) | Error::BadRequest(_))) => {
            tracing::warn!(reason = %e, "the demo leaves something out");
            Ok(())
        }
        Err(e) => Err(e),
    }
}
