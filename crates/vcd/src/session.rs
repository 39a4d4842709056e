//! Signing in and out: versions, sessions of both generations, and who is behind a token.
use crate::{
    Vcd,
    answer::Answer,
    ask::{Ask, Open},
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    token::Claims,
    wire::{
        doc::{action, document, link, named_link},
        media,
    },
};
use axum::http::{HeaderName, Method};
use base64::{Engine, prelude::BASE64_STANDARD};
use domain::{
    org,
    session::{self, Opened, SignedIn},
};
use model::{Actor, Error, OrgId, Result, org::PROVIDER, query::last_uuid, user::Password};
use serde_json::{Value, json};
use uuid::Uuid;
use xml::Writer;

/// pyvcloud needs exactly 36.0, govcd and Terraform exactly 37.0. From 40.0 on govcd takes the server for another product.
pub(crate) const VERSIONS: [&str; 9] = ["36.0", "36.1", "36.2", "36.3", "37.0", "37.1", "38.0", "38.1", "39.0"];

const ACCESS_TOKEN: HeaderName = HeaderName::from_static("x-vmware-vcloud-access-token");
const TOKEN_TYPE: HeaderName = HeaderName::from_static("x-vmware-vcloud-token-type");
const AUTHORIZATION: HeaderName = HeaderName::from_static("x-vcloud-authorization");

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .open(Method::GET, "/api/versions", versions)
        .open(Method::POST, "/api/sessions", sign_in_xml)
        .open(Method::POST, "/cloudapi/1.0.0/sessions", |open| sign_in(open, Door::Tenant))
        .told(Told::one("Sign in with user@org and a password; the access token is in a header", "Session"))
        .open(Method::POST, "/cloudapi/1.0.0/sessions/provider", |open| sign_in(open, Door::Provider))
        .told(Told::one("The same for the provider's own users", "Session"))
        .get("/api/session", current_xml)
        .delete("/api/session", sign_out)
        .delete("/api/sessions", sign_out)
        .get("/cloudapi/1.0.0/sessions/current", current)
        .told(Told::one("The session that asks", "Session"))
        .get("/cloudapi/1.0.0/sessions/{id}", by_id)
        .told(Told::one("The same by its id", "Session"))
        .delete("/cloudapi/1.0.0/sessions", sign_out)
        .told(Told::done("Sign out"))
        .delete("/cloudapi/1.0.0/sessions/provider", sign_out)
        .told(Told::done("Sign out"))
        .delete("/cloudapi/1.0.0/sessions/current", sign_out)
        .told(Told::done("Sign out"))
        .delete("/cloudapi/1.0.0/sessions/{id}", end_by_id)
        .told(Told::done("Sign out"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let properties = vec![
        ("id", Is::Urn),
        ("site", Is::Ref),
        ("user", Is::Ref),
        ("org", Is::Ref),
        ("operatingOrg", Is::Ref),
        ("location", Is::Text),
        ("roles", Is::Texts),
        ("roleRefs", Is::Refs),
        ("sessionIdleTimeoutMinutes", Is::Int),
    ];
    vec![sent("Session", properties)]
}

async fn versions(open: Open) -> Result<Answer> {
    let mut w = Writer::document();
    let base = &open.base;
    w.el("SupportedVersions", &[("xmlns", &"http://www.vmware.com/vcloud/versions")], |w| {
        for version in VERSIONS {
            w.el("VersionInfo", &[("deprecated", &false)], |w| {
                w.text("Version", version);
                w.text("LoginUrl", base.cloudapi("1.0.0/sessions"));
                w.text("ProviderLoginUrl", base.cloudapi("1.0.0/sessions/provider"));
            });
        }
    });
    Ok(Answer::xml("text/xml", w.into_string()))
}

/// Which users a door is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Tenant,
    Provider,
    Any,
}

