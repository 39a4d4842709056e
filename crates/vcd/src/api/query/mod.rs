//! The query service: everything that somebody sees, of one type, by filter, sort and page.
mod catalogs;
mod happenings;
mod machines;
mod networks;
mod orgs;
mod page;
mod provider;

use crate::{
    answer::Answer,
    ask::{Ask, shown},
    routes::Routes,
    wire::{
        doc::{document, named_link},
        media,
    },
};
use catalogs::Item;
pub(crate) use happenings::by_our_names;
use model::{CatalogId, Error, Kind, OrgId, Result, VappId, VdcId, query::Numbered};
use page::{Format, Page};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/query", query)
        .get("/api/org/{id}/vdcs/query", vdcs_of_org)
        .get("/api/org/{id}/catalogs/query", catalogs_of_org)
        .get("/api/catalog/{id}/catalogItems/query", items_of_catalog)
        .get("/api/vdc/{id}/vApps/query", vapps_of_vdc)
        .get("/api/vApp/vapp-{id}/vms/query", vms_of_vapp)
}

/// What can be asked for.
struct Type {
    name: &'static str,
    /// What its records are called, without their ending.
    element: &'static str,
    /// For the provider only.
    provider: bool,
    noun: Noun,
}

#[derive(Clone, Copy)]
enum Noun {
    Org,
    Vdc,
    Profile,
    Catalog,
    Item(Item),
    Vapp,
    Vm,
    Disk,
    Relation,
    Network,
    VappNetwork,
    User,
    Role,
    Right,
    Task,
    Event,
    ProviderVdc,
    ProviderProfile,
    NetworkPool,
    /// There are none here.
    Nothing,
}

const fn tenant(name: &'static str, element: &'static str, noun: Noun) -> Type {
    Type { name, element, provider: false, noun }
}

const fn provider(name: &'static str, element: &'static str, noun: Noun) -> Type {
    Type { name, element, provider: true, noun }
}

const TYPES: &[Type] = &[
    tenant("organization", "Org", Noun::Org),
    tenant("orgVdc", "OrgVdc", Noun::Vdc),
    tenant("orgVdcStorageProfile", "OrgVdcStorageProfile", Noun::Profile),
    tenant("catalog", "Catalog", Noun::Catalog),
    tenant("catalogItem", "CatalogItem", Noun::Item(Item::Any)),
    tenant("vAppTemplate", "VAppTemplate", Noun::Item(Item::Template)),
    tenant("media", "Media", Noun::Item(Item::Media)),
    tenant("vApp", "VApp", Noun::Vapp),
    tenant("vm", "VM", Noun::Vm),
    tenant("disk", "Disk", Noun::Disk),
    tenant("vmDiskRelation", "VmDiskRelation", Noun::Relation),
    tenant("orgVdcNetwork", "OrgVdcNetwork", Noun::Network),
    tenant("vAppNetwork", "VAppNetwork", Noun::VappNetwork),
    tenant("user", "User", Noun::User),
    tenant("role", "Role", Noun::Role),
    tenant("right", "Right", Noun::Right),
    tenant("task", "Task", Noun::Task),
    tenant("event", "Event", Noun::Event),
    tenant("group", "Group", Noun::Nothing),
    tenant("edgeGateway", "EdgeGateway", Noun::Nothing),
    tenant("orgVdcTemplate", "OrgVdcTemplate", Noun::Nothing),
    tenant("orgAssociation", "OrgAssociation", Noun::Nothing),
    tenant("strandedUser", "StrandedUser", Noun::Nothing),
    provider("adminOrgVdc", "AdminVdc", Noun::Vdc),
    provider("adminOrgVdcStorageProfile", "AdminOrgVdcStorageProfile", Noun::Profile),
    provider("adminCatalog", "AdminCatalog", Noun::Catalog),
    provider("adminCatalogItem", "AdminCatalogItem", Noun::Item(Item::Any)),
    provider("adminVAppTemplate", "AdminVAppTemplate", Noun::Item(Item::Template)),
    provider("adminMedia", "AdminMedia", Noun::Item(Item::Media)),
    provider("adminVApp", "AdminVApp", Noun::Vapp),
    provider("adminVM", "AdminVM", Noun::Vm),
    provider("adminDisk", "AdminDisk", Noun::Disk),
    provider("adminVMDiskRelation", "AdminVMDiskRelation", Noun::Relation),
    provider("adminVAppNetwork", "AdminVAppNetwork", Noun::VappNetwork),
    provider("adminUser", "AdminUser", Noun::User),
    provider("adminRole", "AdminRole", Noun::Role),
    provider("adminTask", "AdminTask", Noun::Task),
    provider("adminEvent", "AdminEvent", Noun::Event),
    provider("adminGroup", "AdminGroup", Noun::Nothing),
    provider("adminOrgVdcTemplate", "AdminOrgVdcTemplate", Noun::Nothing),
    provider("providerVdc", "VMWProviderVdc", Noun::ProviderVdc),
    provider("providerVdcStorageProfile", "ProviderVdcStorageProfile", Noun::ProviderProfile),
    provider("networkPool", "NetworkPool", Noun::NetworkPool),
    provider("externalNetwork", "NetworkPool", Noun::Nothing),
    provider("portgroup", "Portgroup", Noun::Nothing),
    provider("virtualCenter", "VirtualCenter", Noun::Nothing),
    provider("host", "Host", Noun::Nothing),
    provider("datastore", "Datastore", Noun::Nothing),
    provider("dvSwitch", "DvSwitch", Noun::Nothing),
    provider("resourcePool", "ResourcePool", Noun::Nothing),
    provider("vmGroups", "VmGroups", Noun::Nothing),
    provider("nsxTManager", "NsxTManager", Noun::Nothing),
    provider("siteAssociation", "SiteAssociation", Noun::Nothing),
    provider("cell", "Cell", Noun::Nothing),
];

