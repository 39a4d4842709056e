//! Sharing: what somebody gives to others of the organization, by user, by role, or to everyone in it.
use crate::{Actor, Fields, OrgId, RoleId, UserId, decide::Resource};
use serde::{Deserialize, Serialize};

/// How much is given. Each level has what the one before it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Access {
    /// To look at.
    ReadOnly,
    /// To change and to run.
    Change,
    /// To delete, to share and to give away as well.
    FullControl,
}

impl Access {
    pub const ALL: [Access; 3] = [Access::ReadOnly, Access::Change, Access::FullControl];

    /// VCD's word, and the one in the database.
    pub fn key(self) -> &'static str {
        match self {
            Access::ReadOnly => "ReadOnly",
            Access::Change => "Change",
            Access::FullControl => "FullControl",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Access::ReadOnly => "Read only",
            Access::Change => "Change",
            Access::FullControl => "Full control",
        }
    }

    pub fn parse(key: &str) -> Option<Access> {
        Access::ALL.into_iter().find(|a| a.key() == key)
    }
}

/// With whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Everybody of the organization.
    Everyone,
    User(UserId),
    /// Whoever has it, now or later.
    Role(RoleId),
}

impl Subject {
    pub fn of(user: Option<UserId>, role: Option<RoleId>) -> Subject {
        match (user, role) {
            (Some(user), _) => Subject::User(user),
            (None, Some(role)) => Subject::Role(role),
            (None, None) => Subject::Everyone,
        }
    }

    pub fn user(self) -> Option<UserId> {
        if let Subject::User(id) = self { Some(id) } else { None }
    }

    pub fn role(self) -> Option<RoleId> {
        if let Subject::Role(id) = self { Some(id) } else { None }
    }

    fn includes(self, actor: &Actor) -> bool {
        match self {
            Subject::Everyone => true,
            Subject::User(id) => actor.user == Some(id),
            Subject::Role(id) => actor.user.is_some() && actor.role == id,
        }
    }
}

/// One line of a sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grant {
    pub subject: Subject,
    pub access: Access,
}

/// A line with the name that people read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub grant: Grant,
    pub name: String,
}

/// All lines, for the audit and for two edits that met.
pub struct Sharing<'a>(pub &'a [Share]);

impl Fields for Sharing<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let everyone = self.0.iter().find(|s| s.grant.subject == Subject::Everyone);
        let others = self.0.iter().filter_map(|s| match s.grant.subject {
            Subject::Everyone => None,
            Subject::User(_) => Some(format!("{}: {}", s.name, s.grant.access.label())),
            Subject::Role(_) => Some(format!("role {}: {}", s.name, s.grant.access.label())),
        });
        let others: Vec<String> = others.collect();
        vec![
            ("everyone", everyone.map_or("not shared".into(), |s| s.grant.access.label().to_owned())),
            ("shared_with", if others.is_empty() { "nobody".into() } else { others.join(", ") }),
        ]
    }
}

/// At most so many lines for one thing.
pub const MOST_GRANTS: usize = 200;

/// The most that the lines give to somebody, as an object of `org` that `owner` has.
pub fn resource(actor: &Actor, org: OrgId, owner: Option<UserId>, grants: &[Grant]) -> Resource {
    let given = grants.iter().filter(|g| actor.org == org && g.subject.includes(actor)).map(|g| g.access).max();
    Resource::Shared(org, owner, given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action, Origin,
        decide::{Decision, decide},
        role::Predefined,
    };
    use uuid::Uuid;

    fn actor(role: Predefined, user: u128) -> Actor {
        Actor {
            user: Some(UserId(Uuid::from_u128(user))),
            name: "x".into(),
            full_name: String::new(),
            org: OrgId(Uuid::from_u128(1)),
            org_name: "o".into(),
            org_display_name: "o".into(),
            provider: false,
            role: role.id(),
            role_name: role.name().into(),
            rights: role.rights(),
            origin: Origin::default(),
        }
    }

    #[test]
    fn a_share_gives_as_much_as_it_says_and_nobody_else_anything() {
        let (org, owner) = (OrgId(Uuid::from_u128(1)), Some(UserId(Uuid::from_u128(7))));
        let friend = actor(Predefined::VappUser, 8);
        let with = |subject, access| [Grant { subject, access }];
        let on = |grants: &[Grant]| resource(&friend, org, owner, grants);
        let may = |action, grants: &[Grant]| decide(&friend, action, on(grants));
        assert_eq!(may(Action::VappView, &[]), Decision::Hide);
        for subject in [Subject::Everyone, Subject::User(UserId(Uuid::from_u128(8))), Subject::Role(friend.role)] {
            let read = with(subject, Access::ReadOnly);
            assert_eq!(may(Action::VappView, &read), Decision::Allow);
            assert_eq!(may(Action::VappPowerOn, &read), Decision::Short(Access::Change));
            let change = with(subject, Access::Change);
            assert_eq!(may(Action::VappPowerOn, &change), Decision::Allow);
            assert_eq!(may(Action::VappDelete, &change), Decision::Short(Access::FullControl));
            assert_eq!(may(Action::VappDelete, &with(subject, Access::FullControl)), Decision::Allow);
        }
        for subject in [Subject::User(UserId(Uuid::from_u128(9))), Subject::Role(Predefined::VappAuthor.id())] {
            assert_eq!(may(Action::VappView, &with(subject, Access::FullControl)), Decision::Hide);
        }
        // a right that the role has not got is not given by a share
        let all = with(Subject::Everyone, Access::FullControl);
        assert!(matches!(may(Action::VappOwner, &all), Decision::Forbid(Some(_))));
        // everyone is everyone of the organization
        let foreign = Actor { org: OrgId(Uuid::from_u128(2)), ..friend.clone() };
        assert_eq!(decide(&foreign, Action::VappView, resource(&foreign, org, owner, &all)), Decision::Hide);
    }
}
