//! Users of an organization.
//!
//! Clients write them in two ways. Some send a whole user and leave out what is false, so that one without IsEnabled is to be
//! disabled; others send nothing but what they change. A body with nothing else in it than IsEnabled, Role and Password is
//! one of the second kind: what it leaves out stays.
use crate::{
    answer::Answer,
    ask::{Ask, referred, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        media,
    },
};
use domain::{owner, user};
use model::{
    Action, Error, Kind, OrgId, Result, RoleId, UserId, can,
    decide::Resource,
    quota::Limits,
    user::{NewUser, Password, User, UserBesides, UserSpec},
};
use std::fmt::Display;
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/admin/org/{id}/users", create)
        .get("/api/admin/user/{id}", get)
        .put("/api/admin/user/{id}", edit)
        .delete("/api/admin/user/{id}", delete)
        .post("/api/admin/user/{id}/action/takeOwnership", take_ownership)
        .post("/api/admin/user/{id}/action/unlock", unlock)
        .post("/api/admin/org/{id}/groups", no_groups)
}

async fn get(ask: Ask) -> Result<Answer> {
    let user = user::get(ask.d(), &ask.actor, ask.id(Kind::User)?).await?;
    Ok(render(&ask, &user))
}

async fn create(ask: Ask) -> Result<Answer> {
    let org: OrgId = ask.id(Kind::Org)?;
    let body = ask.xml("User")?;
    if body.on("IsExternal")? || body.word("ProviderType").is_some_and(|kind| kind != "INTEGRATED") {
        let why = "Users of an identity provider come with their first sign-in, and need not be made. Leave IsExternal \
                   out, and ProviderType too or INTEGRATED.";
        return Err(Error::BadRequest(why.into()));
    }
    let role = body.child("Role").ok_or_else(|| Error::BadRequest("A user needs a Role.".into()))?;
    let text = |name: &str| body.word(name).unwrap_or_default().to_owned();
    let spec = UserSpec {
        name: body.need("name")?.to_owned(),
        full_name: text("FullName"),
        email: text("EmailAddress"),
        role: referred::<RoleId>(role, Kind::Role)?,
        limits: limits(&body, Limits::default())?,
    };
    let password = Password::new(body.child("Password").map(|p| p.text.clone()).unwrap_or_default());
    let besides = besides(&body, &UserBesides::default());
    let new = NewUser { spec, password, besides, enabled: body.on("IsEnabled")? };
    let made = user::create(ask.d(), &ask.actor, org, new).await?;
    Ok(render(&ask, &made).created(ask.base().user(made.id)))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: UserId = ask.id(Kind::User)?;
    let body = ask.xml("User")?;
    let mut user = user::get(ask.d(), &ask.actor, id).await?;
    let before = UserSpec::from(&user);
    let text = |name: &str, now: &str| body.word(name).unwrap_or(now).to_owned();
    let spec = UserSpec {
        name: text("name", &before.name),
        full_name: text("FullName", &before.full_name),
        email: text("EmailAddress", &before.email),
        role: body.child("Role").map_or(Ok(before.role), |role| referred(role, Kind::Role))?,
        limits: limits(&body, before.limits)?,
    };
    if spec != before {
        user = user::edit(ask.d(), &ask.actor, id, user.version, spec).await?;
    }
    let said = besides(&body, &user.besides);
    if said != user.besides {
        user = user::keep(ask.d(), &ask.actor, id, said).await?;
    }
    if let Some(password) = body.child("Password").map(|p| &p.text).filter(|p| !p.is_empty()) {
        user::reset_password(ask.d(), &ask.actor, id, Password::new(password)).await?;
    }
    let enabled = match body.flag("IsEnabled")? {
        None if whole(&body) => false,
        other => other.unwrap_or(user.enabled),
    };
    if enabled != user.enabled {
        user = user::set_enabled(ask.d(), &ask.actor, id, enabled).await?;
    }
    Ok(render(&ask, &user))
}

/// What a client leaves out stays.
fn besides(body: &Element, now: &UserBesides) -> UserBesides {
    let text = |name: &str, now: &str| body.child(name).map_or(now, |c| c.text.trim()).to_owned();
    UserBesides {
        description: text("Description", &now.description),
        telephone: text("Telephone", &now.telephone),
        messenger: text("IM", &now.messenger),
    }
}

