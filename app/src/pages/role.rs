//! Roles in both portals: list and page. Their forms are in `role_form`.
use super::{about::about_facts, rights::rights_list};
use crate::{
    code,
    parts::*,
    portal::{Csv, ListView, Place, Routes, Sheet, Visit},
    shell::Crumb,
};
use domain::role;
use leptos::prelude::*;
use model::{
    Action, Kind, Result, Rights, RoleId, can,
    list::{ListQuery, ROLES},
    role::{Predefined, Role},
};

pub(super) const ON: &str = "Roles";
pub(super) const LIST: &str = "/roles";

pub fn routes(r: Routes) -> Routes {
    super::role_form::routes(r).both(LIST, list).both_csv("/roles.csv", csv).both("/roles/{id}", page)
}

pub(super) fn href(visit: &Visit, id: RoleId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

/// The form for a new role, filled with what this one has.
fn copy_href(visit: &Visit, id: RoleId) -> String {
    visit.at(format!("{LIST}/new?copy={id}"))
}

/// The users who have it.
pub(super) fn users_href(visit: &Visit, role: &Role) -> String {
    Query::new(visit.at(super::user::LIST), [("role".to_owned(), role.name.clone())]).href()
}

/// The role of the address, if it can be seen in this place and the visitor may do that to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<Role> {
    let found = visit.domain().store.role(&visit.actor, action, visit.id(), visit.org()).await?;
    within(visit, &found)?;
    Ok(found.into_inner())
}

/// The same before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<Role> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

