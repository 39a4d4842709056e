//! Rights bundles and global roles. One bundle holds every right that a tenant can have, and the predefined roles are global;
//! both are given to all organizations. That can't be changed, and is said where somebody tries.
use super::{
    page::{Fields, asked, at_hand, missing, page, reference},
    right,
};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::href::{derived, urn},
};
use domain::org;
use model::{
    Action, Error, Result, Rights,
    decide::{Resource, authorize},
    query::{Clause, Filter, Op, Value as Wanted},
    role::Predefined,
};
use serde_json::{Value, json};
use uuid::Uuid;

const FIELDS: Fields = &[("id", "id"), ("name", "name"), ("readOnly", "readOnly"), ("publishAll", "publishAll")];

/// Something that rights are given by, to all organizations.
#[derive(Clone, Copy)]
struct Given {
    id: Uuid,
    name: &'static str,
    description: &'static str,
    rights: Rights,
}

#[derive(Clone, Copy)]
enum Sort {
    Bundle,
    Role,
}

impl Sort {
    fn all(self) -> Vec<Given> {
        match self {
            Sort::Bundle => vec![Given {
                id: derived("rightsBundle", "default"),
                name: "Default Rights Bundle",
                description: "Every right that roles of an organization can have.",
                rights: Rights::tenant(),
            }],
            Sort::Role => {
                let shared = Predefined::ALL.into_iter().filter(|p| !p.provider_only());
                let given = |p: Predefined| Given {
                    id: p.id().0,
                    name: p.name(),
                    description: p.description(),
                    rights: p.rights(),
                };
                shared.map(given).collect()
            }
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Sort::Bundle => "rightsBundle",
            Sort::Role => "globalRole",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Sort::Bundle => "rights bundle",
            Sort::Role => "global role",
        }
    }
}

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes
        .get("/cloudapi/1.0.0/rightsBundles", |ask| list(ask, Sort::Bundle))
        .told(Told::page("Bundles of rights: one, for all organizations", "RightsBundle", FIELDS))
        .get("/cloudapi/1.0.0/rightsBundles/{id}", |ask| get(ask, Sort::Bundle))
        .told(Told::one("One bundle of rights", "RightsBundle"))
        .get("/cloudapi/1.0.0/rightsBundles/{id}/rights", |ask| rights(ask, Sort::Bundle))
        .told(Told::page("The rights in a bundle", "RightRef", right::REFS))
        .get("/cloudapi/1.0.0/rightsBundles/{id}/tenants", |ask| tenants(ask, Sort::Bundle))
        .told(Told::page("The organizations that have a bundle", "TenantRef", right::REFS))
        .get("/cloudapi/1.0.0/globalRoles", |ask| list(ask, Sort::Role))
        .told(Told::page("Roles that every organization has", "GlobalRole", FIELDS))
        .get("/cloudapi/1.0.0/globalRoles/{id}", |ask| get(ask, Sort::Role))
        .told(Told::one("One role that every organization has", "GlobalRole"))
        .get("/cloudapi/1.0.0/globalRoles/{id}/rights", |ask| rights(ask, Sort::Role))
        .told(Told::page("The rights of a global role", "RightRef", right::REFS))
        .get("/cloudapi/1.0.0/globalRoles/{id}/tenants", |ask| tenants(ask, Sort::Role))
        .told(Told::page("The organizations that have a global role", "TenantRef", right::REFS));
    let told = Told::done("Refused: these are the same in every installation");
    let no = |ask: Ask| refuse(ask, Sort::Bundle);
    let routes = routes
        .post("/cloudapi/1.0.0/rightsBundles", no)
        .told(told)
        .put("/cloudapi/1.0.0/rightsBundles/{id}", no)
        .told(told)
        .delete("/cloudapi/1.0.0/rightsBundles/{id}", no)
        .told(told)
        .put("/cloudapi/1.0.0/rightsBundles/{id}/rights", no)
        .told(told)
        .post("/cloudapi/1.0.0/rightsBundles/{id}/rights", no)
        .told(told)
        .put("/cloudapi/1.0.0/rightsBundles/{id}/tenants", no)
        .told(told)
        .post("/cloudapi/1.0.0/rightsBundles/{id}/tenants/{how}", no)
        .told(told);
    let no = |ask: Ask| refuse(ask, Sort::Role);
    routes
        .post("/cloudapi/1.0.0/globalRoles", no)
        .told(told)
        .put("/cloudapi/1.0.0/globalRoles/{id}", no)
        .told(told)
        .delete("/cloudapi/1.0.0/globalRoles/{id}", no)
        .told(told)
        .put("/cloudapi/1.0.0/globalRoles/{id}/rights", no)
        .told(told)
        .post("/cloudapi/1.0.0/globalRoles/{id}/rights", no)
        .told(told)
        .put("/cloudapi/1.0.0/globalRoles/{id}/tenants", no)
        .told(told)
        .post("/cloudapi/1.0.0/globalRoles/{id}/tenants/{how}", no)
        .told(told)
}

