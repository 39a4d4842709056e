//! Metadata of things, by the same few addresses below each of them. An item of a catalog and what is in it are one thing here, so
//! they have the same.
use crate::{
    answer::Answer,
    ask::{Ask, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link},
        media,
        times::stamp,
    },
};
use domain::{metadata, task::Noted};
use model::{
    Action, Error, Kind, Result,
    decide::{Resource, authorize},
    metadata::{Audience, Entry, Kept, MetaType, Thing},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt::Display;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use uuid::Uuid;
use xml::{Element, Writer};

/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// The addresses below each thing, with what it is.
macro_rules! of {
    ($routes:ident: $($path:literal $kind:ident),* $(,)?) => {
        $routes$(
            .get(concat!($path, "/metadata"), |ask| list(ask, $path, Kind::$kind))
            .post(concat!($path, "/metadata"), |ask| add(ask, Kind::$kind))
            .get(concat!($path, "/metadata/{key}"), |ask| get(ask, $path, Kind::$kind))
            .put(concat!($path, "/metadata/{key}"), |ask| put(ask, Kind::$kind))
            .delete(concat!($path, "/metadata/{key}"), |ask| delete(ask, Kind::$kind))
            .get(concat!($path, "/metadata/{domain}/{key}"), |ask| get(ask, $path, Kind::$kind))
            .put(concat!($path, "/metadata/{domain}/{key}"), |ask| put(ask, Kind::$kind))
            .delete(concat!($path, "/metadata/{domain}/{key}"), |ask| delete(ask, Kind::$kind))
        )*
    };
}

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = of!(routes:
        "/api/org/{id}" Org,
        "/api/admin/org/{id}" Org,
        "/api/vdc/{id}" Vdc,
        "/api/admin/vdc/{id}" Vdc,
        "/api/catalog/{id}" Catalog,
        "/api/admin/catalog/{id}" Catalog,
        "/api/catalogItem/{id}" Template,
        "/api/vAppTemplate/vappTemplate-{id}" Template,
        "/api/media/{id}" Template,
        "/api/vApp/vapp-{id}" Vapp,
        "/api/vApp/vm-{id}" Vm,
        "/api/disk/{id}" Disk,
        "/api/network/{id}" Network,
        "/api/admin/network/{id}" Network,
    );
    routes.get("/api/admin/providervdc/{id}/metadata", of_provider_vdc)
}

/// The address of the thing's metadata, in the spelling that was asked with.
fn address(ask: &Ask, path: &str, id: Uuid) -> String {
    format!("{}{}/metadata", ask.base().0, path.replace("{id}", &id.to_string()))
}

async fn list(ask: Ask, path: &'static str, kind: Kind) -> Result<Answer> {
    let (thing, all) = metadata::list(ask.d(), &ask.actor, kind, ask.id(kind)?).await?;
    let href = address(&ask, path, thing.id);
    let text = document("Metadata", &[("href", &href), ("type", &media::METADATA)], |w| {
        link(w, "up", href.trim_end_matches("/metadata"), media_of(path));
        if may_change(&ask, &thing) {
            link(w, "add", &href, media::METADATA);
        }
        for kept in &all {
            let one = entry_href(&href, &kept.entry);
            w.el("MetadataEntry", &[("href", &one), ("type", &media::METADATA_VALUE)], |w| {
                content(w, &one, &kept.entry, may_remove(&ask, &thing, &kept.entry), Some(&kept.entry.key));
            });
        }
    });
    Ok(Answer::xml(media::METADATA, text))
}

async fn get(ask: Ask, path: &'static str, kind: Kind) -> Result<Answer> {
    let (thing, all) = metadata::list(ask.d(), &ask.actor, kind, ask.id(kind)?).await?;
    let (domain, key) = (domain_of(&ask)?, ask.part("key"));
    let found = all.into_iter().map(|kept| kept.entry).find(|e| e.audience.domain() == domain && e.key == key);
    let entry = found.ok_or(Error::NotFound(Kind::Metadata))?;
    let href = entry_href(&address(&ask, path, thing.id), &entry);
    let text = document("MetadataValue", &[("href", &href), ("type", &media::METADATA_VALUE)], |w| {
        content(w, &href, &entry, may_remove(&ask, &thing, &entry), None);
    });
    Ok(Answer::xml(media::METADATA_VALUE, text))
}

