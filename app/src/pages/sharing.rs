//! With whom a vApp or a catalog is shared: the section on its page, and the form that changes it.
use super::{catalog, form_error::form_error, vapp};
use crate::{
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::share::{self, On};
use leptos::prelude::*;
use model::{
    Action, Kind, OrgId, Result,
    catalog::Catalog,
    share::{Access, Grant, Share, Subject},
    vapp::Vapp,
};

const LABELS: &[(&str, &str)] =
    &[("everyone", "Everyone"), ("shared_with", "Shared with"), ("user", "User"), ("role", "Role")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/{id}/sharing", |v| page(v, Kind::Vapp), |v, values| set(v, values, Kind::Vapp)).both_form(
        "/catalogs/{id}/sharing",
        |v| page(v, Kind::Catalog),
        |v, values| set(v, values, Kind::Catalog),
    )
}

/// What the form is about.
struct Thing {
    on: On,
    org: OrgId,
    name: String,
    version: i64,
    back: String,
    list: &'static str,
    crumbs: Vec<Crumb>,
}

async fn find(visit: &Visit, kind: Kind) -> Result<Thing> {
    if kind == Kind::Vapp {
        let v = vapp::find(visit, Action::VappShare).await?;
        let (crumbs, back) = (vapp::crumbs_below(visit, &v, "Sharing"), vapp::href(visit, v.id, ""));
        return Ok(Thing {
            on: On::Vapp(v.id),
            org: v.org,
            version: v.version,
            name: v.name,
            back,
            list: vapp::ON,
            crumbs,
        });
    }
    let c = visit.domain().store.catalog(&visit.actor, Action::CatalogShare, visit.id()).await?.into_inner();
    visit.within(c.org, Kind::Catalog)?;
    let back = catalog::href(visit, c.id, "");
    let crumbs = vec![
        Crumb::new(catalog::ON, visit.at(catalog::LIST)),
        Crumb::new(c.name.clone(), back.clone()),
        Crumb::here("Sharing"),
    ];
    let (on, list) = (On::Catalog(c.id), catalog::ON);
    Ok(Thing { on, org: c.org, version: c.version, name: c.name, back, list, crumbs })
}

fn action(kind: Kind) -> Action {
    if kind == Kind::Vapp { Action::VappShare } else { Action::CatalogShare }
}

fn levels(none: &str) -> Vec<Choice> {
    let all = Access::ALL.map(|a| Choice::new(a.key(), a.label()));
    std::iter::once(Choice::new("", none)).chain(all).collect()
}

/// The field of a line.
fn field_of(subject: Subject) -> String {
    match subject {
        Subject::Everyone => "everyone".into(),
        Subject::User(id) => format!("user-{id}"),
        Subject::Role(id) => format!("role-{id}"),
    }
}

