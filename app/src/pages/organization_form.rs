//! The forms to make an organization and to change it: the provider's, and what its own administrators may change.
use super::{
    form_error::form_error,
    lease::{length_field, read_length},
    limits::limit_fields,
    organization::{LIST, ON, crumbs, find_to, href},
    wishes,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::org;
use leptos::prelude::*;
use model::{
    Action, Kind, OrgId, Problems, Result,
    lease::{KeepEnd, RunEnd},
    org::{Leases, NewOrg, OrgSpec},
    role::Predefined,
    user::{NewUser, Password, UserSpec},
};

const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("display_name", "Full name"),
    ("description", "Description"),
    ("vdc_limit", "VDCs"),
    ("vm_limit", "VMs"),
    ("cpu_limit", "CPU"),
    ("memory_limit", "Memory"),
    ("storage_limit", "Storage"),
    ("runtime_lease", "Run at most"),
    ("storage_lease", "Keep stopped"),
    ("template_lease", "Keep templates"),
    ("lease_warning", "Warn ahead"),
    ("prefer", "Prefer"),
    ("avoid", "Avoid"),
];

pub(super) async fn new_page(visit: Visit) -> Result<Sheet> {
    model::decide::authorize(&visit.actor, Action::OrgCreate, model::decide::Resource::Installation)?;
    let fill = visit.fill();
    let hubs = hub_section(&visit, &OrgSpec::default()).await?;
    let hint = format!("{} Hand it over on a safe way.", visit.domain().passwords.hint());
    let admin = view! {
                <TextField name="admin_name" label="User name" value=fill.value("admin_name", "") error=fill.error("admin_name") autocomplete="off" width=Width::Half />
                <TextField name="admin_full_name" label="Full name" value=fill.value("admin_full_name", "") error=fill.error("admin_full_name") optional=true autocomplete="off" width=Width::Half />
                <EmailField name="admin_email" label="E-mail" value=fill.value("admin_email", "") error=fill.error("admin_email") optional=true autocomplete="off" width=Width::Half />
                <PasswordField name="admin_password" label="Password" error=fill.error("admin_password") hint=hint autocomplete="new-password" width=Width::Half />
    };
    let body = view! {
        <PageHead title="New organization" lede="A tenant with its own users, VDCs and catalogs." />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            {name_section(&fill, &OrgSpec::default(), false)}
            <FormSection title="First administrator" lede="Runs the organization and makes its other users.">{admin}</FormSection>
            {limit_section(&fill, &OrgSpec::default())}
            {lease_section(&fill, &OrgSpec::default())}
            {hubs}
            <FormEnd submit="Create organization" cancel_href=LIST />
        </form>
    }
    .into_any();
    let typed = fill.typed();
    let spec = wishes::read_org(&visit, &typed, read_spec(&typed, &mut Problems::default()));
    let admin = (typed.get("admin_name"), typed.get("admin_full_name"), typed.get("admin_email"));
    let code = code::org::create(&visit.site(), &spec, admin);
    Ok(Sheet::new("New organization", ON, crumbs("New"), body).still().code(code))
}

fn name_section(fill: &Fill, o: &OrgSpec, locked: bool) -> impl IntoView + use<> {
    let name = if locked {
        view! { <LockedField name="name" label="Name" value=o.name.clone() why="set by the provider" width=Width::Half /> }.into_any()
    } else {
        view! {
            <TextField name="name" label="Name" value=fill.value("name", &o.name) error=fill.error("name") hint="Short; it stands in addresses and is typed at sign-in." autocomplete="off" width=Width::Half />
        }
        .into_any()
    };
    let fields = view! {
        {name}
        <TextField name="display_name" label="Full name" value=fill.value("display_name", &o.display_name) error=fill.error("display_name") optional=true autocomplete="off" width=Width::Half />
        <TextArea name="description" label="Description" value=fill.value("description", &o.description) error=fill.error("description") optional=true />
    };
    view! { <FormSection title="Organization">{fields}</FormSection> }
}

fn limit_section(fill: &Fill, o: &OrgSpec) -> impl IntoView + use<> {
    let fields = limit_fields(fill, &o.limits);
    let vdcs = fill.value("vdc_limit", o.vdc_limit.map(|v| v.to_string()).unwrap_or_default());
    let vdcs = view! { <NumberField name="vdc_limit" label="VDCs" value=vdcs error=fill.error("vdc_limit") optional=true width=Width::Third /> };
    view! { <FormSection title="Limits" lede="What all its VDCs may use together. Empty means no limit.">{vdcs} {fields}</FormSection> }
}

fn lease_section(fill: &Fill, o: &OrgSpec) -> impl IntoView + use<> {
    let l = o.leases;
    let run_ends = RunEnd::ALL.map(|e| Choice::new(e.key(), e.label())).to_vec();
    let ends = || KeepEnd::ALL.map(|e| Choice::new(e.key(), e.label())).to_vec();
    let (storage_ends, template_ends) = (ends(), ends());
    let chosen = |name: &str, stored: &'static str| fill.value(name, stored);
    let ahead = "Before an end; at half of a lease that is shorter.";
    let fields = view! {
        {length_field(fill, "runtime_lease", "Run at most", l.runtime_s, String::new())}
        <SelectField name="runtime_end" label="Then" choices=run_ends value=chosen("runtime_end", l.runtime_end.key()) width=Width::Third />
        {length_field(fill, "lease_warning", "Warn ahead", l.warning_s, ahead.into())}
        {length_field(fill, "storage_lease", "Keep stopped", l.storage_s, String::new())}
        <SelectField name="storage_end" label="Then" choices=storage_ends value=chosen("storage_end", l.storage_end.key()) width=Width::TwoThirds />
        {length_field(fill, "template_lease", "Keep templates", l.template_s, String::new())}
        <SelectField name="template_end" label="Then" choices=template_ends value=chosen("template_end", l.template_end.key()) width=Width::TwoThirds />
    };
    let lede = "How long vApps run, how long stopped ones and templates are kept, and what is done then: 30 days, 12 hours. Empty \
                means no end. What has a lease already keeps it.";
    view! { <FormSection title="Leases" lede>{fields}</FormSection> }
}