/// Puts several beside what is there.
async fn add(ask: Ask, kind: Kind) -> Result<Answer> {
    let body = ask.xml("Metadata")?;
    let entries = body.all("MetadataEntry").map(|e| read(e, e.need("Key")?, None)).collect::<Result<Vec<_>>>()?;
    change(ask, kind, entries).await
}

/// One by its key, new or not.
async fn put(ask: Ask, kind: Kind) -> Result<Answer> {
    let body = ask.xml("MetadataValue")?;
    let entry = read(&body, ask.part("key"), Some(domain_of(&ask)?))?;
    change(ask, kind, vec![entry]).await
}

async fn change(ask: Ask, kind: Kind, entries: Vec<Entry>) -> Result<Answer> {
    let id = ask.id(kind)?;
    if !entries.is_empty() {
        metadata::put(ask.d(), &ask.actor, kind, id, entries).await?;
    }
    accepted(&ask, kind, id).await
}

async fn delete(ask: Ask, kind: Kind) -> Result<Answer> {
    let id = ask.id(kind)?;
    metadata::remove(ask.d(), &ask.actor, kind, id, domain_of(&ask)?, ask.part("key")).await?;
    accepted(&ask, kind, id).await
}

async fn accepted(ask: &Ask, kind: Kind, id: Uuid) -> Result<Answer> {
    let (thing, _) = metadata::list(ask.d(), &ask.actor, kind, id).await?;
    let (_, doing) = metadata::actions(kind).ok_or(Error::NotFound(kind))?;
    let what = Noted { org: thing.org, id, name: thing.name, owner: thing.owner };
    super::task::accepted_about(ask, doing, what).await
}

/// The one that clients see has none, and takes none.
async fn of_provider_vdc(ask: Ask) -> Result<Answer> {
    authorize(&ask.actor, Action::HubList, Resource::Installation)?;
    let href = address(&ask, "/api/admin/providervdc/{id}", ask.id(Kind::Hub)?);
    Ok(Answer::xml(media::METADATA, document("Metadata", &[("href", &href), ("type", &media::METADATA)], |_| {})))
}

/// Of the address: `GENERAL` where none is named.
fn domain_of(ask: &Ask) -> Result<&'static str> {
    domain(ask.part("domain"))
}

fn domain(word: &str) -> Result<&'static str> {
    match word.to_ascii_uppercase().as_str() {
        "" | "GENERAL" => Ok("general"),
        "SYSTEM" => Ok("system"),
        _ => Err(Error::BadRequest(format!("“{}” is no domain of metadata: GENERAL or SYSTEM.", shown(word)))),
    }
}

/// `named`: the domain that the address names; the body may leave it out.
fn read(e: &Element, key: &str, named: Option<&'static str>) -> Result<Entry> {
    let written = e.child("Domain");
    let domain = match written.map(|d| d.text.trim()).filter(|t| !t.is_empty()) {
        Some(word) => domain(word)?,
        None => named.unwrap_or("general"),
    };
    if named.is_some_and(|named| named != domain) {
        return Err(Error::BadRequest("The domain in the address is not the one in the body.".into()));
    }
    let visibility = written.and_then(|d| d.attr("visibility")).unwrap_or_default().trim().to_ascii_uppercase();
    let audience = match (domain, visibility.as_str()) {
        ("general", "" | "READWRITE") => Audience::General,
        ("system", "READONLY") => Audience::SystemReadOnly,
        ("system", "" | "PRIVATE") => Audience::SystemPrivate,
        (domain, other) => {
            return Err(Error::BadRequest(format!(
                "Metadata in the domain {} can't be {}: GENERAL is READWRITE, SYSTEM is READONLY or PRIVATE.",
                domain.to_uppercase(),
                shown(other)
            )));
        }
    };
    // before there were types, the value stood by itself
    let typed = e.child("TypedValue");
    let value = typed.unwrap_or(e).child("Value").map(|v| v.text.clone());
    let value = value.ok_or_else(|| Error::BadRequest(format!("The metadata {} has no Value.", shown(key))))?;
    let kind = match typed.and_then(|t| t.attr("type").or_else(|| t.attr("_type"))) {
        None => MetaType::String,
        Some(word) => type_of(word)?,
    };
    Ok(Entry { audience, key: key.to_owned(), kind, value })
}

