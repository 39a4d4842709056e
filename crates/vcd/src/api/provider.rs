//! What the provider has, as VCD's clients walk it. All hubs together are one provider VDC, since placement chooses among them; its
//! storage profiles are the storage policies, and its one network pool is what networks of VDCs are made of.
use crate::{
    answer::Answer,
    ask::{Ask, read_id},
    routes::Routes,
    wire::{
        doc::{document, link, reference},
        href::{Base, derived, urn},
        media,
        units::mhz,
    },
};
use domain::{hub, storage, vdc};
use model::{
    Action, Error, Kind, PolicyId, Result,
    decide::{Resource, authorize},
    query::{MOST_ON_PAGE, Numbered},
};
use std::fmt::Display;
use uuid::Uuid;

/// Of the provider VDC and of its network pool.
pub(crate) const NAME: &str = "kubevirt";

/// The release of VCD whose API this is: four numbers and a date, which clients take apart.
const RELEASE: &str = "10.6.0.0 2024-06-27T00:00:00Z";

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/admin", cloud)
        .get("/api/admin/providervdc/{id}", provider_vdc)
        .get("/api/admin/providervdc/{id}/vdcReferences", vdc_references)
        .get("/api/admin/pvdcStorageProfile/{id}", profile)
        .get("/api/admin/networkPool/{id}", pool)
        .get("/api/admin/extension", extension)
        .get("/api/admin/extension/providerVdcReferences", |ask| references(ask, &LISTS[0]))
        .get("/api/admin/extension/networkPoolReferences", |ask| references(ask, &LISTS[1]))
        .get("/api/admin/extension/externalNetworkReferences", |ask| references(ask, &LISTS[2]))
        .get("/api/admin/extension/hostReferences", |ask| references(ask, &LISTS[3]))
        .get("/api/admin/extension/vimServerReferences", |ask| references(ask, &LISTS[4]))
        .get("/api/admin/extension/providervdc/{id}", extension_vdc)
        .get("/api/admin/extension/networkPool/{id}", pool)
        .get("/api/admin/extension/pvdcStorageProfile/{id}", profile)
}

pub(crate) fn vdc_id() -> Uuid {
    derived("providervdc", NAME)
}

pub(crate) fn pool_id() -> Uuid {
    derived("networkpool", NAME)
}

pub(crate) fn pool_href(base: &Base) -> String {
    base.api(format_args!("admin/extension/networkPool/{}", pool_id()))
}

pub(crate) fn profile_href(base: &Base, policy: PolicyId) -> String {
    base.api(format_args!("admin/pvdcStorageProfile/{policy}"))
}

/// Every storage policy.
pub(crate) async fn policies(ask: &Ask) -> Result<Vec<(PolicyId, String)>> {
    storage::names(ask.d(), &ask.actor).await
}

/// What hubs have together, and what was asked for of it.
pub(crate) struct Capacity {
    pub(crate) cpu_mhz: i64,
    pub(crate) cpu_used_mhz: i64,
    pub(crate) memory_mb: i64,
    pub(crate) memory_used_mb: i64,
    pub(crate) vdcs: i64,
}

pub(crate) async fn capacity(ask: &Ask) -> Result<Capacity> {
    let hubs = hub::list(ask.d(), &ask.actor).await?;
    let one = Numbered { size: 1, ..Numbered::default() };
    Ok(Capacity {
        cpu_mhz: mhz(hubs.iter().filter_map(|h| h.cpus_capacity).sum()),
        cpu_used_mhz: mhz(hubs.iter().map(|h| h.cpus_used).sum()),
        memory_mb: hubs.iter().filter_map(|h| h.memory_capacity_mb).sum(),
        memory_used_mb: hubs.iter().map(|h| h.memory_used_mb).sum(),
        vdcs: vdc::query(ask.d(), &ask.actor, None, &one).await?.total,
    })
}