async fn hub_section(visit: &Visit, o: &OrgSpec) -> Result<Option<AnyView>> {
    if !wishes::names_hubs(visit, Action::OrgChooseHubs) {
        return Ok(None);
    }
    Ok(Some(wishes::org_section(&visit.fill(), o, &visit.domain().store.sites().await?)))
}

fn read_spec(values: &Values, problems: &mut Problems) -> OrgSpec {
    OrgSpec {
        name: values.text("name"),
        display_name: values.text("display_name"),
        description: values.text("description"),
        vdc_limit: values.number("vdc_limit", 1, problems),
        limits: values.limits(problems),
        leases: read_leases(values, problems),
        ..OrgSpec::default()
    }
}

fn read_leases(values: &Values, problems: &mut Problems) -> Leases {
    Leases {
        runtime_s: read_length(values, "runtime_lease", problems),
        runtime_end: RunEnd::parse(values.get("runtime_end")),
        storage_s: read_length(values, "storage_lease", problems),
        storage_end: KeepEnd::parse(values.get("storage_end")),
        template_s: read_length(values, "template_lease", problems),
        template_end: KeepEnd::parse(values.get("template_end")),
        warning_s: read_length(values, "lease_warning", problems),
    }
}

pub(super) async fn create(visit: Visit, values: Values) -> Result<Done> {
    let mut problems = Problems::default();
    let spec = wishes::read_org(&visit, &values, read_spec(&values, &mut problems));
    let admin = UserSpec {
        name: values.text("admin_name"),
        full_name: values.text("admin_full_name"),
        email: values.text("admin_email"),
        role: Predefined::OrganizationAdministrator.id(),
        limits: Default::default(),
    };
    let admin = NewUser::of(admin, Password::new(values.get("admin_password")));
    let new = with_problems(problems, NewOrg { spec, admin: Some(admin) }.check(visit.domain().passwords))?;
    let made = org::create(visit.domain(), &visit.actor, new).await?;
    Ok(Done::new(href(made.id, ""), format!("{} is made. {} can sign in.", made.name, values.get("admin_name"))))
}

pub(super) async fn edit_page(visit: Visit) -> Result<Sheet> {
    let id: OrgId = visit.id();
    let o = visit.domain().store.org(&visit.actor, Action::OrgEdit, id).await?;
    let (fill, spec) = (visit.fill(), OrgSpec::from(&*o));
    let hubs = hub_section(&visit, &spec).await?;
    let body = view! {
        <PageHead title=format!("Edit {}", o.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(o.version) />
            {name_section(&fill, &spec, o.is_provider)}
            {limit_section(&fill, &spec)}
            {lease_section(&fill, &spec)}
            {hubs}
            <FormEnd submit="Save" cancel_href=href(o.id, "") />
        </form>
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::new(o.name.clone(), href(o.id, "")), Crumb::here("Edit")];
    Ok(Sheet::new(format!("Edit {}", o.name), ON, crumbs, body).still())
}

pub(super) async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let id: OrgId = visit.id();
    let mut problems = Problems::default();
    let now = OrgSpec::from(&find_to(&visit, Action::OrgEdit, id).await?);
    let mut spec = OrgSpec { prefer: now.prefer, avoid: now.avoid, ..read_spec(&values, &mut problems) };
    if !values.has("name") {
        spec.name = now.name;
    }
    let spec = wishes::read_org(&visit, &values, spec);
    with_problems(problems, spec.clone().check())?;
    let saved = org::edit(visit.domain(), &visit.actor, id, values.version()?, spec).await?;
    Ok(Done::new(href(id, ""), format!("{} is saved.", saved.name)))
}

pub(super) async fn tenant_edit_page(visit: Visit) -> Result<Sheet> {
    let id = visit.org().ok_or(model::Error::NotFound(Kind::Org))?;
    let o = visit.domain().store.org(&visit.actor, Action::OrgEdit, id).await?;
    let (fill, spec) = (visit.fill(), OrgSpec::from(&*o));
    let back = visit.at("/organization");
    let body = view! {
        <PageHead title="Edit organization" />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(o.version) />
            {name_section(&fill, &spec, true)}
            {lease_section(&fill, &spec)}
            <FormEnd submit="Save" cancel_href=back.clone() />
        </form>
    }
    .into_any();
    Ok(Sheet::new(
        "Edit organization",
        "Organization",
        vec![Crumb::new("Organization", back), Crumb::here("Edit")],
        body,
    )
    .still())
}

/// Limits stay as they are: they are the provider's.
pub(super) async fn tenant_edit(visit: Visit, values: Values) -> Result<Done> {
    let id = visit.org().ok_or(model::Error::NotFound(Kind::Org))?;
    let now = find_to(&visit, Action::OrgEdit, id).await?;
    let mut problems = Problems::default();
    let spec = OrgSpec {
        display_name: values.text("display_name"),
        description: values.text("description"),
        leases: read_leases(&values, &mut problems),
        ..OrgSpec::from(&now)
    };
    with_problems(problems, spec.clone().check())?;
    org::edit(visit.domain(), &visit.actor, id, values.version()?, spec).await?;
    Ok(Done::new(visit.at("/organization"), "The organization is saved."))
}
