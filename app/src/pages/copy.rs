//! The forms that copy and move vApps and VMs.
use super::{choose_vdc::open_vdcs, form_error::form_error, vapp, vm};
use crate::{
    code,
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::{
    copy,
    moves::{self, Arrival},
    vapp as vapps,
};
use leptos::prelude::*;
use model::{
    Action, Error, Result, VappId, VdcId, can,
    list::{ListQuery, MAX_LIMIT, VAPPS},
    nic::Attach,
    vapp::Vapp,
    vdc::Vdc,
    vm::Vm,
};

const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("vdc", "VDC"),
    ("vapp", "vApp"),
    ("nics", "NICs"),
    ("cpus", "CPU"),
    ("memory", "Memory"),
    ("disk", "Storage"),
];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/{id}/copy", |v| vapp_page(v, Action::VappCopy), copy_vapp)
        .both_form("/vapps/{id}/move", |v| vapp_page(v, Action::VappMove), move_vapp)
        .both_form("/vms/{id}/copy", |v| vm_page(v, Action::VmCopy), copy_vm)
        .both_form("/vms/{id}/move", |v| vm_page(v, Action::VmMove), move_vm)
}

/// Why not, with the way back; or the form.
fn unless(why: Option<String>, back: &str, form: impl FnOnce() -> AnyView) -> AnyView {
    match why {
        None => form(),
        Some(why) => {
            let (text, back) = (format!("Not now: {why}"), view! { <a class="btn" href=back.to_owned()>"Back"</a> });
            view! { <Note tone=Tone::Warn acts=back.into_any()>{text}</Note> }.into_any()
        }
    }
}

const WHAT_A_COPY_IS: &str = "Its disks are copied while it stays stopped. The copy has MACs and addresses of its own; NICs on networks that \
     it does not reach are left unplugged, and independent disks stay where they are.";

