//! Owners: whose a thing is, and things whose owner can't look after them any more.
use crate::{Action, CatalogId, DiskId, Fields, Kind, OrgId, Result, Right, UserId, VappId, can::WhyNot};
use time::OffsetDateTime;
use uuid::Uuid;

/// Something that has an owner. VMs have their vApp's, templates and media their catalog's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owned {
    Vapp(VappId),
    Catalog(CatalogId),
    Disk(DiskId),
}

impl Owned {
    pub fn of(kind: Kind, id: Uuid) -> Option<Owned> {
        match kind {
            Kind::Vapp => Some(Owned::Vapp(VappId(id))),
            Kind::Catalog => Some(Owned::Catalog(CatalogId(id))),
            Kind::Disk => Some(Owned::Disk(DiskId(id))),
            _ => None,
        }
    }

    pub fn kind(self) -> Kind {
        match self {
            Owned::Vapp(_) => Kind::Vapp,
            Owned::Catalog(_) => Kind::Catalog,
            Owned::Disk(_) => Kind::Disk,
        }
    }

    pub fn id(self) -> Uuid {
        match self {
            Owned::Vapp(id) => id.0,
            Owned::Catalog(id) => id.0,
            Owned::Disk(id) => id.0,
        }
    }

    /// To give it to somebody.
    pub fn action(self) -> Action {
        match self {
            Owned::Vapp(_) => Action::VappOwner,
            Owned::Catalog(_) => Action::CatalogOwner,
            Owned::Disk(_) => Action::DiskOwner,
        }
    }

    /// What its owner has to be able to do.
    pub fn takes(self) -> Right {
        match self {
            Owned::Vapp(_) => Right::VappPower,
            Owned::Catalog(_) => Right::CatalogEdit,
            Owned::Disk(_) => Right::DiskView,
        }
    }

    /// As a form posts it: `vapp:0192…`.
    pub fn key(self) -> String {
        format!("{}:{}", self.kind().key(), self.id())
    }

    pub fn parse(key: &str) -> Option<Owned> {
        let (kind, id) = key.split_once(':')?;
        Owned::of(Kind::parse(kind)?, Uuid::try_parse(id).ok()?)
    }
}

/// Who may get something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heir {
    pub id: UserId,
    pub name: String,
    pub enabled: bool,
    pub rights: crate::Rights,
}

impl Heir {
    pub fn can_own(&self, what: Owned) -> Result<(), WhyNot> {
        match () {
            () if !self.enabled => Err(format!("{} is disabled. Choose somebody who can sign in.", self.name)),
            () if !self.rights.has(what.takes()) => Err(format!(
                "{} can't own a {}: that takes the right “{}”. Choose somebody else.",
                self.name,
                what.kind().word(),
                what.takes().name()
            )),
            () => Ok(()),
        }
    }
}

/// Something whose owner was removed or disabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranded {
    pub what: Owned,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
    pub owner: UserId,
    pub owner_name: String,
    /// Removed; else disabled.
    pub owner_removed: bool,
    pub created_at: OffsetDateTime,
}

/// The owner before or after a change, for the audit.
pub struct OwnerName<'a>(pub &'a str);

impl Fields for OwnerName<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let name = if self.0.is_empty() { "the provider" } else { self.0 };
        vec![("owner", name.to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owned_comes_back_as_it_went() {
        let what = Owned::Disk(DiskId(Uuid::from_u128(5)));
        assert_eq!(Owned::parse(&what.key()), Some(what));
        for bad in ["", "vapp", "vapp:", "user:00000000-0000-0000-0000-000000000005", "vapp:x"] {
            assert_eq!(Owned::parse(bad), None, "{bad}");
        }
    }
}
