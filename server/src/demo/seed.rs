//! The organizations, users and VDCs that every demonstration has. They are made by the same operations that people
//! use, so they have a history as well.
//!
//! The audit says what was made before: its rows are written with the thing itself and stay when it goes. So a start
//! after a crash makes what is missing, a later version of the demo adds what is new in it, and nothing that
//! somebody renamed, changed or deleted comes back.

use super::PASSWORD;
use domain::{Domain, bootstrap, org, role, user, vdc};
use model::{
    Action, Actor, Error, OrgId, Result, Right,
    org::{Leases, NewOrg, OrgSpec, PROVIDER},
    quota::Limits,
    role::{Predefined, RoleForm},
    user::{NewUser, Password, UserSpec},
    vdc::{AllocationModel, VdcSpec},
};
use store::Made;

pub struct DemoUser {
    pub org: &'static str,
    pub name: &'static str,
    full_name: &'static str,
    pub role: Predefined,
}

const fn person(org: &'static str, name: &'static str, full_name: &'static str, role: Predefined) -> DemoUser {
    DemoUser { org, name, full_name, role }
}

/// Who can sign in.
pub const USERS: &[DemoUser] = &[
    person(PROVIDER, "administrator", "", Predefined::SystemAdministrator),
    person("acme", "acme-admin", "Anna Berg", Predefined::OrganizationAdministrator),
    person("acme", "acme-author", "Omar Haddad", Predefined::VappAuthor),
    person("acme", "acme-user", "Lena Fischer", Predefined::VappUser),
    person("acme", "acme-console", "Jonas Weber", Predefined::ConsoleAccessOnly),
    person("globex", "globex-admin", "Mia Novak", Predefined::OrganizationAdministrator),
];

fn orgs() -> Vec<OrgSpec> {
    let days = |n: i64| Some(n * 86_400);
    vec![
        OrgSpec {
            name: "acme".into(),
            display_name: "Acme Corporation".into(),
            description: "Web shop, intranet and what builds them.".into(),
            vdc_limit: Some(4),
            limits: limits(80, 64, 256, 4000),
            leases: Leases { storage_s: days(90), ..Leases::default() },
            ..OrgSpec::default()
        },
        OrgSpec {
            name: "globex".into(),
            display_name: "Globex".into(),
            description: "Measuring stations and their data.".into(),
            vdc_limit: Some(2),
            limits: limits(40, 32, 128, 2000),
            leases: Leases { runtime_s: days(30), storage_s: days(30), ..Leases::default() },
            ..OrgSpec::default()
        },
    ]
}

fn vdcs() -> Vec<(&'static str, VdcSpec)> {
    let vdc = |name: &str, description: &str, allocation_model, limits| VdcSpec {
        name: name.into(),
        description: description.into(),
        allocation_model,
        limits,
        ..VdcSpec::default()
    };
    use AllocationModel::{AllocationPool, PayAsYouGo};
    vec![
        ("acme", vdc("acme-prod", "What customers use.", AllocationPool, limits(40, 32, 112, 2000))),
        ("acme", vdc("acme-dev", "Tests and experiments.", PayAsYouGo, limits(20, 16, 64, 500))),
        ("globex", vdc("globex-prod", "Collects and keeps measurements.", PayAsYouGo, limits(20, 16, 64, 1000))),
    ]
}

/// Memory and storage in GB.
pub(super) fn limits(vms: i64, cpus: i64, memory: i64, storage: i64) -> Limits {
    Limits { vms: Some(vms), cpus: Some(cpus), memory_mb: Some(memory * 1024), storage_mb: Some(storage * 1024) }
}

