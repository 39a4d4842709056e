//! Metadata: what is written down beside things. Who sees a thing sees its metadata, but for what is the provider's alone.
use crate::Domain;
use model::{
    Action, Actor, CatalogId, DiskId, Error, Fields, Kind, NetworkId, OrgId, Result, TemplateId, VappId, VdcId, VmId,
    metadata::{Audience, Entry, Kept, MOST_ENTRIES, Thing},
};
use store::Record;
use uuid::Uuid;

/// What it takes to see and to change the metadata of things of that kind. None: they have none.
pub fn actions(kind: Kind) -> Option<(Action, Action)> {
    Some(match kind {
        Kind::Vapp => (Action::VappView, Action::VappMetadata),
        Kind::Vm => (Action::VmView, Action::VmMetadata),
        Kind::Catalog => (Action::CatalogView, Action::CatalogMetadata),
        Kind::Template => (Action::TemplateView, Action::TemplateMetadata),
        Kind::Disk => (Action::DiskView, Action::DiskMetadata),
        Kind::Network => (Action::NetworkView, Action::NetworkMetadata),
        Kind::Vdc => (Action::VdcView, Action::VdcMetadata),
        Kind::Org => (Action::OrgView, Action::OrgMetadata),
        _ => return None,
    })
}

fn to_change(kind: Kind) -> Result<Action> {
    actions(kind).map(|(_, change)| change).ok_or(Error::NotFound(kind))
}

/// The thing, for somebody who may do `action` to it.
pub async fn find(d: &Domain, actor: &Actor, action: Action, kind: Kind, id: Uuid) -> Result<Thing> {
    let s = &d.store;
    let (org, owner, name) = match kind {
        Kind::Vapp => s.vapp(actor, action, VappId(id)).await.map(|t| (t.org, t.owner, t.name.clone())),
        Kind::Vm => s.vm(actor, action, VmId(id)).await.map(|t| (t.org, t.owner, t.name.clone())),
        Kind::Disk => s.disk(actor, action, DiskId(id)).await.map(|t| (t.org, t.owner, t.name.clone())),
        Kind::Catalog => s.catalog(actor, action, CatalogId(id)).await.map(|t| (t.org, t.owner, t.name.clone())),
        Kind::Template => {
            s.template(actor, action, TemplateId(id)).await.map(|t| (t.org, t.catalog_owner, t.name.clone()))
        }
        Kind::Network => s.network(actor, action, NetworkId(id)).await.map(|t| (t.org, None, t.name().to_owned())),
        Kind::Vdc => s.vdc(actor, action, VdcId(id)).await.map(|t| (t.org, None, t.name.clone())),
        Kind::Org => s.org(actor, action, OrgId(id)).await.map(|t| (t.id, None, t.name.clone())),
        other => Err(Error::NotFound(other)),
    }?;
    Ok(Thing { kind, id, org, owner, name })
}

pub async fn list(d: &Domain, actor: &Actor, kind: Kind, id: Uuid) -> Result<(Thing, Vec<Kept>)> {
    let (view, _) = actions(kind).ok_or(Error::NotFound(kind))?;
    let thing = find(d, actor, view, kind, id).await?;
    let all = d.store.metadata_of(&thing, actor.provider).await?;
    Ok((thing, all))
}

/// Puts these beside what is there; a key that is there gets the new value.
pub async fn put(d: &Domain, actor: &Actor, kind: Kind, id: Uuid, entries: Vec<Entry>) -> Result<()> {
    let action = to_change(kind)?;
    d.attempt(actor, action, async {
        let thing = find(d, actor, action, kind, id).await?;
        let entries = entries.into_iter().map(Entry::check).collect::<Result<Vec<_>>>()?;
        entries.iter().try_for_each(|e| allowed(actor, e.audience))?;
        let mut tx = d.store.write(actor).await?;
        let mut count = tx.metadata_hold(&thing).await?;
        let mut before = Vec::new();
        for entry in &entries {
            let was = tx.metadata_entry(&thing, entry.audience.domain(), &entry.key).await?;
            count += i64::from(was.is_none());
            before.extend(was);
            tx.metadata_put(&thing, entry).await?;
        }
        if count > MOST_ENTRIES {
            return Err(Error::field(
                "key",
                format!("{} has {MOST_ENTRIES} entries, and nothing has more.", thing.name),
            ));
        }
        let record = Record::new(action, thing.org, id, &thing.name).of(thing.owner);
        tx.commit(record.before(&Several(before)).after(&Several(entries)).with_task()).await?;
        Ok(())
    })
    .await
}

pub async fn remove(d: &Domain, actor: &Actor, kind: Kind, id: Uuid, domain: &str, key: &str) -> Result<()> {
    let action = to_change(kind)?;
    d.attempt(actor, action, async {
        let thing = find(d, actor, action, kind, id).await?;
        let mut tx = d.store.write(actor).await?;
        tx.metadata_hold(&thing).await?;
        let found = tx.metadata_entry(&thing, domain, key).await?;
        // what one does not see is not there
        let seen = found.filter(|e| actor.provider || e.audience != Audience::SystemPrivate);
        let entry = seen.ok_or_else(|| Error::NotNow(format!("Not now: {} has no such entry.", thing.name)))?;
        allowed(actor, entry.audience)?;
        tx.metadata_remove(&thing, &entry).await?;
        let record = Record::new(action, thing.org, id, &thing.name).of(thing.owner);
        tx.commit(record.before(&Several(vec![entry])).with_task()).await?;
        Ok(())
    })
    .await
}

fn allowed(actor: &Actor, audience: Audience) -> Result<()> {
    if actor.provider || audience == Audience::General {
        return Ok(());
    }
    Err(Error::field("audience", "What is the system's is set by the provider."))
}

/// For the audit. Tenants read theirs, so what is private is named without its value.
struct Several(Vec<Entry>);

impl Fields for Several {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let one = |e: &Entry| match e.audience {
            Audience::SystemPrivate => "something private".to_owned(),
            _ => format!("{} = {}", e.key, e.value),
        };
        vec![("metadata", self.0.iter().map(one).collect::<Vec<_>>().join("; "))]
    }
}
