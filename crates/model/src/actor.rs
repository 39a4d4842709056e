//! Who asks, and from where.
use crate::{
    Action, OrgId, Right, Rights, RoleId, UserId,
    decide::{Decision, Resource, decide},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Which face a request came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    #[default]
    Portal,
    CommandLine,
    /// VCD's clients.
    Vcd,
    /// Nobody asked: something came to its end.
    Itself,
}

impl Via {
    pub fn key(self) -> &'static str {
        match self {
            Via::Portal => "portal",
            Via::CommandLine => "command line",
            Via::Vcd => "VCD API",
            Via::Itself => "by itself",
        }
    }
}

/// Where a request came from; it stands in audit rows, events and tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub via: Via,
    pub address: String,
    pub request_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// None: the operator at the command line, or the system itself.
    pub user: Option<UserId>,
    pub name: String,
    pub full_name: String,
    pub org: OrgId,
    pub org_name: String,
    pub org_display_name: String,
    /// Belongs to the provider's organization.
    pub provider: bool,
    pub role: RoleId,
    pub role_name: String,
    pub rights: Rights,
    pub origin: Origin,
}

impl Actor {
    /// The operator with a shell on the server: everything is theirs already.
    pub fn operator(provider_org: OrgId, provider_name: &str) -> Actor {
        Actor {
            user: None,
            name: "operator".into(),
            full_name: String::new(),
            org: provider_org,
            org_name: provider_name.into(),
            org_display_name: provider_name.into(),
            provider: true,
            role: RoleId(Uuid::nil()),
            role_name: "Operator".into(),
            rights: Rights::all(),
            origin: Origin { via: Via::CommandLine, ..Origin::default() },
        }
    }

    /// What ends by itself, as a lease does.
    pub fn system(provider_org: OrgId, provider_name: &str) -> Actor {
        Actor {
            name: "system".into(),
            role_name: "System".into(),
            origin: Origin { via: Via::Itself, ..Origin::default() },
            ..Actor::operator(provider_org, provider_name)
        }
    }

    pub fn has(&self, right: Right) -> bool {
        self.rights.has(right)
    }

    /// Would it be allowed? For buttons and navigation; the operation itself decides again.
    pub fn may(&self, action: Action, on: Resource) -> bool {
        decide(self, action, on) == Decision::Allow
    }

    /// The rights this actor can put into a role or give to a user of `org`.
    pub fn grantable(&self, org_is_provider: bool) -> Rights {
        if org_is_provider { self.rights } else { self.rights.and(Rights::tenant()) }
    }
}
