//! VMs, to look at. They are made and changed by `/api`.
use super::page::{Fields, asked, page, reference, tagged};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::{status, times::stamp},
};
use domain::vm;
use model::{Kind, Result, vm::Power, vm_line::VmLine};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("status", "status"),
    ("vapp.id", "container"),
    ("vapp.name", "containerName"),
    ("vdc.id", "vdc"),
    ("vdc.name", "vdcName"),
    ("org.id", "org"),
    ("org.name", "orgName"),
    ("owner.id", "owner"),
    ("owner.name", "ownerName"),
    ("numberOfCpus", "numberOfCpus"),
    ("memoryMb", "memoryMB"),
    ("creationDate", "dateCreated"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/vms", list)
        .told(Told::page("VMs that you see", "Vm", FIELDS))
        .get("/cloudapi/1.0.0/vms/{id}", get)
        .told(Told::one("One VM", "Vm"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let vm = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("computerName", Is::Text),
        ("status", Is::Text),
        ("isDeployed", Is::Bool),
        ("numberOfCpus", Is::Int),
        ("memoryMb", Is::Int),
        ("guestOs", Is::Text),
        ("ipAddresses", Is::Texts),
        ("sizingPolicy", Is::MaybeRef),
        ("vapp", Is::Ref),
        ("vdc", Is::Ref),
        ("org", Is::Ref),
        ("owner", Is::MaybeRef),
        ("creationDate", Is::Time),
        ("href", Is::Text),
    ];
    vec![sent("Vm", vm)]
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = vm::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |vm| write(&ask, &vm)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let vm = vm::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    Ok(tagged(Answer::json(&write(&ask, &VmLine::of(&vm))), vm.version))
}

pub(super) fn write(ask: &Ask, v: &VmLine) -> Value {
    json!({
        "id": v.id.urn(),
        "name": v.name,
        "description": v.description,
        "computerName": v.computer_name,
        "status": status::line(v).1,
        "isDeployed": v.power != Power::Off,
        "numberOfCpus": v.cpus,
        "memoryMb": v.memory_mb,
        "guestOs": v.os,
        "ipAddresses": v.ips,
        "sizingPolicy": v.sizing.as_ref().map(|(id, name)| reference(name, id.urn())),
        "vapp": reference(&v.vapp_name, v.vapp.urn()),
        "vdc": reference(&v.vdc_name, v.vdc.urn()),
        "org": reference(&v.org_name, v.org.urn()),
        "owner": v.owner.map(|owner| reference(&v.owner_name, owner.urn())),
        "creationDate": stamp(v.created_at),
        "href": ask.base().vm(v.id),
    })
}