/// A role of acme's own: sees everything, changes nothing.
fn auditor() -> RoleForm {
    RoleForm {
        name: "Auditor".into(),
        description: "Sees everything in the organization and changes nothing.".into(),
        rights: [
            Right::OrgView,
            Right::UserView,
            Right::RightView,
            Right::VdcView,
            Right::TaskView,
            Right::EventView,
            Right::AuditView,
            Right::CatalogView,
            Right::CatalogViewPublished,
            Right::CatalogViewAcl,
            Right::TemplateView,
            Right::VappViewAll,
            Right::VappViewAcl,
            Right::VmMetrics,
            Right::DiskView,
            Right::NetworkView,
        ]
        .into_iter()
        .collect(),
    }
}

/// Makes what was never made. On a demonstration that is complete it only reads.
pub async fn run(domain: &Domain) -> Result<()> {
    let actor = bootstrap::operator(domain).await?;
    let mut names: Vec<String> = USERS.iter().map(|u| u.name.to_owned()).collect();
    names.extend(orgs().into_iter().map(|o| o.name));
    names.extend(vdcs().into_iter().map(|(_, v)| v.name));
    names.push(auditor().name);
    let made = domain.store.made_by_operator(&names).await?;
    let seed = Seed { domain, actor, made };

    seed.things_in(PROVIDER, seed.actor.org).await?;
    for spec in orgs() {
        let name = spec.name.clone();
        if let Some(id) = seed.org(spec).await? {
            seed.things_in(&name, id).await?;
        }
    }
    Ok(())
}

struct Seed<'a> {
    domain: &'a Domain,
    actor: Actor,
    made: Vec<Made>,
}

impl Seed<'_> {
    /// The organization to put things into: None if it was deleted.
    async fn org(&self, spec: OrgSpec) -> Result<Option<OrgId>> {
        let name = spec.name.clone();
        let create = Action::OrgCreate.key();
        if let Some(made) = self.made.iter().find(|m| m.action == create && m.name == name) {
            let found = self.domain.store.org(&self.actor, Action::OrgView, made.org).await;
            return match found {
                Ok(org) => Ok(Some(org.id)),
                Err(Error::NotFound(_)) => Ok(None),
                Err(e) => Err(e),
            };
        }
        match org::create(self.domain, &self.actor, NewOrg { spec, admin: None }).await {
            Ok(org) => Ok(Some(org.id)),
            // somebody made one of this name themselves: the demo's things go into it
            Err(Error::Taken(_)) => self.domain.store.org_id(&name).await,
            Err(e) => Err(e),
        }
    }

    async fn things_in(&self, org: &str, id: OrgId) -> Result<()> {
        let (d, actor) = (self.domain, &self.actor);
        for u in USERS.iter().filter(|u| u.org == org) {
            let spec = UserSpec {
                name: u.name.into(),
                full_name: u.full_name.into(),
                email: format!("{}@{}.example", u.name, org.to_lowercase()),
                role: u.role.id(),
                limits: Limits::default(),
            };
            let new = NewUser::of(spec, Password::new(PASSWORD));
            self.once(Action::UserCreate, id, u.name, user::create(d, actor, id, new)).await?;
        }
        for (_, spec) in vdcs().into_iter().filter(|(of, _)| *of == org) {
            let name = spec.name.clone();
            self.once(Action::VdcCreate, id, &name, vdc::create(d, actor, id, spec)).await?;
        }
        if org == "acme" {
            self.once(Action::RoleCreate, id, &auditor().name, role::create(d, actor, id, auditor())).await?;
        }
        Ok(())
    }

    /// Does it unless it was done before. What people have set up since may not leave room for it: then it is left out.
    async fn once<T>(
        &self,
        action: Action,
        org: OrgId,
        name: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<()> {
        if self.made.iter().any(|m| m.action == action.key() && m.org == org && m.name == name) {
            return Ok(());
        }
        match make.await {
            Ok(_) => Ok(()),
            Err(e @ (Error::Taken(_) | Error::Invalid(_) | Error::OverQuota(_))) => {
                tracing::warn!(name, reason = %e, "the demo leaves out {} {name}", action.kind().word());
                Ok(())
            }
            Err(e) => Err(e),
        }
    }
}
