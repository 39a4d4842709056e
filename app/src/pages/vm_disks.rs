//! The disks of a VM: the section on its page, and the forms to add, change and remove one, and to attach and detach independent ones.
use super::{
    form_error::form_error,
    limits::whole,
    sizes::{gb, read_gb},
    vm::{ON, crumbs_below, find, find_to, href, may, not_now},
};
use crate::{
    parts::*,
    portal::{Done, Place, Routes, Sheet, Values, Visit, with_problems},
};
use domain::{disk, storage};
use leptos::prelude::*;
use model::{
    Action, DiskId, Error, Problems, Result, can,
    disk::{Bus, DiskSeen, DiskSpec, check_growth, check_size},
    quota::Measure,
    storage::VdcPolicy,
    vm::{Disk, Vm},
};

const LABELS: &[(&str, &str)] =
    &[("disk", "Disk"), ("name", "Name"), ("size", "Size"), ("bus", "Bus"), ("policy", "Storage policy")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vms/{id}/disks/add", add_page, add)
        .both_form("/vms/{id}/disks/edit", edit_page, edit)
        .both_form("/vms/{id}/disks/remove", remove_page, remove)
        .both_form("/vms/{id}/disks/attach", attach_page, attach)
        .both_act("/vms/{id}/disks/detach", detach)
}

/// A disk's state in a word, with why.
pub(super) fn disk_badge(d: &Disk) -> AnyView {
    let more = d.reason.clone();
    match d.seen {
        _ if d.leaving => {
            view! { <Badge shape=Shape::Next tone=Tone::Busy word="Leaving" more="in use until the VM stops" /> }
                .into_any()
        }
        DiskSeen::Ready if d.waits => {
            view! { <Badge shape=Shape::Next tone=Tone::Busy word="At next start" /> }.into_any()
        }
        DiskSeen::Ready => view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Ready" /> }.into_any(),
        DiskSeen::Failed => view! { <Badge shape=Shape::Diamond tone=Tone::Bad word="Failed" more /> }.into_any(),
        DiskSeen::Missing => view! { <Badge shape=Shape::Missing tone=Tone::Bad word="Missing" more /> }.into_any(),
        DiskSeen::Never | DiskSeen::Making => {
            let more = d.progress.map(|p| format!("{p} %")).unwrap_or_default();
            view! { <Badge shape=Shape::Half tone=Tone::Busy word="Being made" more /> }.into_any()
        }
    }
}

pub(super) fn section(visit: &Visit, v: &Vm) -> AnyView {
    let changes = may(visit, v, Action::VmDiskAdd);
    let acts = changes.then(|| match can::vm(v, Action::VmDiskAdd) {
        Ok(()) => view! {
            <a href=href(visit, v.id, "/disks/add")>"Add"</a>
            " "
            <a href=href(visit, v.id, "/disks/attach")>"Attach"</a>
        }
        .into_any(),
        Err(why) => not_now(v, "None can be added now:", &why),
    });
    let acts = acts.into_any();
    let disks: Vec<&Disk> = v.disks.iter().filter(|d| d.media.is_none()).collect();
    if disks.is_empty() {
        let none = "It has no disk.";
        return view! { <Section title="Disks" acts><p>{none}</p></Section> }.into_any();
    }
    let mut heads = vec![Head::new("Name"), Head::new("State"), Head::new("Made from"), Head::new("Storage policy")];
    heads.extend([Head::new("Bus"), Head::new("Size").number(), Head::hidden("Actions")]);
    let rows = disks.iter().map(|d| row(visit, v, d, changes)).collect_view();
    let mb = disks.iter().map(|d| d.size_mb).sum();
    let sub = format!("{}, {}", plural(disks.len() as u64, "disk", "disks"), Measure::Storage.words(mb));
    let table = view! { <Table caption="Disks" heads>{rows}</Table> };
    view! { <Section title="Disks" sub acts>{table}</Section> }.into_any()
}

