//! Whose things are: the forms that give them to somebody else, and the list of those that nobody looks after.
use super::{catalog, form_error::form_error, vapp};
use crate::{
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Values, Visit, org_link},
    shell::Crumb,
};
use domain::{owner, share};
use leptos::prelude::*;
use model::{
    Action, Error, Kind, OrgId, Result,
    list::{ListQuery, STRANDED},
    owner::{Owned, Stranded},
};
use uuid::Uuid;

const ON: &str = "Stranded";
const LIST: &str = "/stranded";
/// So many are given at once.
const MOST: u32 = 100;

pub(super) fn routes(r: Routes) -> Routes {
    let r = r.both_form(LIST, list, give_many).both_csv("/stranded.csv", csv);
    [(Kind::Vapp, "/vapps"), (Kind::Catalog, "/catalogs"), (Kind::Disk, "/disks")].into_iter().fold(
        r,
        |r, (kind, at)| {
            r.both_form(&format!("{at}/{{id}}/owner"), move |v| page(v, kind), move |v, values| give(v, values, kind))
        },
    )
}

/// The owner in words.
pub(super) fn owner_words(name: &str, stranded: bool) -> String {
    match (name, stranded) {
        ("", _) => "the provider".to_owned(),
        (name, false) => name.to_owned(),
        (name, true) => format!("{name} (removed or disabled)"),
    }
}

struct Thing {
    what: Owned,
    org: OrgId,
    name: String,
    owner_name: String,
    list: &'static str,
    at: &'static str,
}

async fn find(visit: &Visit, kind: Kind) -> Result<Thing> {
    let (d, actor, id) = (visit.domain(), &visit.actor, visit.id::<model::VappId>().0);
    let what = Owned::of(kind, id).ok_or(Error::NotFound(kind))?;
    let (org, name, owner_name, list, at) = match what {
        Owned::Vapp(id) => {
            let v = d.store.vapp(actor, what.action(), id).await?.into_inner();
            (v.org, v.name, v.owner_name, vapp::ON, vapp::LIST)
        }
        Owned::Catalog(id) => {
            let c = d.store.catalog(actor, what.action(), id).await?.into_inner();
            (c.org, c.name, c.owner_name, catalog::ON, catalog::LIST)
        }
        Owned::Disk(id) => {
            let k = d.store.disk(actor, what.action(), id).await?.into_inner();
            (k.org, k.name, k.owner_name, "Disks", "/disks")
        }
    };
    visit.within(org, kind)?;
    Ok(Thing { what, org, name, owner_name, list, at })
}

fn href(visit: &Visit, thing: &Thing) -> String {
    visit.at(format!("{}/{}", thing.at, thing.what.id()))
}

async fn page(visit: Visit, kind: Kind) -> Result<Sheet> {
    let thing = find(&visit, kind).await?;
    let fill = visit.fill();
    let lede = match thing.what {
        Owned::Vapp(_) => "With its VMs and their disks. They count for the new owner from then on.",
        Owned::Catalog(_) => "With all that is in it.",
        Owned::Disk(_) => "It counts for the new owner from then on.",
    };
    let back = href(&visit, &thing);
    let now = owner_words(&thing.owner_name, false);
    let fields = view! {
        <LockedField name="now" label="Owner now" value=now why="" width=Width::Half />
        <TextField
            name="owner"
            label="New owner"
            value=fill.value("owner", "")
            error=fill.error("owner")
            hint="The name they sign in with: a user of the same organization."
            autocomplete="off"
            width=Width::Half
        />
    };
    let title = format!("Change the owner of {}", thing.name);
    let body = view! {
        <PageHead title=title.clone() lede />
        <form method="post" class="form" novalidate>
            {form_error(&fill, &[("owner", "New owner")])}
            <FormSection title="Owner">{fields}</FormSection>
            <FormEnd submit="Change owner" cancel_href=back.clone() />
        </form>
    }
    .into_any();
    let crumbs =
        vec![Crumb::new(thing.list, visit.at(thing.at)), Crumb::new(thing.name.clone(), back), Crumb::here("Owner")];
    Ok(Sheet::new(title, thing.list, crumbs, body).still())
}

async fn give(visit: Visit, values: Values, kind: Kind) -> Result<Done> {
    let action = Owned::of(kind, Uuid::nil()).map_or(Action::VappOwner, Owned::action);
    let thing = visit.domain().attempt(&visit.actor, action, find(&visit, kind)).await?;
    let to = share::member(visit.domain(), thing.org, values.get("owner"), "owner").await?;
    let name = owner::give(visit.domain(), &visit.actor, thing.what, to).await?;
    Ok(Done::new(href(&visit, &thing), format!("{} has {} now.", name, thing.name)))
}