fn within(visit: &Visit, role: &Role) -> Result<()> {
    role.org.map_or(Ok(()), |org| visit.within(org, Kind::Role))
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&ROLES)?;
    let page = role::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &ROLES, query, &page);
    let new = visit.may(Action::RoleCreate).then(|| {
        view! {
            <a class="btn primary" href=visit.at("/roles/new")>
                <Icon name=Icon::Plus />
                "New role"
            </a>
        }
    });
    let acts = view! { {view.csv_button()} {new} }.into_any();
    let heads = vec![
        view.head("name", "Name"),
        Head::new("Made by"),
        Head::new("Rights").number(),
        Head::new("Users").number(),
        Head::hidden("Actions"),
    ];
    let rows = page.items.iter().map(|r| row(&visit, r)).collect_view();
    let body = view! {
        <PageHead title=ON sub=view.count() lede="A role is a set of rights. Every user has one." acts />
        {view.filters("roles", "Name, description")}
        {if view.is_empty() {
            view! { <Empty title="No role fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        } else {
            view! {
                <Table caption="Roles" heads list=true>
                    {rows}
                </Table>
            }
                .into_any()
        }}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, r: &Role) -> impl IntoView + use<> {
    let (made_by, rights, users, menu) = (made_by(r), num(r.rights.len() as u64), users(r), menu(visit, r, true));
    let cells = view! {
        <NameCell name=r.name.clone() href=href(visit, r.id, "") why=r.description.clone() />
        <Cell label="Made by">{made_by}</Cell>
        <Cell label="Rights" number=true>
            {rights}
        </Cell>
        <Cell label="Users" number=true>
            {users}
        </Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("role-{}", r.id)>{cells}</Row> }
}

fn made_by(r: &Role) -> String {
    if r.predefined() { "Predefined".into() } else { r.org_name.clone() }
}

fn users(r: &Role) -> String {
    num(u64::try_from(r.users).unwrap_or(0))
}

/// What can be done to a role, by state and the visitor's rights.
fn menu(visit: &Visit, r: &Role, dots: bool) -> AnyView {
    if ![Action::RoleCreate, Action::RoleEdit, Action::RoleDelete].into_iter().any(|a| visit.may(a)) {
        return ().into_any();
    }
    let copy = visit.may(Action::RoleCreate).then(|| {
        view! { <MenuItem icon=Icon::Copy title="Copy to a new role" href=copy_href(visit, r.id) more="With the same rights" /> }
    });
    let edit = visit.may(Action::RoleEdit).then(|| match can::role(r, Action::RoleEdit) {
        Ok(()) => view! { <MenuItem icon=Icon::Settings title="Edit" href=href(visit, r.id, "/edit") /> }.into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Settings title="Edit" why /> }.into_any(),
    });
    let delete = visit.may(Action::RoleDelete).then(|| match can::role(r, Action::RoleDelete) {
        Ok(()) => {
            let href = href(visit, r.id, "/delete");
            view! { <MenuItem icon=Icon::Trash title="Delete…" href danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    });
    let label = if dots { format!("Actions for {}", r.name) } else { "Actions".into() };
    view! {
        <Menu label dots>
            {copy}
            {edit}
            {delete}
        </Menu>
    }
    .into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| role::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("roles", &["id", "name", "description", "made_by", "users", "rights", "created_at"])
        .rows(visit, &ROLES, list, cells)
        .await
}

fn cells(r: Role) -> [String; 7] {
    let (made_by, rights) = (made_by(&r), r.rights.names().join("; "));
    [r.id.urn(), r.name, r.description, made_by, r.users.to_string(), rights, machine(r.created_at)]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let r = find(&visit, Action::RoleView).await?;
    let copy = visit.may(Action::RoleCreate).then(|| {
        view! {
            <a class="btn" href=copy_href(&visit, r.id)>
                <Icon name=Icon::Copy />
                "Copy to a new role"
            </a>
        }
    });
    let acts = view! { {copy} {menu_of_own(&visit, &r)} }.into_any();
    let says =
        if r.predefined() { "Predefined: the same everywhere.".to_owned() } else { format!("Made in {}.", r.org_name) };
    // a tenant's role is measured by what it could have
    let listed =
        if visit.place == Place::Provider || r.rights == Rights::all() { Rights::all() } else { Rights::tenant() };
    let sub = format!("{} of {}", r.rights.len(), listed.len());
    let rights = rights_list(r.rights, listed);
    let body = view! {
        <PageHead title=r.name.clone() lede=r.description.clone() acts says=says.into_any() />
        <Section title="Rights" sub>
            {rights}
        </Section>
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(r.name.clone())];
    let margin = facts(&visit, &r);
    let org = match (&visit.place, r.predefined()) {
        (_, false) => &r.org_name,
        (Place::Tenant { name, .. }, true) => name,
        (Place::Provider, true) => &visit.actor.org_name,
    };
    let code = code::role::thing(&visit.site(), org, &r);
    Ok(Sheet::new(r.name, ON, crumbs, body).margin(margin).code(code))
}

/// A predefined role can only be copied, and that has a button.
fn menu_of_own(visit: &Visit, r: &Role) -> AnyView {
    if r.predefined() { ().into_any() } else { menu(visit, r, false) }
}

fn facts(visit: &Visit, r: &Role) -> AnyView {
    let words = plural(u64::try_from(r.users).unwrap_or(0), "user", "users");
    let words =
        if r.predefined() && visit.place == Place::Provider { format!("{words} in all organizations") } else { words };
    let users = if r.users > 0 && visit.may(Action::UserList) {
        view! { <a href=users_href(visit, r)>{words}</a> }.into_any()
    } else {
        words.into_any()
    };
    let who = match Predefined::of(r.id) {
        Some(p) if p.provider_only() => "the provider's users only".to_owned(),
        Some(_) => "users of every organization".to_owned(),
        None => format!("users of {}", r.org_name),
    };
    let about = about_facts(visit, (r.created_at, r.updated_at, &r.updated_by), r.id.urn());
    let facts = view! {
        <Fact name="Given to">{users}</Fact>
        <Fact name="For">{who}</Fact>
        {about}
    };
    view! {
        <Section title="About">
            <Facts>{facts}</Facts>
        </Section>
    }
    .into_any()
}
