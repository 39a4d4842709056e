//! Organizations in the provider's portal: list, page, and the forms to make, change and remove them.
use super::{
    about::about_facts,
    form_error::form_error,
    limits::{limit_fields, meters, whole},
    wishes,
};
use crate::{
    parts::*,
    portal::{Csv, Done, Fill, ListView, Routes, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::org;
use leptos::prelude::*;
use model::{
    Action, Kind, OrgId, Problems, Result, can,
    list::{ListQuery, ORGS},
    org::{Leases, NewOrg, Org, OrgSpec},
    role::Predefined,
    user::{NewUser, Password, UserSpec},
};

const ON: &str = "Organizations";
const LIST: &str = "/provider/organizations";

pub fn routes(r: Routes) -> Routes {
    r.page(LIST, list)
        .csv("/provider/organizations.csv", csv)
        .form("/provider/organizations/new", new_page, create)
        .page("/provider/organizations/{id}", page)
        .form("/provider/organizations/{id}/edit", edit_page, edit)
        .act("/provider/organizations/{id}/enable", |v, _| set_enabled(v, true))
        .act("/provider/organizations/{id}/disable", |v, _| set_enabled(v, false))
        .form("/provider/organizations/{id}/delete", delete_page, delete)
        .page("/tenant/{org}/organization", tenant_page)
        .form("/tenant/{org}/organization/edit", tenant_edit_page, tenant_edit)
}

fn href(id: OrgId, rest: &str) -> String {
    format!("{LIST}/{id}{rest}")
}

fn crumbs(last: impl Into<String>) -> Vec<Crumb> {
    vec![Crumb::new(ON, LIST), Crumb::here(last)]
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&ORGS)?;
    let page = org::list(visit.domain(), &visit.actor, &query).await?;
    let view = ListView::new(&visit, &ORGS, query, &page);
    let new = visit.may(Action::OrgCreate).then(
        || view! { <a class="btn primary" href=format!("{LIST}/new")><Icon name=Icon::Plus />"New organization"</a> },
    );
    let acts = view! { {view.csv_button()} {new} }.into_any();
    let heads = vec![
        view.head("name", "Name"),
        Head::new("State"),
        Head::new("VDCs").number(),
        Head::new("Users").number(),
        Head::new("VMs").number(),
        view.head("created", "Created").number(),
        Head::hidden("Actions"),
    ];
    let rows = page.items.iter().map(|o| row(&visit, o)).collect_view();
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {view.filters("organizations", "Name, description")}
        {if view.is_empty() {
            view! { <Empty title="No organization fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        } else {
            view! { <Table caption="Organizations" heads list=true>{rows}</Table> }.into_any()
        }}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, o: &Org) -> impl IntoView + use<> {
    let (vdcs, users, vms) = (o.vdcs, o.users, o.used.vms);
    let (created, now) = (o.created_at, visit.now);
    let (state, menu) = (state(o), menu(visit, o, true));
    let why = if o.display_name == o.name { String::new() } else { o.display_name.clone() };
    let cells = view! {
        <NameCell name=o.name.clone() href=href(o.id, "") why />
        <StateCell>{state}</StateCell>
        <Cell label="VDCs" number=true>{vdcs}</Cell>
        <Cell label="Users" number=true>{users}</Cell>
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("org-{}", o.id)>{cells}</Row> }
}

fn state(o: &Org) -> impl IntoView + use<> {
    if o.enabled {
        view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" more=if o.is_provider { "the provider's own" } else { "" } /> }
    } else {
        view! { <Badge shape=Shape::Ring word="Disabled" more="nobody can sign in" /> }
    }
}

/// What can be done to it, by its state and the visitor's rights.
fn menu(visit: &Visit, o: &Org, dots: bool) -> AnyView {
    let switch = if o.enabled { Action::OrgDisable } else { Action::OrgEnable };
    let may = |a| visit.may(a);
    if ![Action::OrgEdit, switch, Action::OrgDelete].into_iter().any(may) {
        return ().into_any();
    }
    let edit =
        may(Action::OrgEdit).then(|| view! { <MenuItem icon=Icon::Settings title="Edit" href=href(o.id, "/edit") /> });
    let on_off = may(switch).then(|| match can::org(o, switch) {
        Ok(()) if o.enabled => view! {
            <MenuForm icon=Icon::Power title="Disable" action=href(o.id, "/disable") more="Nobody of it can sign in; what runs goes on" />
        }
        .into_any(),
        Ok(()) => view! { <MenuForm icon=Icon::Play title="Enable" action=href(o.id, "/enable") /> }.into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Power title=if o.enabled { "Disable" } else { "Enable" } why /> }.into_any(),
    });
    let delete = may(Action::OrgDelete).then(|| match can::org(o, Action::OrgDelete) {
        Ok(()) => {
            view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(o.id, "/delete") danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    });
    let label = if dots { format!("Actions for {}", o.name) } else { "Actions".into() };
    view! { <Menu label dots>{edit} {on_off} {delete}</Menu> }.into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| org::list(visit.domain(), &visit.actor, &q).await;
    Csv::head("organizations", &["id", "name", "display_name", "enabled", "vdcs", "users", "vms", "created_at"])
        .rows(visit, &ORGS, list, cells)
        .await
}

fn cells(o: Org) -> [String; 8] {
    [
        o.id.urn(),
        o.name,
        o.display_name,
        o.enabled.to_string(),
        o.vdcs.to_string(),
        o.users.to_string(),
        o.used.vms.to_string(),
        machine(o.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let o = org::get(visit.domain(), &visit.actor, visit.id()).await?;
    let acts =
        view! { <a class="btn" href=format!("/tenant/{}", o.name)>"Open its portal"</a> {menu(&visit, &o, false)} }
            .into_any();
    let lede = o.description.clone();
    let body = view! {
        <PageHead title=o.name.clone() sub=o.display_name.clone() lede acts says=state(&o).into_any() />
        {quota_section(&o)}
        {wishes::org_facts(&visit, &o)}
    }
    .into_any();
    let name = o.name.clone();
    Ok(Sheet::new(name.clone(), ON, crumbs(name), body).margin(facts(&visit, &o)))
}

/// The same for the organization itself.
async fn tenant_page(visit: Visit) -> Result<Sheet> {
    let id = visit.org().ok_or(model::Error::NotFound(Kind::Org))?;
    let o = org::get(visit.domain(), &visit.actor, id).await?;
    let acts = visit
        .may(Action::OrgEdit)
        .then(|| view! { <a class="btn" href=visit.at("/organization/edit")>"Edit"</a> })
        .into_any();
    let body = view! {
        <PageHead title=o.display_name.clone() sub=o.name.clone() lede=o.description.clone() acts />
        {quota_section(&o)}
    }
    .into_any();
    Ok(Sheet::new("Organization", "Organization", vec![Crumb::here("Organization")], body).margin(facts(&visit, &o)))
}

fn quota_section(o: &Org) -> impl IntoView + use<> {
    let vdcs = view! { <Meter label="VDCs" used=whole(o.vdcs) limit=o.vdc_limit.map(whole) unit="" /> };
    let meters = meters(&o.used, &o.limits);
    let meters = view! { <div class="meters">{vdcs} {meters}</div> };
    view! { <Section title="Quota" sub="used of what it may have">{meters}</Section> }
}

fn facts(visit: &Visit, o: &Org) -> AnyView {
    let lease = |s: Option<i64>| {
        s.map_or_else(|| "no end".to_owned(), |s| plural(u64::try_from(s / 86_400).unwrap_or(0), "day", "days"))
    };
    let (run, keep) = (lease(o.leases.runtime_s), lease(o.leases.storage_s));
    let facts = view! {
        <Fact name="Run at most">{run}</Fact>
        <Fact name="Keep stopped">{keep}</Fact>
        {about_facts(visit, (o.created_at, o.updated_at, &o.updated_by), o.id.urn())}
    };
    view! { <Section title="About"><Facts>{facts}</Facts></Section> }.into_any()
}

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
    ("prefer", "Prefer"),
    ("avoid", "Avoid"),
];

async fn new_page(visit: Visit) -> Result<Sheet> {
    model::decide::authorize(&visit.actor, Action::OrgCreate, model::decide::Resource::Installation)?;
    let fill = visit.fill();
    let hubs = hub_section(&visit, &OrgSpec::default()).await?;
    let admin = view! {
                <TextField name="admin_name" label="User name" value=fill.value("admin_name", "") error=fill.error("admin_name") autocomplete="off" width=Width::Half />
                <TextField name="admin_full_name" label="Full name" value=fill.value("admin_full_name", "") error=fill.error("admin_full_name") optional=true autocomplete="off" width=Width::Half />
                <EmailField name="admin_email" label="E-mail" value=fill.value("admin_email", "") error=fill.error("admin_email") optional=true autocomplete="off" width=Width::Half />
                <PasswordField name="admin_password" label="Password" error=fill.error("admin_password") hint="At least 10 characters. Hand it over on a safe way." autocomplete="new-password" width=Width::Half />
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
    Ok(Sheet::new("New organization", ON, crumbs("New"), body).still())
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
    let days = |s: Option<i64>| s.map(|s| (s / 86_400).to_string()).unwrap_or_default();
    let fields = view! {
            <NumberField name="runtime_lease" label="Run at most" value=fill.value("runtime_lease", days(o.leases.runtime_s)) unit="days" error=fill.error("runtime_lease") optional=true width=Width::Third />
            <NumberField name="storage_lease" label="Keep stopped" value=fill.value("storage_lease", days(o.leases.storage_s)) unit="days" error=fill.error("storage_lease") optional=true width=Width::Third />
    };
    view! { <FormSection title="Leases" lede="How long vApps run, and how long stopped ones are kept. Empty means no end.">{fields}</FormSection> }
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
        runtime_s: values.number("runtime_lease", 86_400, problems),
        storage_s: values.number("storage_lease", 86_400, problems),
    }
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let mut problems = Problems::default();
    let spec = wishes::read_org(&visit, &values, read_spec(&values, &mut problems));
    let admin = NewUser {
        spec: UserSpec {
            name: values.text("admin_name"),
            full_name: values.text("admin_full_name"),
            email: values.text("admin_email"),
            role: Predefined::OrganizationAdministrator.id(),
            limits: Default::default(),
        },
        password: Password::new(values.get("admin_password")),
    };
    let new = with_problems(problems, NewOrg { spec, admin: Some(admin) }.check())?;
    let made = org::create(visit.domain(), &visit.actor, new).await?;
    Ok(Done::new(href(made.id, ""), format!("{} is made. {} can sign in.", made.name, values.get("admin_name"))))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
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

/// Before something is done: a refusal stands in the audit.
async fn find_to(visit: &Visit, action: Action, id: OrgId) -> Result<Org> {
    let find = visit.domain().store.org(&visit.actor, action, id);
    Ok(visit.domain().attempt(&visit.actor, action, find).await?.into_inner())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
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

async fn tenant_edit_page(visit: Visit) -> Result<Sheet> {
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
async fn tenant_edit(visit: Visit, values: Values) -> Result<Done> {
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

async fn set_enabled(visit: Visit, enabled: bool) -> Result<Done> {
    let o = org::set_enabled(visit.domain(), &visit.actor, visit.id(), enabled).await?;
    let word = if enabled { "enabled" } else { "disabled" };
    Ok(Done::new(href(o.id, ""), format!("{} is {word}.", o.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let id: OrgId = visit.id();
    let o = visit.domain().store.org(&visit.actor, Action::OrgDelete, id).await?;
    let fill = visit.fill();
    let refused = fill
        .failure()
        .filter(|e| e.fields().is_empty())
        .map(ToString::to_string)
        .or_else(|| can::org(&o, Action::OrgDelete).err());
    let users = plural(u64::try_from(o.users).unwrap_or(0), "user", "users");
    let body = view! {
        <ConfirmPage
            title=format!("Delete organization {}?", o.name)
            verb=format!("Delete {}", o.name)
            keep_href=href(o.id, "")
            lost=vec![format!("{users} and the roles it made"), "its settings; its audit is kept".to_owned()]
            type_name=o.name.clone()
            typed=fill.value("name", "")
            error=fill.error("name")
            refused
        />
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::new(o.name.clone(), href(o.id, "")), Crumb::here("Delete")];
    Ok(Sheet::new(format!("Delete {}", o.name), ON, crumbs, body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let o = find_to(&visit, Action::OrgDelete, visit.id()).await?;
    super::typed_name(&values, &o.name)?;
    org::delete(visit.domain(), &visit.actor, o.id).await?;
    Ok(Done::new(LIST, format!("{} is deleted.", o.name)))
}
