//! The form to deploy a template: a vApp with the template's VMs, in a VDC, at sizes of one's own.
use super::{
    catalog::ON,
    choose_vdc::{chosen_vdc, likely_vdc, no_vdc, open_vdcs, quota_margin, vdc_field},
    deploy_into,
    form_error::form_error,
    guest_fields::{self, preview_section},
    nic_fields,
    sizes::{gb, read_cpus, read_gb},
    sizing::{choices, read_choice},
    template::{crumbs, find, href},
    vapp::mine,
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::{
    guest::{self, Preview},
    item, network, sizing, storage,
    vapp::{self, Deploy, Size},
};
use leptos::prelude::*;
use model::{
    Action, Error, Kind, Problems, Result, can,
    decide::authorize,
    disk::MOST_MB,
    guest::GuestSettings,
    name,
    network::Network,
    parameter::Parameter,
    sizing::VdcSizing,
    template::{Template, TemplateVm},
    vapp::Vapp,
    vdc::Vdc,
    vm::check_size,
};

const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("description", "Description"),
    ("vdc", "VDC"),
    ("cpus", "CPU"),
    ("memory", "Memory"),
    ("disk", "Disk"),
    ("nics", "Network"),
    ("sizing", "Size"),
    ("policy", "Storage"),
    ("parameters", "Parameters"),
    ("ssh_keys", "SSH keys"),
    ("user_data", "cloud-init"),
    ("password", "Password"),
    ("script", "Script"),
    ("properties", "Properties"),
];

/// What the guest of each machine will be told.
pub(super) type Previews = Vec<(String, Vec<Preview>)>;

pub(super) async fn page(visit: Visit) -> Result<Sheet> {
    previewed(visit, None).await
}

pub(super) async fn previewed(visit: Visit, previews: Option<Previews>) -> Result<Sheet> {
    authorize(&visit.actor, Action::VappCreate, mine(&visit))?;
    let (t, version) = chosen(&visit).await?;
    let into = deploy_into::chosen(&visit).await?;
    let vdcs = open(&visit, into.as_ref()).await?;
    let networks = networks(&visit, &vdcs, into.as_ref()).await?;
    let sizings = sizing::choices(visit.domain(), &vdcs.iter().map(|v| v.id).collect::<Vec<_>>()).await?;
    let storage = policies(&visit, &vdcs).await?;
    let title = match version {
        Some(number) => format!("Deploy {}, version {number}", t.name),
        None => format!("Deploy {}", t.name),
    };
    let possible = can::template(&t, Action::VappCreate);
    let form = match possible.and(into.as_ref().and_then(|v| deploy_into::refused(&visit, v, &t)).map_or(Ok(()), Err)) {
        // a form that came back says it itself, and keeps what was typed
        Err(why) if !visit.fill().returned() => {
            let text = format!("Not now: {why}");
            let back = view! { <a class="btn" href=href(&visit, &t, "")>"Back"</a> }.into_any();
            view! { <Note tone=Tone::Warn acts=back>{text}</Note> }.into_any()
        }
        _ if vdcs.is_empty() => no_vdc(&visit),
        _ => {
            let fill = visit.fill();
            let hint = match (&into, t.vms.len()) {
                (Some(_), _) => "Unique in the vApp. The guest's host name is made from it.",
                (None, 1) => "Of the vApp and its VM. Unique in its VDC.",
                (None, _) => "Unique in its VDC.",
            };
            // several keep their own names, and the vApp has one
            let named = into.is_none() || t.vms.len() == 1;
            let names = named.then(|| {
                let names = name_fields(&fill, "", "", hint);
                view! { <FormSection title=if into.is_some() { "VM" } else { "vApp" }>{names}</FormSection> }
            });
            let asked = [version.map(|n| format!("version={n}")), into.as_ref().map(deploy_into::in_address)];
            let asked = asked.into_iter().flatten().collect::<Vec<_>>().join("&");
            let to = href(&visit, &t, "/deploy");
            let to = if asked.is_empty() { to } else { format!("{to}?{asked}") };
            let preview = to.replacen("/deploy", "/deploy/preview", 1);
            let preview = (!t.by_instance).then(|| view! { <button class="btn" formaction=preview>"Preview"</button> });
            let (place, lede) = match &into {
                Some(v) => (deploy_into::place(&visit, v), ""),
                None => (vdc_field(&visit, &vdcs), "This can't be changed later."),
            };
            let on = fill.checked("power_on", "on", true);
            view! {
                <form method="post" action=to class="form" novalidate>
                    {form_error(&fill, LABELS)}
                    {names}
                    <FormSection title="Place" lede>{place}</FormSection>
                    {parameter_section(&visit, &t)}
                    {(!t.by_instance).then(|| own_sections(&visit, &t, &networks, &sizings, &storage))}
                    <FormSection title="Start">
                        <CheckField name="power_on" label="Power on when it is ready" checked=on />
                    </FormSection>
                    <div class="form-end acts">
                        <button class="btn primary">"Deploy"</button>
                        {preview}
                        <a class="btn" href=href(&visit, &t, "")>"Cancel"</a>
                    </div>
                </form>
            }
            .into_any()
        }
    };
    let body = view! {
        <PageHead
            title=title.clone()
            lede=format!("From catalog {}. {}", t.catalog_name, yours_to_give(&t, &vdcs))
        />
        {previews.map(|p| preview_section(&p))}
        {form}
    }
    .into_any();
    let mut crumbs = crumbs(&visit, &t);
    crumbs.extend([Crumb::new(t.name.clone(), href(&visit, &t, "")), Crumb::here("Deploy")]);
    let mut asked = read(&typed(&visit), &t, &networks).0;
    let margin = quota_margin(&visit, &vdcs, &vapp::amount(&t, &asked));
    (asked.version, asked.power_on) = (version, visit.fill().checked("power_on", "on", true));
    let code = match likely_vdc(&visit, &vdcs).filter(|_| into.is_none()) {
        Some(vdc) => {
            let policies = storage::choices(visit.domain(), vdc.id).await?;
            Some(code::deploy::create(&visit.site(), vdc, &t, &asked, &networks, &policies))
        }
        None => None,
    };
    let sheet = Sheet::new(title, ON, crumbs, body).still().code(code);
    Ok(match margin {
        Some(margin) => sheet.margin(margin),
        None => sheet,
    })
}

