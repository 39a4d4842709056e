//! Independent disks in both portals: list, page, and their forms.
use super::{
    about::about_facts,
    bulk,
    choose_vdc::{chosen_vdc, likely_vdc, no_vdc, open_vdcs, vdc_field},
    form_error::form_error,
    recent_events::event_section,
    recent_tasks::task_table,
    sizes::{gb, read_gb},
    vapp::mine,
    vm::{hub_link, linked, silent_note, vdc_link},
    vm_disks::{bus_field, policy_field, read_bus, size_error},
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Values, Visit, org_link, with_problems},
    shell::Crumb,
};
use domain::{disk, event, storage, task};
use leptos::prelude::*;
use model::{
    Action, DiskId, Kind, Problems, Result, can,
    decide::{Resource, authorize},
    disk::{Disk, DiskSpec, DiskState, check_growth, check_size},
    event::Event,
    list::{DISKS, ListQuery},
    quota::Measure,
    vdc::Vdc,
};
use std::collections::BTreeMap;

pub(super) const ON: &str = "Disks";
pub(super) const LIST: &str = "/disks";
const LABELS: &[(&str, &str)] = &[
    ("vdc", "VDC"),
    ("name", "Name"),
    ("description", "Description"),
    ("size", "Size"),
    ("bus", "Bus"),
    ("policy", "Storage policy"),
];

pub fn routes(r: Routes) -> Routes {
    r.both(LIST, list)
        .both_csv("/disks.csv", csv)
        .both_form("/disks/new", new_page, create)
        .both("/disks/{id}", page)
        .both_form("/disks/{id}/edit", edit_page, edit)
        .both_form("/disks/{id}/delete", delete_page, delete)
}

fn href(visit: &Visit, id: DiskId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

fn crumbs_below(visit: &Visit, d: &Disk, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(d.name.clone(), href(visit, d.id, "")), Crumb::here(last)]
}

async fn find(visit: &Visit, action: Action) -> Result<Disk> {
    let d = visit.domain().store.disk(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(d.org, Kind::Disk)?;
    Ok(d)
}

async fn find_to(visit: &Visit, action: Action) -> Result<Disk> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

fn may(visit: &Visit, d: &Disk, action: Action) -> bool {
    visit.actor.may(action, Resource::Owned(d.org, d.owner))
}

fn new_button(visit: &Visit) -> AnyView {
    let new = visit.actor.may(Action::DiskCreate, mine(visit)).then(|| {
        view! { <a class="btn primary" href=visit.at("/disks/new")><Icon name=Icon::Plus />"New disk"</a> }
    });
    new.into_any()
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&DISKS)?;
    let page = disk::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &DISKS, query, &page);
    let mut heads = vec![Head::hidden("Choose"), view.head("name", "Name"), Head::new("State")];
    heads.extend([Head::new("VM"), Head::new("VDC")]);
    if visit.place == Place::Provider {
        heads.extend([Head::new("Organization"), Head::new("Hub")]);
    }
    heads.extend([Head::new("Storage policy"), view.head("size", "Size").number()]);
    heads.extend([view.head("created", "Created").number(), Head::hidden("Actions")]);
    let rows = page.items.iter().map(|d| row(&visit, d)).collect_view();
    let acts = view! { {view.csv_button()} {new_button(&visit)} }.into_any();
    let rows = if view.is_unused() {
        let acts = new_button(&visit);
        view! {
            <Empty title="No independent disks yet" acts>
                "An independent disk is put into a VM, taken out and put into another one. It survives the VMs it was in. Disks that \
                 live and die with their VM are on the VM's page."
            </Empty>
        }
        .into_any()
    } else if view.is_empty() {
        view! { <Empty title="No disk fits">"Search for something else, or take a filter away."</Empty> }.into_any()
    } else {
        let table = view! { <Table caption="Disks" heads list=true>{rows}</Table> };
        bulk::with_bar(&visit, Kind::Disk, table)
    };
    let body = view! {
        <PageHead title=ON sub=view.count() lede="Disks that survive the VMs they are put into." acts />
        {silent_note(page.items.iter().filter(|d| d.stale()).count())}
        {view.filters("disks", "Name, description, id")}
        {rows}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, d: &Disk) -> impl IntoView + use<> {
    let (state, menu, vm) = (badge(d), menu(visit, d, true), vm_link(visit, d));
    let vdc = vdc_link(visit, d.vdc, &d.vdc_name);
    let of_provider = (visit.place == Place::Provider).then(|| {
        let (org, hub) = (org_link(visit, Some(d.org), &d.org_name, true), hub_link(visit, d.hub.as_ref()));
        view! {
            <Cell label="Organization" wraps=true>{org}</Cell>
            <Cell label="Hub">{hub}</Cell>
        }
    });
    let (policy, size, created, now) = (d.policy.clone(), Measure::Storage.words(d.size_mb), d.created_at, visit.now);
    let (pick, choose) = (d.id.to_string(), format!("Choose {}", d.name));
    let cells = view! {
        <PickCell value=pick label=choose form=bulk::FORM />
        <NameCell name=d.name.clone() href=href(visit, d.id, "") why=d.description.clone() />
        <StateCell>{state}</StateCell>
        <Cell label="VM" wraps=true>{vm}</Cell>
        <Cell label="VDC" wraps=true>{vdc}</Cell>
        {of_provider}
        <Cell label="Storage policy">{policy}</Cell>
        <Cell label="Size" number=true>{size}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("disk-{}", d.id)>{cells}</Row> }
}

