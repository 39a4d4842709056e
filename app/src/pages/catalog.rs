//! Catalogs in both portals: list, and the page of one with its templates. Their forms are in `catalog_form`.
use super::{
    about::about_facts,
    bulk, catalog_form,
    owner::owner_words,
    sharing,
    sizes::{memory_words, unless_unknown},
};
use crate::{
    code,
    parts::*,
    portal::{Csv, ListView, Place, Routes, Sheet, Visit, org_link},
    shell::Crumb,
};
use domain::catalog;
use leptos::prelude::*;
use model::{
    Action, CatalogId, Error, Kind, Result, can,
    catalog::Catalog,
    list::{CATALOGS, ListQuery, TEMPLATES},
    quota::Measure,
    template::{ItemKind, Template},
};

pub(super) const ON: &str = "Catalogs";
pub(super) const LIST: &str = "/catalogs";

pub fn routes(r: Routes) -> Routes {
    catalog_form::routes(r).both(LIST, list).both_csv("/catalogs.csv", csv).both("/catalogs/{id}", page)
}

pub(super) fn href(visit: &Visit, id: CatalogId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

/// The catalog of the address, to look at: one's own or one that is shared to this place's organization.
async fn find(visit: &Visit) -> Result<Catalog> {
    let c = catalog::get(visit.domain(), &visit.actor, visit.id()).await?;
    seen_here(visit, &c, Kind::Catalog)?;
    Ok(c)
}

/// `kind`: what is looked for, which is not there if its catalog is not.
pub(super) fn seen_here(visit: &Visit, c: &Catalog, kind: Kind) -> Result<()> {
    if visit.org().is_none_or(|here| c.seen_by(here)) { Ok(()) } else { Err(Error::NotFound(kind)) }
}

fn may(visit: &Visit, c: &Catalog, action: Action) -> bool {
    visit.org().is_none_or(|here| here == c.org) && visit.actor.may(action, c.resource(&visit.actor, action))
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&CATALOGS)?;
    let page = catalog::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &CATALOGS, query, &page);
    let new_button = || {
        visit.may(Action::CatalogCreate).then(|| {
            view! { <a class="btn primary" href=visit.at("/catalogs/new")><Icon name=Icon::Plus />"New catalog"</a> }
        })
    };
    let acts = view! { {view.csv_button()} {new_button()} }.into_any();
    let heads = vec![
        view.head("name", "Name"),
        Head::new("From"),
        Head::new("Published"),
        Head::new("Templates").number(),
        view.head("created", "Created").number(),
        Head::hidden("Actions"),
    ];
    let rows = page.items.iter().map(|c| row(&visit, c)).collect_view();
    let rows = if view.is_unused() {
        let acts = new_button().into_any();
        view! {
            <Empty title="No catalogs yet" acts>
                "A catalog holds templates that vApps are made from. Those that the provider shares show here too."
            </Empty>
        }
        .into_any()
    } else if view.is_empty() {
        view! { <Empty title="No catalog fits">"Search for something else, or take a filter away."</Empty> }.into_any()
    } else {
        view! { <Table caption="Catalogs" heads list=true>{rows}</Table> }.into_any()
    };
    let body = view! {
        <PageHead title=ON sub=view.count() lede="Templates that vApps are made from." acts />
        {view.filters("catalogs", "Name, description")}
        {rows}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, c: &Catalog) -> impl IntoView + use<> {
    let (from, shared, menu) = (from(visit, c), shared(visit, c), menu(visit, c, true));
    let (templates, created, now) = (count(c.templates), c.created_at, visit.now);
    let cells = view! {
        <NameCell name=c.name.clone() href=href(visit, c.id, "") why=c.description.clone() />
        <Cell label="From" wraps=true>{from}</Cell>
        <Cell label="Published">{shared}</Cell>
        <Cell label="Templates" number=true>{templates}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("catalog-{}", c.id)>{cells}</Row> }
}

fn count(n: i64) -> String {
    num(u64::try_from(n).unwrap_or(0))
}

/// Whose it is.
fn from(visit: &Visit, c: &Catalog) -> AnyView {
    match visit.org() {
        None => org_link(visit, Some(c.org), &c.org_name, true),
        Some(here) if here == c.org => "this organization".into_any(),
        Some(_) => "the provider".into_any(),
    }
}