/// The template, with the machines of the version that the address names; None: the newest.
async fn chosen(visit: &Visit) -> Result<(Template, Option<i32>)> {
    let mut t = find(visit).await?;
    let Ok(number) = visit.ask.query("version").parse::<i32>() else { return Ok((t, None)) };
    let all = item::versions(visit.domain(), &visit.actor, t.id).await?;
    let version = all.into_iter().find(|v| v.number == number).ok_or(Error::NotFound(Kind::Template))?;
    (t.vms, t.os) = (version.vms, version.os);
    Ok((t, Some(number)))
}

/// The same before something is done: a refusal stands in the audit.
async fn chosen_to_deploy(visit: &Visit) -> Result<(Template, Option<i32>)> {
    let action = Action::VappCreate;
    let chosen = async {
        authorize(&visit.actor, action, mine(visit))?;
        chosen(visit).await
    };
    visit.domain().attempt(&visit.actor, action, chosen).await
}

/// What nobody can do without typing.
fn yours_to_give(t: &Template, vdcs: &[Vdc]) -> &'static str {
    match (t.parameters.iter().any(Parameter::needed), vdcs.len() > 1) {
        (true, true) => {
            "The name, the VDC and some of what the template asks for are yours to give; the rest has a default."
        }
        (true, false) => "The name and some of what the template asks for are yours to give; the rest has a default.",
        (false, true) => "The name and the VDC are yours to give; everything else has a default.",
        (false, false) => "Everything has a default; only the name is yours to give.",
    }
}

/// What came back, or nothing.
fn typed(visit: &Visit) -> Values {
    visit.ask.form.as_ref().map(|form| form.values.clone()).unwrap_or_default()
}

