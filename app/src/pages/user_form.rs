//! The forms about users: new, edit, a new password, and the page before one is deleted.
use super::{
    choose_org::{choose_org, chosen_org},
    form_error::form_error,
    limits::limit_fields,
    user::{LIST, ON, find, find_to, href},
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Place, Routes, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::{role, share, user};
use leptos::prelude::*;
use model::{
    Action, Problems, Result, RoleId, can,
    quota::Limits,
    role::{Predefined, Role},
    user::{NewUser, Password, User, UserSpec},
};

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/users/new", new_page, create)
        .both_form("/users/{id}/edit", edit_page, edit)
        .both_form("/users/{id}/password", password_page, set_password)
        .both_form("/users/{id}/delete", delete_page, delete)
}

const LABELS: &[(&str, &str)] = &[
    ("name", "User name"),
    ("full_name", "Full name"),
    ("email", "E-mail"),
    ("password", "Password"),
    ("role", "Role"),
    ("vm_limit", "VMs"),
    ("cpu_limit", "CPU"),
    ("memory_limit", "Memory"),
    ("storage_limit", "Storage"),
];

async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::UserCreate)?;
    let Some(org) = chosen_org(&visit)? else { return choose_org(&visit, "New user", ON, LIST, false).await };
    let org = visit.domain().store.org(&visit.actor, Action::UserCreate, org).await?;
    let roles = role::choices(visit.domain(), &visit.actor, org.id).await?;
    let fill = visit.fill();
    let mut choices = vec![Choice::new("", "Choose…")];
    choices.extend(roles.iter().map(choice));
    let hint = format!("{} Hand it over on a safe way.", visit.domain().passwords.hint());
    let account = view! {
        {org_field(&visit, &org.name, "chosen before")}
        {name_field(&fill, "")}
        {full_name_field(&fill, "")}
        {email_field(&fill, "")}
        <PasswordField
            name="password"
            label="Password"
            error=fill.error("password")
            hint=hint
            autocomplete="new-password"
            width=Width::Half
        />
        <SelectField name="role" label="Role" choices value=fill.value("role", "") error=fill.error("role") width=Width::Half />
    };
    let limits = limits(&fill, &Limits::default());
    let spec = read_spec(&fill.typed(), &mut Problems::default());
    // until one is chosen, one that can do little stands for it
    let likely = roles
        .iter()
        .find(|r| r.id == spec.role)
        .or_else(|| roles.iter().find(|r| r.id == Predefined::VappUser.id()).or(roles.first()));
    let code = likely.map(|r| code::user::create(&visit.site(), (org.id, &org.name), &spec, (r.id, &r.name)));
    let (cancel, org) = (visit.at(LIST), org.id.to_string());
    let body = view! {
        <PageHead title="New user" lede="Somebody who signs in with a password kept here." />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="org" value=org />
            <FormSection title="Account">{account}</FormSection>
            {limits}
            <FormEnd submit="Create user" cancel_href=cancel.clone() />
        </form>
    }
    .into_any();
    Ok(Sheet::new("New user", ON, vec![Crumb::new(ON, cancel), Crumb::here("New")], body).still().code(code))
}

/// In the provider's portal it is said whose user it is.
fn org_field(visit: &Visit, org: &str, why: &'static str) -> Option<impl IntoView + use<>> {
    let org = org.to_owned();
    (visit.place == Place::Provider).then(|| view! { <LockedField name="org" label="Organization" value=org why /> })
}

fn name_field(fill: &Fill, stored: &str) -> impl IntoView + use<> {
    let (value, error) = (fill.value("name", stored), fill.error("name"));
    view! { <TextField name="name" label="User name" value error hint="Typed at sign-in." autocomplete="off" width=Width::Half /> }
}

fn full_name_field(fill: &Fill, stored: &str) -> impl IntoView + use<> {
    let (value, error) = (fill.value("full_name", stored), fill.error("full_name"));
    view! { <TextField name="full_name" label="Full name" value error optional=true autocomplete="off" width=Width::Half /> }
}