/// How many it is shared with is the provider's business.
fn shared(visit: &Visit, c: &Catalog) -> String {
    match (c.shared_to_all, c.shared_to.len() as u64) {
        (true, _) => "with everybody".to_owned(),
        (false, _) if visit.org().is_some_and(|here| c.org != here) => "with this organization".to_owned(),
        (false, 0) => "no".to_owned(),
        (false, n) => format!("with {}", plural(n, "organization", "organizations")),
    }
}

fn menu(visit: &Visit, c: &Catalog, dots: bool) -> AnyView {
    let edit = may(visit, c, Action::CatalogEdit)
        .then(|| view! { <MenuItem icon=Icon::Settings title="Edit" href=href(visit, c.id, "/edit") /> });
    let delete = may(visit, c, Action::CatalogDelete).then(|| match can::catalog(c, Action::CatalogDelete) {
        Ok(()) => view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(visit, c.id, "/delete") danger=true /> }
            .into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    });
    let share = may(visit, c, Action::CatalogShare)
        .then(|| view! { <MenuItem icon=Icon::Users title="Share…" href=href(visit, c.id, "/sharing") /> });
    let give = may(visit, c, Action::CatalogOwner)
        .then(|| view! { <MenuItem icon=Icon::User title="Change owner…" href=href(visit, c.id, "/owner") /> });
    if edit.is_none() && delete.is_none() && share.is_none() && give.is_none() {
        return ().into_any();
    }
    let label = if dots { format!("Actions for {}", c.name) } else { "Actions".into() };
    view! { <Menu label dots>{edit} {share} {give} {delete}</Menu> }.into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| catalog::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("catalogs", &["id", "name", "description", "organization", "shared_to_all", "templates", "created_at"])
        .rows(visit, &CATALOGS, list, cells)
        .await
}

