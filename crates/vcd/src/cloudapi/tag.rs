//! Security tags of VMs.
use super::page::{Fields, at_hand, reference};
use crate::{
    answer::Answer,
    ask::{Ask, read_id},
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
};
use domain::{tag, vm};
use model::{
    Kind, Result, VmId,
    list::{self, ListQuery},
    vm::Vm,
};
use serde::Deserialize;
use serde_json::{Value, json};

const ENTITIES: Fields = &[
    ("tag", "tag"),
    ("id", "id"),
    ("name", "name"),
    ("entityType", "entityType"),
    ("orgRef.id", "orgRef.id"),
    ("vdcRef.id", "vdcRef.id"),
    ("vappRef.id", "vappRef.id"),
    ("ownerRef.id", "ownerRef.id"),
];
const VALUES: Fields = &[("tag", "tag")];

pub(crate) fn routes(routes: Routes) -> Routes {
    let of_vm = "/cloudapi/1.0.0/securityTags/vm/{id}";
    routes
        .get(of_vm, get)
        .told(Told::one("The tags of a VM", "Tags"))
        .put(of_vm, set)
        .told(Told::one("Give a VM these tags and no others", "Tags").takes("Tags"))
        .get("/cloudapi/1.0.0/securityTags/values", values)
        .told(Told::page("All tags of VMs that you see", "TagValue", VALUES))
        .get("/cloudapi/1.0.0/securityTags/entities", entities)
        .told(Told::page("VMs that have tags, one line for each tag", "TaggedEntity", ENTITIES))
        .put("/cloudapi/1.0.0/securityTags/tag", give)
        .told(Told::done("Give a tag to these VMs and to no others").takes("TagGiven"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let entity = vec![
        ("entityType", Is::Text),
        ("id", Is::Urn),
        ("name", Is::Text),
        ("tag", Is::Text),
        ("orgRef", Is::Ref),
        ("vdcRef", Is::Ref),
        ("vappRef", Is::Ref),
        ("parentRef", Is::Ref),
        ("ownerRef", Is::MaybeRef),
    ];
    vec![
        sent("Tags", vec![("tags", Is::Texts)]),
        sent("TagValue", vec![("tag", Is::Text)]),
        sent("TaggedEntity", entity),
        read("TagGiven", &["tag", "entities"], vec![("tag", Is::Text), ("entities", Is::Texts)]),
    ]
}

#[derive(Deserialize)]
struct Tags {
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct Given {
    tag: String,
    entities: Vec<String>,
}

async fn get(ask: Ask) -> Result<Answer> {
    answer(&ask, ask.id(Kind::Vm)?).await
}

async fn answer(ask: &Ask, vm: VmId) -> Result<Answer> {
    let tags = tag::of_vm(ask.d(), &ask.actor, vm).await?;
    Ok(Answer::json(&json!({"tags": tags})))
}

async fn set(ask: Ask) -> Result<Answer> {
    let id: VmId = ask.id(Kind::Vm)?;
    let sent: Tags = ask.json()?;
    tag::set(ask.d(), &ask.actor, id, sent.tags).await?;
    answer(&ask, id).await
}

async fn values(ask: Ask) -> Result<Answer> {
    let all = tag::list(ask.d(), &ask.actor, ask.context).await?;
    at_hand(&ask, VALUES, all.iter().map(|t| json!({"tag": t.tag})).collect())
}

/// The VMs that have a tag, as far as the asker sees them.
async fn tagged(ask: &Ask, tag: &str) -> Result<Vec<Vm>> {
    let first = ListQuery::first(&list::VMS);
    let mut q = ListQuery { limit: 1000, filters: vec![("tag", tag.to_owned())], ..first };
    let mut all = Vec::new();
    loop {
        let page = vm::list(ask.d(), &ask.actor, ask.context, &q).await?;
        all.extend(page.items);
        match page.after {
            Some(cursor) => q.cursor = Some(cursor),
            None => return Ok(all),
        }
    }
}

async fn entities(ask: Ask) -> Result<Answer> {
    let mut all = Vec::new();
    for t in tag::list(ask.d(), &ask.actor, ask.context).await? {
        all.extend(tagged(&ask, &t.tag).await?.iter().map(|vm| write(vm, &t.tag)));
    }
    at_hand(&ask, ENTITIES, all)
}

async fn give(ask: Ask) -> Result<Answer> {
    let given: Given = ask.json()?;
    let wanted: Vec<VmId> = given.entities.iter().map(|id| read_id(id, Kind::Vm).map(VmId)).collect::<Result<_>>()?;
    let word = given.tag.trim().to_lowercase();
    let have: Vec<VmId> = tagged(&ask, &word).await?.iter().map(|vm| vm.id).collect();
    let mut more = Vec::new();
    // all of them are looked at before anything is done
    for id in wanted.iter().filter(|id| !have.contains(id)) {
        more.push((*id, tag::of_vm(ask.d(), &ask.actor, *id).await?));
    }
    for (id, mut tags) in more {
        tags.push(word.clone());
        tag::set(ask.d(), &ask.actor, id, tags).await?;
    }
    for id in have.iter().filter(|id| !wanted.contains(id)) {
        let mut tags = tag::of_vm(ask.d(), &ask.actor, *id).await?;
        tags.retain(|tag| *tag != word);
        tag::set(ask.d(), &ask.actor, *id, tags).await?;
    }
    Ok(Answer::nothing())
}

fn write(v: &Vm, tag: &str) -> Value {
    let vapp = reference(&v.vapp_name, v.vapp.urn());
    json!({
        "entityType": "vm",
        "id": v.id.urn(),
        "name": v.name,
        "tag": tag,
        "orgRef": reference(&v.org_name, v.org.urn()),
        "vdcRef": reference(&v.vdc_name, v.vdc.urn()),
        "vappRef": vapp,
        "parentRef": vapp,
        "ownerRef": v.owner.map(|owner| reference(&v.owner_name, owner.urn())),
    })
}
