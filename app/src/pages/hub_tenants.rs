//! Who is on a hub, and whether new machines go there.
use super::{hub::href, sizes::memory_words, vm::vdc_link};
use crate::{
    parts::*,
    portal::{Visit, org_link},
};
use leptos::prelude::*;
use model::{
    Action,
    hub::{Hub, HubTenant, HubWishers},
};

pub(super) fn tenant_section(visit: &Visit, tenants: &[HubTenant]) -> AnyView {
    if tenants.is_empty() {
        return view! { <Section title="Who is here"><p>"Nobody yet. A VDC comes with its first machine."</p></Section> }
            .into_any();
    }
    let rows = tenants.iter().map(|t| {
        let (vdc, org) = (vdc_link(visit, t.vdc, &t.vdc_name), org_link(visit, Some(t.org), &t.org_name, true));
        let (vms, cpus, memory) = (t.vms, t.cpus, memory_words(t.memory_mb));
        let cells = view! {
            <Cell label="VDC" wraps=true>{vdc}</Cell>
            <Cell label="Organization" wraps=true>{org}</Cell>
            <Cell label="VMs" number=true>{vms}</Cell>
            <Cell label="CPU" number=true>{cpus}</Cell>
            <Cell label="Memory" number=true>{memory}</Cell>
        };
        view! { <Row id=format!("tenant-{}", t.vdc)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let mut heads = vec![Head::new("VDC"), Head::new("Organization")];
    heads.extend(["VMs", "CPU", "Memory"].map(|label| Head::new(label).number()));
    let table = view! { <Table caption="VDCs on this hub" heads>{rows}</Table> };
    view! { <Section title="Who is here">{table}</Section> }.into_any()
}

pub(super) fn placement_section(visit: &Visit, h: &Hub, wishers: &HubWishers) -> impl IntoView + use<> {
    let (badge, text, label, icon, rest) = if h.cordoned {
        let text = "Nothing new is placed here. What runs goes on running, and tenants notice nothing.";
        (view! { <Badge shape=Shape::Barred word="Cordoned" /> }, text, "Uncordon", Icon::Play, "/uncordon")
    } else {
        let text = "New VMs may come here. Cordon it and nothing new is placed; what runs goes on running, and tenants notice nothing.";
        (view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Open" /> }, text, "Cordon", Icon::Lock, "/cordon")
    };
    let action = href(&h.id, rest);
    let button =
        visit.may(Action::HubCordon).then(|| view! { <div class="acts mt-2"><PostButton label action icon /></div> });
    let fact = |name: &'static str, text: Option<String>| text.map(|text| view! { <Fact name>{text}</Fact> });
    let vdcs = u64::try_from(wishers.vdcs).ok().filter(|n| *n > 0).map(|n| plural(n, "VDC", "VDCs"));
    let facts = [
        fact("Preferred by", listed(wishers.prefer.clone())),
        fact("Avoided by", listed(wishers.avoid.clone())),
        fact("Named by", vdcs),
    ];
    let facts: Vec<_> = facts.into_iter().flatten().collect();
    let facts = (!facts.is_empty()).then(|| view! { <Facts>{facts}</Facts> });
    let acts = badge.into_any();
    let inside = view! { <p>{text}</p> {button} {facts} };
    view! { <Section title="Placement" acts>{inside}</Section> }
}