/// `user@org` and the password, as Basic says them. User names may hold an @.
fn credentials(open: &Open) -> Result<(String, String, Password)> {
    let basic = open.header("authorization").and_then(|v| v.split_once(' '));
    let (_, encoded) = basic.filter(|(way, _)| way.eq_ignore_ascii_case("basic")).ok_or(Error::SignInNeeded)?;
    let bytes = BASE64_STANDARD.decode(encoded.trim()).map_err(|_| Error::BadCredentials)?;
    let text = String::from_utf8(bytes).map_err(|_| Error::BadCredentials)?;
    let (who, password) = text.split_once(':').ok_or(Error::BadCredentials)?;
    let (user, org) = who.rsplit_once('@').ok_or(Error::BadCredentials)?;
    Ok((user.to_owned(), org.to_owned(), Password::new(password)))
}

/// Whoever comes by a door that is not theirs is told the same as with a wrong password.
async fn enter(open: &Open, door: Door) -> Result<SignedIn> {
    let (user, org, password) = credentials(open)?;
    let provider = org.eq_ignore_ascii_case(PROVIDER);
    if door != Door::Any && provider != (door == Door::Provider) {
        return Err(Error::BadCredentials);
    }
    session::sign_in(open.d(), &org, &user, &password, open.origin.clone()).await
}

/// An access token for somebody who has proven who they are.
async fn token_for(open: &Open, who: &SignedIn) -> Result<(String, Fresh)> {
    // without keys no session is left behind
    tokens(&open.vcd)?;
    let agent = open.header("user-agent").unwrap_or_default();
    let opened = session::open(open.d(), who, &open.origin.address, agent).await?;
    let (token, _) = access_token(open, who, &opened)?;
    let hash = session::hash_of(&opened.secret);
    let actor = session::who(open.d(), &hash, open.origin.clone(), false).await?.ok_or(Error::SignInNeeded)?;
    Ok((token, Fresh { actor, session: hash }))
}

/// The token of a session, and for how many seconds it is good.
pub(crate) fn access_token(open: &Open, who: &SignedIn, opened: &Opened) -> Result<(String, i64)> {
    let now = open.d().now();
    let claims = Claims {
        jti: opened.secret.clone(),
        sub: who.user.urn(),
        org: who.org_name.clone(),
        iat: now.unix_timestamp(),
        exp: opened.ends_at.unix_timestamp(),
    };
    Ok((tokens(&open.vcd)?.issue(&claims)?, (opened.ends_at - now).whole_seconds()))
}

/// A session that was opened just now.
struct Fresh {
    actor: Actor,
    session: Vec<u8>,
}

fn tokens(vcd: &Vcd) -> Result<&crate::Tokens> {
    vcd.tokens.as_deref().ok_or_else(|| Error::Internal("auth.secret is not set, so no token can be signed".into()))
}

async fn sign_in(open: Open, door: Door) -> Result<Answer> {
    let who = enter(&open, door).await?;
    let (token, opened) = token_for(&open, &who).await?;
    let own = (opened.actor.org, opened.actor.org_name.as_str());
    let body = as_json(&open, &opened.actor, &opened.session, own);
    Ok(with_token(Answer::json(&body), token))
}

async fn sign_in_xml(open: Open) -> Result<Answer> {
    let who = enter(&open, Door::Any).await?;
    let (token, opened) = token_for(&open, &who).await?;
    Ok(with_token(as_xml(&open, &opened.actor), token))
}

fn with_token(answer: Answer, token: String) -> Answer {
    answer.with(ACCESS_TOKEN, token.clone()).with(TOKEN_TYPE, "Bearer".into()).with(AUTHORIZATION, token)
}