async fn query(ask: Ask) -> Result<Answer> {
    let Some(name) = ask.params().get("type")? else { return Ok(list(&ask)) };
    let Some(kind) = TYPES.iter().find(|t| t.name == name.trim()) else {
        return Err(Error::BadRequest(format!(
            "There is no type {} to ask for. /api/query lists those that there are.",
            shown(&name)
        )));
    };
    if kind.provider && !ask.actor.provider {
        return Err(Error::BadRequest(format!(
            "{} is for the provider. /api/query lists what you can ask for.",
            kind.name
        )));
    }
    let q = ask.params().query()?;
    answer(&ask, "query", kind, &q).await
}

async fn answer(ask: &Ask, path: &str, kind: &Type, q: &Numbered) -> Result<Answer> {
    // before anything is read
    Format::of(ask.params())?;
    let page = found(ask, kind, q).await?;
    page::answer(ask, path, (kind.name, kind.element), q, page).await
}

async fn found(ask: &Ask, kind: &Type, q: &Numbered) -> Result<Page> {
    let admin = kind.provider;
    match kind.noun {
        Noun::Org => orgs::orgs(ask, q).await,
        Noun::Vdc => orgs::vdcs(ask, q, admin).await,
        Noun::Profile => orgs::profiles(ask, q, admin).await,
        Noun::Catalog => catalogs::catalogs(ask, q, ask.context, admin).await,
        Noun::Item(what) => catalogs::items(ask, q, what, admin).await,
        Noun::Vapp => machines::vapps(ask, q, admin).await,
        Noun::Vm => machines::vms(ask, q, admin).await,
        Noun::Disk => machines::disks(ask, q, admin).await,
        Noun::Relation => machines::relations(ask, q).await,
        Noun::Network => networks::of_vdcs(ask, q).await,
        Noun::VappNetwork => networks::of_vapps(ask, q).await,
        Noun::User => orgs::users(ask, q).await,
        Noun::Role => orgs::roles(ask, q).await,
        Noun::Right => orgs::rights(ask, q),
        Noun::Task => happenings::tasks(ask, q).await,
        Noun::Event => happenings::events(ask, q).await,
        Noun::ProviderVdc => provider::vdcs(ask, q).await,
        Noun::ProviderProfile => provider::profiles(ask, q).await,
        Noun::NetworkPool => provider::pools(ask, q),
        Noun::Nothing => Ok(Page::none()),
    }
}

/// Every type in every format, as far as they are for whoever asks.
fn list(ask: &Ask) -> Answer {
    let text = document("QueryList", &[("type", &media::QUERY_LIST)], |w| {
        for kind in TYPES.iter().filter(|t| ask.actor.provider || !t.provider) {
            for format in Format::ALL {
                let href = ask.base().api(format_args!("query?type={}&format={}", kind.name, format.key()));
                named_link(w, "down", href, format.media(), kind.name);
            }
        }
    });
    Answer::xml(media::QUERY_LIST, text)
}

/// One type within one thing, by an address below it.
async fn within(ask: &Ask, path: String, name: &str, field: &str, id: String) -> Result<Answer> {
    let kind = TYPES.iter().find(|t| t.name == name).ok_or_else(|| Error::Internal(format!("no type {name}")))?;
    let q = ask.params().query()?.and(field, id);
    answer(ask, &path, kind, &q).await
}

async fn vdcs_of_org(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let org = domain::org::get(ask.d(), &ask.actor, id).await?;
    within(&ask, format!("org/{}/vdcs/query", org.id), "orgVdc", "org", id.to_string()).await
}

async fn catalogs_of_org(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let org = domain::org::get(ask.d(), &ask.actor, id).await?;
    let q = ask.params().query()?;
    Format::of(ask.params())?;
    let page = catalogs::catalogs(&ask, &q, Some(id), false).await?;
    page::answer(&ask, &format!("org/{}/catalogs/query", org.id), ("catalog", "Catalog"), &q, page).await
}

async fn items_of_catalog(ask: Ask) -> Result<Answer> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    let catalog = domain::catalog::get(ask.d(), &ask.actor, id).await?;
    let path = format!("catalog/{}/catalogItems/query", catalog.id);
    within(&ask, path, "catalogItem", "catalog", id.to_string()).await
}

async fn vapps_of_vdc(ask: Ask) -> Result<Answer> {
    let id: VdcId = ask.id(Kind::Vdc)?;
    let vdc = domain::vdc::get(ask.d(), &ask.actor, id).await?;
    within(&ask, format!("vdc/{}/vApps/query", vdc.id), "vApp", "vdc", id.to_string()).await
}

async fn vms_of_vapp(ask: Ask) -> Result<Answer> {
    let id: VappId = ask.id(Kind::Vapp)?;
    let vapp = domain::vapp::get(ask.d(), &ask.actor, id).await?;
    within(&ask, format!("vApp/vapp-{}/vms/query", vapp.id), "vm", "container", id.to_string()).await
}
