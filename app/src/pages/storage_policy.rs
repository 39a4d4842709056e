//! Storage policies, for the provider: the list, the page of one with its class on each hub, and its forms.
use super::{about::about_facts, form_error::form_error, vm_form::name_fields};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, ListView, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::storage;
use leptos::prelude::*;
use model::{
    Action, HubId, PolicyId, Result, can,
    list::POLICIES,
    quota::Measure,
    storage::{HubClass, HubClasses, StoragePolicy, StoragePolicySpec, class_words},
};

pub(super) const ON: &str = "Storage policies";
const LIST: &str = "/provider/storage";
const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("description", "Description"),
    ("class", "Storage class"),
    ("classes", "Hubs"),
    ("is_default", "Default"),
];

pub fn routes(r: Routes) -> Routes {
    r.page(LIST, list)
        .form("/provider/storage/new", new_page, create)
        .page("/provider/storage/{id}", page)
        .form("/provider/storage/{id}/edit", edit_page, edit)
        .form("/provider/storage/{id}/delete", delete_page, delete)
}

fn href(id: PolicyId, rest: &str) -> String {
    format!("{LIST}/{id}{rest}")
}

fn crumbs_below(p: &StoragePolicy, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, LIST), Crumb::new(p.name.clone(), href(p.id, "")), Crumb::here(last)]
}

async fn find(visit: &Visit, action: Action) -> Result<StoragePolicy> {
    Ok(visit.domain().store.policy(&visit.actor, action, visit.id()).await?.into_inner())
}

async fn find_to(visit: &Visit, action: Action) -> Result<StoragePolicy> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

