//! Who asks: the session cookie, the session behind it, and the user behind that, looked up anew for every request, so
//! that a disabled user or a changed role counts at once on every replica.
use crate::{
    AppState,
    edge::{ClientAddr, OwnOrigin, RequestContext},
};
use app::portal::Visitor;
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use domain::{Domain, Store, session};
use model::{Error, Origin, RoleId, UserId, Via};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, sync::Arc};
use store::SessionRow;
use tower_sessions::{
    Session, SessionStore,
    session::{Id, Record},
    session_store,
};

/// Over https the browser itself makes sure that no other host sets or gets it.
fn cookie_name(https: bool) -> &'static str {
    if https { "__Host-session" } else { "session" }
}

/// What the database knows a session by: whoever reads the table can't use it.
pub fn session_hash(id: &Id) -> Vec<u8> {
    Sha256::digest(id.0.to_be_bytes()).to_vec()
}

/// Puts the visitor and the session into the request, and the cookie into the answer.
pub async fn attach(State(state): State<AppState>, mut req: Request, next: Next) -> Response {
    let domain = &state.domain;
    let context = req.extensions().get::<RequestContext>().cloned();
    let https = context.as_ref().is_some_and(RequestContext::is_https);
    let id = cookie(req.headers(), cookie_name(https));
    let origin = Origin {
        via: Via::Portal,
        address: req.extensions().get::<ClientAddr>().map(|a| a.0.to_string()).unwrap_or_default(),
        request_id: context.as_ref().map(|c| c.id().to_owned()).unwrap_or_default(),
    };
    let base = req.extensions().get::<OwnOrigin>().map(|own| own.0.to_string());
    let base = base.unwrap_or_else(|| "http://localhost".into());
    let mut visitor = Visitor { origin: origin.clone(), https, base, ..Visitor::default() };
    if let Some(id) = &id {
        let hash = session_hash(id);
        match session::who(domain, &hash, origin, by_hand(&req)).await {
            Ok(actor) => visitor.actor = actor,
            Err(e) => visitor.trouble = Some(e),
        }
        visitor.session_hash = hash;
    }
    if let (Some(context), Some(actor)) = (&context, &visitor.actor)
        && let Some(user) = actor.user
    {
        context.set_actor(crate::edge::Actor { user: user.0, org: actor.org_name.clone() });
    }
    let session = Session::new(id, Arc::new(Sessions(domain.clone())), None);
    req.extensions_mut().insert(visitor);
    req.extensions_mut().insert(session.clone());
    let mut res = next.run(req).await;
    if let Some(cookie) = cookie_for(&session, id, https).await {
        res.headers_mut().append(header::SET_COOKIE, cookie);
    }
    res
}

/// Does it show that somebody is there? Streams and pages that refresh themselves go on in an empty room.
fn by_hand(req: &Request) -> bool {
    req.uri().path() != "/events" && !req.headers().contains_key("x-refresh")
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<Id> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|v| v.to_str().ok());
    let mut pairs = all.flat_map(|v| v.split(';')).filter_map(|c| c.trim().split_once('='));
    pairs.find(|(k, _)| *k == name).and_then(|(_, v)| v.parse().ok())
}

/// A cookie where the session is new or has ended; otherwise the browser has the right one already.
async fn cookie_for(session: &Session, had: Option<Id>, https: bool) -> Option<HeaderValue> {
    let name = cookie_name(https);
    let secure = if https { "; Secure" } else { "" };
    let text = match session.id() {
        Some(id) if Some(id) == had => return None,
        // ends with the browser: how long it lasts on the server is written there
        Some(id) => format!("{name}={id}; Path=/; HttpOnly; SameSite=Lax{secure}"),
        None if had.is_some() => format!("{name}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0{secure}"),
        None => return None,
    };
    HeaderValue::from_str(&text).ok()
}

/// tower-sessions' store on our own table.
#[derive(Clone)]
struct Sessions(Domain);

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

impl Sessions {
    fn store(&self) -> &Store {
        &self.0.store
    }
}

fn row(record: &Record) -> session_store::Result<SessionRow> {
    let part = |name: &str| record.data.get(name).cloned().unwrap_or_default();
    let user: Option<UserId> = serde_json::from_value(part("user")).map_err(encode)?;
    let roles: Option<Vec<RoleId>> = serde_json::from_value(part("roles")).map_err(encode)?;
    let text = |name: &str| part(name).as_str().unwrap_or_default().to_owned();
    Ok(SessionRow {
        user,
        roles: roles.unwrap_or_default(),
        data: serde_json::to_value(&record.data).map_err(encode)?,
        address: text("address"),
        agent: text("agent"),
        expires_at: record.expiry_date,
    })
}

fn encode(e: serde_json::Error) -> session_store::Error {
    session_store::Error::Encode(e.to_string())
}

fn backend(e: Error) -> session_store::Error {
    session_store::Error::Backend(e.to_string())
}

impl SessionStore for Sessions {
    fn create<'a, 'b, 't>(&'a self, record: &'b mut Record) -> Answer<'t, ()>
    where
        'a: 't,
        'b: 't,
        Self: 't,
    {
        Box::pin(async move {
            let row = row(record)?;
            while !self.store().session_create(&session_hash(&record.id), &row, self.0.now()).await.map_err(backend)? {
                record.id = Id::default();
            }
            Ok(())
        })
    }

    fn save<'a, 'b, 't>(&'a self, record: &'b Record) -> Answer<'t, ()>
    where
        'a: 't,
        'b: 't,
        Self: 't,
    {
        Box::pin(
            async move { self.store().session_save(&session_hash(&record.id), &row(record)?).await.map_err(backend) },
        )
    }

    fn load<'a, 'b, 't>(&'a self, id: &'b Id) -> Answer<'t, Option<Record>>
    where
        'a: 't,
        'b: 't,
        Self: 't,
    {
        Box::pin(async move {
            let found = self.store().session_load(&session_hash(id), self.0.now()).await.map_err(backend)?;
            let Some((data, expiry_date)) = found else { return Ok(None) };
            let data: HashMap<String, serde_json::Value> =
                serde_json::from_value(data).map_err(|e| session_store::Error::Decode(e.to_string()))?;
            Ok(Some(Record { id: *id, data, expiry_date }))
        })
    }

    fn delete<'a, 'b, 't>(&'a self, id: &'b Id) -> Answer<'t, ()>
    where
        'a: 't,
        'b: 't,
        Self: 't,
    {
        Box::pin(async move { self.store().session_delete(&session_hash(id)).await.map_err(backend) })
    }
}

/// What the trait's `async_trait` methods return.
type Answer<'t, T> = std::pin::Pin<Box<dyn Future<Output = session_store::Result<T>> + Send + 't>>;
