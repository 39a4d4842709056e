//! One id (a UUID) an object: bare in our own addresses and columns, `urn:vcloud:<type>:<uuid>` on the VCD wire.
use crate::Action;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// What an id, an event or an audit row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Installation,
    Org,
    User,
    Role,
    Right,
    Vdc,
    Hub,
    Catalog,
    Template,
    Upload,
    Image,
    Guest,
    Vapp,
    Vm,
    Network,
    Disk,
    Snapshot,
    StoragePolicy,
    SizingPolicy,
    AffinityRule,
    Metadata,
    Task,
    Session,
    Token,
    Event,
    Audit,
}

impl Kind {
    pub const ALL: [Kind; 26] = [
        Kind::Installation,
        Kind::Org,
        Kind::User,
        Kind::Role,
        Kind::Right,
        Kind::Vdc,
        Kind::Hub,
        Kind::Catalog,
        Kind::Template,
        Kind::Upload,
        Kind::Image,
        Kind::Guest,
        Kind::Vapp,
        Kind::Vm,
        Kind::Network,
        Kind::Disk,
        Kind::Snapshot,
        Kind::StoragePolicy,
        Kind::SizingPolicy,
        Kind::AffinityRule,
        Kind::Metadata,
        Kind::Task,
        Kind::Session,
        Kind::Token,
        Kind::Event,
        Kind::Audit,
    ];

    /// The word stored in the database and used in URNs.
    pub fn key(self) -> &'static str {
        match self {
            Kind::Installation => "installation",
            Kind::Org => "org",
            Kind::User => "user",
            Kind::Role => "role",
            Kind::Right => "right",
            Kind::Vdc => "vdc",
            Kind::Hub => "hub",
            Kind::Catalog => "catalog",
            Kind::Template => "vapptemplate",
            Kind::Upload => "upload",
            Kind::Image => "image",
            Kind::Guest => "guest",
            Kind::Vapp => "vapp",
            Kind::Vm => "vm",
            Kind::Network => "network",
            Kind::Disk => "disk",
            Kind::Snapshot => "snapshot",
            Kind::StoragePolicy => "storageprofile",
            Kind::SizingPolicy => "vdcComputePolicy",
            Kind::AffinityRule => "vmAffinityRule",
            Kind::Metadata => "metadata",
            Kind::Task => "task",
            Kind::Session => "session",
            Kind::Token => "token",
            Kind::Event => "event",
            Kind::Audit => "audit",
        }
    }

    pub fn parse(key: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.key() == key)
    }

    /// The list it is seen in: who may read that may also learn that one of them changed.
    pub fn shown_by(self) -> Option<Action> {
        match self {
            Kind::Org => Some(Action::OrgView),
            Kind::User => Some(Action::UserList),
            Kind::Role => Some(Action::RoleList),
            Kind::Vdc | Kind::AffinityRule => Some(Action::VdcList),
            Kind::Hub => Some(Action::HubList),
            Kind::Catalog | Kind::Template | Kind::Upload => Some(Action::CatalogList),
            Kind::Vapp | Kind::Vm | Kind::Snapshot => Some(Action::VappList),
            Kind::Disk => Some(Action::DiskList),
            Kind::StoragePolicy => Some(Action::PolicyList),
            Kind::SizingPolicy => Some(Action::SizingList),
            Kind::Network => Some(Action::NetworkList),
            Kind::Installation
            | Kind::Right
            | Kind::Image
            | Kind::Guest
            | Kind::Metadata
            | Kind::Task
            | Kind::Session
            | Kind::Token
            | Kind::Event
            | Kind::Audit => None,
        }
    }

    /// The word in a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Installation => "installation",
            Kind::Org => "organization",
            Kind::User => "user",
            Kind::Role => "role",
            Kind::Right => "right",
            Kind::Vdc => "VDC",
            Kind::Hub => "hub",
            Kind::Catalog => "catalog",
            Kind::Template => "template",
            Kind::Upload => "upload",
            Kind::Image => "image",
            Kind::Guest => "guest",
            Kind::Vapp => "vApp",
            Kind::Vm => "VM",
            Kind::Network => "network",
            Kind::Disk => "disk",
            Kind::Snapshot => "snapshot",
            Kind::StoragePolicy => "storage policy",
            Kind::SizingPolicy => "sizing policy",
            Kind::AffinityRule => "affinity rule",
            Kind::Metadata => "metadata entry",
            Kind::Task => "task",
            Kind::Session => "session",
            Kind::Token => "API token",
            Kind::Event => "event",
            Kind::Audit => "audit entry",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct BadId;

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an id: a UUID or urn:vcloud:<type>:<uuid> is needed")
    }
}

impl std::error::Error for BadId {}

macro_rules! ids {
    ($($name:ident $kind:ident),* $(,)?) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            pub const KIND: Kind = Kind::$kind;

            pub fn urn(self) -> String {
                format!("urn:vcloud:{}:{}", Self::KIND.key(), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            /// Takes the bare form and the URN of the right type.
            fn from_str(s: &str) -> Result<Self, BadId> {
                let bare = match s.strip_prefix("urn:vcloud:") {
                    Some(rest) => rest.strip_prefix(Self::KIND.key()).and_then(|r| r.strip_prefix(':')).ok_or(BadId)?,
                    None => s,
                };
                // the hyphenated form only: one object, one address
                if bare.len() != 36 {
                    return Err(BadId);
                }
                Uuid::try_parse(bare).map($name).map_err(|_| BadId)
            }
        }

        impl From<Uuid> for $name {
            fn from(u: Uuid) -> Self {
                $name(u)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Uuid {
                id.0
            }
        }
    )*};
}

ids!(
    OrgId Org, UserId User, RoleId Role, VdcId Vdc, CatalogId Catalog, TemplateId Template, UploadId Upload, ImageId Image, VappId Vapp, VmId Vm, NetworkId Network, DiskId Disk,
    SnapshotId Snapshot, PolicyId StoragePolicy, SizingId SizingPolicy, AffinityId AffinityRule, TaskId Task,
    TokenId Token, EventId Event, AuditId Audit,
);

/// An id for two things together, the same each time; with one of them it leads to the other.
pub fn mixed(a: Uuid, b: Uuid) -> Uuid {
    // of two versions 7 nothing is left, so both nibbles are set again
    const AGAIN: u128 = (0x8 << 76) | (0x8 << 60);
    Uuid::from_u128(a.as_u128() ^ b.as_u128() ^ AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_bare_and_as_its_own_urn_and_not_as_anothers() {
        let id: OrgId = "0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92".parse().expect("bare");
        assert_eq!(id.urn(), "urn:vcloud:org:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92");
        assert_eq!(id.urn().parse(), Ok(id));
        assert_eq!(id.urn().parse::<UserId>(), Err(BadId));
        for bad in ["", "acme", "0192c3b09a107f44a5d23e6b8c1f0d92", "urn:vcloud:org:", "urn:vcloud:org:x", "../etc"] {
            assert_eq!(bad.parse::<OrgId>(), Err(BadId), "{bad}");
        }
    }
}