async fn list(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::PolicyList)?;
    let query = visit.list_query(&POLICIES)?;
    let page = storage::list(visit.domain(), &visit.actor, &query).await?;
    let view = ListView::new(&visit, &POLICIES, query, &page);
    let new = visit.may(Action::PolicyCreate).then(|| {
        view! { <a class="btn primary" href=format!("{LIST}/new")><Icon name=Icon::Plus />"New policy"</a> }
    });
    let heads = vec![
        view.head("name", "Name"),
        Head::new("Storage class"),
        Head::new("VDCs").number(),
        Head::new("Disks").number(),
        Head::new("In use").number(),
        view.head("created", "Created").number(),
        Head::hidden("Actions"),
    ];
    let rows = page.items.iter().map(|p| row(&visit, p)).collect_view();
    let rows = if view.is_empty() {
        view! { <Empty title="No policy fits">"Search for something else."</Empty> }.into_any()
    } else {
        view! { <Table caption=ON heads list=true>{rows}</Table> }.into_any()
    };
    let lede =
        "Names for the storage classes of hubs. A VDC's storage says which of them it may use, and how much of each.";
    let body = view! {
        <PageHead title=ON sub=view.count() lede acts=new.into_any() />
        {view.filters("policies", "Name, description, class")}
        {rows}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn count(n: i64) -> String {
    num(u64::try_from(n).unwrap_or(0))
}

/// "fast; on 2 hubs another".
fn class_line(p: &StoragePolicy) -> String {
    let own = class_words(&p.class);
    match p.classes.len() as u64 {
        0 => own.to_owned(),
        n => format!("{own}; another on {}", plural(n, "hub", "hubs")),
    }
}

fn row(visit: &Visit, p: &StoragePolicy) -> impl IntoView + use<> {
    let (class, vdcs, disks, used) = (class_line(p), count(p.vdcs), count(p.disks), Measure::Storage.words(p.used_mb));
    let (created, now, menu) = (p.created_at, visit.now, menu(visit, p, true));
    let why = if p.is_default { "new VDCs begin with it".to_owned() } else { p.description.clone() };
    let cells = view! {
        <NameCell name=p.name.clone() href=href(p.id, "") why />
        <Cell label="Storage class" wraps=true>{class}</Cell>
        <Cell label="VDCs" number=true>{vdcs}</Cell>
        <Cell label="Disks" number=true>{disks}</Cell>
        <Cell label="In use" number=true>{used}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("policy-{}", p.id)>{cells}</Row> }
}

fn menu(visit: &Visit, p: &StoragePolicy, dots: bool) -> AnyView {
    if !visit.may(Action::PolicyEdit) {
        return ().into_any();
    }
    let edit = href(p.id, "/edit");
    let delete = match can::policy(p, Action::PolicyDelete) {
        Ok(()) => {
            view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(p.id, "/delete") danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    };
    let label = if dots { format!("Actions for {}", p.name) } else { "Actions".to_owned() };
    view! {
        <Menu label dots>
            <MenuItem icon=Icon::Settings title="Edit…" href=edit.clone() />
            {delete}
        </Menu>
    }
    .into_any()
}

async fn page(visit: Visit) -> Result<Sheet> {
    let p = find(&visit, Action::PolicyView).await?;
    let hubs = storage::classes(visit.domain(), &visit.actor).await?;
    let rows = hubs.iter().map(|h| hub_row(&p, h)).collect_view();
    let table = if hubs.is_empty() {
        view! { <p>"No hub runs VMs yet."</p> }.into_any()
    } else {
        let heads = vec![Head::new("Hub"), Head::new("Class there"), Head::new("State")];
        view! { <Table caption="Classes on hubs" heads>{rows}</Table> }.into_any()
    };
    let (vdcs, disks, used) = (count(p.vdcs), count(p.disks), Measure::Storage.words(p.used_mb));
    let facts = view! {
        <Fact name="VDCs that may use it">{vdcs}</Fact>
        <Fact name="Disks">{disks}</Fact>
        <Fact name="In use">{used}</Fact>
    };
    let default =
        p.is_default.then(|| view! { <Badge shape=Shape::Disc tone=Tone::Ok word="New VDCs begin with it" /> });
    let body = view! {
        <PageHead
            title=p.name.clone()
            sub="Storage policy"
            lede=p.description.clone()
            acts=menu(&visit, &p, false)
            says=default.into_any()
        />
        <Section title="On hubs" sub="what its disks are made of">{table}</Section>
        <Section title="Use"><Facts>{facts}</Facts></Section>
    }
    .into_any();
    let about = about_facts(&visit, (p.created_at, p.updated_at, &p.updated_by), p.id.urn());
    let margin = view! { <Section title="About"><Facts>{about}</Facts></Section> }.into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::here(p.name.clone())];
    Ok(Sheet::new(p.name.clone(), ON, crumbs, body).margin(margin).code(code::storage::thing(&visit.site(), &p)))
}

/// Which class it is there, and whether the hub has it.
fn hub_row(p: &StoragePolicy, h: &HubClasses) -> impl IntoView + use<> {
    let asked = p.class_on(&h.hub);
    let class = match (asked, h.default.as_str()) {
        ("", "") => "the hub's default".to_owned(),
        ("", default) => format!("{default}, the hub's default"),
        (named, _) => named.to_owned(),
    };
    let state = if h.names.is_empty() {
        view! { <Badge shape=Shape::Ring word="Not known" more="no look at it found its classes yet" /> }.into_any()
    } else if asked.is_empty() && h.default.is_empty() {
        view! { <Badge shape=Shape::Missing tone=Tone::Bad word="Missing" more="the hub has no default class" /> }
            .into_any()
    } else if asked.is_empty() || h.names.iter().any(|n| n == asked) {
        view! { <Badge shape=Shape::Disc tone=Tone::Ok word="There" /> }.into_any()
    } else {
        let more = format!("the hub has {}", h.names.join(", "));
        view! { <Badge shape=Shape::Missing tone=Tone::Bad word="Missing" more /> }.into_any()
    };
    let cells = view! {
        <NameCell name=h.hub.0.clone() href=format!("/provider/hubs/{}", h.hub) />
        <Cell label="Class there" wraps=true>{class}</Cell>
        <StateCell>{state}</StateCell>
    };
    view! { <Row id=format!("hub-{}", h.hub)>{cells}</Row> }
}

/// Another class than elsewhere is named for a hub in the field of its id.
fn field_of(hub: &HubId) -> String {
    format!("class-{hub}")
}

fn fields(fill: &Fill, spec: &StoragePolicySpec, hubs: &[HubClasses]) -> AnyView {
    let names =
        name_fields(fill, &spec.name, &spec.description, "Unique: letters, digits, dots, hyphens. Tenants see it.");
    let mut known: Vec<&str> = hubs.iter().flat_map(|h| &h.names).map(String::as_str).collect();
    known.sort_unstable();
    known.dedup();
    let hint = match known.is_empty() {
        true => "Empty: each hub's own default.".to_owned(),
        false => format!("Hubs have {}. Empty: each hub's own default.", known.join(", ")),
    };
    let each = hubs.iter().map(|h| {
        let stored = spec.classes.iter().find(|c| c.hub == h.hub).map(|c| c.class.clone()).unwrap_or_default();
        let (name, hint) = (field_of(&h.hub), format!("It has {}.", h.names.join(", ")));
        let value = fill.value(&name, stored);
        view! { <TextField name label=h.hub.0.clone() value hint optional=true autocomplete="off" width=Width::Third /> }
    });
    let each = each.collect_view();
    let (class, class_error) = (fill.value("class", spec.class.clone()), fill.error("class"));
    let wrong = fill.error("classes").map(|why| view! { <Note tone=Tone::Bad>{why}</Note> });
    let default = fill.checked("is_default", "on", spec.is_default);
    let (on_hubs, hubs_lede) = (
        view! {
            <TextField
                name="class"
                label="Storage class"
                value=class
                error=class_error
                hint
                optional=true
                autocomplete="off"
                width=Width::Half
            />
            {wrong}
            {each}
        },
        "The class on every hub; below it, where one hub is to take another.",
    );
    let of_vdcs = view! {
        <CheckField
            name="is_default"
            label="New VDCs begin with it"
            checked=default
            error=fill.error("is_default")
            hint="One policy is the default; this takes that from the one that is it now."
        />
    };
    view! {
        <FormSection title="Policy">{names}</FormSection>
        <FormSection title="Hubs" lede=hubs_lede>{on_hubs}</FormSection>
        <FormSection title="VDCs">{of_vdcs}</FormSection>
    }
    .into_any()
}

async fn read(visit: &Visit, values: &Values) -> Result<StoragePolicySpec> {
    let hubs = storage::classes(visit.domain(), &visit.actor).await?;
    let classes = hubs.into_iter().filter_map(|h| {
        let class = values.get(&field_of(&h.hub)).trim().to_owned();
        (!class.is_empty()).then_some(HubClass { hub: h.hub, class })
    });
    Ok(StoragePolicySpec {
        name: values.text("name"),
        description: values.text("description"),
        class: values.text("class"),
        classes: classes.collect(),
        is_default: values.has("is_default"),
    })
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::PolicyCreate)?;
    let hubs = storage::classes(visit.domain(), &visit.actor).await?;
    let fill = visit.fill();
    let body = view! {
        <PageHead title="New storage policy" />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            {fields(&fill, &StoragePolicySpec::default(), &hubs)}
            <FormEnd submit="Create policy" cancel_href=LIST />
        </form>
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::here("New")];
    Ok(Sheet::new("New storage policy", ON, crumbs, body).still().code(code::storage::create()))
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    d.attempt(&visit.actor, Action::PolicyCreate, async { visit.authorize(Action::PolicyCreate) }).await?;
    let made = storage::create(d, &visit.actor, read(&visit, &values).await?).await?;
    Ok(Done::new(
        href(made.id, ""),
        format!("Storage policy {} is made. VDCs may use it once their storage says so.", made.name),
    ))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let p = find(&visit, Action::PolicyEdit).await?;
    let hubs = storage::classes(visit.domain(), &visit.actor).await?;
    let fill = visit.fill();
    let lede = "Disks that are there stay on the class they were made of.";
    let body = view! {
        <PageHead title=format!("Edit {}", p.name) lede />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(p.version) />
            {fields(&fill, &StoragePolicySpec::from(&p), &hubs)}
            <FormEnd submit="Save" cancel_href=href(p.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", p.name), ON, crumbs_below(&p, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let p = find_to(&visit, Action::PolicyEdit).await?;
    let spec = read(&visit, &values).await?;
    let saved = storage::edit(visit.domain(), &visit.actor, p.id, values.version()?, spec).await?;
    Ok(Done::new(href(p.id, ""), format!("Storage policy {} is saved.", saved.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let p = find(&visit, Action::PolicyDelete).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::policy(&p, Action::PolicyDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["its name and the classes it stands for; no disk is made of it".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete storage policy {}?", p.name)
            verb=format!("Delete {}", p.name)
            keep_href=href(p.id, "")
            lost
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", p.name), ON, crumbs_below(&p, "Delete"), body).still())
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let p = find_to(&visit, Action::PolicyDelete).await?;
    storage::delete(visit.domain(), &visit.actor, p.id).await?;
    Ok(Done::new(LIST, format!("Storage policy {} is deleted.", p.name)))
}
