//! Links from tasks, events and the audit to what they are about: to what is still there and the visitor may see.
use super::{Place, Visit};
use leptos::prelude::*;
use model::{Action, Kind, OrgId};
use uuid::Uuid;

/// A thing's name; a link if it still lives and can be seen.
pub fn object_link(visit: &Visit, kind: &str, id: Option<Uuid>, name: &str, lives: bool) -> AnyView {
    let (name, id) = (name.to_owned(), id.filter(|_| lives));
    match id.and_then(|id| object_href(visit, kind, id)) {
        Some(href) => view! { <a href=href>{name}</a> }.into_any(),
        None => name.into_any(),
    }
}

/// For the provider, who sees things of many organizations.
pub fn org_link(visit: &Visit, id: Option<OrgId>, name: &str, lives: bool) -> AnyView {
    object_link(visit, Kind::Org.key(), id.map(|id| id.0), name, lives)
}

/// Where a thing of this kind is seen, if the visitor may see it at all.
pub fn object_href(visit: &Visit, kind: &str, id: Uuid) -> Option<String> {
    let (list, action) = match (Kind::parse(kind)?, &visit.place) {
        (Kind::Org, Place::Provider) => ("/organizations", Action::OrgView),
        (Kind::Org, Place::Tenant { id: here, .. }) if here.0 == id => {
            return visit.may(Action::OrgView).then(|| visit.at("/organization"));
        }
        // a sign-in is about the user
        (Kind::User | Kind::Session, _) => ("/users", Action::UserView),
        (Kind::Role, _) => ("/roles", Action::RoleView),
        (Kind::Vdc, _) => ("/vdcs", Action::VdcView),
        (Kind::Network, _) => ("/networks", Action::NetworkView),
        (Kind::Catalog, _) => ("/catalogs", Action::CatalogView),
        (Kind::Template, _) => ("/templates", Action::TemplateView),
        // whose it is, is not known here: one's own needs no right, and its page answers for itself
        (Kind::Vapp, _) => return Some(visit.at(format!("/vapps/{id}"))),
        (Kind::Disk, _) => ("/disks", Action::DiskView),
        (Kind::StoragePolicy, Place::Provider) => ("/storage", Action::PolicyView),
        (Kind::SizingPolicy, Place::Provider) => ("/sizing", Action::SizingView),
        (Kind::Vm, _) => return Some(visit.at(format!("/vms/{id}"))),
        _ => return None,
    };
    visit.may(action).then(|| visit.at(format!("{list}/{id}")))
}
