//! Records of catalogs and of what is in them. An item and its template or media are one thing here, with one id.
use super::page::{About, Page};
use crate::{
    ask::Ask,
    wire::{href::urn, media, status, times::stamp, units::mhz},
};
use domain::catalog;
use model::{Kind, OrgId, Result, query::Numbered, template::ItemKind};
use std::fmt::Display;

/// With an organization what it sees: its own and those that are shared to it.
pub(super) async fn catalogs(ask: &Ask, q: &Numbered, seen_by: Option<OrgId>, admin: bool) -> Result<Page> {
    let found = catalog::query(ask.d(), &ask.actor, seen_by, q).await?;
    let base = ask.base().clone();
    let ids: Vec<_> = found.items.iter().map(|c| (Kind::Catalog, c.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for c in &found.items {
            let href = if admin { base.admin_catalog(c.id) } else { base.catalog(c.id) };
            let (org, owner) = (base.org(c.org), c.owner.map(|id| base.user(id)).unwrap_or_default());
            let published = c.shared_to_all || !c.shared_to.is_empty();
            let (shared, created) = (!c.shares.is_empty(), stamp(c.created_at));
            let templates = c.templates - c.media;
            rows.add(
                &About { href: &href, urn: &c.id.urn(), name: &c.name, kind: media::CATALOG },
                &[
                    ("org", &org),
                    ("orgName", &c.org_name),
                    ("owner", &owner),
                    ("ownerName", &c.owner_name),
                    ("isPublished", &published),
                    ("isShared", &shared),
                    ("isLocal", &true),
                    ("creationDate", &created),
                    ("numberOfVAppTemplates", &templates),
                    ("numberOfMedia", &c.media),
                    ("version", &c.contents),
                    ("status", &"READY"),
                    ("publishSubscriptionType", &"UNPUBLISHED"),
                    ("description", &c.description),
                ],
            );
        }
    }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// Whatever is in a catalog.
    Any,
    Template,
    Media,
}

pub(super) async fn items(ask: &Ask, q: &Numbered, what: Item, admin: bool) -> Result<Page> {
    let q = match what {
        Item::Any => q.clone(),
        Item::Template => q.clone().and("entityType", "vapptemplate"),
        Item::Media => q.clone().and("entityType", "media"),
    };
    let found = catalog::query_templates(ask.d(), &ask.actor, ask.context, &q).await?;
    let base = ask.base().clone();
    let ids: Vec<_> = found.items.iter().map(|t| (Kind::Template, t.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for t in &found.items {
            let is_media = t.kind == ItemKind::Media;
            let (item, catalog, org) = (base.catalog_item(t.id), base.catalog(t.catalog), base.org(t.org));
            let owner = t.catalog_owner.map(|id| base.user(id)).unwrap_or_default();
            let entity = if is_media { base.media(t.id) } else { base.template(t.id) };
            let (created, busy, published) = (stamp(t.created_at), !t.ready(), t.seen_by_all || !t.seen_by.is_empty());
            let bytes = match is_media {
                true => t.size.unwrap_or_default(),
                false => t.storage_mb().unwrap_or_default() * 1024 * 1024,
            };
            let (kb, state, words) = (bytes / 1024, status::template_word(t), t.words());
            let mut all: Vec<(&str, &dyn Display)> = vec![
                ("catalog", &catalog),
                ("catalogName", &t.catalog_name),
                ("status", &state),
                ("isPublished", &published),
                ("isExpired", &t.expired),
                ("isBusy", &busy),
                ("isVdcEnabled", &true),
                ("creationDate", &created),
                ("owner", &owner),
                ("ownerName", &t.catalog_owner_name),
                ("storageKB", &kb),
                ("version", &t.version),
                ("description", &words),
            ];
            if admin {
                all.push(("org", &org));
                all.push(("orgName", &t.org_name));
            }
            let entity_type = if is_media { "media" } else { "vapptemplate" };
            let cpus = t.cpus().unwrap_or_default();
            let (vms, cpu_mhz, memory) = (t.vms.len(), mhz(cpus), t.memory_mb().unwrap_or_default());
            match what {
                Item::Any => {
                    all.extend::<[(&str, &dyn Display); 3]>([
                        ("entity", &entity),
                        ("entityName", &t.name),
                        ("entityType", &entity_type),
                    ]);
                    let urn = urn("catalogitem", t.id);
                    rows.add(&About { href: &item, urn: &urn, name: &t.name, kind: media::CATALOG_ITEM }, &all);
                }
                Item::Template => {
                    all.extend::<[(&str, &dyn Display); 9]>([
                        ("catalogItem", &item),
                        ("isDeployed", &false),
                        ("isEnabled", &true),
                        ("isGoldMaster", &false),
                        ("isInCatalog", &true),
                        ("numberOfVMs", &vms),
                        ("numberOfCpus", &cpus),
                        ("cpuAllocationInMhz", &cpu_mhz),
                        ("memoryAllocationMB", &memory),
                    ]);
                    let urn = urn("vapptemplate", t.id);
                    rows.add(&About { href: &entity, urn: &urn, name: &t.name, kind: media::VAPP_TEMPLATE }, &all);
                }
                Item::Media => {
                    all.extend::<[(&str, &dyn Display); 3]>([
                        ("catalogItem", &item),
                        ("isIso", &true),
                        ("storageB", &bytes),
                    ]);
                    let urn = urn("media", t.id);
                    rows.add(&About { href: &entity, urn: &urn, name: &t.name, kind: media::MEDIA }, &all);
                }
            }
        }
    }))
}