/// For templates whose machines are made here: their sizes, and what the guests are told.
fn own_sections(
    visit: &Visit,
    t: &Template,
    networks: &[Network],
    sizings: &[VdcSizing],
    storage: &[String],
) -> AnyView {
    let fill = visit.fill();
    let machines =
        t.vms.iter().enumerate().map(|(i, m)| machine_section(visit, t, i, m, sizings, storage)).collect_view();
    // one that has nothing to choose from needs no choice
    let choices = nic_fields::choices(visit, networks);
    let nics = (!networks.is_empty()).then(|| {
        let all = t.vms.iter().enumerate().map(|(i, m)| {
            let lede = if t.vms.len() == 1 { String::new() } else { m.name.clone() };
            nic_fields::titled_rows(&fill, &nics_at(i), &choices, &m.nic_specs(), lede, i == 0)
        });
        all.collect_view()
    });
    let guest = guest_fields::fields(visit, &fill, &GuestSettings::default(), &t.os);
    view! {
        {machines}
        {nics}
        {guest_fields::template_sections(&fill, t)}
        <FormSection title="Guest" lede="What it is told at its first start.">{guest}</FormSection>
    }
    .into_any()
}

/// Before the names of the fields of a machine's NICs.
fn nics_at(machine: usize) -> String {
    format!("vm{machine}-")
}

/// The VDCs that can be chosen, or that of the vApp.
async fn open(visit: &Visit, into: Option<&Vapp>) -> Result<Vec<Vdc>> {
    let all = open_vdcs(visit).await?;
    Ok(all.into_iter().filter(|vdc| into.is_none_or(|v| v.vdc == vdc.id)).collect())
}

/// Of all VDCs that can be chosen: which one it will be is not known yet.
async fn networks(visit: &Visit, vdcs: &[Vdc], into: Option<&Vapp>) -> Result<Vec<Network>> {
    if let Some(v) = into {
        return deploy_into::networks(visit, v).await;
    }
    let mut all: Vec<Network> = Vec::new();
    for vdc in vdcs.iter().take(20) {
        let more = network::in_reach(visit.domain(), &visit.actor, vdc.id).await?;
        all.extend(more.into_iter().filter(|n| n.vdc == vdc.id));
    }
    Ok(all)
}

/// The storage policies of all VDCs that can be chosen, by name.
async fn policies(visit: &Visit, vdcs: &[Vdc]) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for vdc in vdcs.iter().take(20) {
        all.extend(storage::choices(visit.domain(), vdc.id).await?.into_iter().map(|p| p.name));
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn machine_section(
    visit: &Visit,
    t: &Template,
    i: usize,
    m: &TemplateVm,
    sizings: &[VdcSizing],
    storage: &[String],
) -> impl IntoView + use<> {
    let (values, returned) = (typed(visit), visit.fill().returned());
    let wrong = size_of(&values, m).1;
    let shown = |name: &str, start: String| match at(&values, m, name) {
        Some(typed) if returned => typed.to_owned(),
        _ => start,
    };
    // the first of each name is what the summary's link leads to
    let id = |name: &str| if i == 0 { name.to_owned() } else { format!("{name}-{i}") };
    let error = |name: &'static str| {
        let said = visit.fill().error(name)?;
        let own = wrong.iter().find(|(field, _)| *field == name).map(|(_, message)| message.clone());
        // what the operation found is said where there is but one machine
        own.or_else(|| (t.vms.len() == 1).then_some(said))
    };
    let disk = m.disks.first().map(|d| {
        let hint = match d.size_mb {
            0 => "The template does not say how large it is. At least as large as its image.".to_owned(),
            mb => format!("At least {} GB, the template's size.", gb(mb)),
        };
        let value = shown("disk", said(d.size_mb, gb));
        view! {
            <NumberField id=id("disk") name="disk" label="Disk" value unit="GB" hint error=error("disk") width=Width::Third />
        }
        .into_any()
    });
    // every machine has one of each, or the others' could not be told apart
    let disk = disk.unwrap_or_else(|| view! { <input type="hidden" name="disk" value="" /> }.into_any());
    let (cpus, memory) =
        (shown("cpus", said(m.cpus.into(), |n| n.to_string())), shown("memory", said(m.memory_mb, gb)));
    let policy = (!sizings.is_empty()).then(|| {
        let choices = choices(sizings, "Its own, as below");
        let (value, hint) = (shown("sizing", String::new()), "With a policy CPU and memory below do not count.");
        view! { <SelectField id=id("sizing") name="sizing" label="Size" choices value hint error=error("sizing") /> }
    });
    let stored = (storage.len() > 1).then(|| {
        let mut choices = vec![Choice::new("", "The VDC's default")];
        choices.extend(storage.iter().map(|name| Choice::new(name, name)));
        let value = shown("policy", String::new());
        view! { <SelectField id=id("policy") name="policy" label="Storage" choices value error=error("policy") width=Width::Half /> }
    });
    let fields = view! {
        <input type="hidden" name="vm" value=m.name.clone() />
        {policy}
        <NumberField id=id("cpus") name="cpus" label="CPU" value=cpus unit="vCPU" error=error("cpus") width=Width::Third />
        <NumberField id=id("memory") name="memory" label="Memory" value=memory unit="GB" error=error("memory") width=Width::Third />
        {disk}
        {stored}
    };
    let title = if t.vms.len() == 1 { "Size".to_owned() } else { m.name.clone() };
    let lede = if m.os.is_empty() { t.os.clone() } else { m.os.clone() };
    view! { <FormSection title lede>{fields}</FormSection> }
}

