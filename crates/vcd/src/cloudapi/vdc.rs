//! VDCs: what they are, what they can, and the policies that their VMs can have.
use super::{
    page::{Fields, asked, at_hand, page, reference, tagged},
    sizing,
};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::times::stamp,
};
use domain::vdc;
use model::{Error, Kind, Result, vdc::Vdc};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("isEnabled", "isEnabled"),
    ("org.id", "org.id"),
    ("org.name", "org.name"),
    ("allocationType", "allocationType"),
];
const CAPABILITY: Fields = &[("name", "name"), ("category", "category")];

pub(crate) fn routes(routes: Routes) -> Routes {
    let profile = "/cloudapi/1.0.0/vdcs/{id}/networkProfile";
    routes
        .get("/cloudapi/1.0.0/vdcs", list)
        .told(Told::page("VDCs of the organization, or of all for the provider", "Vdc", FIELDS))
        .get("/cloudapi/1.0.0/vdcs/{id}", get)
        .told(Told::one("One VDC", "Vdc"))
        .get("/cloudapi/1.0.0/vdcs/{id}/capabilities", capabilities)
        .told(Told::page("What a VDC can", "Capability", CAPABILITY))
        .get("/cloudapi/1.0.0/vdcs/{id}/computePolicies", |ask| policies(ask, 1))
        .told(Told::page("The sizes that VMs of a VDC can have", "ComputePolicy", sizing::FIELDS))
        .get("/cloudapi/2.0.0/vdcs/{id}/computePolicies", |ask| policies(ask, 2))
        .told(Told::page("The same, in the second form", "ComputePolicy2", sizing::FIELDS2))
        .get(profile, network_profile)
        .told(Told::one("What edges and segments the networks of a VDC have: none", "NetworkProfile"))
        .put(profile, no_profile)
        .told(Told::done("Refused: there is nothing to choose"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let vdc = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("isEnabled", Is::Bool),
        ("org", Is::Ref),
        ("allocationType", Is::Text),
        ("vmQuota", Is::Int),
        ("vmCount", Is::Int),
        ("vappCount", Is::Int),
        ("networkCount", Is::Int),
        ("cpuLimit", Is::MaybeInt),
        ("cpuUsed", Is::Int),
        ("memoryLimitMb", Is::MaybeInt),
        ("memoryUsedMb", Is::Int),
        ("storageLimitMb", Is::MaybeInt),
        ("storageUsedMb", Is::Int),
        ("creationDate", Is::Time),
    ];
    let capability = vec![
        ("name", Is::Text),
        ("description", Is::Text),
        ("value", Is::Text),
        ("type", Is::Text),
        ("category", Is::Text),
    ];
    let profile = vec![
        ("primaryEdgeCluster", Is::MaybeRef),
        ("secondaryEdgeCluster", Is::MaybeRef),
        ("servicesEdgeCluster", Is::MaybeRef),
        ("vdcNetworkSegmentProfileTemplateRef", Is::MaybeRef),
        ("vappNetworkSegmentProfileTemplateRef", Is::MaybeRef),
    ];
    vec![sent("Vdc", vdc), sent("Capability", capability), sent("NetworkProfile", profile)]
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = vdc::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |vdc| write(&vdc)))
}

async fn find(ask: &Ask) -> Result<Vdc> {
    vdc::get(ask.d(), &ask.actor, ask.id(Kind::Vdc)?).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let vdc = find(&ask).await?;
    Ok(tagged(Answer::json(&write(&vdc)), vdc.version))
}

/// Clients take networks for NSX-T's by this; of the two kinds they know, ours are like those.
async fn capabilities(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    let networks = json!({
        "name": "networkProvider",
        "description": "Whose networks they are like",
        "value": "NSX_T",
        "type": "String",
        "category": "Networking",
    });
    at_hand(&ask, CAPABILITY, vec![networks])
}

async fn policies(ask: Ask, form: u8) -> Result<Answer> {
    let vdc = find(&ask).await?;
    sizing::of_vdc(&ask, vdc.id, form).await
}

async fn network_profile(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    Ok(Answer::json(&json!({
        "primaryEdgeCluster": null,
        "secondaryEdgeCluster": null,
        "servicesEdgeCluster": null,
        "vdcNetworkSegmentProfileTemplateRef": null,
        "vappNetworkSegmentProfileTemplateRef": null,
    })))
}

async fn no_profile(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    Err(Error::NotNow("There are no edge clusters and no segment profiles here, so a VDC can't choose any.".into()))
}

fn write(v: &Vdc) -> Value {
    json!({
        "id": v.id.urn(),
        "name": v.name,
        "description": v.description,
        "isEnabled": v.enabled,
        "org": reference(&v.org_name, v.org.urn()),
        "allocationType": v.allocation_model.key(),
        "vmQuota": v.limits.vms.unwrap_or(0),
        "vmCount": v.used.vms,
        "vappCount": v.vapps,
        "networkCount": v.networks,
        "cpuLimit": v.limits.cpus,
        "cpuUsed": v.used.cpus,
        "memoryLimitMb": v.limits.memory_mb,
        "memoryUsedMb": v.used.memory_mb,
        "storageLimitMb": v.limits.storage_mb,
        "storageUsedMb": v.used.storage_mb,
        "creationDate": stamp(v.created_at),
    })
}