/// For everybody; who is not of the provider sees no more than which release it is.
async fn cloud(ask: Ask) -> Result<Answer> {
    let base = ask.base();
    let orgs = match ask.actor.may(Action::OrgList, Resource::Installation) {
        true => super::org::visible(&ask).await?,
        false => Vec::new(),
    };
    let attributes: [(&str, &dyn Display); 3] =
        [("name", &"VMware Cloud Director"), ("href", &base.api("admin/")), ("type", &media::ADMIN_VCLOUD)];
    let text = document("VCloud", &attributes, |w| {
        if ask.actor.may(Action::OrgCreate, Resource::Installation) {
            link(w, "add", base.api("admin/orgs"), media::ADMIN_ORG);
        }
        if ask.actor.may(Action::HubList, Resource::Installation) {
            link(w, "down", base.api("admin/extension"), media::EXTENSION);
        }
        w.text("Description", RELEASE);
        w.el("OrganizationReferences", &[], |w| {
            for org in &orgs {
                reference(
                    w,
                    "OrganizationReference",
                    base.admin_org(org.id),
                    org.id.urn(),
                    &org.name,
                    media::ADMIN_ORG,
                );
            }
        });
        w.el("ProviderVdcReferences", &[], |w| {
            if ask.actor.may(Action::HubList, Resource::Installation) {
                let (href, id) = (base.provider_vdc(vdc_id()), urn("providervdc", vdc_id()));
                reference(w, "ProviderVdcReference", href, id, NAME, media::PROVIDER_VDC);
            }
        });
    });
    Ok(Answer::xml(media::ADMIN_VCLOUD, text))
}

/// There is one; for those who may see hubs.
fn check_vdc(ask: &Ask) -> Result<()> {
    authorize(&ask.actor, Action::HubList, Resource::Installation)?;
    check(ask, &["providervdc"], vdc_id())
}

/// The id in the address is that one, bare or in one of these URNs.
fn check(ask: &Ask, kinds: &[&str], wanted: Uuid) -> Result<()> {
    let text = ask.part("id");
    let bare = kinds.iter().find_map(|kind| text.strip_prefix(&format!("urn:vcloud:{kind}:"))).unwrap_or(text);
    match read_id(bare, Kind::Hub) {
        Ok(id) if id == wanted => Ok(()),
        _ => Err(Error::NotFound(Kind::Hub)),
    }
}

async fn provider_vdc(ask: Ask) -> Result<Answer> {
    check_vdc(&ask)?;
    let text = vdc_document(&ask, "ProviderVdc", "").await?;
    Ok(Answer::xml(media::PROVIDER_VDC, text))
}

async fn extension_vdc(ask: Ask) -> Result<Answer> {
    check_vdc(&ask)?;
    let text = vdc_document(&ask, "vmext:VMWProviderVdc", "extension/").await?;
    Ok(Answer::xml(media::PROVIDER_VDC, text))
}

async fn vdc_document(ask: &Ask, root: &str, below: &str) -> Result<String> {
    let (base, has, policies) = (ask.base(), capacity(ask).await?, policies(ask).await?);
    let plain = base.provider_vdc(vdc_id());
    let href = base.api(format_args!("admin/{below}providervdc/{}", vdc_id()));
    let attributes: [(&str, &dyn Display); 5] = [
        ("name", &NAME),
        ("id", &urn("providervdc", vdc_id())),
        ("href", &href),
        ("type", &media::PROVIDER_VDC),
        ("status", &1),
    ];
    let amount = |w: &mut xml::Writer, name: &str, units: &str, total: i64, used: i64| {
        w.el(name, &[], |w| {
            w.text("Units", units);
            w.text("Allocation", used);
            w.text("Reserved", 0);
            w.text("Total", total);
            w.text("Used", used);
        });
    };
    Ok(document(root, &attributes, |w| {
        link(w, "down", format_args!("{plain}/vdcReferences"), media::VDC_REFERENCES);
        link(w, "down", format_args!("{plain}/metadata"), media::METADATA);
        w.text("Description", "All hubs together.");
        w.el("ComputeCapacity", &[], |w| {
            amount(w, "Cpu", "MHz", has.cpu_mhz, has.cpu_used_mhz);
            amount(w, "Memory", "MB", has.memory_mb, has.memory_used_mb);
            w.text("IsElastic", true);
            w.text("IsHA", false);
        });
        w.el("NetworkPoolReferences", &[], |w| pool_reference(w, base, "NetworkPoolReference"));
        w.el("StorageProfiles", &[], |w| {
            for (id, name) in &policies {
                let urn = urn("providervdcstorageprofile", id);
                let kind = media::PROVIDER_STORAGE_PROFILE;
                reference(w, "ProviderVdcStorageProfile", profile_href(base, *id), urn, name, kind);
            }
        });
        w.text("IsEnabled", true);
    }))
}

fn pool_reference(w: &mut xml::Writer, base: &Base, element: &str) {
    reference(w, element, pool_href(base), urn("networkpool", pool_id()), NAME, media::NETWORK_POOL);
}