/// What the template asks for. Sizes are asked for machine by machine, and not here again.
fn parameter_section(visit: &Visit, t: &Template) -> AnyView {
    let asked: Vec<&Parameter> = t.parameters.iter().filter(|p| !p.size).collect();
    if asked.is_empty() {
        return ().into_any();
    }
    let fill = visit.fill();
    // the summary's link leads to the first that is wrong
    let wrong = asked.iter().position(|p| p.wrong(&fill.value(&field_of(p), &p.value)).is_some());
    let first = wrong.unwrap_or(0);
    let fields = asked.iter().enumerate().map(|(i, p)| {
        let (name, label) = (field_of(p), p.label().to_owned());
        let value = fill.value(&name, if p.secret { "" } else { &p.value });
        let needed = p.needed();
        let error = p.wrong(&value).filter(|_| fill.returned());
        // what fits by itself and leads nowhere
        let error = error.or_else(|| fill.error("parameters").filter(|_| wrong.is_none() && i == first));
        let otherwise = match p.generated {
            true => "Made up if nothing is given.",
            false if p.secret && !p.value.is_empty() => "The template's own if nothing is given.",
            false => "",
        };
        let hint = format!("{} {otherwise}", p.description);
        let hint = hint.trim().to_owned();
        let id = if i == first { "parameters".to_owned() } else { name.clone() };
        if p.secret {
            let known = "new-password";
            return view! { <PasswordField id name label error hint optional=!needed autocomplete=known width=Width::Half /> }
                .into_any();
        }
        view! { <TextField id name label value error hint optional=!needed autocomplete="off" width=Width::Half /> }
            .into_any()
    });
    let fields = fields.collect_view();
    view! { <FormSection title="Parameters" lede="What the template asks for.">{fields}</FormSection> }.into_any()
}

/// The name of a parameter's field.
fn field_of(p: &Parameter) -> String {
    format!("parameter.{}", p.name)
}

/// A field of the machine `m`: fields of one name come in the order of the machines.
fn at<'a>(values: &'a Values, m: &TemplateVm, name: &str) -> Option<&'a str> {
    let i = values.all("vm").position(|vm| vm == m.name)?;
    values.all(name).nth(i)
}

/// As a field shows it; 0: the template does not say.
fn said(n: i64, words: impl Fn(i64) -> String) -> String {
    if n == 0 { String::new() } else { words(n) }
}

/// What was typed for one machine, and what is wrong with it. As shown is as the template has it.
fn size_of(values: &Values, m: &TemplateVm) -> (Size, Vec<(&'static str, String)>) {
    let mut problems = Problems::default();
    let typed = |name| at(values, m, name).unwrap_or_default().trim();
    let first = m.disks.first().map_or(0, |d| d.size_mb);
    let unless = |field: &'static str, shown: i64, problems: &mut Problems| match typed(field) {
        same if same == said(shown, gb) => None,
        other => read_gb(other, field, problems),
    };
    let size = Size {
        sizing: read_choice(typed("sizing"), &mut problems),
        cpus: read_cpus(typed("cpus"), &mut problems),
        memory_mb: unless("memory", m.memory_mb, &mut problems),
        disk_mb: unless("disk", first, &mut problems),
        storage: typed("policy").to_owned(),
    };
    if size.disk_mb.is_some_and(|mb| mb < first) {
        problems.add("disk", format!("The disk of {} can't be smaller than the template's {} GB.", m.name, gb(first)));
    }
    if size.disk_mb.is_some_and(|mb| mb > MOST_MB) {
        problems.add("disk", format!("The disk of {} can be 64 TB large at most.", m.name));
    }
    if size.sizing.is_none() {
        check_size(size.cpus.unwrap_or(m.cpus), size.memory_mb.unwrap_or(m.memory_mb), &mut problems);
    }
    let wrong = match problems.done() {
        Err(e) => e.fields().iter().map(|f| (f.field, f.message.clone())).collect(),
        Ok(()) => Vec::new(),
    };
    (size, wrong)
}

