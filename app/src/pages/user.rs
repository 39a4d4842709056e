//! Users in both portals: list, page, and what a button does to them. Their forms are in `user_form`.
use super::{about::about_facts, limits::meters};
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Visit},
    shell::Crumb,
};
use domain::user;
use leptos::prelude::*;
use model::{
    Action, Kind, Result, UserId, can,
    list::{ListQuery, USERS},
    user::User,
};

pub(super) const ON: &str = "Users";
pub(super) const LIST: &str = "/users";

pub fn routes(r: Routes) -> Routes {
    super::user_form::routes(r)
        .both(LIST, list)
        .both_csv("/users.csv", csv)
        .both("/users/{id}", page)
        .both_act("/users/{id}/enable", |v, _| set_enabled(v, true))
        .both_act("/users/{id}/disable", |v, _| set_enabled(v, false))
}

pub(super) fn href(visit: &Visit, id: UserId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

/// The user of the address, if it is one of this place and the visitor may do that to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<User> {
    let found = visit.domain().store.user(&visit.actor, action, visit.id()).await?;
    visit.within(found.org, Kind::User)?;
    Ok(found.into_inner())
}

/// The same before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<User> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&USERS)?;
    let page = user::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &USERS, query, &page);
    let acts = view! { {view.csv_button()} {new_button(&visit)} }.into_any();
    let mut heads = vec![view.head("name", "Name"), Head::new("State"), Head::new("Role")];
    if visit.place == Place::Provider {
        heads.push(Head::new("Organization"));
    }
    heads.extend([Head::new("Signs in by"), view.head("seen", "Last sign-in").number(), Head::hidden("Actions")]);
    let rows = page.items.iter().map(|u| row(&visit, u)).collect_view();
    let rows = match (view.is_empty(), view.query.narrowed()) {
        (true, true) => {
            view! { <Empty title="No user fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        }
        (true, false) => {
            let acts = new_button(&visit).into_any();
            view! {
                <Empty title="No users yet" acts>
                    "Nobody can sign in to this organization."
                </Empty>
            }
            .into_any()
        }
        _ => view! {
            <Table caption="Users" heads list=true>
                {rows}
            </Table>
        }
        .into_any(),
    };
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {view.filters("users", "Name, e-mail, role")}
        {rows}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn new_button(visit: &Visit) -> impl IntoView + use<> {
    visit.may(Action::UserCreate).then(|| {
        view! {
            <a class="btn primary" href=visit.at("/users/new")>
                <Icon name=Icon::Plus />
                "New user"
            </a>
        }
    })
}

fn row(visit: &Visit, u: &User) -> impl IntoView + use<> {
    let (role, org, by) = (u.role_name.clone(), u.org_name.clone(), signs_in_by(u));
    let (state, seen, menu) = (state(visit, u), last_sign_in(visit, u), menu(visit, u, true));
    let org = (visit.place == Place::Provider).then(|| view! { <Cell label="Organization">{org}</Cell> });
    let cells = view! {
        <NameCell name=u.name.clone() href=href(visit, u.id, "") why=u.full_name.clone() />
        <StateCell>{state}</StateCell>
        <Cell label="Role">{role}</Cell>
        {org}
        <Cell label="Signs in by">{by}</Cell>
        <Cell label="Last sign-in" number=true>
            {seen}
        </Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("user-{}", u.id)>{cells}</Row> }
}

fn state(visit: &Visit, u: &User) -> impl IntoView + use<> {
    let me = visit.actor.user == Some(u.id);
    if u.enabled {
        view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" more=if me { "this is you" } else { "" } /> }
    } else {
        view! { <Badge shape=Shape::Ring word="Disabled" more="can't sign in" /> }
    }
}

fn signs_in_by(u: &User) -> &'static str {
    if u.local() { "Password" } else { "Identity provider" }
}

fn last_sign_in(visit: &Visit, u: &User) -> AnyView {
    match u.last_sign_in_at {
        Some(at) => view! { <Time at now=visit.now /> }.into_any(),
        None => "never".into_any(),
    }
}

/// What can be done to a user, by state and the visitor's rights.
fn menu(visit: &Visit, u: &User, dots: bool) -> AnyView {
    let switch = if u.enabled { Action::UserDisable } else { Action::UserEnable };
    let possible = |action| can::user(u, action, visit.actor.user);
    if ![Action::UserEdit, switch, Action::UserResetPassword, Action::UserDelete].into_iter().any(|a| visit.may(a)) {
        return ().into_any();
    }
    let edit = visit
        .may(Action::UserEdit)
        .then(|| view! { <MenuItem icon=Icon::Settings title="Edit" href=href(visit, u.id, "/edit") /> });
    let password = visit.may(Action::UserResetPassword).then(|| match possible(Action::UserResetPassword) {
        Ok(()) => {
            let href = href(visit, u.id, "/password");
            view! { <MenuItem icon=Icon::Key title="Set password…" href more="Ends the user's sessions" /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Key title="Set password" why /> }.into_any(),
    });
    let on_off = visit.may(switch).then(|| match possible(switch) {
        Ok(()) if u.enabled => {
            let action = href(visit, u.id, "/disable");
            view! { <MenuForm icon=Icon::Power title="Disable" action more="Signed out at once, and can't sign in" /> }
                .into_any()
        }
        Ok(()) => view! { <MenuForm icon=Icon::Play title="Enable" action=href(visit, u.id, "/enable") /> }.into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Power title="Disable" why /> }.into_any(),
    });
    let delete = visit.may(Action::UserDelete).then(|| match possible(Action::UserDelete) {
        Ok(()) => {
            let href = href(visit, u.id, "/delete");
            view! { <MenuItem icon=Icon::Trash title="Delete…" href danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    });
    let label = if dots { format!("Actions for {}", u.name) } else { "Actions".into() };
    view! {
        <Menu label dots>
            {edit}
            {password}
            {on_off}
            {delete}
        </Menu>
    }
    .into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads = [
        "id",
        "organization",
        "name",
        "full_name",
        "email",
        "role",
        "enabled",
        "signs_in_by",
        "last_sign_in_at",
        "created_at",
    ];
    let list = async |visit: Visit, q: ListQuery| user::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("users", &heads).rows(visit, &USERS, list, cells).await
}

fn cells(u: User) -> [String; 10] {
    let by = signs_in_by(&u).to_owned();
    [
        u.id.urn(),
        u.org_name,
        u.name,
        u.full_name,
        u.email,
        u.role_name,
        u.enabled.to_string(),
        by,
        u.last_sign_in_at.map(machine).unwrap_or_default(),
        machine(u.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let u = find(&visit, Action::UserView).await?;
    let (acts, says) = (menu(&visit, &u, false), state(&visit, &u).into_any());
    let meters = meters(&u.used, &u.limits);
    let meters = view! { <div class="meters">{meters}</div> };
    let body = view! {
        <PageHead title=u.name.clone() sub=u.full_name.clone() acts says />
        {account(&visit, &u)}
        <Section title="Quota" sub="used of what the user may have">
            {meters}
        </Section>
    }
    .into_any();
    let about = about_facts(&visit, (u.created_at, u.updated_at, &u.updated_by), u.id.urn());
    let margin = view! {
        <Section title="About">
            <Facts>{about}</Facts>
        </Section>
    };
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(u.name.clone())];
    let code = code::user::thing(&visit.site(), &u);
    Ok(Sheet::new(u.name, ON, crumbs, body).margin(margin.into_any()).code(code))
}

fn account(visit: &Visit, u: &User) -> impl IntoView + use<> {
    let role = linked(
        u.role_name.clone(),
        visit.may(Action::RoleView).then(|| visit.at(format!("{}/{}", super::role::LIST, u.role))),
    );
    let org = (visit.place == Place::Provider).then(|| {
        let to = visit.may(Action::OrgView).then(|| visit.at(format!("/organizations/{}", u.org)));
        let org = linked(u.org_name.clone(), to);
        view! { <Fact name="Organization">{org}</Fact> }
    });
    let email = (!u.email.is_empty()).then(|| u.email.clone());
    let email = email.map(|email| view! { <Fact name="E-mail">{email}</Fact> });
    let by = match &u.issuer {
        None => "password".to_owned(),
        Some(issuer) => format!("identity provider {issuer}"),
    };
    let seen = last_sign_in(visit, u);
    let facts = view! {
        <Fact name="Role">{role}</Fact>
        {org}
        {email}
        <Fact name="Signs in by">{by}</Fact>
        <Fact name="Last sign-in">{seen}</Fact>
    };
    view! {
        <Section title="Account">
            <Facts>{facts}</Facts>
        </Section>
    }
}

fn linked(words: String, to: Option<String>) -> AnyView {
    match to {
        Some(href) => view! { <a href=href>{words}</a> }.into_any(),
        None => words.into_any(),
    }
}

async fn set_enabled(visit: Visit, enabled: bool) -> Result<Done> {
    let id = find_to(&visit, if enabled { Action::UserEnable } else { Action::UserDisable }).await?.id;
    let u = user::set_enabled(visit.domain(), &visit.actor, id, enabled).await?;
    let word = if enabled { "is enabled." } else { "is disabled and signed out." };
    Ok(Done::new(href(&visit, u.id, ""), format!("{} {word}", u.name)))
}
