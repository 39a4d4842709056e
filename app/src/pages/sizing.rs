//! Sizing policies, for the provider: the list, the page of one with the hubs that have it, and its forms.
use super::{
    about::about_facts,
    form_error::form_error,
    sizes::{gb, read_cpus, read_gb},
    sizing_hubs,
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, ListView, Routes, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::sizing;
use leptos::prelude::*;
use model::{
    Action, Problems, Result, SizingId, can,
    list::SIZINGS,
    sizing::{SizingMore, SizingPolicy, SizingSpec, VdcSizing, size_words},
};

pub(super) const ON: &str = "Sizing policies";
pub(super) const LIST: &str = "/provider/sizing";
const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("description", "Description"),
    ("cpus", "CPU"),
    ("memory", "Memory"),
    ("cpu_reservation", "CPU reserved"),
    ("memory_reservation", "Memory reserved"),
];

pub fn routes(r: Routes) -> Routes {
    r.page(LIST, list)
        .form("/provider/sizing/new", new_page, create)
        .page("/provider/sizing/{id}", page)
        .form("/provider/sizing/{id}/edit", edit_page, edit)
        .form("/provider/sizing/{id}/delete", delete_page, delete)
}

fn href(id: SizingId, rest: &str) -> String {
    format!("{LIST}/{id}{rest}")
}

fn crumbs_below(p: &SizingPolicy, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, LIST), Crumb::new(p.name.clone(), href(p.id, "")), Crumb::here(last)]
}

async fn find(visit: &Visit, action: Action) -> Result<SizingPolicy> {
    Ok(visit.domain().store.sizing(&visit.actor, action, visit.id()).await?.into_inner())
}

async fn find_to(visit: &Visit, action: Action) -> Result<SizingPolicy> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

/// The choice of a size in a VM's form; nothing where there is none to choose.
pub(super) fn choice(
    fill: &Fill,
    all: &[VdcSizing],
    own: &'static str,
    stored: Option<SizingId>,
    hint: &'static str,
) -> Option<AnyView> {
    if all.is_empty() {
        return None;
    }
    let value = fill.value("sizing", stored.map(|s| s.to_string()).unwrap_or_default());
    let (choices, error) = (choices(all, own), fill.error("sizing"));
    Some(view! { <SelectField name="sizing" label="Size" choices value error hint /> }.into_any())
}

/// `own`: what nothing chosen means.
pub(super) fn choices(all: &[VdcSizing], own: &'static str) -> Vec<Choice> {
    let mut choices = vec![Choice::new("", own)];
    for p in all {
        let id = p.id.to_string();
        if !choices.iter().any(|c| c.value == id) {
            choices.push(Choice::new(id, format!("{}: {}", p.name, size_words(p.cpus, p.memory_mb))));
        }
    }
    choices
}

/// The size that was chosen. None: none was.
pub(super) fn read_choice(typed: &str, problems: &mut Problems) -> Option<SizingId> {
    if typed.is_empty() {
        return None;
    }
    let id = typed.parse().ok();
    if id.is_none() {
        problems.add("sizing", "Choose from those that are listed.");
    }
    id
}

async fn list(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::SizingList)?;
    let query = visit.list_query(&SIZINGS)?;
    let page = sizing::list(visit.domain(), &visit.actor, &query).await?;
    let view = ListView::new(&visit, &SIZINGS, query, &page);
    let new = || {
        visit.may(Action::SizingCreate).then(|| {
            view! { <a class="btn primary" href=format!("{LIST}/new")><Icon name=Icon::Plus />"New policy"</a> }
        })
    };
    let rows = page.items.iter().map(|p| row(&visit, p)).collect_view();
    let rows = if view.is_unused() {
        let acts = new().into_any();
        view! {
            <Empty title="No sizing policies yet" acts>
                "A sizing policy is a size with a name, such as 2 vCPU and 4 GB. Those who make VMs in a VDC that may use it choose it \
                 by its name; on hubs it is an instance type."
            </Empty>
        }
        .into_any()
    } else if view.is_empty() {
        view! { <Empty title="No policy fits">"Search for something else."</Empty> }.into_any()
    } else {
        let mut heads = vec![view.head("name", "Name")];
        heads.extend(["CPU", "Memory", "VDCs", "VMs"].map(|label| Head::new(label).number()));
        heads.extend([view.head("created", "Created").number(), Head::hidden("Actions")]);
        view! { <Table caption=ON heads list=true>{rows}</Table> }.into_any()
    };
    let lede = "Sizes with a name. A VDC's sizes say which of them its VMs may take.";
    let body = view! {
        <PageHead title=ON sub=view.count() lede acts=new().into_any() />
        {view.filters("policies", "Name, description")}
        {rows}
        {view.pager()}
        {sizing_hubs::section(&visit).await?}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, p: &SizingPolicy) -> impl IntoView + use<> {
    let (cpus, memory) = (super::sizes::cpu_words(p.cpus), super::sizes::memory_words(p.memory_mb));
    let (vdcs, vms) = (num(p.vdcs.len() as u64), num(p.vms.len() as u64));
    let (created, now, menu) = (p.created_at, visit.now, menu(visit, p, true));
    let cells = view! {
        <NameCell name=p.name.clone() href=href(p.id, "") why=p.description.clone() />
        <Cell label="CPU" number=true>{cpus}</Cell>
        <Cell label="Memory" number=true>{memory}</Cell>
        <Cell label="VDCs" number=true>{vdcs}</Cell>
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("sizing-{}", p.id)>{cells}</Row> }
}

