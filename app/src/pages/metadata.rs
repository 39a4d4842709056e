//! Metadata of everything that has some: one page for all of them, with the form that adds to it.
use super::form_error::form_error;
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::metadata::{self, actions};
use leptos::prelude::*;
use model::{
    Error, Kind, Problems, Result,
    metadata::{Audience, Entry, Kept, MetaType, Thing},
};
use uuid::Uuid;

const LABELS: &[(&str, &str)] = &[("key", "Key"), ("value", "Value"), ("type", "Type"), ("audience", "Who sees it")];

/// Where a kind's pages are, and which entry of the navigation is lit.
#[derive(Clone, Copy)]
struct Of {
    kind: Kind,
    list: &'static str,
    on: &'static str,
}

const ALL: [Of; 7] = [
    Of { kind: Kind::Vapp, list: "/vapps", on: super::vapp::ON },
    Of { kind: Kind::Vm, list: "/vms", on: super::vm::ON },
    Of { kind: Kind::Catalog, list: "/catalogs", on: super::catalog::ON },
    Of { kind: Kind::Template, list: "/templates", on: super::catalog::ON },
    Of { kind: Kind::Disk, list: "/disks", on: "Disks" },
    Of { kind: Kind::Network, list: "/networks", on: "Networks" },
    Of { kind: Kind::Vdc, list: "/vdcs", on: "VDCs" },
];
const ORGS: Of = Of { kind: Kind::Org, list: "/organizations", on: "Organizations" };
const OWN: Of = Of { kind: Kind::Org, list: "/organization", on: "Organization" };

pub fn routes(r: Routes) -> Routes {
    let r = ALL.into_iter().fold(r, |r, of| {
        let path = format!("{}/{{id}}/metadata", of.list);
        r.both_form(&path, move |v| page(v, of), move |v, values| put(v, values, of))
            .both_act(&format!("{path}/remove"), move |v, values| remove(v, values, of))
    });
    let (orgs, own) = ("/provider/organizations/{id}/metadata", "/tenant/{org}/organization/metadata");
    r.form(orgs, |v| page(v, ORGS), |v, values| put(v, values, ORGS))
        .act(format!("{orgs}/remove"), |v, values| remove(v, values, ORGS))
        .form(own, |v| page(v, OWN), |v, values| put(v, values, OWN))
        .act(format!("{own}/remove"), |v, values| remove(v, values, OWN))
}

/// In the margin of a thing's page.
pub(super) fn fact(visit: &Visit, thing: &str) -> impl IntoView + use<> {
    let to = visit.at(format!("{thing}/metadata"));
    view! { <Fact name="Metadata"><a href=to>"Open"</a></Fact> }
}

fn id(visit: &Visit, of: Of) -> Uuid {
    if of.list == OWN.list { visit.org().map(|o| o.0).unwrap_or_default() } else { visit.id() }
}

fn home(visit: &Visit, of: Of) -> String {
    if of.list == OWN.list { visit.at(of.list) } else { visit.at(format!("{}/{}", of.list, id(visit, of))) }
}

/// Before something is done: a refusal stands in the audit.
async fn find_to(visit: &Visit, of: Of) -> Result<Thing> {
    let (_, change) = actions(of.kind).ok_or(Error::NotFound(of.kind))?;
    let found = async {
        let thing = metadata::find(visit.domain(), &visit.actor, change, of.kind, id(visit, of)).await?;
        visit.within(thing.org, of.kind)?;
        Ok(thing)
    };
    visit.domain().attempt(&visit.actor, change, found).await
}