fn cells(c: Catalog) -> [String; 7] {
    [
        c.id.urn(),
        c.name,
        c.description,
        c.org_name,
        c.shared_to_all.to_string(),
        c.templates.to_string(),
        machine(c.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let c = find(&visit).await?;
    // the list below the catalog: searched, sorted and paged as any other
    let mut query = visit.list_query(&TEMPLATES)?;
    query.filters = vec![("catalog", c.id.to_string())];
    let page = catalog::templates(visit.domain(), &visit.actor, visit.org(), &query).await?;
    query.filters.clear();
    let view = ListView::new(&visit, &TEMPLATES, query, &page);
    // what hubs have can't be deleted here
    let picks = !c.from_hubs && may(&visit, &c, Action::TemplateDelete);
    let mut heads = Vec::from_iter(picks.then(|| Head::hidden("Choose")));
    heads.extend([
        view.head("name", "Name"),
        Head::new("State"),
        Head::new("Guest"),
        Head::new("VMs").number(),
        Head::new("CPU").number(),
        Head::new("Memory").number(),
        Head::new("Storage").number(),
        Head::hidden("Actions"),
    ]);
    let deploys = super::vapp::may_create(&visit);
    let rows = page.items.iter().map(|t| template_row(&visit, t, deploys, picks)).collect_view();
    let templates = if page.items.is_empty() && visit.ask.query("q").is_empty() {
        let text =
            if c.from_hubs { "No hub has a template now. They show here as soon as one does." } else { "It is empty." };
        view! { <Empty title="No templates">{text}</Empty> }.into_any()
    } else if page.items.is_empty() {
        view! { <Empty title="No template fits">"Search for something else."</Empty> }.into_any()
    } else {
        let table = view! { <Table caption="Templates" heads list=true>{rows}</Table> };
        if picks { bulk::with_bar(&visit, Kind::Template, table) } else { table.into_any() }
    };
    let find = (c.templates > 0).then(|| search(&visit));
    let upload = (may(&visit, &c, Action::TemplateUpload) && !c.from_hubs).then(|| {
        view! { <a class="btn primary" href=href(&visit, c.id, "/upload")><Icon name=Icon::Plus />"Upload"</a> }
    });
    let (menu, acts) = (menu(&visit, &c, false), upload);
    let acts = view! { {menu} {acts} }.into_any();
    let sharing = sharing::catalog_section(&visit, &c).await?;
    let body = view! {
        <PageHead title=c.name.clone() sub="catalog" lede=c.description.clone() acts />
        {find}
        {templates}
        {view.pager()}
        {sharing}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(c.name.clone())];
    let margin = margin(&visit, &c, with_whom(&visit, &c).await?);
    let code = code::catalog::thing(&visit.site(), &c, visit.actor.provider || visit.actor.org == c.org);
    Ok(Sheet::new(c.name.clone(), ON, crumbs, body).margin(margin).code(code))
}

/// The list's own filter by catalog is not offered: this page is one.
fn search(visit: &Visit) -> impl IntoView + use<> {
    let here = Query::new(visit.ask.path.clone(), visit.ask.query.clone());
    view! { <Filters here what="templates" find="Name, description, guest" /> }
}

fn template_row(visit: &Visit, t: &Template, deploys: bool, picks: bool) -> impl IntoView + use<> {
    let to = visit.at(format!("/templates/{}", t.id));
    let state = super::template::state(visit, t);
    let os = if t.kind == ItemKind::Media { "ISO image".to_owned() } else { t.os.clone() };
    let (vms, cpus) = (t.vms.len().to_string(), unless_unknown(t.cpus(), |n| n.to_string()));
    let memory = unless_unknown(t.memory_mb(), memory_words);
    let storage = unless_unknown(t.storage_mb(), |n| Measure::Storage.words(n));
    let said = if t.title.is_empty() { t.description.clone() } else { t.title.clone() };
    let deploy = (deploys && can::template(t, Action::VappCreate).is_ok()).then(|| {
        let (href, label) = (format!("{to}/deploy"), format!("Deploy {}", t.name));
        view! { <a class="btn small" href=href aria-label=label>"Deploy"</a> }
    });
    let pick = picks.then(|| {
        let (value, label) = (t.id.to_string(), format!("Choose {}", t.name));
        view! { <PickCell value label form=bulk::FORM /> }
    });
    let cells = view! {
        {pick}
        <NameCell name=t.name.clone() href=to why=said icon=t.icon.clone() />
        <StateCell>{state}</StateCell>
        <Cell label="Guest">{os}</Cell>
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="CPU" number=true>{cpus}</Cell>
        <Cell label="Memory" number=true>{memory}</Cell>
        <Cell label="Storage" number=true>{storage}</Cell>
        <RowActs>{deploy}</RowActs>
    };
    view! { <Row id=format!("template-{}", t.id)>{cells}</Row> }
}

/// The organizations by name, for the provider; nobody else learns who there is.
async fn with_whom(visit: &Visit, c: &Catalog) -> Result<AnyView> {
    if c.shared_to_all || c.shared_to.is_empty() || visit.place != Place::Provider || !visit.may(Action::OrgList) {
        return Ok(shared(visit, c).into_any());
    }
    let orgs = catalog::shared_to(visit.domain(), &visit.actor, c).await?;
    let links = orgs.into_iter().enumerate().map(|(i, (id, name))| {
        let comma = if i == 0 { "with " } else { ", " };
        let link = org_link(visit, Some(id), &name, true);
        view! { {comma} {link} }
    });
    Ok(links.collect_view().into_any())
}

fn margin(visit: &Visit, c: &Catalog, shared: AnyView) -> AnyView {
    let from = from(visit, c);
    let filled = (visit.place == Place::Provider).then(|| {
        let text = if c.from_hubs { "by what hubs have" } else { "by hand" };
        view! { <Fact name="Filled">{text}</Fact> }
    });
    let changes = count(c.contents);
    let own = visit.org().is_none_or(|here| here == c.org);
    let owner = own.then(|| {
        let owner = owner_words(&c.owner_name, c.stranded);
        view! { <Fact name="Owner">{owner}</Fact> }
    });
    let facts = view! {
        <Fact name="From">{from}</Fact>
        {owner}
        <Fact name="Published">{shared}</Fact>
        {filled}
        <Fact name="Changes">{changes}</Fact>
        {visit.org().is_none_or(|here| here == c.org).then(|| super::metadata::fact(visit, &format!("/catalogs/{}", c.id)))}
        {about_facts(visit, (c.created_at, c.updated_at, &c.updated_by), c.id.urn())}
    };
    view! { <Section title="About"><Facts>{facts}</Facts></Section> }.into_any()
}