fn menu(visit: &Visit, p: &SizingPolicy, dots: bool) -> AnyView {
    if !visit.may(Action::SizingEdit) {
        return ().into_any();
    }
    let edit = href(p.id, "/edit");
    let delete = match can::sizing(p, Action::SizingDelete) {
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
    let p = find(&visit, Action::SizingView).await?;
    let rows = p.hubs.iter().map(|(hub, ready)| {
        let state = match ready {
            true => view! { <Badge shape=Shape::Disc tone=Tone::Ok word="There" /> }.into_any(),
            false => view! { <Badge shape=Shape::Half tone=Tone::Busy word="Being made" /> }.into_any(),
        };
        let cells = view! {
            <NameCell name=hub.0.clone() href=format!("/provider/hubs/{hub}") />
            <StateCell>{state}</StateCell>
        };
        view! { <Row id=format!("hub-{hub}")>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let hubs = match p.hubs.is_empty() {
        true => view! { <p class="muted">"On none yet: it is made where a VM needs it."</p> }.into_any(),
        false => {
            let heads = vec![Head::new("Hub"), Head::new("State")];
            view! { <Table caption="Hubs that have it" heads>{rows}</Table> }.into_any()
        }
    };
    let percent = |p: Option<i16>| p.map_or_else(|| "none".to_owned(), |p| format!("{p} %"));
    let (cpus, memory) = (super::sizes::cpu_words(p.cpus), super::sizes::memory_words(p.memory_mb));
    let (cpu_kept, memory_kept) = (percent(p.more.cpu_reservation), percent(p.more.memory_reservation));
    let of = |names: &[String]| listed(names.to_vec()).unwrap_or_else(|| "none".into());
    let (vdcs, vms) = (of(&p.vdcs), of(&p.vms));
    let size = view! {
        <Fact name="CPU">{cpus}</Fact>
        <Fact name="Memory">{memory}</Fact>
        <Fact name="CPU reserved">{cpu_kept}</Fact>
        <Fact name="Memory reserved">{memory_kept}</Fact>
    };
    let used = view! {
        <Fact name="VDCs that may use it">{vdcs}</Fact>
        <Fact name="VMs that have it">{vms}</Fact>
    };
    let body = view! {
        <PageHead title=p.name.clone() sub="Sizing policy" lede=p.description.clone() acts=menu(&visit, &p, false) />
        <Section title="Size"><Facts>{size}</Facts></Section>
        <Section title="Use"><Facts>{used}</Facts></Section>
        <Section title="On hubs" sub="as an instance type">{hubs}</Section>
    }
    .into_any();
    let about = about_facts(&visit, (p.created_at, p.updated_at, &p.updated_by), p.id.urn());
    let margin = view! { <Section title="About"><Facts>{about}</Facts></Section> }.into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::here(p.name.clone())];
    let code = code::sizing::thing(&visit.site(), &p);
    Ok(Sheet::new(p.name.clone(), ON, crumbs, body).margin(margin).code(code))
}

fn fields(fill: &Fill, spec: &SizingSpec, new: bool) -> AnyView {
    let names =
        name_fields(fill, &spec.name, &spec.description, "Unique: letters, digits, dots, hyphens. Tenants see it.");
    let percent = |p: Option<i16>| p.map(|p| p.to_string()).unwrap_or_default();
    let size = match new {
        true => view! {
            <NumberField name="cpus" label="CPU" value=fill.value("cpus", spec.cpus.to_string()) unit="vCPU" error=fill.error("cpus") width=Width::Third />
            <NumberField name="memory" label="Memory" value=fill.value("memory", gb(spec.memory_mb)) unit="GB" error=fill.error("memory") width=Width::Third />
        }
        .into_any(),
        false => {
            let size = size_words(spec.cpus, spec.memory_mb);
            view! { <LockedField name="size" label="Size" value=size why="VMs were made with it" width=Width::Half /> }.into_any()
        }
    };
    let kept = view! {
        <NumberField name="cpu_reservation" label="CPU reserved" value=fill.value("cpu_reservation", percent(spec.more.cpu_reservation)) unit="%" error=fill.error("cpu_reservation") optional=true width=Width::Third />
        <NumberField name="memory_reservation" label="Memory reserved" value=fill.value("memory_reservation", percent(spec.more.memory_reservation)) unit="%" error=fill.error("memory_reservation") optional=true width=Width::Third />
    };
    let lede = "Written down for clients that ask for it. Hubs reserve nothing by it.";
    view! {
        <FormSection title="Policy">{names}</FormSection>
        <FormSection title="Size">{size}</FormSection>
        <FormSection title="Reservations" lede>{kept}</FormSection>
    }
    .into_any()
}

fn read(values: &Values, now: &SizingSpec, new: bool) -> (SizingSpec, Problems) {
    let mut problems = Problems::default();
    let percent = |field: &'static str, problems: &mut Problems| {
        values.number(field, 1, problems).map(|n| i16::try_from(n).unwrap_or(-1))
    };
    let more = SizingMore {
        cpu_reservation: percent("cpu_reservation", &mut problems),
        memory_reservation: percent("memory_reservation", &mut problems),
        ..now.more
    };
    let spec = SizingSpec { name: values.text("name"), description: values.text("description"), more, ..now.clone() };
    let spec = match new {
        true => SizingSpec {
            cpus: read_cpus(values.get("cpus"), &mut problems).unwrap_or_default(),
            memory_mb: read_gb(values.get("memory"), "memory", &mut problems).unwrap_or_default(),
            ..spec
        },
        false => spec,
    };
    (spec, problems)
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::SizingCreate)?;
    let fill = visit.fill();
    let begin = sizing_hubs::begin(&visit);
    let body = view! {
        <PageHead title="New sizing policy" />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            {fields(&fill, &begin, true)}
            <FormEnd submit="Create policy" cancel_href=LIST />
        </form>
    }
    .into_any();
    let wished = if fill.returned() { read(&fill.typed(), &begin, true).0 } else { begin };
    let code = code::sizing::create(&visit.site(), &wished);
    Ok(Sheet::new("New sizing policy", ON, vec![Crumb::new(ON, LIST), Crumb::here("New")], body).still().code(code))
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    d.attempt(&visit.actor, Action::SizingCreate, async { visit.authorize(Action::SizingCreate) }).await?;
    let (spec, problems) = read(&values, &SizingSpec::default(), true);
    let spec = with_problems(problems, spec.check())?;
    let made = sizing::create(d, &visit.actor, spec).await?;
    let said = format!("Sizing policy {} is made. VDCs may use it once their sizes say so.", made.name);
    Ok(Done::new(href(made.id, ""), said))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let p = find(&visit, Action::SizingEdit).await?;
    let fill = visit.fill();
    let body = view! {
        <PageHead title=format!("Edit {}", p.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(p.version) />
            {fields(&fill, &SizingSpec::from(&p), false)}
            <FormEnd submit="Save" cancel_href=href(p.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", p.name), ON, crumbs_below(&p, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let p = find_to(&visit, Action::SizingEdit).await?;
    let (spec, problems) = read(&values, &SizingSpec::from(&p), false);
    let spec = with_problems(problems, spec.check())?;
    let saved = sizing::edit(visit.domain(), &visit.actor, p.id, values.version()?, spec).await?;
    Ok(Done::new(href(p.id, ""), format!("Sizing policy {} is saved.", saved.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let p = find(&visit, Action::SizingDelete).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::sizing(&p, Action::SizingDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["its name, and its instance type on hubs; no VM has it".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete sizing policy {}?", p.name)
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
    let p = find_to(&visit, Action::SizingDelete).await?;
    sizing::delete(visit.domain(), &visit.actor, p.id).await?;
    Ok(Done::new(LIST, format!("Sizing policy {} is being deleted.", p.name)))
}
