//! With whom vApps and catalogs are shared. VCD knows users, everyone and, of catalogs, other organizations. Roles, which ours can be
//! shared with too, have no form there: a client does not see them, and they stay when it writes the rest back.
use crate::{
    answer::Answer,
    ask::{Ask, referred, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, reference},
        media,
    },
};
use domain::{
    catalog,
    share::{self, On},
    vapp,
};
use model::{
    CatalogId, Error, Kind, OrgId, Result, UserId, VappId,
    catalog::CatalogSpec,
    share::{Access, Grant, Share, Subject},
};
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vapp-{id}/controlAccess", get_vapp)
        .post("/api/vApp/vapp-{id}/action/controlAccess", set_vapp)
        .get("/api/catalog/{id}/controlAccess", get_catalog)
        .post("/api/catalog/{id}/action/controlAccess", set_catalog)
        .get("/api/admin/catalog/{id}/controlAccess", get_catalog)
        .post("/api/admin/catalog/{id}/action/controlAccess", set_catalog)
        .get("/api/org/{org}/catalog/{id}/controlAccess", get_catalog)
        .post("/api/org/{org}/catalog/{id}/action/controlAccess", set_catalog)
}

async fn get_vapp(ask: Ask) -> Result<Answer> {
    let on = On::Vapp(ask.id(Kind::Vapp)?);
    let shares = share::get(ask.d(), &ask.actor, on).await?;
    Ok(answer(&ask, &shares, &[]))
}

async fn set_vapp(ask: Ask) -> Result<Answer> {
    let id: VappId = ask.id(Kind::Vapp)?;
    let wanted = read(&ask.xml("ControlAccessParams")?)?;
    if !wanted.orgs.is_empty() {
        return Err(Error::BadRequest("A vApp is shared with users of its organization, not with others.".into()));
    }
    let version = vapp::get(ask.d(), &ask.actor, id).await?.version;
    let shares = write(&ask, On::Vapp(id), version, wanted.grants).await?;
    Ok(answer(&ask, &shares, &[]))
}

async fn get_catalog(ask: Ask) -> Result<Answer> {
    let id = catalog_id(&ask).await?;
    let mut shares = share::get(ask.d(), &ask.actor, On::Catalog(id)).await?;
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    if found.org != ask.actor.org && !ask.actor.provider {
        // with whom of its own organization another one shares it is nobody else's to know; that all here may read it is
        let all = Grant { subject: Subject::Everyone, access: Access::ReadOnly };
        shares = vec![Share { grant: all, name: String::new() }];
    }
    let orgs = orgs(&ask, id).await?;
    Ok(answer(&ask, &shares, &orgs))
}

async fn set_catalog(ask: Ask) -> Result<Answer> {
    let id = catalog_id(&ask).await?;
    let wanted = read(&ask.xml("ControlAccessParams")?)?;
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    let mut version = found.version;
    // others than the provider do not see with which organizations it is shared, and leave that as it is
    if ask.actor.provider || !wanted.orgs.is_empty() {
        let mut sorted = wanted.orgs.clone();
        sorted.sort_unstable();
        let mut now = found.shared_to.clone();
        now.sort_unstable();
        if sorted != now {
            let spec = CatalogSpec { shared_to: sorted, ..CatalogSpec::from(&found) };
            version = catalog::edit(ask.d(), &ask.actor, id, version, spec).await?.version;
        }
    }
    let shares = write(&ask, On::Catalog(id), version, wanted.grants).await?;
    let orgs = orgs(&ask, id).await?;
    Ok(answer(&ask, &shares, &orgs))
}

/// The catalog of the address; where that names an organization too, it is the catalog's own.
async fn catalog_id(ask: &Ask) -> Result<CatalogId> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    if !ask.part("org").is_empty() {
        let org: OrgId = ask.id_in("org", Kind::Org)?;
        if catalog::get(ask.d(), &ask.actor, id).await?.org != org {
            return Err(Error::NotFound(Kind::Catalog));
        }
    }
    Ok(id)
}

/// The organizations that a catalog is shared to one by one, for the provider.
async fn orgs(ask: &Ask, id: CatalogId) -> Result<Vec<(OrgId, String)>> {
    if !ask.actor.provider {
        return Ok(Vec::new());
    }
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    catalog::shared_to(ask.d(), &ask.actor, &found).await
}