/// The token of a request, by whichever header it came.
fn bearer(open: &Open) -> Option<&str> {
    let authorization = open.header("authorization").and_then(|v| v.split_once(' '));
    let bearer = authorization.filter(|(way, _)| way.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    bearer.or_else(|| open.header("x-vmware-vcloud-access-token")).or_else(|| open.header("x-vcloud-authorization"))
}

/// Who is behind the token of a request, as of this moment.
pub(crate) async fn who(open: &Open) -> Result<(Actor, Vec<u8>)> {
    behind(open, bearer(open).ok_or(Error::SignInNeeded)?).await
}

pub(crate) async fn behind(open: &Open, token: &str) -> Result<(Actor, Vec<u8>)> {
    let claims = tokens(&open.vcd)?.read(token, open.d().now()).ok_or(Error::SignInNeeded)?;
    let hash = session::hash_of(&claims.jti);
    let actor = session::who(open.d(), &hash, open.origin.clone(), true).await?.ok_or(Error::SignInNeeded)?;
    Ok((actor, hash))
}

/// What a session is called: made of the hash that the database has, so it tells nothing.
fn session_id(hash: &[u8]) -> Uuid {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = *from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// `within`: the organization that is acted in.
fn as_json(open: &Open, actor: &Actor, session: &[u8], within: (OrgId, &str)) -> Value {
    json!({
        "id": format!("urn:vcloud:session:{}", session_id(session)),
        "site": {"name": "SSVirt", "id": null},
        "user": {"name": actor.name, "id": actor.user.map(|u| u.urn())},
        "org": {"name": actor.org_name, "id": actor.org.urn()},
        "operatingOrg": {"name": within.1, "id": within.0.urn()},
        "location": open.base.0,
        "roles": [actor.role_name],
        "roleRefs": [{"name": actor.role_name, "id": actor.role.urn()}],
        "sessionIdleTimeoutMinutes": open.d().sessions.idle.whole_minutes(),
    })
}

fn as_xml(open: &Open, actor: &Actor) -> Answer {
    let base = &open.base;
    let attributes: [(&str, &dyn std::fmt::Display); 6] = [
        ("org", &actor.org_name),
        ("user", &actor.name),
        ("userId", &actor.user.map(|u| u.urn()).unwrap_or_default()),
        ("roles", &actor.role_name),
        ("href", &base.api("session")),
        ("type", &media::SESSION),
    ];
    let text = document("Session", &attributes, |w| {
        link(w, "down", base.api("org/"), media::ORG_LIST);
        action(w, "remove", base.api("session"));
        named_link(w, "down", base.org(actor.org), media::ORG, &actor.org_name);
        link(w, "down", base.api("admin/"), media::ADMIN_VCLOUD);
        link(w, "down", base.api("query"), media::QUERY_LIST);
        link(w, "entityResolver", base.api("entity/"), media::ENTITY);
        link(w, "down:extensibility", base.api("extensibility"), media::API_EXTENSIBILITY);
        if actor.provider {
            link(w, "down", base.api("admin/extension"), media::EXTENSION);
        }
    });
    Answer::xml(media::SESSION, text)
}

async fn current_xml(ask: Ask) -> Result<Answer> {
    // clients that came with x-vcloud-authorization keep what they find here
    let token = bearer(&ask.open).unwrap_or_default().to_owned();
    Ok(as_xml(&ask.open, &ask.actor).with(AUTHORIZATION, token))
}

async fn current(ask: Ask) -> Result<Answer> {
    let within = match ask.context {
        Some(org) => org::get(ask.d(), &ask.actor, org).await?.name,
        None => ask.actor.org_name.clone(),
    };
    let org = ask.context.unwrap_or(ask.actor.org);
    Ok(Answer::json(&as_json(&ask.open, &ask.actor, &ask.session, (org, &within))))
}

/// One's own: of others' sessions nobody learns anything.
fn own(ask: &Ask) -> Result<()> {
    match last_uuid(ask.part("id")) == Some(session_id(&ask.session)) {
        true => Ok(()),
        false => Err(Error::NotFound(model::Kind::Session)),
    }
}

async fn by_id(ask: Ask) -> Result<Answer> {
    own(&ask)?;
    current(ask).await
}

async fn sign_out(ask: Ask) -> Result<Answer> {
    session::close(ask.d(), &ask.actor, &ask.session).await?;
    Ok(Answer::nothing())
}

async fn end_by_id(ask: Ask) -> Result<Answer> {
    own(&ask)?;
    sign_out(ask).await
}
