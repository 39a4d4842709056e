//! Where machines are wished to go: the hubs of an organization and of a VDC, its region and zone, in forms and on pages.
use crate::{
    parts::*,
    portal::{Fill, Place, Values, Visit},
};
use leptos::prelude::*;
use model::{
    Action, HubId,
    org::{Org, OrgSpec},
    site::{Site, Sites},
    vdc::{Vdc, VdcSpec},
};

/// Hubs are named in the provider's portal only, to those who may see them.
pub(super) fn names_hubs(visit: &Visit, choose: Action) -> bool {
    visit.place == Place::Provider && visit.may(Action::HubList) && visit.may(choose)
}

/// The hubs that run VMs, and those that are wished for though they are not there any more.
fn choices(sites: &Sites, wished: &[HubId]) -> Vec<Choice> {
    let known = sites.0.iter().filter(|s| s.runs_vms || wished.contains(&s.hub));
    let gone = wished.iter().filter(|h| !sites.0.iter().any(|s| s.hub == **h));
    let known = known.map(|s| Choice::new(s.hub.0.clone(), s.hub.0.clone()).more(place(s)));
    known.chain(gone.map(|h| Choice::new(h.0.clone(), h.0.clone()).more("not registered any more"))).collect()
}

fn place(s: &Site) -> String {
    let parts = [s.region.as_str(), s.zone.as_str()];
    parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(", ")
}

fn checks(
    fill: &Fill,
    sites: &Sites,
    (name, label): (&'static str, &'static str),
    wished: &[HubId],
    hint: &'static str,
) -> impl IntoView + use<> {
    let choices = choices(sites, wished);
    let is_ticked = |c: &&Choice| fill.checked(name, &c.value, wished.iter().any(|h| h.0 == c.value));
    let ticked = choices.iter().filter(is_ticked).map(|c| c.value.clone()).collect();
    view! { <ChecksField name label choices ticked error=fill.error(name) hint /> }
}

/// Nothing without hubs: there is nothing to choose from.
pub(super) fn org_section(fill: &Fill, spec: &OrgSpec, sites: &Sites) -> AnyView {
    if sites.0.is_empty() {
        return ().into_any();
    }
    let prefer = checks(fill, sites, ("prefer", "Prefer"), &spec.prefer, "Taken before others that fit as well.");
    let avoid = checks(fill, sites, ("avoid", "Avoid"), &spec.avoid, "Nothing new of it goes there.");
    let lede = "Where its machines go from now on. Those that are placed stay where they are.";
    view! { <FormSection title="Hubs" lede>{prefer} {avoid}</FormSection> }.into_any()
}

/// A form without the section leaves what is set.
pub(super) fn read_org(visit: &Visit, values: &Values, kept: OrgSpec) -> OrgSpec {
    if !names_hubs(visit, Action::OrgChooseHubs) {
        return kept;
    }
    OrgSpec { prefer: hubs(values, "prefer"), avoid: hubs(values, "avoid"), ..kept }
}

fn hubs(values: &Values, name: &str) -> Vec<HubId> {
    let mut hubs: Vec<HubId> = values.all(name).filter(|v| !v.is_empty()).map(HubId::from).collect();
    hubs.sort();
    hubs.dedup();
    hubs
}

/// `all`: every site there is. Hubs for the provider; region and zone for everybody who has a choice.
pub(super) fn vdc_section(visit: &Visit, fill: &Fill, spec: &VdcSpec, all: &Sites) -> AnyView {
    let choose = names_hubs(visit, Action::VdcChooseHubs) && !all.0.is_empty();
    let boxes =
        choose.then(|| checks(fill, all, ("hubs", "Hubs"), &spec.hubs, "Nothing ticked: every hub that can run VMs."));
    // a tenant chooses among what the provider left open
    let open = all.open_to(if choose { &[] } else { &spec.hubs });
    let region = select(fill, ("region", "Region"), &spec.region, open.regions());
    let zone = select(fill, ("zone", "Zone"), &spec.zone, open.zones(""));
    if boxes.is_none() && region.is_none() && zone.is_none() {
        return ().into_any();
    }
    let lede = "Where its machines go from now on. Those that are placed stay where they are.";
    view! { <FormSection title="Place" lede>{boxes} {region} {zone}</FormSection> }.into_any()
}

/// Nothing where there is no choice and nothing is chosen.
fn select(
    fill: &Fill,
    (name, label): (&'static str, &'static str),
    stored: &str,
    mut words: Vec<String>,
) -> Option<impl IntoView + use<>> {
    let value = fill.value(name, stored);
    if words.len() < 2 && stored.is_empty() && value.is_empty() {
        return None;
    }
    // what came in stays to be seen, also if it is wrong
    for word in [stored, &value] {
        if !word.is_empty() && !words.iter().any(|w| w == word) {
            words.push(word.to_owned());
        }
    }
    let any = Choice::new("", "Any");
    let choices: Vec<Choice> =
        std::iter::once(any).chain(words.into_iter().map(|w| Choice::new(w.clone(), w))).collect();
    Some(view! { <SelectField name label choices value error=fill.error(name) optional=true width=Width::Third /> })
}

pub(super) fn read_vdc(visit: &Visit, values: &Values, kept: VdcSpec) -> VdcSpec {
    let word = |name: &str, kept: String| if values.has(name) { values.text(name) } else { kept };
    let hubs = match names_hubs(visit, Action::VdcChooseHubs) {
        true => hubs(values, "hubs"),
        false => kept.hubs,
    };
    VdcSpec { hubs, region: word("region", kept.region), zone: word("zone", kept.zone), ..kept }
}

/// What is wished for, on the organization's page.
pub(super) fn org_facts(visit: &Visit, o: &Org) -> AnyView {
    if visit.place != Place::Provider || !visit.may(Action::HubList) {
        return ().into_any();
    }
    let (prefer, avoid) = (links(&o.prefer, "no hub before others"), links(&o.avoid, "none"));
    let facts = view! {
        <Fact name="Prefers">{prefer}</Fact>
        <Fact name="Avoids">{avoid}</Fact>
    };
    view! { <Section title="Hubs" sub="where its machines go"><Facts>{facts}</Facts></Section> }.into_any()
}

/// `on`: the hubs it is on, for who may know.
pub(super) fn vdc_facts(v: &Vdc, on: Option<Vec<HubId>>) -> AnyView {
    let word = |name: &'static str, text: &str| {
        let text = text.to_owned();
        (!text.is_empty()).then(|| view! { <Fact name>{text}</Fact> })
    };
    let (region, zone) = (word("Region", &v.region), word("Zone", &v.zone));
    let hubs = on.map(|on| {
        let (may, on) = (links(&v.hubs, "every hub that can run VMs"), links(&on, "none yet"));
        view! {
            <Fact name="May use">{may}</Fact>
            <Fact name="Is on">{on}</Fact>
        }
    });
    if hubs.is_none() && region.is_none() && zone.is_none() {
        return ().into_any();
    }
    let facts = view! { {hubs} {region} {zone} };
    view! { <Section title="Place" sub="where its machines go"><Facts>{facts}</Facts></Section> }.into_any()
}

fn links(hubs: &[HubId], none: &'static str) -> AnyView {
    if hubs.is_empty() {
        return none.into_any();
    }
    let links = hubs.iter().enumerate().map(|(i, h)| {
        let comma = if i == 0 { "" } else { ", " };
        let (href, name) = (format!("/provider/hubs/{h}"), h.0.clone());
        view! { {comma} <a href=href>{name}</a> }
    });
    links.collect_view().into_any()
}