/// Every VDC is a part of it.
async fn vdc_references(ask: Ask) -> Result<Answer> {
    check_vdc(&ask)?;
    let base = ask.base();
    let mut all = Vec::new();
    let mut q = Numbered { size: MOST_ON_PAGE, ..Numbered::default() };
    loop {
        let found = vdc::query(ask.d(), &ask.actor, None, &q).await?;
        let last = found.items.len() < q.size as usize;
        all.extend(found.items);
        if last {
            break;
        }
        q.page += 1;
    }
    let href = format!("{}/vdcReferences", base.provider_vdc(vdc_id()));
    let text = document("VdcReferences", &[("href", &href), ("type", &media::VDC_REFERENCES)], |w| {
        for one in &all {
            reference(w, "VdcReference", base.admin_vdc(one.id), one.id.urn(), &one.name, media::ADMIN_VDC);
        }
    });
    Ok(Answer::xml(media::VDC_REFERENCES, text))
}

/// A storage policy, as provider VDCs have it.
async fn profile(ask: Ask) -> Result<Answer> {
    let text = ask.part("id");
    let bare = text.strip_prefix("urn:vcloud:providervdcstorageprofile:").unwrap_or(text);
    let id = PolicyId(read_id(bare, Kind::StoragePolicy)?);
    let policy = storage::get(ask.d(), &ask.actor, id).await?;
    let base = ask.base();
    let attributes: [(&str, &dyn Display); 4] = [
        ("name", &policy.name),
        ("id", &urn("providervdcstorageprofile", id)),
        ("href", &profile_href(base, id)),
        ("type", &media::PROVIDER_STORAGE_PROFILE),
    ];
    let text = document("ProviderVdcStorageProfile", &attributes, |w| {
        link(w, "up", base.provider_vdc(vdc_id()), media::PROVIDER_VDC);
        w.text("Description", &policy.description);
        w.text("Enabled", true);
        w.text("Units", "MB");
        w.text("CapacityUsed", policy.used_mb);
    });
    Ok(Answer::xml(media::PROVIDER_STORAGE_PROFILE, text))
}

async fn pool(ask: Ask) -> Result<Answer> {
    authorize(&ask.actor, Action::HubList, Resource::Installation)?;
    check(&ask, &["networkpool"], pool_id())?;
    let attributes: [(&str, &dyn Display); 4] = [
        ("name", &NAME),
        ("id", &urn("networkpool", pool_id())),
        ("href", &pool_href(ask.base())),
        ("type", &media::NETWORK_POOL),
    ];
    let text = document("vmext:VMWNetworkPool", &attributes, |w| {
        w.text("Description", "Networks that hubs make for VDCs.");
    });
    Ok(Answer::xml(media::NETWORK_POOL, text))
}

/// A list of the extension's. Its root and its references are in a namespace of their own; its links are not.
struct List {
    path: &'static str,
    media: &'static str,
    root: &'static str,
}

const LISTS: [List; 5] = [
    List { path: "providerVdcReferences", media: media::PROVIDER_VDCS, root: "VMWProviderVdcReferences" },
    List { path: "networkPoolReferences", media: media::NETWORK_POOLS, root: "VMWNetworkPoolReferences" },
    List { path: "externalNetworkReferences", media: media::EXTERNAL_NETWORKS, root: "VMWExternalNetworkReferences" },
    List { path: "hostReferences", media: media::HOSTS, root: "VMWHostReferences" },
    List { path: "vimServerReferences", media: media::VIM_SERVERS, root: "VMWVimServerReferences" },
];

async fn extension(ask: Ask) -> Result<Answer> {
    authorize(&ask.actor, Action::HubList, Resource::Installation)?;
    let href = ask.base().api("admin/extension");
    let text = document("vmext:VMWExtension", &[("href", &href), ("type", &media::EXTENSION)], |w| {
        for list in &LISTS {
            link(w, "down", format_args!("{href}/{}", list.path), list.media);
        }
    });
    Ok(Answer::xml(media::EXTENSION, text))
}

async fn references(ask: Ask, list: &'static List) -> Result<Answer> {
    authorize(&ask.actor, Action::HubList, Resource::Installation)?;
    let base = ask.base();
    let href = base.api(format_args!("admin/extension/{}", list.path));
    let text = document(&format!("vmext:{}", list.root), &[("href", &href), ("type", &list.media)], |w| {
        match list.path {
            "providerVdcReferences" => {
                let href = base.api(format_args!("admin/extension/providervdc/{}", vdc_id()));
                let id = urn("providervdc", vdc_id());
                reference(w, "vmext:ProviderVdcReference", href, id, NAME, media::PROVIDER_VDC);
            }
            "networkPoolReferences" => pool_reference(w, base, "vmext:NetworkPoolReference"),
            // the networks, hosts and servers of vSphere: there are none
            _ => {}
        }
    });
    Ok(Answer::xml(list.media, text))
}