pub(crate) fn schemas() -> Vec<Schema> {
    let given = || {
        vec![
            ("id", Is::Urn),
            ("name", Is::Text),
            ("description", Is::Text),
            ("bundleKey", Is::Text),
            ("readOnly", Is::Bool),
            ("publishAll", Is::Bool),
        ]
    };
    let tenant = sent("TenantRef", vec![("name", Is::Text), ("id", Is::Urn)]);
    vec![sent("RightsBundle", given()), sent("GlobalRole", given()), tenant]
}

/// Only the provider sees how organizations come by their rights.
fn provider(ask: &Ask) -> Result<()> {
    authorize(&ask.actor, Action::OrgList, Resource::Installation)
}

fn find(ask: &Ask, sort: Sort) -> Result<Option<Given>> {
    provider(ask)?;
    let id = right::id_of(ask, sort.kind(), sort.word())?;
    Ok(sort.all().into_iter().find(|given| Some(given.id) == id))
}

async fn list(ask: Ask, sort: Sort) -> Result<Answer> {
    provider(&ask)?;
    at_hand(&ask, FIELDS, sort.all().iter().map(|given| write(sort, given)).collect())
}

async fn get(ask: Ask, sort: Sort) -> Result<Answer> {
    let found = find(&ask, sort)?;
    Ok(found.map_or_else(|| missing(sort.word()), |given| Answer::json(&write(sort, &given))))
}

async fn rights(ask: Ask, sort: Sort) -> Result<Answer> {
    match find(&ask, sort)? {
        Some(given) => at_hand(&ask, right::REFS, right::references(given.rights)),
        None => Ok(missing(sort.word())),
    }
}

/// All organizations but the provider's own.
async fn tenants(ask: Ask, sort: Sort) -> Result<Answer> {
    if find(&ask, sort)?.is_none() {
        return Ok(missing(sort.word()));
    }
    let mut q = asked(&ask, right::REFS)?;
    let no_provider = Clause { field: "canPublish".into(), op: Op::Is, value: Wanted::exactly("false") };
    q.filter = Filter::All(vec![q.filter, Filter::Is(no_provider)]);
    let found = org::query(ask.d(), &ask.actor, None, &q).await?;
    Ok(page(&ask, &q, found, |org| reference(&org.name, org.id.urn())))
}

async fn refuse(ask: Ask, sort: Sort) -> Result<Answer> {
    provider(&ask)?;
    if !ask.part("id").is_empty() && find(&ask, sort)?.is_none() {
        return Ok(missing(sort.word()));
    }
    Err(Error::NotNow(match sort {
        Sort::Bundle => "There is one rights bundle here, which every organization has. It can't be changed.".into(),
        Sort::Role => {
            "Global roles are the predefined ones, the same everywhere. Make a role of the organization instead.".into()
        }
    }))
}

fn write(sort: Sort, given: &Given) -> Value {
    json!({
        "id": urn(sort.kind(), given.id),
        "name": given.name,
        "description": given.description,
        "bundleKey": right::KEY,
        "readOnly": true,
        "publishAll": true,
    })
}
