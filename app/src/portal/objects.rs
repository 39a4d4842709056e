//! Links from tasks, events and the audit to what they are about: to what is still there and the visitor may see.
use super::{Place, Visit};
use leptos::prelude::*;
use model::{Action, Kind, OrgId, Result};
use std::collections::HashSet;
use uuid::Uuid;

/// The things that one page names.
pub struct Objects<'a> {
    visit: &'a Visit,
    living: HashSet<Uuid>,
}

impl<'a> Objects<'a> {
    pub async fn of(visit: &'a Visit, ids: &[Uuid]) -> Result<Objects<'a>> {
        Ok(Objects { visit, living: visit.domain().store.living(ids).await? })
    }

    /// Its name, linked if it can be seen.
    pub fn link(&self, kind: &str, id: Option<Uuid>, name: &str) -> AnyView {
        let name = name.to_owned();
        match id.filter(|id| self.living.contains(id)).and_then(|id| object_href(self.visit, kind, id)) {
            Some(href) => view! { <a href=href>{name}</a> }.into_any(),
            None => name.into_any(),
        }
    }

    /// For the provider, who sees those of many.
    pub fn org(&self, id: Option<OrgId>, name: &str) -> AnyView {
        self.link(Kind::Org.key(), id.map(|id| id.0), name)
    }
}

/// Where a thing of this kind is seen, if the visitor may see it at all.
pub(super) fn object_href(visit: &Visit, kind: &str, id: Uuid) -> Option<String> {
    let (list, action) = match (Kind::parse(kind)?, &visit.place) {
        (Kind::Org, Place::Provider) => ("/organizations", Action::OrgView),
        (Kind::Org, Place::Tenant { id: here, .. }) if here.0 == id => {
            return visit.may(Action::OrgView).then(|| visit.at("/organization"));
        }
        // a sign-in is about the user
        (Kind::User | Kind::Session, _) => ("/users", Action::UserView),
        (Kind::Role, _) => ("/roles", Action::RoleView),
        (Kind::Vdc, _) => ("/vdcs", Action::VdcView),
        _ => return None,
    };
    visit.may(action).then(|| visit.at(format!("{list}/{id}")))
}
