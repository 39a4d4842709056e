//! The forms of a hub: to register one, to change it, and to give it another kubeconfig. A kubeconfig goes in and never
//! comes out; between a form and its answer it is carried along sealed.
use super::{
    form_error::form_error,
    hub::{LIST, ON, crumbs_below, find, href, id},
    hub_page::check_list,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::{
    hub::{self, Trust},
    probe::{self, Found},
};
use leptos::prelude::*;
use model::{
    Action, Problems, Result,
    hub::{Capability, HubSpec, HubType},
    quota::Measure,
};

const LABELS: &[(&str, &str)] = &[
    ("id", "Id"),
    ("hub_type", "For"),
    ("capabilities", "Open for"),
    ("namespace", "Namespace"),
    ("region", "Region"),
    ("zone", "Zone"),
    ("is_default", "Default hub"),
    ("cpu_limit", "CPU of its namespace"),
    ("memory_limit", "Memory of its namespace"),
    ("storage_limit", "Storage of its namespace"),
    ("description", "Description"),
    ("kubeconfig", "kubeconfig"),
];

/// Where a form keeps the sealed one.
const KEPT: &str = "kept_kubeconfig";

pub(super) async fn new_page(visit: Visit) -> Result<Sheet> {
    tested_page(visit, None).await
}

/// The form to register a hub, with what a test of it found.
pub(super) async fn tested_page(visit: Visit, found: Option<Found>) -> Result<Sheet> {
    visit.authorize(Action::HubRegister)?;
    let fill = visit.fill();
    let kubeconfig = kubeconfig_field(&visit, &fill).await;
    let result = found.map(|found| result(&found));
    let spec = HubSpec { hub_type: HubType::Vmaas, ..HubSpec::default() };
    let body = view! {
        <PageHead title="Register a hub" lede="A Kubernetes cluster with KubeVirt, to run VMs on." />
        {result}
        <form method="post" action=format!("{LIST}/new") class="form" novalidate>
            {form_error(&fill, LABELS)}
            {fields(&fill, &spec, false)}
            <FormSection title="Way in" lede="Sealed when it is stored. Nobody can read it again.">{kubeconfig}</FormSection>
            <div class="form-end acts">
                <button class="btn primary">"Register hub"</button>
                <button class="btn" formaction=format!("{LIST}/new/test")>"Test"</button>
                <a class="btn" href=LIST>"Cancel"</a>
            </div>
        </form>
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::here("New")];
    Ok(Sheet::new("Register a hub", ON, crumbs, body).still().code(code::hub::create()))
}

/// What a test found. Nothing was saved.
fn result(found: &Found) -> impl IntoView + use<> {
    let (tone, text) = match (found.answers, found.failed().is_some()) {
        (true, false) => (Tone::Ok, "The hub answers and has what is needed. Nothing is saved yet."),
        (true, true) => (Tone::Warn, "The hub answers, but something on it is missing. Nothing is saved yet."),
        (false, _) => (Tone::Bad, "The hub does not answer. Nothing is saved."),
    };
    let checks = check_list(&found.checks);
    let note = view! { <Note tone>{text}</Note> };
    view! { <Section title="Test">{note} {checks}</Section> }
}

fn fields(fill: &Fill, spec: &HubSpec, locked: bool) -> impl IntoView + use<> {
    let id = if locked {
        view! { <LockedField name="id" label="Id" value=spec.id.clone() why="it stays for ever" width=Width::Half /> }
            .into_any()
    } else {
        view! {
            <TextField name="id" label="Id" value=fill.value("id", &spec.id) error=fill.error("id") hint="Small letters, digits, hyphens. It can't be changed." autocomplete="off" width=Width::Half />
        }
        .into_any()
    };
    let types = HubType::ALL.into_iter().map(|t| Choice::new(t.key(), t.label())).collect::<Vec<_>>();
    let open_for: Vec<_> = Capability::ALL
        .into_iter()
        .map(|c| {
            let checked = fill.checked("capabilities", c.key(), locked && spec.capabilities.contains(&c));
            let label = match c {
                Capability::VirtualMachines => "VMs",
                Capability::Clusters => "Clusters",
            };
            view! { <CheckField name="capabilities" id=format!("capabilities-{}", c.key()) value=c.key() label checked width=Width::Half /> }
        })
        .collect();
    let what = view! {
        {id}
        <SelectField name="hub_type" label="For" choices=types value=fill.value("hub_type", spec.hub_type.key()) error=fill.error("hub_type") width=Width::Half />
        <FieldGroup label="Open for" name="capabilities" error=fill.error("capabilities")>{open_for} <p class="hint">"Nothing ticked: what it is for."</p></FieldGroup>
        <TextArea name="description" label="Description" value=fill.value("description", &spec.description) error=fill.error("description") optional=true />
    };
    let is_default = fill.checked("is_default", "on", spec.is_default);
    let place = view! {
        <TextField name="namespace" label="Namespace" value=fill.value("namespace", &spec.namespace) error=fill.error("namespace") hint="Where SSVirt keeps its own objects there." autocomplete="off" width=Width::Third />
        <TextField name="region" label="Region" value=fill.value("region", &spec.region) error=fill.error("region") optional=true autocomplete="off" width=Width::Third />
        <TextField name="zone" label="Zone" value=fill.value("zone", &spec.zone) error=fill.error("zone") optional=true autocomplete="off" width=Width::Third />
        <CheckField name="is_default" label="The default hub: what fits goes here first, whatever room others have" checked=is_default />
    };
    let quota = Measure::ALL
        .into_iter()
        .filter(|m| *m != Measure::Vms)
        .map(|m| {
            let (value, error) = (fill.limit(m, &spec.quota), fill.error(m.field()));
            view! { <NumberField name=m.field() label=m.label() value unit=m.unit() error optional=true width=Width::Third /> }
        })
        .collect_view();
    let bounds = "What may be used in its namespace, where images are. Empty: as much as there is.";
    view! {
        <FormSection title="Hub">{what}</FormSection>
        <FormSection title="Place" lede="VDCs can ask for a region and a zone.">{place}</FormSection>
        <FormSection title="Quota" lede=bounds>{quota}</FormSection>
    }
}

/// Empty always. What was pasted before goes along sealed, so that it need not be pasted again.
async fn kubeconfig_field(visit: &Visit, fill: &Fill) -> AnyView {
    let typed = fill.value("kubeconfig", "");
    let kept = if typed.trim().is_empty() {
        let kept = fill.value(KEPT, "");
        probe::kept(visit.domain(), &visit.actor, &kept).await.map(|_| kept)
    } else {
        probe::keep(visit.domain(), &visit.actor, &typed).await.ok()
    };
    let hint = match (&kept, fill.returned()) {
        (Some(_), _) => "The one you pasted is kept for this form. Paste another to take that instead.",
        (None, true) if !typed.trim().is_empty() => "Paste it once more: it could not be kept.",
        (None, _) => "What kubectl config view --minify --flatten prints.",
    };
    let kept = kept.map(|kept| view! { <input type="hidden" name=KEPT value=kept /> });
    view! {
        {kept}
        <TextArea name="kubeconfig" label="kubeconfig" error=fill.error("kubeconfig") hint />
    }
    .into_any()
}

/// What was pasted now, else what was pasted before into this form.
async fn pasted(visit: &Visit, values: &Values) -> String {
    let now = values.text("kubeconfig");
    if !now.trim().is_empty() {
        return now;
    }
    probe::kept(visit.domain(), &visit.actor, values.get(KEPT)).await.unwrap_or_default()
}

fn read_spec(values: &Values, id: String) -> Result<HubSpec> {
    let mut problems = Problems::default();
    let hub_type = HubType::parse(values.get("hub_type"));
    if hub_type.is_none() {
        problems.add("hub_type", "Choose what it is for: vmaas, cluster or hybrid.");
    }
    if values.all("capabilities").any(|word| Capability::parse(word).is_none()) {
        problems.add("capabilities", "A hub is open for virtualmachines, clusters or both.");
    }
    let spec = HubSpec {
        id,
        description: values.text("description"),
        hub_type: hub_type.unwrap_or_default(),
        capabilities: values.all("capabilities").filter_map(Capability::parse).collect(),
        namespace: values.text("namespace"),
        quota: values.limits(&mut problems),
        region: values.text("region"),
        zone: values.text("zone"),
        is_default: values.has("is_default"),
    };
    with_problems(problems, spec.check())
}

/// What is wrong with the fields and with the kubeconfig is said at once.
pub(super) async fn create(visit: Visit, values: Values) -> Result<Done> {
    let (d, action) = (visit.domain(), Action::HubRegister);
    d.attempt(&visit.actor, action, async { visit.authorize(action) }).await?;
    let kubeconfig = pasted(&visit, &values).await;
    let read = hub::read_kubeconfig(d, &kubeconfig, Trust::Checked).await;
    let mut problems = Problems::default();
    for e in read.as_ref().err().map(|e| e.fields()).unwrap_or_default() {
        problems.add(e.field, e.message.clone());
    }
    let spec = with_problems(problems, read_spec(&values, values.text("id")))?;
    let made = hub::register(d, &visit.actor, spec, &kubeconfig, Trust::Checked).await?;
    Ok(Done::new(href(&made.id, ""), format!("Hub {} is registered, and is tried now.", made.id)))
}

/// Tries the kubeconfig of the form. Nothing is saved.
pub(super) async fn test(visit: Visit, values: Values) -> Result<Found> {
    let kubeconfig = pasted(&visit, &values).await;
    probe::probe(visit.domain(), &visit.actor, Action::HubRegister, &kubeconfig, Trust::Checked).await
}

pub(super) async fn edit_page(visit: Visit) -> Result<Sheet> {
    let h = find(&visit, Action::HubEdit).await?;
    let (fill, spec) = (visit.fill(), HubSpec::from(&h));
    let body = view! {
        <PageHead title=format!("Edit {}", h.id) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(h.version) />
            {fields(&fill, &spec, true)}
            <FormEnd submit="Save" cancel_href=href(&h.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", h.id), ON, crumbs_below(&h.id, "Edit"), body).still())
}

pub(super) async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let (d, action) = (visit.domain(), Action::HubEdit);
    let h = d.attempt(&visit.actor, action, find(&visit, action)).await?;
    let spec = read_spec(&values, h.id.0.clone())?;
    hub::edit(d, &visit.actor, &h.id, values.version()?, spec).await?;
    Ok(Done::new(href(&h.id, ""), format!("Hub {} is saved.", h.id)))
}

pub(super) async fn kubeconfig_page(visit: Visit) -> Result<Sheet> {
    let h = find(&visit, Action::HubCredential).await?;
    let fill = visit.fill();
    let field = kubeconfig_field(&visit, &fill).await;
    let anyway = view! {
        <CheckField name="anyway" label="Use it untried, also if it leads to another cluster" checked=fill.checked("anyway", "on", false) />
    };
    let body = view! {
        <PageHead title=format!("New kubeconfig for {}", h.id) lede="It is tried first. If the hub does not answer, is another cluster or can't run VMs with it, the old one stays." />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Way in" lede="Sealed when it is stored. Nobody can read it again.">{field} {anyway}</FormSection>
            <FormEnd submit="Try it and use it" cancel_href=href(&h.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new("New kubeconfig", ON, crumbs_below(&h.id, "New kubeconfig"), body).still())
}

pub(super) async fn set_kubeconfig(visit: Visit, values: Values) -> Result<Done> {
    let kubeconfig = pasted(&visit, &values).await;
    let anyway = values.has("anyway");
    let (d, trust) = (visit.domain(), Trust::Checked);
    let h = probe::change_credential(d, &visit.actor, &id(&visit), &kubeconfig, trust, anyway).await?;
    Ok(Done::new(href(&h.id, ""), format!("Hub {} has its new kubeconfig.", h.id)))
}
