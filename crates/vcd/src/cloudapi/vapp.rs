//! vApps, to look at. They are made and changed by `/api`.
use super::{
    page::{Fields, asked, page, reference, tagged},
    vm,
};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::{status, times::stamp},
};
use domain::vapp;
use model::{Kind, Result, vapp::Vapp, vm_line::VmLine};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("status", "status"),
    ("vdc.id", "vdc"),
    ("vdc.name", "vdcName"),
    ("org.id", "org"),
    ("org.name", "orgName"),
    ("owner.id", "owner"),
    ("owner.name", "ownerName"),
    ("numberOfVMs", "numberOfVMs"),
    ("creationDate", "creationDate"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/vapps", list)
        .told(Told::page("vApps that you see", "VApp", FIELDS))
        .get("/cloudapi/1.0.0/vapps/{id}", get)
        .told(Told::one("One vApp, with its VMs", "VAppWithVms"))
}

fn properties() -> Vec<(&'static str, Is)> {
    vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("status", Is::Text),
        ("isDeployed", Is::Bool),
        ("isExpired", Is::Bool),
        ("numberOfVMs", Is::Int),
        ("numberOfCpus", Is::Int),
        ("memoryMb", Is::Int),
        ("vdc", Is::Ref),
        ("org", Is::Ref),
        ("owner", Is::MaybeRef),
        ("creationDate", Is::Time),
        ("href", Is::Text),
    ]
}

pub(crate) fn schemas() -> Vec<Schema> {
    let mut with_vms = properties();
    with_vms.push(("vms", Is::ListOf("Vm")));
    vec![sent("VApp", properties()), sent("VAppWithVms", with_vms)]
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = vapp::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |vapp| write(&ask, &vapp)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let (vapp, vms) = vapp::with_vms(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let mut body = write(&ask, &vapp);
    body["vms"] = vms.iter().map(|one| vm::write(&ask, &VmLine::of(one))).collect();
    Ok(tagged(Answer::json(&body), vapp.version))
}

fn write(ask: &Ask, v: &Vapp) -> Value {
    json!({
        "id": v.id.urn(),
        "name": v.name,
        "description": v.description,
        "status": status::vapp(v).1,
        "isDeployed": status::vapp_deployed(v),
        "isExpired": v.lease.expired_at.is_some(),
        "numberOfVMs": v.vms.all,
        "numberOfCpus": v.cpus,
        "memoryMb": v.memory_mb,
        "vdc": reference(&v.vdc_name, v.vdc.urn()),
        "org": reference(&v.org_name, v.org.urn()),
        "owner": v.owner.map(|owner| reference(&v.owner_name, owner.urn())),
        "creationDate": stamp(v.created_at),
        "href": ask.base().vapp(v.id),
    })
}