fn row(visit: &Visit, v: &Vm, d: &Disk, changes: bool) -> impl IntoView + use<> {
    // where an image is kept on hubs says nothing to a tenant
    let from = match (d.image.rsplit('/').next(), visit.place == Place::Provider) {
        _ if d.independent => "an independent disk".to_owned(),
        (None | Some(""), _) => "nothing".to_owned(),
        (Some(_), false) if d.image.starts_with("claim/") => "a copy of another disk".to_owned(),
        // what was uploaded is kept under its id
        (Some(name), false) if name.parse::<uuid::Uuid>().is_ok() => "an uploaded image".to_owned(),
        (Some(name), false) => name.to_owned(),
        (Some(_), true) => d.image.clone(),
    };
    let (policy, bus, size) = (d.policy.clone(), d.bus.label(), Measure::Storage.words(d.size_mb));
    let (state, menu) = (disk_badge(d), changes.then(|| menu(visit, v, d)));
    let to = d.id.filter(|_| d.independent && visit.may(Action::DiskView));
    let to = to.map(|id| visit.at(format!("/disks/{id}"))).unwrap_or_default();
    let cells = view! {
        <NameCell name=d.name.clone() href=to />
        <StateCell>{state}</StateCell>
        <Cell label="Made from" wraps=true>{from}</Cell>
        <Cell label="Storage policy">{policy}</Cell>
        <Cell label="Bus">{bus}</Cell>
        <Cell label="Size" number=true>{size}</Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("disk-{}", d.name)>{cells}</Row> }
}

fn menu(visit: &Visit, v: &Vm, d: &Disk) -> AnyView {
    let Some(id) = d.id.filter(|_| !d.leaving) else { return ().into_any() };
    let label = format!("Actions for {}", d.name);
    if d.independent {
        let (action, fields) = (href(visit, v.id, "/disks/detach"), vec![("disk", id.to_string())]);
        let more = "What is on it stays";
        return view! {
            <Menu label dots=true>
                <MenuForm icon=Icon::Plug title="Detach" action=action.clone() more fields=fields.clone() />
            </Menu>
        }
        .into_any();
    }
    let edit = href(visit, v.id, &format!("/disks/edit?disk={id}"));
    let remove = match can::disk_removal(v, d) {
        Ok(()) => {
            let to = href(visit, v.id, &format!("/disks/remove?disk={id}"));
            view! { <MenuItem icon=Icon::Trash title="Remove…" href=to danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Remove" why /> }.into_any(),
    };
    view! {
        <Menu label dots=true>
            <MenuItem icon=Icon::Settings title="Change…" href=edit.clone() />
            {remove}
        </Menu>
    }
    .into_any()
}

pub(super) fn refused(visit: &Visit, v: &Vm, action: Action) -> AnyView {
    let why = can::vm(v, action).err().filter(|_| visit.fill().failure().is_none());
    why.map(|why| {
        let text = format!("Not now: {why}");
        view! { <Note tone=Tone::Warn>{text}</Note> }
    })
    .into_any()
}

/// More than the storage itself may be full: that is said beside the size too.
pub(super) fn size_error(visit: &Visit) -> Option<String> {
    visit.fill().error("size").or_else(|| visit.fill().error("disk"))
}

pub(super) fn bus_field(visit: &Visit, stored: Bus) -> AnyView {
    let choices = Bus::ALL.map(|b| Choice::new(b.key(), b.label())).to_vec();
    let (value, error) = (visit.fill().value("bus", stored.key()), visit.fill().error("bus"));
    let hint = "Disks on SATA come and go with the next start; others while the VM runs, where its hub can.";
    view! { <SelectField name="bus" label="Bus" choices value error hint optional=true width=Width::Third /> }
        .into_any()
}

/// Nothing where there is no choice.
pub(super) fn policy_field(visit: &Visit, policies: &[VdcPolicy]) -> AnyView {
    let typed = visit.fill().value("policy", "");
    if policies.len() < 2 && typed.is_empty() {
        return ().into_any();
    }
    let choice = |p: &VdcPolicy| {
        let left = p.limit_mb.map(|l| format!(", {} left", Measure::Storage.words((l - p.used_mb).max(0))));
        let default = if p.is_default { ", the default" } else { "" };
        Choice::new(p.name.clone(), format!("{}{default}{}", p.name, left.unwrap_or_default()))
    };
    let default = policies.iter().find(|p| p.is_default).map(|p| p.name.clone()).unwrap_or_default();
    let value = if typed.is_empty() { default } else { typed };
    let (choices, error) = (policies.iter().map(choice).collect(), visit.fill().error("policy"));
    view! { <SelectField name="policy" label="Storage policy" choices value error width=Width::Half /> }.into_any()
}

/// What is left of each policy.
pub(super) fn policy_meters(policies: &[VdcPolicy]) -> AnyView {
    let m = Measure::Storage;
    let meters = policies.iter().map(|p| {
        let (used, limit) = (whole(p.used_mb), p.limit_mb.map(whole));
        view! { <Meter label=p.name.clone() used limit unit=m.unit() per=whole(m.per_unit()) /> }
    });
    let meters = meters.collect_view();
    view! { <div class="meters">{meters}</div> }.into_any()
}

pub(super) fn read_bus(values: &Values, problems: &mut Problems) -> Bus {
    Bus::parse(values.get("bus")).unwrap_or_else(|| {
        problems.add("bus", "Choose one of the buses.");
        Bus::Any
    })
}

async fn add_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmDiskAdd).await?;
    let policies = storage::choices(visit.domain(), v.vdc).await?;
    let fill = visit.fill();
    let (size, error) = (fill.value("size", ""), size_error(&visit));
    let fields = view! {
        <NumberField name="size" label="Size" value=size unit="GB" error width=Width::Third />
        {bus_field(&visit, Bus::Any)}
        {policy_field(&visit, &policies)}
        <TextField
            name="name"
            label="Name"
            value=fill.value("name", "")
            error=fill.error("name")
            hint="Within the VM. Left empty: the next free of disk-1, disk-2 and so on."
            optional=true
            autocomplete="off"
            width=Width::Half
        />
    };
    let lede = "An empty disk that lives and dies with the VM. It is there at once where the hub can do that, else at the next start.";
    let body = view! {
        <PageHead title=format!("Add a disk to {}", v.name) />
        {refused(&visit, &v, Action::VmDiskAdd)}
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Disk" lede>{fields}</FormSection>
            <FormEnd submit="Add disk" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    let meters = policy_meters(&policies);
    let margin = view! { <Section title="Storage of its VDC">{meters}</Section> }.into_any();
    let crumbs = crumbs_below(&visit, &v, "Add a disk");
    Ok(Sheet::new(format!("Add a disk to {}", v.name), ON, crumbs, body).still().margin(margin))
}

async fn add(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmDiskAdd).await?;
    let mut problems = Problems::default();
    let size_mb = read_gb(values.get("size"), "size", &mut problems).unwrap_or_default();
    let bus = read_bus(&values, &mut problems);
    let mut sizes = Problems::default();
    check_size(size_mb, &mut sizes);
    with_problems(problems, sizes.done())?;
    let spec =
        DiskSpec { name: values.text("name"), size_mb, bus, policy: values.text("policy"), ..DiskSpec::default() };
    disk::add(visit.domain(), &visit.actor, v.id, spec).await?;
    let size = Measure::Storage.words(size_mb);
    Ok(Done::new(href(&visit, v.id, ""), format!("A disk of {size} is asked for {}.", v.name)))
}