fn type_of(word: &str) -> Result<MetaType> {
    let bare = word.rsplit(':').next().unwrap_or(word);
    match bare.strip_suffix("Type").unwrap_or(bare) {
        "MetadataStringValue" => Ok(MetaType::String),
        "MetadataNumberValue" => Ok(MetaType::Number),
        "MetadataBooleanValue" => Ok(MetaType::Boolean),
        "MetadataDateTimeValue" => Ok(MetaType::DateTime),
        _ => Err(Error::BadRequest(format!("“{}” is no type of metadata.", shown(word)))),
    }
}

fn type_name(kind: MetaType) -> &'static str {
    match kind {
        MetaType::String => "MetadataStringValue",
        MetaType::Number => "MetadataNumberValue",
        MetaType::Boolean => "MetadataBooleanValue",
        MetaType::DateTime => "MetadataDateTimeValue",
    }
}

fn content(w: &mut Writer, href: &str, entry: &Entry, removable: bool, key: Option<&str>) {
    if removable {
        link(w, "edit", href, media::METADATA_VALUE);
        action(w, "remove", href);
    }
    let visibility = entry.audience.visibility().to_uppercase();
    w.text_with("Domain", &[("visibility", &visibility)], entry.audience.domain().to_uppercase());
    if let Some(key) = key {
        w.text("Key", key);
    }
    let value: &dyn Display = match entry.kind {
        // with thousandths, as clients send it
        MetaType::DateTime => &OffsetDateTime::parse(&entry.value, &Rfc3339).map_or(entry.value.clone(), stamp),
        _ => &entry.value,
    };
    w.el("TypedValue", &[("xsi:type", &type_name(entry.kind))], |w| w.text("Value", value));
}

/// `<Metadata>` within a record of a query.
pub(crate) fn within(w: &mut Writer, href: &str, all: &[Kept]) {
    w.el("Metadata", &[("href", &href), ("type", &media::METADATA)], |w| {
        for kept in all {
            let one = entry_href(href, &kept.entry);
            w.el("MetadataEntry", &[("href", &one), ("type", &media::METADATA_VALUE)], |w| {
                content(w, &one, &kept.entry, false, Some(&kept.entry.key));
            });
        }
    });
}

fn entry_href(metadata: &str, entry: &Entry) -> String {
    let key = utf8_percent_encode(&entry.key, PLAIN);
    match entry.audience {
        Audience::General => format!("{metadata}/{key}"),
        _ => format!("{metadata}/SYSTEM/{key}"),
    }
}

fn may_change(ask: &Ask, thing: &Thing) -> bool {
    // what is shared is not asked here: a link too few is worse than one that is refused
    metadata::actions(thing.kind).is_some_and(|(_, change)| {
        change.right().is_none_or(|right| ask.actor.has(right)) && (ask.actor.provider || thing.org == ask.actor.org)
    })
}

fn may_remove(ask: &Ask, thing: &Thing, entry: &Entry) -> bool {
    may_change(ask, thing) && (ask.actor.provider || entry.audience == Audience::General)
}

fn media_of(path: &str) -> &'static str {
    match path {
        "/api/org/{id}" => media::ORG,
        "/api/admin/org/{id}" => media::ADMIN_ORG,
        "/api/vdc/{id}" => media::VDC,
        "/api/admin/vdc/{id}" => media::ADMIN_VDC,
        "/api/catalog/{id}" => media::CATALOG,
        "/api/admin/catalog/{id}" => media::ADMIN_CATALOG,
        "/api/catalogItem/{id}" => media::CATALOG_ITEM,
        "/api/vAppTemplate/vappTemplate-{id}" => media::VAPP_TEMPLATE,
        "/api/media/{id}" => media::MEDIA,
        "/api/vApp/vapp-{id}" => media::VAPP,
        "/api/vApp/vm-{id}" => media::VM,
        "/api/disk/{id}" => media::DISK,
        _ => media::ORG_VDC_NETWORK,
    }
}
