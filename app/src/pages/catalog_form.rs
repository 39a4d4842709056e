//! The forms to make a catalog, to change one, and the page before it is deleted.
use super::{
    catalog::{LIST, ON, href},
    choose_org::{choose_org, chosen_org},
    form_error::form_error,
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Place, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::catalog;
use leptos::prelude::*;
use model::{
    Action, Kind, OrgId, Result, can,
    catalog::{Catalog, CatalogSpec},
};
use uuid::Uuid;

const LABELS: &[(&str, &str)] = &[("name", "Name"), ("description", "Description"), ("shared_to", "Share with")];

/// So many organizations can be ticked at once.
const MOST: i64 = 1000;

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/catalogs/new", new_page, create).both_form("/catalogs/{id}/edit", edit_page, edit).both_form(
        "/catalogs/{id}/delete",
        delete_page,
        delete,
    )
}

/// The catalog of the address, to change it: what is shared here stays as it is.
async fn find(visit: &Visit, action: Action) -> Result<Catalog> {
    let c = visit.domain().store.catalog(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(c.org, Kind::Catalog)?;
    Ok(c)
}

/// The same before something is done: a refusal stands in the audit.
async fn find_to(visit: &Visit, action: Action) -> Result<Catalog> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

fn crumbs_below(visit: &Visit, c: &Catalog, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(c.name.clone(), href(visit, c.id, "")), Crumb::here(last)]
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::CatalogCreate)?;
    let Some(org) = chosen_org(&visit)? else { return choose_org(&visit, "New catalog", ON, LIST, false).await };
    let fill = visit.fill();
    let fields = fields(&visit, &fill, &CatalogSpec::default()).await?;
    let open = fill.checked("open", "on", true);
    let open = view! {
        <CheckField
            name="open"
            label="Everyone in its organization may use it"
            checked=open
            hint="They see it and can deploy from it. Who may change it is said by its sharing."
        />
    };
    let (org_name, whose) = match &visit.place {
        Place::Provider => {
            let org = visit.domain().store.org(&visit.actor, Action::OrgView, org).await?;
            (org.name.clone(), format!("For {}.", org.name))
        }
        Place::Tenant { name, .. } => (name.clone(), String::new()),
    };
    let kept = CatalogSpec { open: fill.checked("open", "on", true), ..CatalogSpec::default() };
    let code = code::catalog::create(&visit.site(), (org, &org_name), &read(&visit, &fill.typed(), kept));
    let body = view! {
        <PageHead title="New catalog" lede=whose />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="org" value=org.to_string() />
            {fields}
            <FormSection title="Sharing">{open}</FormSection>
            <FormEnd submit="Create catalog" cancel_href=visit.at(LIST) />
        </form>
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here("New")];
    Ok(Sheet::new("New catalog", ON, crumbs, body).still().code(code))
}

async fn fields(visit: &Visit, fill: &Fill, spec: &CatalogSpec) -> Result<AnyView> {
    let names =
        name_fields(fill, &spec.name, &spec.description, "Unique in its organization: letters, digits, dots, hyphens.");
    // only the provider shares with others and fills a catalog from hubs
    let with = match visit.actor.provider {
        true => Some(share_field(visit, fill, spec).await?),
        false => None,
    };
    let reach = visit.actor.provider.then(|| {
        let (all, hubs) =
            (fill.checked("shared_to_all", "on", spec.shared_to_all), fill.checked("from_hubs", "on", spec.from_hubs));
        let boxes = view! {
            <CheckField
                name="shared_to_all"
                label="Share with everybody"
                checked=all
                hint="Every organization sees it and can deploy from it. Nobody but you changes it."
            />
            {with}
            <CheckField
                name="from_hubs"
                label="Fill from hubs"
                checked=hubs
                hint="Templates of all hubs show in it. One that no hub has any more stays, and says so."
            />
        };
        view! { <FormSection title="Reach">{boxes}</FormSection> }
    });
    Ok(view! {
        <FormSection title="Catalog">{names}</FormSection>
        {reach}
    }
    .into_any())
}