/// The disk that a form is about: typed, in the address, or the first that fits.
fn picked(visit: &Visit, fits: &[&Disk]) -> String {
    let asked = visit.fill().value("disk", visit.ask.query("disk"));
    match fits.first().and_then(|d| d.id) {
        Some(first) if asked.is_empty() => first.to_string(),
        _ => asked,
    }
}

fn disk_field(visit: &Visit, fits: &[&Disk]) -> AnyView {
    let choice = |d: &&Disk| {
        let id = d.id.map(|id| id.to_string()).unwrap_or_default();
        Choice::new(id, format!("{}, {}", d.name, Measure::Storage.words(d.size_mb)))
    };
    let (choices, value) = (fits.iter().map(choice).collect(), picked(visit, fits));
    // a full quota is said beside the size
    let error = visit.fill().error("disk").filter(|_| visit.fill().value("size", "").is_empty());
    view! { <SelectField name="disk" label="Disk" choices value error width=Width::Half /> }.into_any()
}

fn own(v: &Vm) -> Vec<&Disk> {
    v.disks.iter().filter(|d| d.own()).collect()
}

fn named(values: &Values) -> Result<DiskId> {
    values.get("disk").parse().map_err(|_| Error::field("disk", "Choose a disk."))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmDiskEdit).await?;
    let (fill, fits) = (visit.fill(), own(&v));
    let chosen = picked(&visit, &fits);
    let disk = fits.iter().find(|d| d.id.is_some_and(|id| id.to_string() == chosen)).or(fits.first());
    let size = fill.value("size", disk.map(|d| gb(d.size_mb)).unwrap_or_default());
    let bus = bus_field(&visit, disk.map(|d| d.bus).unwrap_or_default());
    let fields = view! {
        {disk_field(&visit, &fits)}
        <NumberField
            name="size"
            label="Size"
            value=size
            unit="GB"
            error=size_error(&visit)
            hint="A disk grows and never shrinks. The guest's file system is to be grown after it."
            width=Width::Third
        />
        {bus}
    };
    let body = view! {
        <PageHead title=format!("Change a disk of {}", v.name) />
        {refused(&visit, &v, Action::VmDiskEdit)}
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Disk" lede="Another bus counts from the next start on.">{fields}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    let crumbs = crumbs_below(&visit, &v, "Change a disk");
    Ok(Sheet::new(format!("Change a disk of {}", v.name), ON, crumbs, body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmDiskEdit).await?;
    let id = named(&values)?;
    let known = own(&v).into_iter().find(|d| d.id == Some(id)).ok_or_else(|| Error::field("disk", "Choose a disk."))?;
    let mut problems = Problems::default();
    let size_mb = match values.get("size").trim() {
        same if same == gb(known.size_mb) => known.size_mb,
        typed => read_gb(typed, "size", &mut problems).unwrap_or_default(),
    };
    let bus = read_bus(&values, &mut problems);
    let mut sizes = Problems::default();
    check_growth(known.size_mb, size_mb, &mut sizes);
    with_problems(problems, sizes.done())?;
    disk::change(visit.domain(), &visit.actor, v.id, id, size_mb, bus).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The change of {} is asked for {}.", known.name, v.name)))
}

async fn remove_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmDiskRemove).await?;
    let fits: Vec<&Disk> = own(&v).into_iter().filter(|d| can::disk_removal(&v, d).is_ok()).collect();
    let chosen = visit.fill().value("disk", visit.ask.query("disk"));
    let name = fits.iter().find(|d| d.id.is_some_and(|id| id.to_string() == chosen)).map(|d| d.name.clone());
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::vm(&v, Action::VmDiskRemove).err().map(|why| format!("Not now: {why}")))
        .or_else(|| fits.is_empty().then(|| "It has no disk but the one it starts from, and that stays.".to_owned()));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["the disk with all that is on it; while the VM uses it, when that stops".to_owned()],
    };
    let title = match &name {
        Some(name) => format!("Remove the disk {name} from {}?", v.name),
        None => format!("Remove a disk from {}?", v.name),
    };
    let field = match &name {
        Some(_) => view! { <input type="hidden" name="disk" value=chosen /> }.into_any(),
        None => disk_field(&visit, &fits),
    };
    let body = view! {
        <ConfirmPage title=title.clone() verb="Remove the disk" keep_href=href(&visit, v.id, "") lost refused>
            {field}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Remove a disk"), body).still())
}

