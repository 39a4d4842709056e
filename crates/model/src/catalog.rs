//! Catalogs: templates that an organization keeps, or the provider shares.
use crate::{
    Action, Actor, CatalogId, OrgId, Problems, Result, UserId,
    decide::Resource,
    name,
    share::{self, Access, Grant, Subject},
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Catalog {
    pub id: CatalogId,
    pub org: OrgId,
    pub org_name: String,
    pub owner: Option<UserId>,
    pub owner_name: String,
    /// The owner was removed or disabled: nobody looks after it.
    pub stranded: bool,
    /// With whom of its own organization it is shared.
    pub shares: Vec<Grant>,
    pub name: String,
    pub description: String,
    pub shared_to_all: bool,
    /// The organizations it is shared to one by one.
    pub shared_to: Vec<OrgId>,
    /// Filled with the templates that hubs have.
    pub from_hubs: bool,
    /// Templates and media together, and media alone.
    pub templates: i64,
    pub media: i64,
    /// Counts changes of what is in it.
    pub contents: i64,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

impl Catalog {
    /// As deciding sees it for somebody. What the provider shares to an organization is its members' to see, and nobody
    /// else's to change.
    pub fn resource(&self, actor: &Actor, action: Action) -> Resource {
        if !action.changes() && self.org != actor.org && self.seen_by(actor.org) {
            return Resource::Shared(actor.org, None, Some(Access::ReadOnly));
        }
        share::resource(actor, self.org, self.owner, &self.shares)
    }

    pub fn seen_by(&self, org: OrgId) -> bool {
        self.org == org || self.shared_to_all || self.shared_to.contains(&org)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CatalogSpec {
    pub name: String,
    pub description: String,
    pub shared_to_all: bool,
    pub shared_to: Vec<OrgId>,
    pub from_hubs: bool,
    /// Everyone of its organization may read it from the beginning. Later, its sharing says who may do what.
    pub open: bool,
}

impl CatalogSpec {
    pub fn check(self) -> Result<CatalogSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_name(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        problems.done()?;
        Ok(CatalogSpec { name, description, ..self })
    }
}

impl From<&Catalog> for CatalogSpec {
    fn from(c: &Catalog) -> CatalogSpec {
        CatalogSpec {
            name: c.name.clone(),
            description: c.description.clone(),
            shared_to_all: c.shared_to_all,
            shared_to: c.shared_to.clone(),
            from_hubs: c.from_hubs,
            open: c.shares.iter().any(|g| g.subject == Subject::Everyone),
        }
    }
}
