//! Roles and the rights in them.
use crate::{
    answer::Answer,
    ask::{Ask, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        href::{right_id, urn},
        media,
    },
};
use domain::role;
use model::{
    Action, Error, Kind, OrgId, Result, Right, Rights, RoleId, can,
    decide::{Resource, authorize},
    role::{Role, RoleForm},
};
use std::fmt::Display;
use uuid::Uuid;
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/admin/org/{id}/roles", create)
        .get("/api/admin/role/{id}", get)
        .put("/api/admin/role/{id}", edit)
        .delete("/api/admin/role/{id}", delete)
        .post("/api/admin/role/{id}/action/linkToTemplate", no_templates)
        .post("/api/admin/role/{id}/action/unlinkFromTemplate", no_templates)
        .get("/api/admin/right/{id}", right)
}

async fn found(ask: &Ask) -> Result<Role> {
    role::get(ask.d(), &ask.actor, ask.id(Kind::Role)?, ask.context).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let role = found(&ask).await?;
    Ok(render(&ask, &role))
}

fn form(body: &Element) -> Result<RoleForm> {
    let rights = body.child("RightReferences").into_iter().flat_map(|all| all.all("RightReference"));
    Ok(RoleForm {
        name: body.need("name")?.to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        rights: rights.map(one_right).collect::<Result<Rights>>()?,
    })
}

/// By its address, or by its name.
pub(crate) fn one_right(e: &Element) -> Result<Right> {
    let by_id = e.id().and_then(|id| Right::ALL.iter().copied().find(|r| right_id(r.name()) == id));
    let found = by_id.or_else(|| e.attr("name").and_then(Right::parse));
    let called = e.attr("name").or_else(|| e.attr("href")).unwrap_or_default();
    found.ok_or_else(|| Error::BadRequest(format!("There is no right “{}”.", shown(called))))
}

async fn create(ask: Ask) -> Result<Answer> {
    let org: OrgId = ask.id(Kind::Org)?;
    let form = form(&ask.xml("Role")?)?;
    let made = role::create(ask.d(), &ask.actor, org, form).await?;
    Ok(render(&ask, &made).created(ask.base().role(made.id)))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: RoleId = ask.id(Kind::Role)?;
    let form = form(&ask.xml("Role")?)?;
    let before = found(&ask).await?;
    let edited = role::edit(ask.d(), &ask.actor, id, before.version, form).await?;
    Ok(render(&ask, &edited))
}

async fn delete(ask: Ask) -> Result<Answer> {
    role::delete(ask.d(), &ask.actor, ask.id(Kind::Role)?).await?;
    Ok(Answer::nothing())
}

async fn no_templates(ask: Ask) -> Result<Answer> {
    let role = found(&ask).await?;
    Err(Error::NotNow(match role.predefined() {
        true => format!("{} is predefined: it is the same everywhere, and can't be anything else.", role.name),
        false => format!("{} is the organization's own: it follows no other role. Edit its rights instead.", role.name),
    }))
}

/// A right by itself. The provider's are seen by the provider.
async fn right(ask: Ask) -> Result<Answer> {
    authorize(&ask.actor, Action::RoleList, Resource::Of(ask.actor.org))?;
    let id = Uuid::try_parse(ask.part("id").rsplit(':').next().unwrap_or_default()).ok();
    let mut seen = Right::ALL.iter().copied().filter(|r| ask.actor.provider || r.for_tenants());
    let right = seen.find(|r| Some(right_id(r.name())) == id).ok_or(Error::NotFound(Kind::Right))?;
    let id = right_id(right.name());
    let attributes: [(&str, &dyn Display); 4] = [
        ("name", &right.name()),
        ("id", &urn("right", id)),
        ("href", &ask.base().right(id)),
        ("type", &media::ADMIN_RIGHT),
    ];
    let text = document("Right", &attributes, |w| {
        w.text("Description", right.name());
        w.text("Category", right.category());
        w.text("BundleKey", "com.vmware.vcloud.undefined.key");
    });
    Ok(Answer::xml(media::ADMIN_RIGHT, text))
}

fn render(ask: &Ask, role: &Role) -> Answer {
    let (base, actor, href) = (ask.base(), &ask.actor, ask.base().role(role.id));
    let org = role.org.unwrap_or(ask.context.unwrap_or(actor.org));
    let may = |doing| actor.may(doing, Resource::Of(org)) && can::role(role, doing).is_ok();
    let attributes: [(&str, &dyn Display); 4] =
        [("name", &role.name), ("id", &role.id.urn()), ("href", &href), ("type", &media::ADMIN_ROLE)];
    let text = document("Role", &attributes, |w| {
        link(w, "up", base.admin_org(org), media::ADMIN_ORG);
        if may(Action::RoleEdit) {
            link(w, "edit", &href, media::ADMIN_ROLE);
        }
        if may(Action::RoleDelete) {
            action(w, "remove", &href);
        }
        w.text("Description", &role.description);
        w.el("RightReferences", &[], |w| {
            for right in role.rights.iter() {
                let id = right_id(right.name());
                reference(w, "RightReference", base.right(id), urn("right", id), right.name(), media::ADMIN_RIGHT);
            }
        });
    });
    Answer::xml(media::ADMIN_ROLE, text)
}