/// The tenants to tick, and those beyond the list that it is shared with already.
async fn share_field(visit: &Visit, fill: &Fill, spec: &CatalogSpec) -> Result<AnyView> {
    let store = &visit.domain().store;
    let mut orgs = store.org_names(MOST).await?;
    let hint = match orgs.len() as i64 >= MOST {
        true => format!("The first {MOST} by name. With everybody ticked above, this does not matter."),
        false => "They see it and can deploy from it; others do not know of it.".to_owned(),
    };
    let more = store.tenant_names(&spec.shared_to).await?;
    orgs.extend(more.into_iter().filter(|one| !orgs.contains(one)).collect::<Vec<_>>());
    if orgs.is_empty() {
        return Ok(().into_any());
    }
    let choices: Vec<_> = orgs.iter().map(|(id, name)| Choice::new(id.to_string(), name.clone())).collect();
    let is_ticked =
        |(id, _): &&(OrgId, String)| fill.checked("shared_to", &id.to_string(), spec.shared_to.contains(id));
    let ticked = orgs.iter().filter(is_ticked).map(|(id, _)| id.to_string()).collect();
    let error = fill.error("shared_to");
    Ok(view! { <ChecksField name="shared_to" label="Or share with" choices ticked error hint /> }.into_any())
}

/// `kept`: what the visitor's form has no fields for.
fn read(visit: &Visit, values: &Values, kept: CatalogSpec) -> CatalogSpec {
    let named = CatalogSpec { name: values.text("name"), description: values.text("description"), ..kept };
    if !visit.actor.provider {
        return named;
    }
    // what can't be an id is an organization that is not there
    let mut shared_to: Vec<OrgId> =
        values.all("shared_to").map(|id| id.parse().unwrap_or(OrgId(Uuid::nil()))).collect();
    shared_to.sort();
    shared_to.dedup();
    CatalogSpec { shared_to_all: values.has("shared_to_all"), from_hubs: values.has("from_hubs"), shared_to, ..named }
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    d.attempt(&visit.actor, Action::CatalogCreate, async { visit.authorize(Action::CatalogCreate) }).await?;
    let org = visit.org_for_new(&values)?;
    let kept = CatalogSpec { open: values.has("open"), ..CatalogSpec::default() };
    let made = catalog::create(d, &visit.actor, org, read(&visit, &values, kept)).await?;
    Ok(Done::new(href(&visit, made.id, ""), format!("Catalog {} is made.", made.name)))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let c = find(&visit, Action::CatalogEdit).await?;
    let fill = visit.fill();
    let fields = fields(&visit, &fill, &CatalogSpec::from(&c)).await?;
    let body = view! {
        <PageHead title=format!("Edit {}", c.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(c.version) />
            {fields}
            <FormEnd submit="Save" cancel_href=href(&visit, c.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", c.name), ON, crumbs_below(&visit, &c, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let c = find_to(&visit, Action::CatalogEdit).await?;
    let spec = read(&visit, &values, CatalogSpec::from(&c));
    let saved = catalog::edit(visit.domain(), &visit.actor, c.id, values.version()?, spec).await?;
    Ok(Done::new(href(&visit, c.id, ""), format!("Catalog {} is saved.", saved.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let c = find(&visit, Action::CatalogDelete).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::catalog(&c, Action::CatalogDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match (&refused, c.templates) {
        (Some(_), _) => Vec::new(),
        (None, 0) => vec!["its name and description; no template is in it".to_owned()],
        (None, n) => vec![
            format!("{} as it lists them; hubs keep theirs", plural(n.unsigned_abs(), "template", "templates")),
            "the way to deploy them from here; vApps made from them stay".to_owned(),
        ],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete catalog {}?", c.name)
            verb=format!("Delete {}", c.name)
            keep_href=href(&visit, c.id, "")
            lost
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", c.name), ON, crumbs_below(&visit, &c, "Delete"), body).still())
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let c = find_to(&visit, Action::CatalogDelete).await?;
    catalog::delete(visit.domain(), &visit.actor, c.id).await?;
    Ok(Done::new(visit.at(LIST), format!("Catalog {} is deleted.", c.name)))
}