async fn write(ask: &Ask, on: On, version: i64, mut grants: Vec<Grant>) -> Result<Vec<Share>> {
    let now = share::get(ask.d(), &ask.actor, on).await?;
    grants.extend(now.iter().map(|s| s.grant).filter(|g| matches!(g.subject, Subject::Role(_))));
    share::set(ask.d(), &ask.actor, on, version, grants).await?;
    share::get(ask.d(), &ask.actor, on).await
}

struct Wanted {
    grants: Vec<Grant>,
    orgs: Vec<OrgId>,
}

fn read(body: &Element) -> Result<Wanted> {
    let mut wanted = Wanted { grants: Vec::new(), orgs: Vec::new() };
    if body.on("IsSharedToEveryone")? {
        let access = body.word("EveryoneAccessLevel").map_or(Ok(Access::ReadOnly), level)?;
        wanted.grants.push(Grant { subject: Subject::Everyone, access });
    }
    for setting in body.child("AccessSettings").into_iter().flat_map(|all| all.all("AccessSetting")) {
        let subject = setting
            .child("Subject")
            .ok_or_else(|| Error::BadRequest("An AccessSetting names nobody: it has no Subject.".into()))?;
        let access = level(setting.need("AccessLevel")?)?;
        match kind(subject) {
            Some(Kind::Org) if access != Access::ReadOnly => {
                let why = "Other organizations read what is shared with them, and no more: AccessLevel is ReadOnly.";
                return Err(Error::BadRequest(why.into()));
            }
            Some(Kind::Org) => wanted.orgs.push(referred(subject, Kind::Org)?),
            Some(_) => {
                let user: UserId = referred(subject, Kind::User)?;
                wanted.grants.push(Grant { subject: Subject::User(user), access });
            }
            None => {
                let why = "Things are shared with users and organizations. There are no groups here: share with a role \
                           on the portal instead.";
                return Err(Error::BadRequest(why.into()));
            }
        }
    }
    Ok(wanted)
}

/// What a subject is, by its type, its address or its id: a user or an organization.
fn kind(subject: &Element) -> Option<Kind> {
    let words = [subject.attr("type"), subject.attr("href"), subject.attr("id")];
    let has = |word: &str| words.iter().flatten().any(|text| text.contains(word));
    match () {
        () if has("admin.group+xml") || has("/group/") || has(":group:") => None,
        () if has("organization+xml") || has("vcloud.org+xml") || has("/org/") || has(":org:") => Some(Kind::Org),
        () => Some(Kind::User),
    }
}

fn level(word: &str) -> Result<Access> {
    Access::parse(word).ok_or_else(|| {
        Error::BadRequest(format!("“{}” is no level of access: ReadOnly, Change and FullControl are.", shown(word)))
    })
}

fn answer(ask: &Ask, shares: &[Share], orgs: &[(OrgId, String)]) -> Answer {
    let base = ask.base();
    let everyone = shares.iter().find(|s| s.grant.subject == Subject::Everyone);
    let users: Vec<(UserId, &Share)> = shares.iter().filter_map(|s| Some((s.grant.subject.user()?, s))).collect();
    let text = document("ControlAccessParams", &[("type", &media::CONTROL_ACCESS)], |w| {
        w.text("IsSharedToEveryone", everyone.is_some());
        if let Some(share) = everyone {
            w.text("EveryoneAccessLevel", share.grant.access.key());
        }
        // clients take it for shared where this stands, even empty
        if users.is_empty() && orgs.is_empty() {
            return;
        }
        w.el("AccessSettings", &[], |w| {
            for (user, share) in &users {
                w.el("AccessSetting", &[], |w| {
                    reference(w, "Subject", base.user(*user), user.urn(), &share.name, media::ADMIN_USER);
                    w.text("AccessLevel", share.grant.access.key());
                });
            }
            for (org, name) in orgs {
                w.el("AccessSetting", &[], |w| {
                    reference(w, "Subject", base.admin_org(*org), org.urn(), name, media::ADMIN_ORG);
                    w.text("AccessLevel", Access::ReadOnly.key());
                });
            }
        });
    });
    Answer::xml(media::CONTROL_ACCESS, text)
}