fn vm_link(visit: &Visit, d: &Disk) -> AnyView {
    match d.vm.as_ref().or(d.leaving.as_ref()) {
        Some((id, name)) => linked(name.clone(), Some(visit.at(format!("/vms/{id}")))),
        None => "–".into_any(),
    }
}

fn why(d: &Disk) -> String {
    if d.problem.is_empty() { d.reason.clone() } else { d.problem.clone() }
}

fn badge(d: &Disk) -> AnyView {
    let (shape, tone, more) = match d.state() {
        DiskState::Attached => (Shape::Disc, Tone::Ok, String::new()),
        DiskState::Free => (Shape::Ring, Tone::default(), String::new()),
        DiskState::Failed | DiskState::Missing => (Shape::Diamond, Tone::Bad, why(d)),
        DiskState::Making => (Shape::Half, Tone::Busy, d.progress.map(|p| format!("{p} %")).unwrap_or_default()),
        _ => (Shape::Half, Tone::Busy, String::new()),
    };
    let word = d.state().label();
    view! { <Badge shape tone word more /> }.into_any()
}

fn menu(visit: &Visit, d: &Disk, dots: bool) -> AnyView {
    let line = |action, icon, title: &'static str, rest: &str, danger| {
        may(visit, d, action).then(|| match can::disk(d, action) {
            Ok(()) => {
                view! { <MenuItem icon title=format!("{title}…") href=href(visit, d.id, rest) danger /> }.into_any()
            }
            Err(why) => view! { <MenuOff icon title why /> }.into_any(),
        })
    };
    let edit = line(Action::DiskEdit, Icon::Settings, "Edit", "/edit", false);
    let give = line(Action::DiskOwner, Icon::User, "Change owner", "/owner", false);
    let delete = line(Action::DiskDelete, Icon::Trash, "Delete", "/delete", true);
    let detach = d.vm.as_ref().filter(|_| may(visit, d, Action::VmDiskDetach)).map(|(vm, _)| {
        let (action, fields) = (visit.at(format!("/vms/{vm}/disks/detach")), vec![("disk", d.id.to_string())]);
        view! { <MenuForm icon=Icon::Plug title="Detach" action more="What is on it stays" fields /> }
    });
    if edit.is_none() && delete.is_none() && detach.is_none() && give.is_none() {
        return ().into_any();
    }
    let label = if dots { format!("Actions for {}", d.name) } else { "Actions".to_owned() };
    view! { <Menu label dots>{edit} {detach} {give} {delete}</Menu> }.into_any()
}

const HEADS: [&str; 11] =
    ["id", "name", "organization", "vdc", "state", "reason", "vm", "storage_policy", "size_mb", "owner", "created_at"];

async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| disk::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("disks", &HEADS).rows(visit, &DISKS, list, cells).await
}