async fn remove(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmDiskRemove).await?;
    disk::remove(visit.domain(), &visit.actor, v.id, named(&values)?).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("A disk of {} is being removed.", v.name)))
}

async fn attach_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmDiskAttach).await?;
    let free = match visit.may(Action::DiskList) {
        true => disk::free_for(visit.domain(), &visit.actor, &v).await?,
        false => Vec::new(),
    };
    let fill = visit.fill();
    let form = if free.is_empty() {
        let text = "There is no independent disk in its VDC that is free. Create one first.";
        let acts = visit.may(Action::DiskCreate).then(|| {
            view! { <a class="btn primary" href=visit.at("/disks/new")><Icon name=Icon::Plus />"New disk"</a> }
        });
        let acts = acts.into_any();
        view! { <Empty title="No disk is free" acts>{text}</Empty> }.into_any()
    } else {
        let choice = |d: &model::disk::Disk| {
            Choice::new(d.id.to_string(), format!("{}, {}", d.name, Measure::Storage.words(d.size_mb)))
        };
        let choices = free.iter().map(choice).collect();
        let (value, error) = (fill.value("disk", visit.ask.query("disk")), fill.error("disk"));
        let field = view! { <SelectField name="disk" label="Disk" choices value error width=Width::Half /> };
        let lede = "At once where the hub can do that, else at the next start.";
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="Independent disk" lede>{field}</FormSection>
                <FormEnd submit="Attach" cancel_href=href(&visit, v.id, "") />
            </form>
        }
        .into_any()
    };
    let body = view! {
        <PageHead title=format!("Attach a disk to {}", v.name) />
        {refused(&visit, &v, Action::VmDiskAttach)}
        {form}
    }
    .into_any();
    let crumbs = crumbs_below(&visit, &v, "Attach a disk");
    Ok(Sheet::new(format!("Attach a disk to {}", v.name), ON, crumbs, body).still())
}

async fn attach(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmDiskAttach).await?;
    disk::attach(visit.domain(), &visit.actor, v.id, named(&values)?).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The disk is being attached to {}.", v.name)))
}

async fn detach(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmDiskDetach).await?;
    disk::detach(visit.domain(), &visit.actor, v.id, named(&values)?).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The disk is being detached from {}.", v.name)))
}
