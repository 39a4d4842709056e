//! Forms about vApps: an empty one, its name, one more VM, and the page before it is deleted.
use super::{
    choose_vdc::{chosen_vdc, likely_vdc, no_vdc, open_vdcs, quota_margin, vdc_field},
    deploy_into::{networks, offers},
    form_error::form_error,
    nic_fields,
    sizes::{lost_words, read_cpus, read_gb, staying_words},
    sizing::{choice, read_choice},
    vapp::{LIST, ON, crumbs_below, find, find_to, href, mine},
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::{sizing, vapp, vdc, vm};
use leptos::prelude::*;
use model::{
    Action, Problems, Result, SizingId, can,
    decide::authorize,
    network::Network,
    nic::NicSpec,
    quota::Amount,
    vapp::VappSpec,
    vm::{Disk, Power, VmSpec},
};

const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("vdc", "VDC"),
    ("description", "Description"),
    ("cpus", "CPU"),
    ("memory", "Memory"),
    ("disk", "Disk"),
    ("nics", "Network"),
    ("sizing", "Size"),
];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/new", new_page, create)
        .both_form("/vapps/{id}/edit", edit_page, edit)
        .both_form("/vapps/{id}/add", add_page, add)
        .both_form("/vapps/{id}/delete", delete_page, delete)
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    authorize(&visit.actor, Action::VappCreate, mine(&visit))?;
    let vdcs = open_vdcs(&visit).await?;
    let fill = visit.fill();
    let form = if vdcs.is_empty() {
        no_vdc(&visit)
    } else {
        let names = name_fields(&fill, "", "", "Unique in its VDC.");
        let vdc = vdc_field(&visit, &vdcs);
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="vApp">{names}</FormSection>
                <FormSection title="Place" lede="This can't be changed later.">{vdc}</FormSection>
                <FormEnd submit="Create vApp" cancel_href=visit.at(LIST) />
            </form>
        }
        .into_any()
    };
    let body = view! {
        <PageHead title="New vApp" lede="Empty: VMs are added to it one by one." />
        {form}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here("New")];
    let code = likely_vdc(&visit, &vdcs)
        .map(|v| code::vapp::create(&visit.site(), v, &fill.value("name", ""), &fill.value("description", "")));
    Ok(Sheet::new("New vApp", ON, crumbs, body).still().code(code))
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let (d, action) = (visit.domain(), Action::VappCreate);
    d.attempt(&visit.actor, action, async { authorize(&visit.actor, action, mine(&visit)) }).await?;
    let vdcs = open_vdcs(&visit).await?;
    let spec = VappSpec { name: values.text("name"), description: values.text("description"), vms: Vec::new() };
    let mut problems = Problems::default();
    let vdc = match chosen_vdc(&values, &vdcs) {
        Ok(vdc) => Some(vdc.id),
        Err(e) => {
            e.fields().iter().for_each(|f| problems.add(f.field, f.message.clone()));
            None
        }
    };
    let spec = with_problems(problems, spec.check())?;
    let vdc = vdc.ok_or_else(|| model::Error::field("vdc", "Choose a VDC."))?;
    let name = spec.name.clone();
    let made = vapp::compose(d, &visit.actor, vdc, spec, vapp::Guest::default()).await?;
    Ok(Done::new(href(&visit, made.vapp, ""), format!("vApp {name} is made. Add VMs to it.")))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VappEdit).await?;
    let fill = visit.fill();
    let names = name_fields(&fill, &v.name, &v.description, "Unique in its VDC.");
    let body = view! {
        <PageHead title=format!("Edit {}", v.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(v.version) />
            <FormSection title="vApp">{names}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", v.name), ON, crumbs_below(&visit, &v, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let id = find_to(&visit, Action::VappEdit).await?.id;
    let (name, text) = (values.get("name"), values.get("description"));
    let saved = vapp::edit(visit.domain(), &visit.actor, id, values.version()?, name, text).await?;
    Ok(Done::new(href(&visit, id, ""), format!("vApp {} is saved.", saved.name)))
}

async fn add_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmCreate).await?;
    let fill = visit.fill();
    let title = format!("Add a VM to {}", v.name);
    let networks = networks(&visit, &v).await?;
    let all = sizing::choices(visit.domain(), &[v.vdc]).await?;
    let first = all.iter().find(|p| p.is_default).map(|p| p.id);
    let form = match can::vapp(&v, Action::VmCreate) {
        Err(why) if !fill.returned() => {
            let text = format!("Not now: {why}");
            let back = view! { <a class="btn" href=href(&visit, v.id, "")>"Back"</a> }.into_any();
            view! { <Note tone=Tone::Warn acts=back>{text}</Note> }.into_any()
        }
        _ => {
            let templates = offers(&visit, &v).await?;
            let names = name_fields(&fill, "", "", "Unique in the vApp. The guest's host name is made from it.");
            let policy =
                choice(&fill, &all, "Its own, as below", first, "With a policy CPU and memory below do not count.");
            let (size, on) = (size_fields(&fill), fill.checked("power_on", "on", true));
            let choices = nic_fields::choices(&visit, &networks);
            let nics = nic_fields::rows(&fill, "", &choices, &[NicSpec::default()]);
            view! {
                {templates}
                <form method="post" class="form" novalidate>
                    {form_error(&fill, LABELS)}
                    <FormSection title="VM">{names}</FormSection>
                    <FormSection title="Size" lede="The disk is empty: the guest is installed from the network, or from a disc that is inserted.">
                        {policy}
                        {size}
                    </FormSection>
                    {nics}
                    <FormSection title="Start">
                        <CheckField name="power_on" label="Power on when it is ready" checked=on />
                    </FormSection>
                    <FormEnd submit="Add VM" cancel_href=href(&visit, v.id, "") />
                </form>
            }
            .into_any()
        }
    };
    let body = view! {
        <PageHead title=title.clone() />
        {form}
    }
    .into_any();
    let code = code::vm::add(&visit.site(), &v, &wished(&fill, &networks, first), &networks);
    let sheet = Sheet::new(title, ON, crumbs_below(&visit, &v, "Add a VM"), body).still().code(code);
    let of = vdc::get(visit.domain(), &visit.actor, v.vdc).await.ok();
    let asked = match fill.returned() {
        true => read_vm(&typed(&fill), &[]).0.amount(),
        false => Amount::default(),
    };
    Ok(match of.and_then(|of| quota_margin(&visit, &[of], &asked)) {
        Some(margin) => sheet.margin(margin),
        None => sheet,
    })
}