/// What does not come along to another VDC.
fn stays_behind(vms: &[Vm]) -> AnyView {
    let names = |has: &dyn Fn(&Vm) -> bool| {
        vms.iter().filter(|vm| has(vm)).map(|vm| vm.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let snapshots = names(&|vm| vm.snapshots > 0);
    let disks: Vec<&str> =
        vms.iter().flat_map(|vm| &vm.disks).filter(|d| d.independent).map(|d| d.name.as_str()).collect();
    let on_networks = names(&|vm| vm.nics.iter().any(|n| matches!(n.spec.attach, Attach::Network(_))));
    let lines: Vec<String> = [
        (!snapshots.is_empty()).then(|| format!("The snapshots of {snapshots} are not copied, and go with the original.")),
        (!disks.is_empty()).then(|| format!("Independent disks stay in their VDC, in no VM: {}.", disks.join(", "))),
        (!on_networks.is_empty()).then(|| format!("NICs on networks that the other VDC does not reach are left unplugged: look at those of {on_networks} afterwards.")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if lines.is_empty() {
        return ().into_any();
    }
    let lines = lines.into_iter().map(|line| view! { <p>{line}</p> }).collect_view();
    view! { <Note tone=Tone::Warn>{lines}</Note> }.into_any()
}

async fn vdcs_of(visit: &Visit, v: &Vapp, moves: bool) -> Result<Vec<Vdc>> {
    let all = open_vdcs(visit).await?;
    Ok(all.into_iter().filter(|d| d.org == v.org && !(moves && d.id == v.vdc)).collect())
}

async fn vapp_page(visit: Visit, action: Action) -> Result<Sheet> {
    let v = vapp::find(&visit, action).await?;
    let (fill, back, moves) = (visit.fill(), vapp::href(&visit, v.id, ""), action == Action::VappMove);
    let vdcs = vdcs_of(&visit, &v, moves).await?;
    let why = can::vapp(&v, action).err().filter(|_| !fill.returned());
    let why = why.or_else(|| vdcs.is_empty().then(|| "There is no other VDC that is enabled.".to_owned()));
    let (word, lede) = match moves {
        true => (
            "Move",
            "It is copied to the other VDC, and deleted here when all of it is there. Its VMs keep their MACs, and storage policies that the other VDC has too; they get new addresses.",
        ),
        false => ("Copy", WHAT_A_COPY_IS),
    };
    let form = unless(why, &back, || {
        let name = (!moves).then(|| {
            let value = fill.value("name", format!("{} copy", v.name));
            view! { <TextField name="name" label="Name" value error=fill.error("name") width=Width::Half /> }
        });
        let choices: Vec<_> = vdcs.iter().map(|d| Choice::new(d.id.to_string(), d.name.clone())).collect();
        let (value, error) = (fill.value("vdc", v.vdc.to_string()), fill.error("vdc"));
        let fields = view! {
            {name}
            <SelectField name="vdc" label="VDC" choices value error width=Width::Half />
        };
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="vApp">{fields}</FormSection>
                <FormEnd submit=format!("{word} vApp") cancel_href=back.clone() />
            </form>
        }
        .into_any()
    });
    let title = format!("{word} {}", v.name);
    let behind = match moves {
        true => stays_behind(&vapps::with_vms(visit.domain(), &visit.actor, v.id).await?.1),
        false => ().into_any(),
    };
    let body = view! { <PageHead title=title.clone() lede /> {behind} {form} }.into_any();
    let chosen = fill.value("vdc", v.vdc.to_string());
    let into = vdcs.iter().find(|d| d.id.to_string() == chosen).or(vdcs.first()).filter(|_| !moves);
    let code = into.map(|d| code::vapp::copy(&visit.site(), &v, d, &fill.value("name", format!("{} copy", v.name))));
    Ok(Sheet::new(title, vapp::ON, vapp::crumbs_below(&visit, &v, word), body).still().code(code))
}

fn chosen_vdc(values: &Values) -> Result<VdcId> {
    values.get("vdc").parse().map_err(|_| Error::field("vdc", "Choose a VDC."))
}

/// One of another organization is answered like a missing one, beside its field.
fn beside(e: Error, field: &'static str, words: &str) -> Error {
    if matches!(e, Error::NotFound(_)) { Error::field(field, words) } else { e }
}

async fn copy_vapp(visit: Visit, values: Values) -> Result<Done> {
    let v = vapp::find_to(&visit, Action::VappCopy).await?;
    let asked = copy::vapp(visit.domain(), &visit.actor, v.id, chosen_vdc(&values)?, values.get("name")).await;
    let asked = asked.map_err(|e| beside(e, "vdc", "Choose a VDC of the same organization."))?;
    Ok(Done::new(vapp::href(&visit, asked.vapp, ""), format!("{} is being copied.", v.name)))
}

async fn move_vapp(visit: Visit, values: Values) -> Result<Done> {
    let v = vapp::find_to(&visit, Action::VappMove).await?;
    let asked = copy::move_vapp(visit.domain(), &visit.actor, v.id, chosen_vdc(&values)?).await;
    let asked = asked.map_err(|e| beside(e, "vdc", "Choose a VDC of the same organization."))?;
    Ok(Done::new(vapp::href(&visit, asked.vapp, ""), format!("{} is being moved.", v.name)))
}

async fn vm_page(visit: Visit, action: Action) -> Result<Sheet> {
    let m = vm::find(&visit, action).await?;
    let (fill, back, moves) = (visit.fill(), vm::href(&visit, m.id, ""), action == Action::VmMove);
    let query = ListQuery { limit: MAX_LIMIT, ..ListQuery::first(&VAPPS) };
    let all = vapps::list(visit.domain(), &visit.actor, Some(m.org), &query).await?.items;
    let here = |v: &Vapp| {
        visit.actor.may(Action::VappEdit, v.resource(&visit.actor)) && can::vapp(v, Action::VmCreate).is_ok()
    };
    let fits = |v: &Vapp| here(v) && !(moves && v.id == m.vapp);
    let targets: Vec<Vapp> = all.into_iter().filter(fits).collect();
    let why = can::vm(&m, action).err().filter(|_| !fill.returned());
    let why =
        why.or_else(|| targets.is_empty().then(|| "There is no vApp that it could go to. Make one first.".to_owned()));
    let (word, lede) = match moves {
        true => (
            "Move",
            "In its VDC it goes as it is, with its disks, NICs and addresses, and runs on. To another VDC it is copied while it is stopped, and \
             deleted here when all of it is there; it keeps its MACs, and storage policies that the other VDC has too, and gets new addresses.",
        ),
        false => ("Copy", WHAT_A_COPY_IS),
    };
    let form = unless(why, &back, || {
        let name = (!moves).then(|| {
            let value = fill.value("name", format!("{} copy", m.name));
            view! { <TextField name="name" label="Name" value error=fill.error("name") width=Width::Half /> }
        });
        let choices: Vec<_> =
            targets.iter().map(|v| Choice::new(v.id.to_string(), format!("{} ({})", v.name, v.vdc_name))).collect();
        let (value, error) = (fill.value("vapp", m.vapp.to_string()), fill.error("vapp"));
        let fields = view! {
            {name}
            <SelectField name="vapp" label="vApp" choices value error width=Width::Half />
        };
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="VM">{fields}</FormSection>
                <FormEnd submit=format!("{word} VM") cancel_href=back.clone() />
            </form>
        }
        .into_any()
    });
    let title = format!("{word} {}", m.name);
    let leaves = moves && targets.iter().any(|v| v.vdc != m.vdc);
    let behind = if leaves { stays_behind(std::slice::from_ref(&m)) } else { ().into_any() };
    let body = view! { <PageHead title=title.clone() lede /> {behind} {form} }.into_any();
    let crumbs: Vec<Crumb> = vm::crumbs_below(&visit, &m, word);
    let chosen = fill.value("vapp", m.vapp.to_string());
    let into = targets.iter().find(|v| v.id.to_string() == chosen).or(targets.first()).filter(|_| !moves);
    let code = into.map(|v| code::vm::copy(&visit.site(), &m, v, &fill.value("name", format!("{} copy", m.name))));
    Ok(Sheet::new(title, vm::ON, crumbs, body).still().code(code))
}

fn chosen_vapp(values: &Values) -> Result<VappId> {
    values.get("vapp").parse().map_err(|_| Error::field("vapp", "Choose a vApp."))
}

async fn copy_vm(visit: Visit, values: Values) -> Result<Done> {
    let m = vm::find_to(&visit, Action::VmCopy).await?;
    let asked = copy::vm(visit.domain(), &visit.actor, m.id, chosen_vapp(&values)?, values.get("name")).await;
    let (id, _) = asked.map_err(|e| beside(e, "vapp", "Choose a vApp from the list."))?;
    Ok(Done::new(vm::href(&visit, id, ""), format!("{} is being copied.", m.name)))
}

async fn move_vm(visit: Visit, values: Values) -> Result<Done> {
    let m = vm::find_to(&visit, Action::VmMove).await?;
    let asked = moves::vm(visit.domain(), &visit.actor, m.id, chosen_vapp(&values)?, Arrival::default()).await;
    let (id, _) = asked.map_err(|e| beside(e, "vapp", "Choose a vApp from the list."))?;
    Ok(Done::new(vm::href(&visit, id, ""), format!("{} is being moved.", m.name)))
}
