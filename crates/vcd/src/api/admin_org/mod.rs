//! Organizations as their administrators see them: with their settings, and with all that is in them by name.
mod change;
mod rights;
mod settings;

use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        doc::{action, document, link, reference},
        media,
    },
};
use domain::org;
use model::{
    Action, Kind, OrgId, Result,
    decide::Resource,
    org::{Org, OrgNames},
};
use std::fmt::Display;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes.get("/api/admin/org/{id}", get);
    rights::routes(settings::routes(change::routes(routes)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    answer(&ask, id).await
}

async fn answer(ask: &Ask, id: OrgId) -> Result<Answer> {
    let org = org::get(ask.d(), &ask.actor, id).await?;
    let names = org::names(ask.d(), &ask.actor, &org).await?;
    Ok(Answer::xml(media::ADMIN_ORG, whole(ask, &org, &names)))
}

fn whole(ask: &Ask, org: &Org, names: &OrgNames) -> String {
    let base = ask.base();
    let href = base.admin_org(org.id);
    let attributes: [(&str, &dyn Display); 4] =
        [("name", &org.name), ("id", &org.id.urn()), ("href", &href), ("type", &media::ADMIN_ORG)];
    document("AdminOrg", &attributes, |w| {
        links(w, ask, org, &href);
        w.text("Description", &org.description);
        w.text("FullName", &org.display_name);
        w.text("IsEnabled", org.enabled);
        settings::settings(w, ask, org);
        w.el("Users", &[], |w| {
            for (id, name) in &names.users {
                reference(w, "UserReference", base.user(*id), id.urn(), name, media::ADMIN_USER);
            }
        });
        w.el("Groups", &[], |_| {});
        w.el("Catalogs", &[], |w| {
            for (id, name) in &names.catalogs {
                reference(w, "CatalogReference", base.admin_catalog(*id), id.urn(), name, media::ADMIN_CATALOG);
            }
        });
        w.el("Vdcs", &[], |w| {
            for (id, name) in &names.vdcs {
                reference(w, "Vdc", base.admin_vdc(*id), id.urn(), name, media::ADMIN_VDC);
            }
        });
        w.el("Networks", &[], |w| {
            for (id, name) in &names.networks {
                reference(w, "Network", base.admin_network(*id), id.urn(), name, media::ORG_VDC_NETWORK);
            }
        });
        rights::references(w, ask, org);
        w.el("RoleReferences", &[], |w| {
            for (id, name) in &names.roles {
                reference(w, "RoleReference", base.role(*id), id.urn(), name, media::ADMIN_ROLE);
            }
        });
    })
}

fn links(w: &mut Writer, ask: &Ask, org: &Org, href: &str) {
    let may = |action| ask.actor.may(action, Resource::Of(org.id));
    link(w, "alternate", ask.base().org(org.id), media::ORG);
    link(w, "down", ask.base().tasks_list(org.id), media::TASKS_LIST);
    link(w, "down", format_args!("{href}/metadata"), media::METADATA);
    for (action, path, kind) in [
        (Action::CatalogCreate, "catalogs", media::ADMIN_CATALOG),
        (Action::UserCreate, "users", media::ADMIN_USER),
        (Action::RoleCreate, "roles", media::ADMIN_ROLE),
    ] {
        if may(action) {
            link(w, "add", format_args!("{href}/{path}"), kind);
        }
    }
    if may(Action::VdcCreate) && !org.is_provider {
        link(w, "add", format_args!("{href}/vdcsparams"), media::CREATE_VDC_PARAMS);
    }
    if may(Action::OrgEdit) {
        link(w, "edit", href, media::ADMIN_ORG);
    }
    if org.is_provider {
        return;
    }
    match org.enabled {
        true if may(Action::OrgDisable) => action(w, "disable", format_args!("{href}/action/disable")),
        false if may(Action::OrgEnable) => action(w, "enable", format_args!("{href}/action/enable")),
        _ => {}
    }
    if may(Action::OrgDelete) {
        action(w, "remove", href);
    }
}
