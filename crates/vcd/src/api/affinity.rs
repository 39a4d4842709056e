//! Affinity rules of a VDC: which VMs are kept together, and which apart.
use crate::{
    answer::Answer,
    api::task,
    ask::{Ask, referred, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        href::Base,
        media,
    },
};
use domain::{affinity, task::Noted, vdc};
use model::{
    Action, Actor, AffinityId, Error, Kind, Result, VdcId, VmId,
    affinity::{AffinityRule, AffinitySpec},
    decide::Resource,
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vdc/{id}/vmAffinityRules", list)
        .post("/api/vdc/{id}/vmAffinityRules", create)
        .get("/api/vmAffinityRule/{id}", get)
        .put("/api/vmAffinityRule/{id}", edit)
        .delete("/api/vmAffinityRule/{id}", delete)
}

async fn list(ask: Ask) -> Result<Answer> {
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let rules = affinity::of_vdc(ask.d(), &ask.actor, vdc).await?;
    let href = format!("{}/vmAffinityRules/", ask.base().vdc(vdc));
    let org = vdc::get(ask.d(), &ask.actor, vdc).await?.org;
    let text = document("VmAffinityRules", &[("href", &href), ("type", &media::AFFINITY_RULES)], |w| {
        if ask.actor.may(Action::AffinityCreate, Resource::Of(org)) {
            link(w, "add", &href, media::AFFINITY_RULE);
        }
        for rule in &rules {
            let own = attributes(ask.base(), rule);
            let own: Vec<(&str, &dyn Display)> = own.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
            w.el("VmAffinityRule", &own, |w| content(w, ask.base(), &ask.actor, rule));
        }
    });
    Ok(Answer::xml(media::AFFINITY_RULES, text))
}

async fn found(ask: &Ask) -> Result<AffinityRule> {
    affinity::get(ask.d(), &ask.actor, ask.id(Kind::AffinityRule)?).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let rule = found(&ask).await?;
    let own = attributes(ask.base(), &rule);
    let own: Vec<(&str, &dyn Display)> = own.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    let text = document("VmAffinityRule", &own, |w| content(w, ask.base(), &ask.actor, &rule));
    Ok(Answer::xml(media::AFFINITY_RULE, text))
}

fn spec(body: &Element) -> Result<AffinitySpec> {
    let polarity = body.need("Polarity")?;
    let together = match polarity.to_ascii_lowercase().as_str() {
        "affinity" => true,
        "anti-affinity" => false,
        _ => {
            let why = format!("“{}” is no Polarity: Affinity and Anti-Affinity are.", shown(polarity));
            return Err(Error::BadRequest(why));
        }
    };
    let lists = body.all("VmReferences").flat_map(|list| list.all("VmReference"));
    Ok(AffinitySpec {
        name: body.need("Name")?.to_owned(),
        together,
        mandatory: body.on("IsMandatory")?,
        enabled: body.on("IsEnabled")?,
        vms: lists.map(|vm| referred(vm, Kind::Vm)).collect::<Result<Vec<VmId>>>()?,
    })
}

async fn create(ask: Ask) -> Result<Answer> {
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let spec = spec(&ask.xml("VmAffinityRule")?)?;
    let id = affinity::create(ask.d(), &ask.actor, vdc, spec).await?;
    let made = affinity::get(ask.d(), &ask.actor, id).await?;
    task::accepted_about(&ask, Action::AffinityCreate, noted(&made)).await
}

fn noted(rule: &AffinityRule) -> Noted {
    Noted { org: rule.org, id: rule.id.0, name: rule.name.clone(), owner: None }
}

async fn edit(ask: Ask) -> Result<Answer> {
    let rule = found(&ask).await?;
    let spec = spec(&ask.xml("VmAffinityRule")?)?;
    affinity::edit(ask.d(), &ask.actor, rule.id, rule.version, spec).await?;
    task::accepted_about(&ask, Action::AffinityEdit, noted(&rule)).await
}

async fn delete(ask: Ask) -> Result<Answer> {
    let id: AffinityId = ask.id(Kind::AffinityRule)?;
    let rule = affinity::get(ask.d(), &ask.actor, id).await?;
    affinity::delete(ask.d(), &ask.actor, id).await?;
    task::accepted_about(&ask, Action::AffinityDelete, noted(&rule)).await
}

fn attributes(base: &Base, rule: &AffinityRule) -> [(&'static str, String); 3] {
    [("id", rule.id.urn()), ("href", base.affinity(rule.id)), ("type", media::AFFINITY_RULE.to_owned())]
}

fn content(w: &mut Writer, base: &Base, actor: &Actor, rule: &AffinityRule) {
    let href = base.affinity(rule.id);
    link(w, "up", base.vdc(rule.vdc), media::VDC);
    if actor.may(Action::AffinityEdit, Resource::Of(rule.org)) {
        link(w, "edit", &href, media::AFFINITY_RULE);
    }
    if actor.may(Action::AffinityDelete, Resource::Of(rule.org)) {
        action(w, "remove", &href);
    }
    w.text("Name", &rule.name);
    w.text("IsEnabled", rule.enabled);
    w.text("IsMandatory", rule.mandatory);
    w.text("Polarity", if rule.together { "Affinity" } else { "Anti-Affinity" });
    w.el("VmReferences", &[], |w| {
        for vm in &rule.vms {
            reference(w, "VmReference", base.vm(vm.id), vm.id.urn(), &vm.name, media::VM);
        }
    });
}
