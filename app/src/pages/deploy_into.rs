//! A template's machines in a vApp that is there: the deploy form's other end, and the way to it from the vApp.
use super::{template::href, vapp};
use crate::{
    parts::*,
    portal::{Done, Visit, with_problems},
};
use domain::{
    catalog, network,
    recompose::{Change, Part, recompose},
    vapp::{self as vapps, Deploy},
    vapp_network,
};
use leptos::prelude::*;
use model::{
    Action, Error, Kind, Problems, Result, can,
    list::{ListQuery, TEMPLATES},
    network::Network,
    template::{ItemKind, Template},
    vapp::Vapp,
};

/// More are found in their catalogs.
const SHOWN: usize = 24;

/// What the address names the vApp by.
const INTO: &str = "into";

/// The vApp that the address names; None: a new one is made.
pub(super) async fn chosen(visit: &Visit) -> Result<Option<Vapp>> {
    match visit.ask.query(INTO) {
        "" => Ok(None),
        id => {
            let id = id.parse().map_err(|_| Error::NotFound(Kind::Vapp))?;
            let v = vapps::get(visit.domain(), &visit.actor, id).await?;
            visit.within(v.org, Kind::Vapp)?;
            Ok(Some(v))
        }
    }
}

/// Beside what else stands in the address of the form.
pub(super) fn in_address(v: &Vapp) -> String {
    format!("{INTO}={}", v.id)
}

/// Why nothing can be added to it.
pub(super) fn refused(visit: &Visit, v: &Vapp, t: &Template) -> Option<String> {
    if !visit.actor.may(Action::VappRecompose, v.resource(&visit.actor)) {
        return Some(format!("You may not change the vApp {}. Its owner can.", v.name));
    }
    if t.by_instance {
        return Some(format!("OpenShift makes the VMs of {} as a whole: deploy it as a vApp of its own.", t.name));
    }
    can::vapp(v, Action::VmCreate).err()
}

pub(super) fn place(visit: &Visit, v: &Vapp) -> AnyView {
    let (to, name, vdc) = (vapp::href(visit, v.id, ""), v.name.clone(), format!(" in {}.", v.vdc_name));
    view! { <p>"Into the vApp " <a href=to>{name}</a> {vdc}</p> }.into_any()
}

/// What NICs of its VMs can be plugged into.
pub(super) async fn networks(visit: &Visit, v: &Vapp) -> Result<Vec<Network>> {
    let mut all = network::in_reach(visit.domain(), &visit.actor, v.vdc).await?;
    let inside = vapp_network::list(visit.domain(), &visit.actor, v.id).await?;
    all.extend(inside.into_iter().filter(|n| n.vapp.is_some() && !n.deleted));
    Ok(all)
}

pub(super) async fn act(visit: &Visit, v: &Vapp, t: &Template, mut ask: Deploy, problems: Problems) -> Result<Done> {
    if t.vms.len() != 1 {
        ask.name.clone_from(&v.name);
    }
    let (spec, guests) = with_problems(problems, vapps::check(t, &ask))?;
    // said where nothing was typed yet; who posts past it is told the same
    if let Some(why) = refused(visit, v, t) {
        return Err(Error::NotNow(format!("Not now: {why}")));
    }
    let names: Vec<String> = spec.vms.iter().map(|vm| vm.name.clone()).collect();
    let parts = spec.vms.into_iter().zip(guests).map(|(spec, guest)| Part { template: Some(t.id), spec, guest });
    let change = Change { add: parts.collect(), ..Change::default() };
    recompose(visit.domain(), &visit.actor, v.id, change).await?;
    let words = match names.as_slice() {
        [one] => format!("VM {one} is asked for."),
        several => format!("The VMs {} are asked for.", several.join(", ")),
    };
    Ok(Done::new(vapp::href(visit, v.id, ""), words))
}

/// The templates to begin with instead of an empty disk.
pub(super) async fn offers(visit: &Visit, v: &Vapp) -> Result<AnyView> {
    if !visit.may(Action::CatalogList) {
        return Ok(().into_any());
    }
    let query = ListQuery { limit: 100, ..ListQuery::first(&TEMPLATES) };
    let all = catalog::templates(visit.domain(), &visit.actor, Some(v.org), &query).await?.items;
    let fits = |t: &Template| {
        t.kind == ItemKind::Template && can::template(t, Action::VappCreate).is_ok() && refused(visit, v, t).is_none()
    };
    let fitting: Vec<&Template> = all.iter().filter(|t| fits(t)).take(SHOWN).collect();
    if fitting.is_empty() {
        return Ok(().into_any());
    }
    let link = |t: &&Template| {
        let to = href(visit, t, &format!("/deploy?{}", in_address(v)));
        // a name that several catalogs have says nothing by itself
        let alone = fitting.iter().filter(|other| other.name == t.name).count() == 1;
        let words = if alone { t.name.clone() } else { format!("{} of {}", t.name, t.catalog_name) };
        view! { <a class="btn small" href=to>{words}</a> }
    };
    let links = fitting.iter().map(link).collect_view();
    Ok(view! {
        <div class="form">
            <FormSection title="From a template" lede="With its disks and its system. Or describe one below.">
                <div class="acts">{links}</div>
            </FormSection>
        </div>
    }
    .into_any())
}