/// Does it say more of the user than a change would?
fn whole(body: &Element) -> bool {
    body.children.iter().any(|c| !matches!(c.name.as_str(), "IsEnabled" | "Role" | "Password" | "Link"))
}

/// There is one limit of VMs, whether they run or not, and both quotas show it. The one that a client changes is the new one;
/// 0 is none.
fn limits(body: &Element, before: Limits) -> Result<Limits> {
    let now = before.vms.unwrap_or(0);
    let stored = body.number::<i64>("StoredVmQuota")?.filter(|n| *n != now);
    let deployed = body.number::<i64>("DeployedVmQuota")?.filter(|n| *n != now);
    let vms = match (stored, deployed) {
        (None, None) => return Ok(before),
        (Some(a), Some(b)) if a != b && a != 0 && b != 0 => {
            let why = "VMs have one limit here, whether they run or not: give StoredVmQuota and DeployedVmQuota alike, or \
                       one of them.";
            return Err(Error::BadRequest(why.into()));
        }
        (Some(a), Some(b)) => a.max(b),
        (Some(one), None) | (None, Some(one)) => one,
    };
    Ok(Limits { vms: Some(vms).filter(|n| *n != 0), ..before })
}

/// What they own stays, and is listed as nobody's; a client that wants it takes it over first.
async fn delete(ask: Ask) -> Result<Answer> {
    user::delete(ask.d(), &ask.actor, ask.id(Kind::User)?, None).await?;
    Ok(Answer::nothing())
}

async fn take_ownership(ask: Ask) -> Result<Answer> {
    owner::take_over(ask.d(), &ask.actor, ask.id(Kind::User)?).await?;
    Ok(Answer::nothing())
}

/// Nobody is ever locked: who fails too often waits a while.
async fn unlock(ask: Ask) -> Result<Answer> {
    user::get(ask.d(), &ask.actor, ask.id(Kind::User)?).await?;
    Ok(Answer::nothing())
}

async fn no_groups(ask: Ask) -> Result<Answer> {
    let name = ask.xml("Group")?.word("name").map(shown).unwrap_or_default();
    Err(Error::BadRequest(format!(
        "Groups are not kept here, so “{name}” is not either: the settings of the identity provider say which of its groups \
         have which role."
    )))
}

fn render(ask: &Ask, user: &User) -> Answer {
    let (base, actor, href) = (ask.base(), &ask.actor, ask.base().user(user.id));
    let may = |doing| actor.may(doing, Resource::Of(user.org)) && can::user(user, doing, actor.user).is_ok();
    let attributes: [(&str, &dyn Display); 4] =
        [("name", &user.name), ("id", &user.id.urn()), ("href", &href), ("type", &media::ADMIN_USER)];
    let quota = user.limits.vms.unwrap_or(0);
    let text = document("User", &attributes, |w| {
        link(w, "up", base.admin_org(user.org), media::ADMIN_ORG);
        if may(Action::UserEdit) {
            link(w, "edit", &href, media::ADMIN_USER);
            action(w, "takeOwnership", format_args!("{href}/action/takeOwnership"));
        }
        if may(Action::UserDelete) {
            action(w, "remove", &href);
        }
        w.text("Description", &user.besides.description);
        w.text("FullName", &user.full_name);
        w.text("EmailAddress", &user.email);
        w.text("Telephone", &user.besides.telephone);
        w.text("IsEnabled", user.enabled);
        w.text("IsLocked", false);
        w.text("IM", &user.besides.messenger);
        w.text("NameInSource", &user.name);
        w.text("IsExternal", !user.local());
        w.text("ProviderType", if user.local() { "INTEGRATED" } else { "OAUTH" });
        w.text("IsGroupRole", false);
        w.text("StoredVmQuota", quota);
        w.text("DeployedVmQuota", quota);
        reference(w, "Role", base.role(user.role), user.role.urn(), &user.role_name, media::ADMIN_ROLE);
        w.el("GroupReferences", &[], |_| {});
    });
    Answer::xml(media::ADMIN_USER, text)
}
