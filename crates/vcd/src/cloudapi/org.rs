//! Organizations.
use super::page::{Fields, asked, page, tagged, version};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
};
use domain::org;
use model::{
    Kind, OrgId, Result,
    org::{NewOrg, Org, OrgContents, OrgSpec},
    query::Found,
};
use serde::Deserialize;
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("displayName", "displayName"),
    ("description", "description"),
    ("isEnabled", "isEnabled"),
    ("canPublish", "canPublish"),
    ("orgVdcCount", "orgVdcCount"),
    ("catalogCount", "catalogCount"),
    ("userCount", "userCount"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/orgs", list)
        .told(Told::page("Organizations: your own, or all for the provider", "Org", FIELDS))
        .post("/cloudapi/1.0.0/orgs", create)
        .told(Told::made("Create an organization", "Org").takes("NewOrg"))
        .get("/cloudapi/1.0.0/orgs/{id}", get)
        .told(Told::one("One organization, with what is in it", "Org"))
        .put("/cloudapi/1.0.0/orgs/{id}", edit)
        .told(Told::one("Change an organization", "Org").takes("OrgChange"))
        .delete("/cloudapi/1.0.0/orgs/{id}", delete)
        .told(Told::done("Delete an organization that is disabled and empty"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let words = || {
        vec![
            ("name", Is::Text),
            ("displayName", Is::MaybeText),
            ("description", Is::MaybeText),
            ("isEnabled", Is::MaybeBool),
        ]
    };
    let org = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("displayName", Is::Text),
        ("description", Is::Text),
        ("isEnabled", Is::Bool),
        ("orgVdcCount", Is::Int),
        ("catalogCount", Is::Int),
        ("vappCount", Is::Int),
        ("runningVMCount", Is::Int),
        ("userCount", Is::Int),
        ("diskCount", Is::Int),
        ("canManageOrgs", Is::Bool),
        ("canPublish", Is::Bool),
        ("managedBy", Is::MaybeRef),
    ];
    vec![sent("Org", org), read("NewOrg", &["name"], words()), read("OrgChange", &[], words())]
}

/// What is left out stays as it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    name: Option<String>,
    display_name: Option<String>,
    description: Option<String>,
    is_enabled: Option<bool>,
}

impl Change {
    fn onto(self, spec: OrgSpec) -> OrgSpec {
        OrgSpec {
            name: self.name.unwrap_or(spec.name),
            display_name: self.display_name.unwrap_or(spec.display_name),
            description: self.description.unwrap_or(spec.description),
            ..spec
        }
    }
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = org::query(ask.d(), &ask.actor, ask.context, &q).await?;
    let contents = org::contents(ask.d(), &ask.actor, &found.items).await?;
    let both = Found { items: found.items.into_iter().zip(contents).collect(), total: found.total };
    Ok(page(&ask, &q, both, |(org, contents): (Org, OrgContents)| write(&org, contents)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let org = org::get(ask.d(), &ask.actor, ask.id(Kind::Org)?).await?;
    answer(&ask, org).await
}

async fn create(ask: Ask) -> Result<Answer> {
    let change: Change = ask.json()?;
    let enabled = change.is_enabled;
    let spec = change.onto(OrgSpec::default());
    let org = org::create(ask.d(), &ask.actor, NewOrg { spec, admin: None }).await?;
    let org = set_enabled(&ask, org, enabled).await?;
    let location = ask.base().cloudapi(format_args!("1.0.0/orgs/{}", org.id.urn()));
    Ok(answer(&ask, org).await?.created(location))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let change: Change = ask.json()?;
    let enabled = change.is_enabled;
    let org = org::get(ask.d(), &ask.actor, id).await?;
    let (seen, before) = (version(&ask, org.version)?, OrgSpec::from(&org));
    let spec = change.onto(before.clone());
    let org = match spec == before && seen == org.version {
        true => org,
        false => org::edit(ask.d(), &ask.actor, id, seen, spec).await?,
    };
    let org = set_enabled(&ask, org, enabled).await?;
    answer(&ask, org).await
}

async fn set_enabled(ask: &Ask, org: Org, enabled: Option<bool>) -> Result<Org> {
    match enabled {
        Some(enabled) if enabled != org.enabled => org::set_enabled(ask.d(), &ask.actor, org.id, enabled).await,
        _ => Ok(org),
    }
}

async fn delete(ask: Ask) -> Result<Answer> {
    org::delete(ask.d(), &ask.actor, ask.id(Kind::Org)?).await?;
    Ok(Answer::nothing())
}

async fn answer(ask: &Ask, org: Org) -> Result<Answer> {
    let contents = org::contents(ask.d(), &ask.actor, std::slice::from_ref(&org)).await?;
    let answer = Answer::json(&write(&org, contents.first().copied().unwrap_or_default()));
    Ok(tagged(answer, org.version))
}

fn write(o: &Org, contents: OrgContents) -> Value {
    json!({
        "id": o.id.urn(),
        "name": o.name,
        "displayName": o.display_name,
        "description": o.description,
        "isEnabled": o.enabled,
        "orgVdcCount": o.vdcs,
        "catalogCount": o.catalogs,
        "vappCount": contents.vapps,
        "runningVMCount": contents.running_vms,
        "userCount": o.users,
        "diskCount": contents.disks,
        "canManageOrgs": o.is_provider,
        "canPublish": o.is_provider || o.besides.publishes,
        "managedBy": null,
    })
}