fn read(values: &Values, t: &Template, networks: &[Network]) -> (Deploy, Problems) {
    let mut problems = Problems::default();
    let mut sizes = std::collections::BTreeMap::new();
    for m in t.vms.iter().filter(|_| !t.by_instance) {
        let (size, wrong) = size_of(values, m);
        for (field, message) in wrong {
            problems.add(field, if t.vms.len() == 1 { message } else { format!("{}: {message}", m.name) });
        }
        sizes.insert(m.name.clone(), size);
    }
    let mut nics = std::collections::BTreeMap::new();
    for (i, m) in t.vms.iter().enumerate().filter(|(i, _)| !t.by_instance && nic_fields::given(values, &nics_at(*i))) {
        let mut own = Problems::default();
        nics.insert(m.name.clone(), nic_fields::read_rows(values, &nics_at(i), networks, &mut own));
        problems.gather(if t.vms.len() == 1 { "" } else { &m.name }, own.done());
    }
    let given = t.parameters.iter().filter_map(|p| {
        let value = values.get(&field_of(p));
        (!value.is_empty()).then(|| (p.name.clone(), value.to_owned()))
    });
    let guest = guest_fields::read(values, &mut problems);
    let ask = Deploy {
        name: values.text("name"),
        description: values.text("description"),
        power_on: values.has("power_on"),
        version: None,
        sizes,
        parameters: given.collect(),
        nics,
        guest,
        properties: guest_fields::template_given(values, t),
        each: Default::default(),
        networks: Default::default(),
    };
    (ask, problems)
}

/// Nothing is asked for yet.
pub(super) async fn preview(visit: Visit, values: Values) -> Result<Previews> {
    let (t, _) = chosen_to_deploy(&visit).await?;
    let into = deploy_into::chosen(&visit).await?;
    let known = networks(&visit, &open(&visit, into.as_ref()).await?, into.as_ref()).await?;
    let (ask, problems) = read(&values, &t, &known);
    let name = |m: &TemplateVm| if t.vms.len() == 1 { ask.name.trim().to_owned() } else { m.name.clone() };
    let all = t.vms.iter().map(|m| {
        let os = if m.os.is_empty() { &t.os } else { &m.os };
        let nics = ask.nics.get(&m.name).map_or(&[][..], Vec::as_slice);
        let files = guest::preview(&name::label_from(&name(m), 63), os, &ask.guest_of(m)?, nics, &known)?;
        Ok((name(m), files))
    });
    with_problems(problems, all.collect())
}

pub(super) async fn act(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    let (t, version) = chosen_to_deploy(&visit).await?;
    let into = deploy_into::chosen(&visit).await?;
    let vdcs = open(&visit, into.as_ref()).await?;
    let (mut ask, mut problems) = read(&values, &t, &networks(&visit, &vdcs, into.as_ref()).await?);
    ask.version = version;
    if let Some(v) = into {
        return deploy_into::act(&visit, &v, &t, ask, problems).await;
    }
    let chosen = chosen_vdc(&values, &vdcs);
    problems.gather("", chosen.clone());
    // said with the rest, and not only when all else is well
    with_problems(problems, vapp::check(&t, &ask))?;
    let vdc = chosen?.id;
    let name = ask.name.trim().to_owned();
    let made = vapp::deploy(d, &visit.actor, vdc, t.id, ask).await.map_err(|e| match e {
        // without one field for it, or with one a machine: then it is the place that is too small
        Error::OverQuota(_) if t.by_instance || t.vms.len() != 1 => e.rename(|_| "vdc"),
        e => e,
    })?;
    Ok(Done::new(
        visit.at(format!("/vapps/{}", made.vapp)),
        format!("vApp {name} is asked for. Its page shows how far it is."),
    ))
}