async fn page(visit: Visit, of: Of) -> Result<Sheet> {
    let (thing, all) = metadata::list(visit.domain(), &visit.actor, of.kind, id(&visit, of)).await?;
    visit.within(thing.org, of.kind)?;
    let fill = visit.fill();
    let changes = match actions(of.kind) {
        Some((_, change)) => metadata::find(visit.domain(), &visit.actor, change, of.kind, thing.id).await.is_ok(),
        None => false,
    };
    let to = home(&visit, of);
    let table = table(&visit, &all, changes, &to);
    let form = changes.then(|| {
        let types = MetaType::ALL.map(|t| Choice::new(t.key(), t.label())).to_vec();
        let audience = visit.actor.provider.then(|| {
            let choices = Audience::ALL.map(|a| Choice::new(a.key(), a.label())).to_vec();
            let (value, error) = (fill.value("audience", Audience::General.key()), fill.error("audience"));
            view! { <SelectField name="audience" label="Who sees it" choices value error width=Width::Half /> }
        });
        let fields = view! {
            <TextField name="key" label="Key" value=fill.value("key", "") error=fill.error("key") autocomplete="off" width=Width::Half />
            <SelectField name="type" label="Type" choices=types value=fill.value("type", "string") error=fill.error("type") width=Width::Half />
            <TextField name="value" label="Value" value=fill.value("value", "") error=fill.error("value") hint="A time is written as 2026-11-16T12:00:00Z." optional=true autocomplete="off" width=Width::Half />
            {audience}
        };
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="Add" lede="A key that is there gets the new value.">{fields}</FormSection>
                <FormEnd submit="Save entry" cancel_href=to.clone() />
            </form>
        }
    });
    let title = format!("Metadata of {}", thing.name);
    let body = view! { <PageHead title=title.clone() /> {table} {form} }.into_any();
    let mut crumbs = match of.list == OWN.list {
        true => Vec::new(),
        false => vec![Crumb::new(of.on, visit.at(if of.kind == Kind::Template { "/catalogs" } else { of.list }))],
    };
    crumbs.extend([Crumb::new(thing.name.clone(), to), Crumb::here("Metadata")]);
    Ok(Sheet::new(title, of.on, crumbs, body).still())
}

fn table(visit: &Visit, all: &[Kept], changes: bool, to: &str) -> AnyView {
    if all.is_empty() {
        return view! {
            <Empty title="Nothing is written down">
                "Metadata are keys with values, for people and for programs: a cost center, the date of the last audit."
            </Empty>
        }
        .into_any();
    }
    let mut heads = ["Key", "Value", "Type", "Who sees it"].map(Head::new).to_vec();
    heads.extend([Head::new("Changed").number(), Head::hidden("Actions")]);
    let rows = all.iter().map(|kept| {
        let e = &kept.entry;
        let (value, kind, audience) = (e.value.clone(), e.kind.label(), e.audience.label());
        let (at, now, by) = (kept.updated_at, visit.now, kept.updated_by.clone());
        let mine = changes && (visit.actor.provider || e.audience == Audience::General);
        let remove = mine.then(|| {
            let label = format!("Remove {}", e.key);
            view! {
                <form method="post" action=format!("{to}/metadata/remove")>
                    <input type="hidden" name="domain" value=e.audience.domain() />
                    <input type="hidden" name="key" value=e.key.clone() />
                    <button class="btn small" type="submit" aria-label=label>"Remove"</button>
                </form>
            }
        });
        let cells = view! {
            <NameCell name=e.key.clone() why=by />
            <Cell label="Value" wraps=true>{value}</Cell>
            <Cell label="Type">{kind}</Cell>
            <Cell label="Who sees it">{audience}</Cell>
            <Cell label="Changed" number=true><Time at now /></Cell>
            <RowActs>{remove}</RowActs>
        };
        view! { <Row id=format!("{}-{}", e.audience.domain(), e.key)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    view! { <Table caption="Metadata" heads>{rows}</Table> }.into_any()
}

async fn put(visit: Visit, values: Values, of: Of) -> Result<Done> {
    let thing = find_to(&visit, of).await?;
    let mut problems = Problems::default();
    let kind = MetaType::parse(values.get("type")).unwrap_or_else(|| {
        problems.add("type", "Choose a type.");
        MetaType::default()
    });
    let audience = match values.get("audience") {
        "" => Audience::General,
        key => Audience::parse(key).unwrap_or_else(|| {
            problems.add("audience", "Choose who sees it.");
            Audience::General
        }),
    };
    let entry = Entry { audience, key: values.text("key"), kind, value: values.text("value") };
    let entry = with_problems(problems, entry.check())?;
    let said = format!("{} of {} is saved.", entry.key, thing.name);
    metadata::put(visit.domain(), &visit.actor, of.kind, thing.id, vec![entry]).await?;
    Ok(Done::new(format!("{}/metadata", home(&visit, of)), said))
}

async fn remove(visit: Visit, values: Values, of: Of) -> Result<Done> {
    let thing = find_to(&visit, of).await?;
    let (domain, key) = (values.get("domain"), values.get("key"));
    metadata::remove(visit.domain(), &visit.actor, of.kind, thing.id, domain, key).await?;
    Ok(Done::new(format!("{}/metadata", home(&visit, of)), format!("{key} of {} is removed.", thing.name)))
}