fn email_field(fill: &Fill, stored: &str) -> impl IntoView + use<> {
    let (value, error) = (fill.value("email", stored), fill.error("email"));
    view! { <EmailField name="email" label="E-mail" value error optional=true autocomplete="off" width=Width::Half /> }
}

fn limits(fill: &Fill, stored: &Limits) -> impl IntoView + use<> {
    let fields = limit_fields(fill, stored);
    view! {
        <FormSection title="Limits" lede="What everything the user owns may use together. Empty means no limit.">
            {fields}
        </FormSection>
    }
}

fn choice(role: &Role) -> Choice {
    Choice::new(role.id.to_string(), role.name.clone())
}

fn read_spec(values: &Values, problems: &mut Problems) -> UserSpec {
    let role = values.get("role").parse().ok();
    if role.is_none() {
        problems.add("role", "Choose a role.");
    }
    UserSpec {
        name: values.text("name"),
        full_name: values.text("full_name"),
        email: values.text("email"),
        role: role.unwrap_or(RoleId(Default::default())),
        limits: values.limits(problems),
    }
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let mut problems = Problems::default();
    let new = NewUser::of(read_spec(&values, &mut problems), Password::new(values.get("password")));
    let new = with_problems(problems, new.check(visit.domain().passwords))?;
    let made = user::create(visit.domain(), &visit.actor, visit.org_for_new(&values)?, new).await?;
    Ok(Done::new(href(&visit, made.id, ""), format!("{} is made and can sign in to {}.", made.name, made.org_name)))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let u = find(&visit, Action::UserEdit).await?;
    let fill = visit.fill();
    let who = if u.local() {
        view! {
            {name_field(&fill, &u.name)}
            {full_name_field(&fill, &u.full_name)}
            {email_field(&fill, &u.email)}
        }
        .into_any()
    } else {
        [("name", "User name", &u.name), ("full_name", "Full name", &u.full_name), ("email", "E-mail", &u.email)]
            .map(|(name, label, value)| {
                let value = if value.is_empty() { "none".to_owned() } else { value.clone() };
                view! { <LockedField name label value why="from the identity provider" width=Width::Half /> }
            })
            .collect_view()
            .into_any()
    };
    let role = role_field(&visit, &fill, &u).await?;
    let account = view! {
        {org_field(&visit, &u.org_name, "stays the same")}
        {who}
        {role}
    };
    let title = format!("Edit {}", u.name);
    let body = view! {
        <PageHead title=title.clone() />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(u.version) />
            <FormSection title="Account">{account}</FormSection>
            {limits(&fill, &u.limits)}
            <FormEnd submit="Save" cancel_href=href(&visit, u.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs(&visit, &u, "Edit"), body).still())
}

/// The roles one can give; the present one stays possible. One's own can't be changed.
async fn role_field(visit: &Visit, fill: &Fill, u: &User) -> Result<AnyView> {
    if visit.actor.user == Some(u.id) {
        let (id, value) = (u.role.to_string(), u.role_name.clone());
        return Ok(view! {
            <input type="hidden" name="role" value=id />
            <LockedField name="role" label="Role" value why="your own: another administrator can change it" width=Width::Half />
        }
        .into_any());
    }
    let roles = role::choices(visit.domain(), &visit.actor, u.org).await?;
    let mut choices: Vec<_> = roles.iter().map(choice).collect();
    if !roles.iter().any(|r| r.id == u.role) {
        choices.insert(0, Choice::new(u.role.to_string(), u.role_name.clone()));
    }
    let (value, error) = (fill.value("role", u.role.to_string()), fill.error("role"));
    let hint = "A change counts at once, also where the user is signed in.";
    Ok(view! { <SelectField name="role" label="Role" choices value error hint width=Width::Half /> }.into_any())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let mut problems = Problems::default();
    let spec = read_spec(&values, &mut problems);
    // a form with locked names has none to check
    let checked = if values.has("name") { spec.clone().check() } else { Ok(spec.clone()) };
    with_problems(problems, checked)?;
    let id = find_to(&visit, Action::UserEdit).await?.id;
    let saved = user::edit(visit.domain(), &visit.actor, id, values.version()?, spec).await?;
    Ok(Done::new(href(&visit, id, ""), format!("{} is saved.", saved.name)))
}