fn cells(d: Disk) -> [String; 11] {
    [
        d.id.urn(),
        d.name.clone(),
        d.org_name.clone(),
        d.vdc_name.clone(),
        d.state().label().to_owned(),
        why(&d),
        d.vm.as_ref().map(|(_, name)| name.clone()).unwrap_or_default(),
        d.policy.clone(),
        d.size_mb.to_string(),
        d.owner_name.clone(),
        machine(d.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let d = find(&visit, Action::DiskView).await?;
    let tasks = task::about(visit.domain(), &visit.actor, d.org, d.id.0).await?;
    let tasks = (!tasks.is_empty()).then(|| {
        let table = task_table(&visit, &tasks, false);
        view! { <Section title="Recent tasks">{table}</Section> }
    });
    let events = event::about(visit.domain(), &visit.actor, d.org, d.id.0).await?;
    let problem = Some(why(&d)).filter(|w| !w.is_empty()).map(|text| {
        let text = format!(" {text}");
        view! { <Note tone=Tone::Bad><b>"It is not as it was asked for."</b> {text}</Note> }
    });
    let silent = silent_note(usize::from(d.stale()));
    let used = match (&d.vm, &d.leaving) {
        (Some((id, name)), _) => linked(name.clone(), Some(visit.at(format!("/vms/{id}")))),
        (None, Some((id, name))) => {
            let vm = linked(name.clone(), Some(visit.at(format!("/vms/{id}"))));
            view! { {vm} " still uses it; it is free when that is stopped or lets go of it" }.into_any()
        }
        (None, None) => "In no VM. Open a VM of its VDC to attach it.".into_any(),
    };
    let (size, bus, policy) = (Measure::Storage.words(d.size_mb), d.bus.label(), d.policy.clone());
    let facts = view! {
        <Fact name="Used by">{used}</Fact>
        <Fact name="Size">{size}</Fact>
        <Fact name="Storage policy">{policy}</Fact>
        <Fact name="Bus">{bus}</Fact>
    };
    let body = view! {
        <PageHead
            title=d.name.clone()
            sub="Independent disk"
            lede=d.description.clone()
            acts=menu(&visit, &d, false)
            says=badge(&d)
        />
        {silent}
        {problem}
        <Section title="Disk"><Facts>{facts}</Facts></Section>
        {tasks}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(d.name.clone())];
    let code = code::disk::thing(&visit.site(), &d);
    Ok(Sheet::new(d.name.clone(), ON, crumbs, body).margin(margin(&visit, &d, &events)).code(code))
}

fn margin(visit: &Visit, d: &Disk, events: &[Event]) -> AnyView {
    let vdc = vdc_link(visit, d.vdc, &d.vdc_name);
    let owner = if d.owner_name.is_empty() { "the provider".to_owned() } else { d.owner_name.clone() };
    let of_provider = (visit.place == Place::Provider).then(|| {
        let (org, hub) = (org_link(visit, Some(d.org), &d.org_name, true), hub_link(visit, d.hub.as_ref()));
        let on_hub = format!("{}/{}", d.namespace, d.hub_name);
        view! {
            <Fact name="Organization">{org}</Fact>
            <Fact name="Hub">{hub}</Fact>
            <Fact name="Name there"><Copy value=on_hub what="name on the hub" /></Fact>
        }
    });
    let facts = view! {
        <Fact name="VDC">{vdc}</Fact>
        <Fact name="Owner">{owner}</Fact>
        {of_provider}
        {super::metadata::fact(visit, &format!("/disks/{}", d.id))}
        {about_facts(visit, (d.created_at, d.updated_at, &d.updated_by), d.id.urn())}
    };
    view! {
        <Section title="About"><Facts>{facts}</Facts></Section>
        {event_section(visit, events)}
    }
    .into_any()
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    authorize(&visit.actor, Action::DiskCreate, mine(&visit))?;
    let vdcs = open_vdcs(&visit).await?;
    let fill = visit.fill();
    // policies are a VDC's: which ones there are is known once that is chosen, or if there is one
    let picked = fill.value("vdc", visit.ask.query("vdc"));
    let chosen = match vdcs.as_slice() {
        [only] => Some(only),
        all => all.iter().find(|v| v.id.to_string() == picked),
    };
    let policy = match chosen {
        Some(vdc) => policy_field(&visit, &storage::choices(visit.domain(), vdc.id).await?),
        None => policy_of_some_vdc(&visit, &vdcs).await?,
    };
    let form = if vdcs.is_empty() {
        no_vdc(&visit)
    } else {
        let (size, error) = (fill.value("size", ""), size_error(&visit));
        let names = name_fields(&fill, "", "", "Unique in its VDC.");
        let fields = view! {
            {vdc_field(&visit, &vdcs)}
            {names}
            <NumberField name="size" label="Size" value=size unit="GB" error width=Width::Third />
            {bus_field(&visit, Default::default())}
            {policy}
        };
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="Disk" lede="An empty disk that can be put into any VM of its VDC.">{fields}</FormSection>
                <FormEnd submit="Create disk" cancel_href=visit.at(LIST) />
            </form>
        }
        .into_any()
    };
    let body = view! {
        <PageHead title="New disk" />
        {form}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here("New")];
    let (wished, _) = read(&fill.typed());
    let code = likely_vdc(&visit, &vdcs).map(|v| code::disk::create(&visit.site(), v, &wished));
    Ok(Sheet::new("New disk", ON, crumbs, body).still().code(code))
}

/// While no VDC is chosen: the policies of all, each with the VDCs that it is of.
async fn policy_of_some_vdc(visit: &Visit, vdcs: &[Vdc]) -> Result<AnyView> {
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for vdc in vdcs.iter().take(20) {
        for policy in storage::choices(visit.domain(), vdc.id).await? {
            by_name.entry(policy.name).or_default().push(vdc.name.clone());
        }
    }
    if by_name.len() < 2 {
        return Ok(().into_any());
    }
    let mut choices = vec![Choice::new("", "The VDC's default")];
    choices.extend(by_name.into_iter().map(|(name, of)| {
        let label = format!("{name}, of {}", listed(of).unwrap_or_default());
        Choice::new(name, label)
    }));
    let (value, error) = (visit.fill().value("policy", ""), visit.fill().error("policy"));
    let field = view! { <SelectField name="policy" label="Storage policy" choices value error width=Width::Half /> };
    Ok(field.into_any())
}

fn read(values: &Values) -> (DiskSpec, Problems) {
    let mut problems = Problems::default();
    let spec = DiskSpec {
        name: values.text("name"),
        description: values.text("description"),
        size_mb: read_gb(values.get("size"), "size", &mut problems).unwrap_or_default(),
        bus: read_bus(values, &mut problems),
        policy: values.text("policy"),
        slot: None,
    };
    (spec, problems)
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    d.attempt(&visit.actor, Action::DiskCreate, async { authorize(&visit.actor, Action::DiskCreate, mine(&visit)) })
        .await?;
    let vdcs = open_vdcs(&visit).await?;
    let (spec, problems) = read(&values);
    let mut sizes = Problems::default();
    check_size(spec.size_mb, &mut sizes);
    with_problems(problems, sizes.done())?;
    let vdc = chosen_vdc(&values, &vdcs)?;
    let name = spec.name.clone();
    let (id, _) = disk::create(d, &visit.actor, vdc.id, spec).await?;
    Ok(Done::new(href(&visit, id, ""), format!("Disk {name} is being made.")))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let d = find(&visit, Action::DiskEdit).await?;
    let fill = visit.fill();
    let names = name_fields(&fill, &d.name, &d.description, "Unique in its VDC.");
    let fields = view! {
        {names}
        <NumberField
            name="size"
            label="Size"
            value=fill.value("size", gb(d.size_mb))
            unit="GB"
            error=size_error(&visit)
            hint="A disk grows and never shrinks. The guest's file system is to be grown after it."
            width=Width::Third
        />
        {bus_field(&visit, d.bus)}
    };
    let body = view! {
        <PageHead title=format!("Edit {}", d.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(d.version) />
            <FormSection title="Disk">{fields}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, d.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", d.name), ON, crumbs_below(&visit, &d, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let d = find_to(&visit, Action::DiskEdit).await?;
    let mut problems = Problems::default();
    // as shown is as it was, whatever the rounding
    let size_mb = match values.get("size").trim() {
        same if same == gb(d.size_mb) => d.size_mb,
        typed => read_gb(typed, "size", &mut problems).unwrap_or_default(),
    };
    let bus = read_bus(&values, &mut problems);
    let mut sizes = Problems::default();
    check_growth(d.size_mb, size_mb, &mut sizes);
    with_problems(problems, sizes.done())?;
    let spec = DiskSpec {
        name: values.text("name"),
        description: values.text("description"),
        size_mb,
        bus,
        policy: String::new(),
        slot: None,
    };
    let saved = disk::edit(visit.domain(), &visit.actor, d.id, values.version()?, spec).await?;
    Ok(Done::new(href(&visit, d.id, ""), format!("Disk {} is saved.", saved.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let d = find(&visit, Action::DiskDelete).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::disk(&d, Action::DiskDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec![format!("{} with all that is on it", Measure::Storage.words(d.size_mb))],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete disk {}?", d.name)
            verb=format!("Delete {}", d.name)
            keep_href=href(&visit, d.id, "")
            lost
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", d.name), ON, crumbs_below(&visit, &d, "Delete"), body).still())
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let d = find_to(&visit, Action::DiskDelete).await?;
    disk::delete(visit.domain(), &visit.actor, d.id).await?;
    Ok(Done::new(visit.at(LIST), format!("Disk {} is being deleted.", d.name)))
}
