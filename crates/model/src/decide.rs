//! Who may do what: one function, deny by default.
use crate::{Action, Actor, Error, OrgId, Result, Right, RoleId, UserId, action::Reach, share::Access};

/// What an action is about, as far as deciding needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The whole installation.
    Installation,
    /// Something that belongs to an organization.
    Of(OrgId),
    /// Something in an organization that one user owns, or that is that user.
    Owned(OrgId, Option<UserId>),
    /// The same, and how far it is shared with the one who asks.
    Shared(OrgId, Option<UserId>, Option<Access>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Said openly. The right is missing whatever the object is, so this says nothing about the object.
    Forbid(Option<Right>),
    /// It is shared with them, and not that far: so much would be needed. Who gets this sees the object anyway.
    Short(Access),
    /// Answered like a missing object.
    Hide,
}

pub fn decide(actor: &Actor, action: Action, on: Resource) -> Decision {
    let (org, owner, given) = match on {
        Resource::Installation => (None, None, None),
        Resource::Of(org) => (Some(org), None, None),
        Resource::Owned(org, owner) => (Some(org), owner, None),
        Resource::Shared(org, owner, given) => (Some(org), owner, given),
    };
    let own = owner.is_some() && owner == actor.user;
    let has = action.right().is_some_and(|r| actor.has(r));
    let near = actor.provider || org == Some(actor.org);
    match action.reach() {
        Reach::Oneself if own => Decision::Allow,
        Reach::Oneself => Decision::Hide,
        Reach::OrgOrOwn if own && org == Some(actor.org) => Decision::Allow,
        Reach::OrgOrOwn if has && near => Decision::Allow,
        Reach::OrgOrOwn => Decision::Hide,
        Reach::Mine if action.right().is_some() && !has => Decision::Forbid(action.right()),
        Reach::Mine if near && (own || actor.provider || actor.has(action.sees_all())) => Decision::Allow,
        Reach::Mine if near && given >= Some(action.access()) => Decision::Allow,
        Reach::Mine if near && given.is_some() => Decision::Short(action.access()),
        Reach::Mine => Decision::Hide,
        _ if !has => Decision::Forbid(action.right()),
        Reach::Provider if actor.provider => Decision::Allow,
        Reach::Provider => Decision::Forbid(None),
        Reach::Org if near => Decision::Allow,
        Reach::Org => Decision::Hide,
    }
}

/// `decide` as a result.
pub fn authorize(actor: &Actor, action: Action, on: Resource) -> Result<()> {
    match decide(actor, action, on) {
        Decision::Allow => Ok(()),
        Decision::Forbid(right) => Err(Error::Forbidden { action, right }),
        Decision::Short(needed) => Err(Error::NotShared { action, needed }),
        Decision::Hide => Err(Error::NotFound(action.kind())),
    }
}

/// Which rows of a list somebody sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    Org(OrgId),
    /// Of that organization, what the user owns, and what is shared with the user or with the role.
    Own(OrgId, UserId, RoleId),
}

/// The scope of a list, wished for one organization or (None) for as much as one may see.
pub fn list_scope(actor: &Actor, action: Action, wish: Option<OrgId>) -> Result<Scope> {
    let Some(org) = wish.or((!actor.provider).then_some(actor.org)) else {
        if action.reach() == Reach::Mine && action.right().is_none_or(|r| actor.has(r)) {
            return Ok(Scope::All);
        }
        return match (action.right(), actor.user) {
            (Some(r), Some(user)) if !actor.has(r) && action.reach() == Reach::OrgOrOwn => {
                Ok(Scope::Own(actor.org, user, actor.role))
            }
            (Some(r), _) if !actor.has(r) => Err(Error::Forbidden { action, right: Some(r) }),
            _ => Ok(Scope::All),
        };
    };
    match decide(actor, action, Resource::Of(org)) {
        Decision::Allow => Ok(Scope::Org(org)),
        Decision::Hide if matches!(action.reach(), Reach::OrgOrOwn | Reach::Mine) && org == actor.org => {
            match actor.user {
                Some(user) => Ok(Scope::Own(org, user, actor.role)),
                None => Err(Error::NotFound(action.kind())),
            }
        }
        Decision::Forbid(right) => Err(Error::Forbidden { action, right }),
        Decision::Short(needed) => Err(Error::NotShared { action, needed }),
        Decision::Hide => Err(Error::NotFound(action.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, role::Predefined};
    use uuid::Uuid;

    fn actor(role: Predefined, org: u128, provider: bool) -> Actor {
        Actor {
            user: Some(UserId(Uuid::from_u128(org + 100))),
            name: "x".into(),
            full_name: String::new(),
            org: OrgId(Uuid::from_u128(org)),
            org_name: "o".into(),
            org_display_name: "o".into(),
            provider,
            role: role.id(),
            role_name: role.name().into(),
            rights: role.rights(),
            origin: Origin::default(),
        }
    }

    #[test]
    fn no_role_of_a_tenant_does_anything_to_another_tenant() {
        let foreign = OrgId(Uuid::from_u128(2));
        for role in Predefined::ALL.into_iter().filter(|r| !r.provider_only()) {
            let a = actor(role, 1, false);
            for &action in Action::ALL {
                for on in [Resource::Of(foreign), Resource::Owned(foreign, a.user), Resource::Owned(foreign, None)] {
                    if action.reach() == Reach::Oneself {
                        continue; // about a user, who is never in two organizations
                    }
                    assert_ne!(decide(&a, action, on), Decision::Allow, "{role:?} {action:?}");
                }
            }
        }
    }

    #[test]
    fn without_the_right_foreign_and_own_are_answered_alike() {
        let a = actor(Predefined::VappUser, 1, false);
        let own = decide(&a, Action::UserEdit, Resource::Of(a.org));
        let foreign = decide(&a, Action::UserEdit, Resource::Of(OrgId(Uuid::from_u128(2))));
        assert_eq!(own, foreign);
    }

    #[test]
    fn a_tenant_never_gets_a_list_of_everything() {
        for role in Predefined::ALL.into_iter().filter(|r| !r.provider_only()) {
            let a = actor(role, 1, false);
            for &action in Action::ALL {
                assert_ne!(list_scope(&a, action, None), Ok(Scope::All), "{role:?} {action:?}");
            }
        }
    }
}
