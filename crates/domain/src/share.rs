//! Sharing of vApps and catalogs with users and roles of their organization.
use crate::Domain;
use model::{
    Action, Actor, CatalogId, Error, Kind, OrgId, Result, RoleId, UserId, VappId, conflict,
    event::Change,
    share::{Grant, MOST_GRANTS, Share, Sharing},
};
use store::Record;
use time::OffsetDateTime;
use uuid::Uuid;

/// What is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Vapp(VappId),
    Catalog(CatalogId),
}

impl On {
    pub fn kind(self) -> Kind {
        match self {
            On::Vapp(_) => Kind::Vapp,
            On::Catalog(_) => Kind::Catalog,
        }
    }

    pub fn id(self) -> Uuid {
        match self {
            On::Vapp(id) => id.0,
            On::Catalog(id) => id.0,
        }
    }

    fn view(self) -> Action {
        match self {
            On::Vapp(_) => Action::VappViewSharing,
            On::Catalog(_) => Action::CatalogViewSharing,
        }
    }

    pub fn set(self) -> Action {
        match self {
            On::Vapp(_) => Action::VappShare,
            On::Catalog(_) => Action::CatalogShare,
        }
    }
}

/// With whom it is shared: everyone first, then roles, then users.
pub async fn get(d: &Domain, actor: &Actor, on: On) -> Result<Vec<Share>> {
    match on {
        On::Vapp(id) => d.store.vapp(actor, on.view(), id).await.map(drop)?,
        On::Catalog(id) => d.store.catalog(actor, on.view(), id).await.map(drop)?,
    }
    d.store.shares_of(on.id()).await
}

/// A user of that organization by name. Its members may be named by whoever shares something there.
pub async fn member(d: &Domain, org: OrgId, name: &str, field: &'static str) -> Result<UserId> {
    let found = d.store.user_called(org, name).await?;
    found.ok_or_else(|| Error::field(field, format!("There is no user “{}” in this organization.", name.trim())))
}

/// What of it a change needs.
struct Object {
    org: OrgId,
    owner: Option<UserId>,
    name: String,
    version: i64,
    updated_by: String,
    updated_at: OffsetDateTime,
}

/// Shares it like this from now on: all lines at once, as they stood on the page at `version`.
pub async fn set(d: &Domain, actor: &Actor, on: On, version: i64, grants: Vec<Grant>) -> Result<()> {
    let action = on.set();
    d.attempt(actor, action, async {
        check(&grants)?;
        let before = d.store.shares_of(on.id()).await?;
        let mut tx = d.store.write(actor).await?;
        let object = match on {
            On::Vapp(id) => {
                let v = tx.vapp(action, id).await?;
                model::can::or_not_now(model::can::vapp(&v, action))?;
                tx.shares_set(&v, on.id(), v.org, &grants).await?;
                tx.vapp_touch(&v).await?;
                let v = v.into_inner();
                let (org, owner, name) = (v.org, v.owner, v.name);
                Object { org, owner, name, version: v.version, updated_by: v.updated_by, updated_at: v.updated_at }
            }
            On::Catalog(id) => {
                let c = tx.catalog(action, id).await?;
                tx.shares_set(&c, on.id(), c.org, &grants).await?;
                tx.catalog_touch(&c).await?;
                let c = c.into_inner();
                let (org, owner, name) = (c.org, c.owner, c.name);
                Object { org, owner, name, version: c.version, updated_by: c.updated_by, updated_at: c.updated_at }
            }
        };
        let after = tx.shares_now(on.id()).await?;
        if version != object.version {
            let changed = (object.updated_by.as_str(), object.updated_at, object.version);
            let both = conflict(on.kind(), &object.name, changed, &Sharing(&before), &Sharing(&after));
            return Err(Error::Conflict(Box::new(both)));
        }
        let record = Record::new(action, object.org, on.id(), &object.name).of(object.owner);
        tx.commit(record.before(&Sharing(&before)).after(&Sharing(&after)).with_task()).await?;
        // those who lose it see that it is gone
        let shares = before.into_iter().map(|s| s.grant).collect();
        let (org, owner) = (object.org, object.owner);
        d.store.tell(Change { org, user: None, owner, kind: on.kind(), id: Some(on.id()), shares });
        Ok(())
    })
    .await
}

fn check(grants: &[Grant]) -> Result<()> {
    if grants.len() > MOST_GRANTS {
        return Err(Error::field("user", format!("At most {MOST_GRANTS} lines. Share with a role instead.")));
    }
    let mut subjects: Vec<_> = grants.iter().map(|g| g.subject).collect();
    subjects.sort_unstable();
    if subjects.windows(2).any(|two| two[0] == two[1]) {
        return Err(Error::field("user", "It is shared with one of them already. Change the access on that line."));
    }
    Ok(())
}

/// The roles of an organization, to share with whoever has one of them.
pub async fn roles(d: &Domain, actor: &Actor, on: On, org: OrgId) -> Result<Vec<(RoleId, String)>> {
    get(d, actor, on).await?;
    let roles = d.store.roles_of(org, false).await?;
    Ok(roles.into_iter().map(|r| (r.id, r.name)).collect())
}