/// Field, label, what it begins with, unit.
const SIZES: [(&str, &str, &str, &str); 3] =
    [("cpus", "CPU", "2", "vCPU"), ("memory", "Memory", "4", "GB"), ("disk", "Disk", "20", "GB")];

fn size_fields(fill: &Fill) -> AnyView {
    SIZES
        .map(|(name, label, start, unit)| {
            let (value, error) = (fill.value(name, start), fill.error(name));
            view! { <NumberField name label value unit error width=Width::Third /> }
        })
        .collect_view()
        .into_any()
}

/// The size fields of a form that came back.
fn typed(fill: &Fill) -> Values {
    Values::from_pairs(["cpus", "memory", "disk"].map(|name| (name, fill.value(name, ""))))
}

/// What the form would ask for as it stands: typed, or what its fields begin with.
fn wished(fill: &Fill, networks: &[Network], sizing: Option<SizingId>) -> VmSpec {
    if fill.returned() {
        return read_vm(&fill.typed(), networks).0;
    }
    let start = SIZES.map(|(name, _, start, _)| (name, start.to_owned()));
    VmSpec {
        sizing,
        nics: vec![NicSpec::default()],
        power: Power::On,
        ..read_vm(&Values::from_pairs(start), networks).0
    }
}

fn read_vm(values: &Values, networks: &[Network]) -> (VmSpec, Problems) {
    let mut problems = Problems::default();
    let disk = read_gb(values.get("disk"), "disk", &mut problems).unwrap_or_default();
    let spec = VmSpec {
        sizing: read_choice(values.get("sizing"), &mut problems),
        name: values.text("name"),
        description: values.text("description"),
        cpus: read_cpus(values.get("cpus"), &mut problems).unwrap_or_default(),
        memory_mb: read_gb(values.get("memory"), "memory", &mut problems).unwrap_or_default(),
        disks: vec![Disk { name: "root".into(), size_mb: disk, ..Disk::default() }],
        nics: nic_fields::read_rows(values, "", networks, &mut problems),
        power: if values.has("power_on") { Power::On } else { Power::Off },
        ..VmSpec::default()
    };
    (spec, problems)
}

async fn add(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmCreate).await?;
    let (spec, problems) = read_vm(&values, &networks(&visit, &v).await?);
    let spec = with_problems(problems, spec.check())?;
    let name = spec.name.clone();
    let placeless = |field| if field == "vdc" { "name" } else { field };
    vm::add(visit.domain(), &visit.actor, v.id, spec).await.map_err(|e| e.rename(placeless))?;
    Ok(Done::new(href(&visit, v.id, ""), format!("VM {name} is asked for.")))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VappDelete).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::vapp(&v, Action::VappDelete).err().map(|why| format!("Not now: {why}")));
    let mut stays = None;
    let lost = match refused {
        Some(_) => Vec::new(),
        None => {
            let (_, vms) = vapp::with_vms(visit.domain(), &visit.actor, v.id).await?;
            let mut lost: Vec<String> = vms.iter().map(|m| format!("VM {}: {}", m.name, lost_words(m))).collect();
            stays = staying_words(&vms);
            if lost.is_empty() {
                lost.push("its name and description; no VM is in it".to_owned());
            }
            if v.vms.running > 0 {
                let (verbs, n) = (("is powered off first", "are powered off first"), v.vms);
                let off = some_of(n.running.unsigned_abs(), n.all.unsigned_abs(), ("VM", "VMs"), verbs);
                lost.push(format!("what runs now: {off}"));
            }
            lost
        }
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete vApp {}?", v.name)
            verb=format!("Delete {}", v.name)
            keep_href=href(&visit, v.id, "")
            lost
            refused
        >
            {stays.map(|words| view! { <p>{words}</p> })}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", v.name), ON, crumbs_below(&visit, &v, "Delete"), body).still())
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VappDelete).await?;
    vapp::delete(visit.domain(), &visit.actor, v.id).await?;
    Ok(Done::new(visit.at(LIST), format!("vApp {} is being deleted.", v.name)))
}
