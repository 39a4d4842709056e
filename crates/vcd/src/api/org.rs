//! Organizations as their members see them.
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        doc::{document, link, named_link},
        media,
    },
};
use domain::{network, org};
use model::{
    Action, Kind, OrgId, Result,
    decide::Resource,
    list::{self, ListQuery},
    org::Org,
};
use std::fmt::Display;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/org", list_all).get("/api/org/{id}", get)
}

/// Those that somebody may see: all of them for the provider, but for one who acts in one of them; one's own for everybody else.
pub(crate) async fn visible(ask: &Ask) -> Result<Vec<Org>> {
    let only = if ask.actor.provider { ask.context } else { Some(ask.actor.org) };
    if let Some(org) = only {
        return Ok(vec![org::get(ask.d(), &ask.actor, org).await?]);
    }
    let mut q = ListQuery { limit: 1000, ..ListQuery::first(&list::ORGS) };
    let mut all = Vec::new();
    loop {
        let page = org::list(ask.d(), &ask.actor, &q).await?;
        all.extend(page.items);
        match page.after {
            Some(cursor) => q.cursor = Some(cursor),
            None => return Ok(all),
        }
    }
}

async fn list_all(ask: Ask) -> Result<Answer> {
    let base = ask.base();
    let orgs = visible(&ask).await?;
    let attributes: [(&str, &dyn Display); 2] = [("href", &base.api("org/")), ("type", &media::ORG_LIST)];
    let text = document("OrgList", &attributes, |w| {
        for org in &orgs {
            w.empty("Org", &[("href", &base.org(org.id)), ("name", &org.name), ("type", &media::ORG)]);
        }
    });
    Ok(Answer::xml(media::ORG_LIST, text))
}

async fn get(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let org = org::get(ask.d(), &ask.actor, id).await?;
    let networks = ListQuery { limit: 1000, ..ListQuery::first(&list::NETWORKS) };
    let networks = network::list(ask.d(), &ask.actor, Some(id), &networks).await.map(|p| p.items).unwrap_or_default();
    let base = ask.base();
    let attributes: [(&str, &dyn Display); 4] =
        [("name", &org.name), ("id", &org.id.urn()), ("href", &base.org(id)), ("type", &media::ORG)];
    let text = document("Org", &attributes, |w| {
        // clients take the first of these whose address has "vdc" in it, and then "catalog"
        let vdcs = base.api(format_args!("query?type=orgVdc&format=records&filter=org=={id}"));
        link(w, "down", vdcs, media::QUERY_RECORDS);
        // not by `org==`: clients look here for what is shared to the organization, too
        link(w, "down", format_args!("{}/catalogs/query?format=records", base.org(id)), media::QUERY_RECORDS);
        link(w, "down", base.tasks_list(id), media::TASKS_LIST);
        link(w, "down", format_args!("{}/metadata", base.org(id)), media::METADATA);
        for network in &networks {
            named_link(w, "down", base.network(network.id), media::ORG_NETWORK, network.name());
        }
        if ask.actor.may(Action::CatalogCreate, Resource::Of(id)) {
            link(w, "add", format_args!("{}/catalogs", base.admin_org(id)), media::ADMIN_CATALOG);
        }
        w.text("Description", &org.description);
        w.text("FullName", &org.display_name);
        w.text("IsEnabled", org.enabled);
    });
    Ok(Answer::xml(media::ORG, text))
}