async fn page(visit: Visit, kind: Kind) -> Result<Sheet> {
    let thing = find(&visit, kind).await?;
    let shares = share::get(visit.domain(), &visit.actor, thing.on).await?;
    let roles = share::roles(visit.domain(), &visit.actor, thing.on, thing.org).await?;
    let fill = visit.fill();
    let everyone = shares.iter().find(|s| s.grant.subject == Subject::Everyone);
    let stored = everyone.map_or("", |s| s.grant.access.key());
    let with_all = view! {
        <SelectField
            name="everyone"
            label="Everyone in the organization"
            choices=levels("Not shared")
            value=fill.value("everyone", stored)
            width=Width::Half
        />
    };
    let lines = shares.iter().filter(|s| s.grant.subject != Subject::Everyone).map(|s| line(&fill, s)).collect_view();
    let lines = (shares.len() > usize::from(everyone.is_some())).then(|| {
        view! {
            <FormSection title="Shared with" lede="Taken away with “Not any more”.">{lines}</FormSection>
        }
    });
    let mut choices = vec![Choice::new("", "No role")];
    choices.extend(roles.into_iter().map(|(id, name)| Choice::new(id.to_string(), name)));
    let more = view! {
        <TextField
            name="user"
            label="User"
            value=fill.value("user", "")
            error=fill.error("user").or_else(|| fill.error("subject"))
            hint="The name they sign in with."
            autocomplete="off"
            optional=true
            width=Width::Half
        />
        <SelectField
            name="user_access"
            label="Access for that user"
            choices=levels("Choose")[1..].to_vec()
            value=fill.value("user_access", Access::ReadOnly.key())
            width=Width::Half
        />
        <SelectField
            name="role"
            label="Role"
            choices
            value=fill.value("role", "")
            error=fill.error("role")
            hint="Whoever has the role, now or later."
            optional=true
            width=Width::Half
        />
        <SelectField
            name="role_access"
            label="Access for that role"
            choices=levels("Choose")[1..].to_vec()
            value=fill.value("role_access", Access::ReadOnly.key())
            width=Width::Half
        />
    };
    let word = thing.on.kind().word();
    let lede = format!(
        "Its owner and the organization's administrators have this {word} anyway. Read only is to look, Change to change and run, \
         Full control to delete and share as well. Nobody can do more than their role allows."
    );
    let body = view! {
        <PageHead title=format!("Share {}", thing.name) lede />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(thing.version) />
            <FormSection title="Everyone">{with_all}</FormSection>
            {lines}
            <FormSection title="Add" lede="A user, a role, or both.">{more}</FormSection>
            <FormEnd submit="Save" cancel_href=thing.back />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Share {}", thing.name), thing.list, thing.crumbs, body).still())
}

fn line(fill: &Fill, s: &Share) -> impl IntoView + use<> {
    let name = field_of(s.grant.subject);
    let value = fill.value(&name, s.grant.access.key());
    view! { <SelectField name label=who(s) choices=levels("Not any more") value width=Width::Half /> }
}

fn who(s: &Share) -> String {
    match s.grant.subject {
        Subject::Everyone => "Everyone in the organization".into(),
        Subject::User(_) => s.name.clone(),
        Subject::Role(_) => format!("Role {}", s.name),
    }
}

async fn set(visit: Visit, values: Values, kind: Kind) -> Result<Done> {
    let thing = visit.domain().attempt(&visit.actor, action(kind), find(&visit, kind)).await?;
    let mut grants: Vec<Grant> = values.shown().filter_map(|(name, level)| read_line(name, level)).collect();
    if !values.get("user").trim().is_empty() {
        let id = share::member(visit.domain(), thing.org, values.get("user"), "user").await?;
        let access = Access::parse(values.get("user_access")).unwrap_or(Access::ReadOnly);
        grants.push(Grant { subject: Subject::User(id), access });
    }
    if !values.get("role").is_empty() {
        let wrong = || model::Error::field("role", "Choose a role of this organization.");
        let id = values.get("role").parse().map_err(|_| wrong())?;
        let access = Access::parse(values.get("role_access")).unwrap_or(Access::ReadOnly);
        grants.push(Grant { subject: Subject::Role(id), access });
    }
    share::set(visit.domain(), &visit.actor, thing.on, values.version()?, grants).await?;
    Ok(Done::new(thing.back, format!("The sharing of {} is saved.", thing.name)))
}

/// A line that stands on the page; one without a level is taken away.
fn read_line(name: &str, level: &str) -> Option<Grant> {
    let access = Access::parse(level)?;
    let subject = match name {
        "everyone" => Subject::Everyone,
        _ => match name.split_once('-')? {
            ("user", id) => Subject::User(id.parse().ok()?),
            ("role", id) => Subject::Role(id.parse().ok()?),
            _ => return None,
        },
    };
    Some(Grant { subject, access })
}

pub(super) async fn vapp_section(visit: &Visit, v: &Vapp) -> Result<AnyView> {
    let may = |action| visit.actor.may(action, v.resource(&visit.actor));
    let change = may(Action::VappShare).then(|| vapp::href(visit, v.id, "/sharing"));
    section(visit, On::Vapp(v.id), may(Action::VappViewSharing), change).await
}

pub(super) async fn catalog_section(visit: &Visit, c: &Catalog) -> Result<AnyView> {
    let here = visit.org().is_none_or(|org| org == c.org);
    let may = |action| {
        here && visit.actor.may(action, c.resource(&visit.actor, action)) && visit.within(c.org, Kind::Catalog).is_ok()
    };
    let change = may(Action::CatalogShare).then(|| catalog::href(visit, c.id, "/sharing"));
    let sees = may(Action::CatalogViewSharing) && (visit.actor.provider || visit.actor.org == c.org);
    section(visit, On::Catalog(c.id), sees, change).await
}

async fn section(visit: &Visit, on: On, sees: bool, change: Option<String>) -> Result<AnyView> {
    if !sees {
        return Ok(().into_any());
    }
    let shares = share::get(visit.domain(), &visit.actor, on).await?;
    let acts = change.map(|href| view! { <a href=href>"Share"</a> }).into_any();
    let lines = shares.iter().map(|s| {
        let (who, access) = (who(s), s.grant.access.label());
        view! { <Fact name=who>{access}</Fact> }
    });
    let lines = lines.collect_view();
    let inside = match shares.is_empty() {
        true => view! { <p class="muted">"With nobody. Its owner and the organization's administrators see it."</p> }
            .into_any(),
        false => view! { <Facts>{lines}</Facts> }.into_any(),
    };
    Ok(view! { <Section title="Sharing" acts>{inside}</Section> }.into_any())
}