fn object_href(visit: &Visit, what: Owned) -> String {
    let list = match what {
        Owned::Vapp(_) => vapp::LIST,
        Owned::Catalog(_) => catalog::LIST,
        Owned::Disk(_) => "/disks",
    };
    visit.at(format!("{list}/{}", what.id()))
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&STRANDED)?;
    let page = owner::stranded(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &STRANDED, query, &page);
    let fill = visit.fill();
    let mut heads = vec![Head::hidden("Choose"), view.head("name", "Name"), Head::new("What"), Head::new("Owner")];
    if visit.place == Place::Provider {
        heads.push(Head::new("Organization"));
    }
    heads.push(view.head("created", "Created").number());
    let rows = page.items.iter().map(|s| row(&visit, s)).collect_view();
    let inside = if view.is_empty() && view.query.narrowed() {
        view! { <Empty title="Nothing fits">"Search for something else, or take a filter away."</Empty> }.into_any()
    } else if view.is_empty() {
        view! {
            <Empty title="Nothing is stranded">
                "Everything belongs to somebody who can sign in. What a removed or disabled user leaves behind shows here, to be given to somebody else."
            </Empty>
        }
        .into_any()
    } else {
        let fields = view! {
            <TextField
                name="owner"
                label="New owner"
                value=fill.value("owner", "")
                error=fill.error("owner")
                hint="The name they sign in with: a user of the same organization."
                autocomplete="off"
                width=Width::Half
            />
        };
        let table = view! { <Table caption="Stranded things" heads list=true>{rows}</Table> };
        view! {
            <form method="post" novalidate>
                {form_error(&fill, &[("owner", "New owner"), ("pick", "Chosen")])}
                {table}
                {view.pager()}
                <FormSection title="Give to">{fields}</FormSection>
                <div class="form-end acts">
                    <button class="btn primary" name="all" value="">"Give what is chosen"</button>
                    <button class="btn" name="all" value="on">"Give all of them"</button>
                </div>
            </form>
        }
        .into_any()
    };
    let body = view! {
        <PageHead title=ON sub=view.count() lede="vApps, catalogs and disks whose owner was removed or disabled." />
        {view.filters("stranded things", "Name, owner")}
        {inside}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, s: &Stranded) -> impl IntoView + use<> {
    let key = s.what.key();
    let ticked = visit.fill().checked("pick", &key, false);
    let label = format!("Choose {}", s.name);
    let owner = format!("{}, {}", s.owner_name, if s.owner_removed { "removed" } else { "disabled" });
    let (word, created, now) = (s.what.kind().word(), s.created_at, visit.now);
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(s.org), &s.org_name, true);
        view! { <Cell label="Organization" wraps=true>{org}</Cell> }
    });
    let cells = view! {
        <PickCell value=key label ticked />
        <NameCell name=s.name.clone() href=object_href(visit, s.what) />
        <Cell label="What">{word}</Cell>
        <Cell label="Owner" wraps=true>{owner}</Cell>
        {org}
        <Cell label="Created" number=true><Time at=created now /></Cell>
    };
    view! { <Row id=format!("stranded-{}", s.what.id())>{cells}</Row> }
}

async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| owner::stranded(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("stranded", &["kind", "id", "name", "organization", "owner", "created_at"])
        .rows(visit, &STRANDED, list, |s: Stranded| {
            let kind = s.what.kind().key().to_owned();
            [kind, s.what.id().to_string(), s.name, s.org_name, s.owner_name, machine(s.created_at)]
        })
        .await
}

/// What is chosen, or all that the list shows. Each is given by itself: one that is refused keeps no other back.
async fn give_many(visit: Visit, values: Values) -> Result<Done> {
    let (d, action) = (visit.domain(), Action::StrandedGive);
    d.attempt(&visit.actor, action, async { visit.authorize(action) }).await?;
    let query = ListQuery { limit: MOST, ..visit.list_query(&STRANDED)? };
    let query = ListQuery { cursor: None, ..query };
    let listed = owner::stranded(d, &visit.actor, visit.org(), &query).await?.items;
    let chosen: Vec<&Stranded> = match values.get("all") {
        "on" => listed.iter().collect(),
        _ => listed.iter().filter(|s| values.all("pick").any(|key| Owned::parse(key) == Some(s.what))).collect(),
    };
    if chosen.is_empty() {
        return Err(Error::field("pick", "Choose at least one, or give all of them."));
    }
    if values.get("owner").trim().is_empty() {
        return Err(Error::field("owner", "Name the user who gets them."));
    }
    let (mut given, mut refused) = (0, Vec::new());
    for s in &chosen {
        let done = async {
            let to = share::member(d, s.org, values.get("owner"), "owner").await?;
            owner::give(d, &visit.actor, s.what, to).await
        };
        match done.await {
            Ok(_) => given += 1,
            Err(e @ (Error::Unavailable(_) | Error::Internal(_))) => return Err(e),
            Err(e) => refused.push(format!("{}: {}", s.name, words(&e))),
        }
    }
    match refused.as_slice() {
        [] => {
            let count = plural(given, "thing is", "things are");
            Ok(Done::new(visit.at(LIST), format!("{count} given to {}.", values.get("owner").trim())))
        }
        [first, ..] => {
            let more = match refused.len() {
                1 => String::new(),
                n => format!(" And {} more.", n - 1),
            };
            let all = chosen.len() as u64;
            let given = match given {
                0 => String::new(),
                n => format!("{}. ", some_of(n, all, ("thing", "things"), ("is given", "are given"))),
            };
            Err(Error::field("owner", format!("{given}Refused: {first}{more}")))
        }
    }
}

/// What is wrong, without the field's name.
pub(super) fn words(e: &Error) -> String {
    match e.fields() {
        [one, ..] => one.message.clone(),
        [] => e.to_string(),
    }
}