async fn password_page(visit: Visit) -> Result<Sheet> {
    let u = find(&visit, Action::UserResetPassword).await?;
    let (fill, back) = (visit.fill(), href(&visit, u.id, ""));
    let title = format!("Set the password of {}", u.name);
    let form = match can::or_not_now(can::user(&u, Action::UserResetPassword, visit.actor.user)) {
        Err(why) => {
            let (why, back) = (why.to_string(), view! { <a class="btn" href=back>"Back"</a> });
            view! { <Note tone=Tone::Warn acts=back.into_any()>{why}</Note> }.into_any()
        }
        Ok(()) => {
            let hint = format!("{} Hand it over on a safe way.", visit.domain().passwords.hint());
            let field = view! {
                <PasswordField
                    name="password"
                    label="New password"
                    error=fill.error("password")
                    hint=hint
                    autocomplete="new-password"
                    width=Width::Half
                />
            };
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, &[("password", "New password")])}
                    <FormSection title="Password" lede="The old one stops working, and the user's sessions end.">
                        {field}
                    </FormSection>
                    <FormEnd submit="Set password" cancel_href=back />
                </form>
            }
            .into_any()
        }
    };
    let body = view! {
        <PageHead title=title.clone() />
        {form}
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs(&visit, &u, "Password"), body).still())
}

async fn set_password(visit: Visit, values: Values) -> Result<Done> {
    let id = find_to(&visit, Action::UserResetPassword).await?.id;
    user::reset_password(visit.domain(), &visit.actor, id, Password::new(values.get("password"))).await?;
    Ok(Done::new(href(&visit, id, ""), "The new password is set. The user's sessions have ended."))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let u = find(&visit, Action::UserDelete).await?;
    let possible = can::or_not_now(can::user(&u, Action::UserDelete, visit.actor.user));
    let fill = visit.fill();
    // what is wrong with a name stands beside its field
    let failure = fill.failure().filter(|e| e.fields().is_empty()).map(ToString::to_string);
    let refused = failure.or_else(|| possible.err().map(|e| e.to_string()));
    let [vapps, catalogs, disks] = visit.domain().store.owned_by(u.id).await?;
    let owned = [(vapps, "vApp", "vApps"), (catalogs, "catalog", "catalogs"), (disks, "disk", "disks")];
    let owned: Vec<String> =
        owned.iter().filter(|(n, ..)| *n > 0).map(|(n, one, many)| plural(n.unsigned_abs(), one, many)).collect();
    let heir = (refused.is_none() && !owned.is_empty()).then(|| {
        let text = format!("{} owns {}. Nothing of it is deleted.", u.name, owned.join(", "));
        view! {
            <p>{text}</p>
            <TextField
                name="owner"
                label="Give it to"
                value=fill.value("owner", "")
                error=fill.error("owner")
                hint="The name of a user of the same organization. Left empty, it stays as it is and is listed as stranded."
                autocomplete="off"
                optional=true
            />
        }
    });
    let lost = if refused.is_some() {
        Vec::new()
    } else {
        vec![
            "their sign-in and every session of it".to_owned(),
            "their limits; what they did stays in the audit".to_owned(),
        ]
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete user {}?", u.name)
            verb=format!("Delete {}", u.name)
            keep_href=href(&visit, u.id, "")
            lost
            refused
        >
            {heir}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", u.name), ON, crumbs(&visit, &u, "Delete"), body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let u = find_to(&visit, Action::UserDelete).await?;
    let heir = match values.get("owner").trim() {
        "" => None,
        name => Some(share::member(visit.domain(), u.org, name, "owner").await?),
    };
    if heir == Some(u.id) {
        return Err(model::Error::field("owner", "Name somebody else."));
    }
    let name = user::delete(visit.domain(), &visit.actor, u.id, heir).await?;
    Ok(Done::new(visit.at(LIST), format!("{name} is deleted.")))
}

fn crumbs(visit: &Visit, u: &User, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(u.name.clone(), href(visit, u.id, "")), Crumb::here(last)]
}
