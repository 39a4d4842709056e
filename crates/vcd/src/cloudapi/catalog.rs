//! Catalogs, and the templates and media in them.
use super::page::{EntityRef, Fields, asked, page, reference, tagged, version};
use crate::{
    answer::Answer,
    ask::{Ask, read_id},
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
    wire::{href::urn, status, times::stamp},
};
use domain::catalog;
use model::{
    CatalogId, Error, Kind, OrgId, Result,
    catalog::{Catalog, CatalogSpec},
    query::{Clause, Filter, Op, Value as Wanted},
    template::{ItemKind, Template},
};
use serde::Deserialize;
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("org.id", "org"),
    ("org.name", "orgName"),
    ("owner.id", "owner"),
    ("owner.name", "ownerName"),
    ("isPublished", "isPublished"),
    ("isLocal", "isLocal"),
    ("creationDate", "creationDate"),
];
const ITEMS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("entity.type", "entityType"),
    ("creationDate", "creationDate"),
    ("isExpired", "isExpired"),
];
const ALL: &str = "/cloudapi/1.0.0/catalogs";
const ONE: &str = "/cloudapi/1.0.0/catalogs/{id}";

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get(ALL, list)
        .told(Told::page("Catalogs that you see: of the organization, and those shared with it", "Catalog", FIELDS))
        .post(ALL, create)
        .told(Told::made("Create a catalog", "Catalog").takes("NewCatalog"))
        .get(ONE, get)
        .told(Told::one("One catalog", "Catalog"))
        .put(ONE, edit)
        .told(Told::one("Change a catalog", "Catalog").takes("NewCatalog"))
        .delete(ONE, delete)
        .told(Told::done("Delete an empty catalog"))
        .get("/cloudapi/1.0.0/catalogs/{id}/catalogItems", items)
        .told(Told::page("Templates and media of a catalog", "CatalogItem", ITEMS))
        .get("/cloudapi/1.0.0/catalogs/{id}/catalogItems/{item}", item)
        .told(Told::one("One template or medium", "CatalogItem"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let catalog = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("org", Is::Ref),
        ("owner", Is::MaybeRef),
        ("isPublished", Is::Bool),
        ("isSubscribed", Is::Bool),
        ("isLocal", Is::Bool),
        ("itemCount", Is::Int),
        ("version", Is::Int),
        ("creationDate", Is::Time),
    ];
    let item = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("catalog", Is::Ref),
        ("owner", Is::MaybeRef),
        ("status", Is::Text),
        ("isExpired", Is::Bool),
        ("size", Is::MaybeInt),
        ("version", Is::Int),
        ("creationDate", Is::Time),
        ("entity", Is::Of("ItemEntity")),
    ];
    let entity = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("type", Is::Text),
        ("numberOfVMs", Is::Int),
        ("numberOfCpus", Is::Int),
        ("memoryMb", Is::Int),
    ];
    let new = vec![("name", Is::Text), ("description", Is::MaybeText), ("org", Is::MaybeRef)];
    vec![
        sent("Catalog", catalog),
        sent("CatalogItem", item),
        sent("ItemEntity", entity),
        read("NewCatalog", &["name"], new),
    ]
}

#[derive(Deserialize)]
struct Sent {
    name: String,
    description: Option<String>,
    org: Option<EntityRef>,
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = catalog::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |catalog| write(&catalog)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let catalog = catalog::get(ask.d(), &ask.actor, ask.id(Kind::Catalog)?).await?;
    Ok(answer(&catalog))
}

async fn create(ask: Ask) -> Result<Answer> {
    let new: Sent = ask.json()?;
    let org = match new.org.and_then(|org| org.id) {
        Some(id) => OrgId(read_id(&id, Kind::Org)?),
        None => ask.context.unwrap_or(ask.actor.org),
    };
    let spec =
        CatalogSpec { name: new.name, description: new.description.unwrap_or_default(), ..CatalogSpec::default() };
    let made = catalog::create(ask.d(), &ask.actor, org, spec).await?;
    let location = ask.base().cloudapi(format_args!("1.0.0/catalogs/{}", made.id.urn()));
    Ok(answer(&made).created(location))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    let change: Sent = ask.json()?;
    let catalog = catalog::get(ask.d(), &ask.actor, id).await?;
    let before = CatalogSpec::from(&catalog);
    let description = change.description.unwrap_or(before.description);
    let spec = CatalogSpec { name: change.name, description, ..before };
    let catalog = catalog::edit(ask.d(), &ask.actor, id, version(&ask, catalog.version)?, spec).await?;
    Ok(answer(&catalog))
}

async fn delete(ask: Ask) -> Result<Answer> {
    catalog::delete(ask.d(), &ask.actor, ask.id(Kind::Catalog)?).await?;
    Ok(Answer::nothing())
}

async fn items(ask: Ask) -> Result<Answer> {
    let catalog = catalog::get(ask.d(), &ask.actor, ask.id(Kind::Catalog)?).await?;
    let mut q = asked(&ask, ITEMS)?;
    let within = Clause { field: "catalog".into(), op: Op::Is, value: Wanted::exactly(catalog.id.to_string()) };
    q.filter = Filter::All(vec![q.filter, Filter::Is(within)]);
    let found = catalog::query_templates(ask.d(), &ask.actor, None, &q).await?;
    Ok(page(&ask, &q, found, |item| write_item(&item)))
}

async fn item(ask: Ask) -> Result<Answer> {
    let catalog: CatalogId = ask.id(Kind::Catalog)?;
    let item = catalog::template(ask.d(), &ask.actor, ask.id_in("item", Kind::Template)?).await?;
    match item.catalog == catalog {
        true => Ok(Answer::json(&write_item(&item))),
        false => Err(Error::NotFound(Kind::Template)),
    }
}

fn answer(catalog: &Catalog) -> Answer {
    tagged(Answer::json(&write(catalog)), catalog.version)
}

fn write(c: &Catalog) -> Value {
    json!({
        "id": c.id.urn(),
        "name": c.name,
        "description": c.description,
        "org": reference(&c.org_name, c.org.urn()),
        "owner": c.owner.map(|owner| reference(&c.owner_name, owner.urn())),
        "isPublished": c.shared_to_all || !c.shared_to.is_empty(),
        "isSubscribed": false,
        "isLocal": true,
        "itemCount": c.templates,
        "version": c.contents,
        "creationDate": stamp(c.created_at),
    })
}

fn write_item(t: &Template) -> Value {
    let kind = if t.kind == ItemKind::Media { "media" } else { "vapptemplate" };
    let cpus: i64 = t.vms.iter().map(|vm| i64::from(vm.cpus)).sum();
    let memory: i64 = t.vms.iter().map(|vm| vm.memory_mb).sum();
    json!({
        "id": urn("catalogitem", t.id),
        "name": t.name,
        "description": t.words(),
        "catalog": reference(&t.catalog_name, t.catalog.urn()),
        "owner": t.catalog_owner.map(|owner| reference(&t.catalog_owner_name, owner.urn())),
        "status": status::template_word(t),
        "isExpired": t.expired,
        "size": t.size,
        "version": t.version,
        "creationDate": stamp(t.created_at),
        "entity": {
            "id": urn(kind, t.id),
            "name": t.name,
            "type": kind,
            "numberOfVMs": t.vms.len(),
            "numberOfCpus": cpus,
            "memoryMb": memory,
        },
    })
}
