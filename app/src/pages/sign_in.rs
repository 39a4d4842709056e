//! Signing in and out. A form sent after the session ended is kept over the sign-in, so that nothing typed is lost.
use crate::{
    parts::Query,
    portal::{Ask, Place, Portal, Routes, Values, respond_public},
    shell::{Bare, Door},
};
use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::session::{self, SignedIn};
use leptos::prelude::*;
use leptos_meta::{Meta, Title};
use model::{Error, Result, RoleId, user::Password};
use serde::Serialize;
use time::Duration;
use tower_sessions::{Expiry, Session};

/// Where single sign-on begins: `?org=…&next=…`.
pub const SSO_PATH: &str = "/sign-in/sso";
/// How long somebody may take at the identity provider.
pub const SSO_TIME: Duration = Duration::minutes(10);
/// The session's key for a form that waits for the sign-in.
const INTERRUPTED: &str = "interrupted";
/// Far longer than any form of ours; what is kept for a stranger has an end.
const LONGEST_FORM: usize = 64 << 10;

pub fn routes(r: Routes) -> Routes {
    let (show, enter, leave) = (r.portal(), r.portal(), r.portal());
    r.route(Method::GET, "/sign-in", get(async move |req| show_door(show, req).await))
        .route(Method::POST, "/sign-in", post(async move |req| sign_in(enter, req).await))
        .route(Method::POST, "/sign-out", post(async move |req| sign_out(leave, req).await))
}

async fn show_door(portal: Portal, req: Request<Body>) -> Response {
    let (mut parts, _) = req.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    if ask.visitor.actor.is_some() {
        return already_in(&ask);
    }
    respond_public(ask, parts, None, door).await
}

async fn door(ask: Ask) -> Result<AnyView> {
    let values = ask.form.as_ref().map(|f| f.values.clone()).unwrap_or_default();
    let returned = ask.form.is_some();
    let typed = |name: &str| if returned { values.text(name) } else { ask.query(name).to_owned() };
    // an address of a tenant's portal says which organization it is
    let from_next =
        || ask.query("next").strip_prefix("/tenant/").and_then(|p| p.split(['/', '?']).next()).unwrap_or_default();
    let mut org = typed("org");
    if org.is_empty() && !returned {
        org = from_next().to_owned();
    }
    let error = ask.form.as_ref().and_then(|f| f.error.as_ref()).map(|e| match e {
        Error::SignInNeeded => "Your session ended. Sign in, and you can go on with what you typed.".to_owned(),
        e => e.to_string(),
    });
    let hidden =
        ["resume_to", "resume_with"].map(|n| (n, values.text(n))).into_iter().filter(|(_, v)| !v.is_empty()).collect();
    let sso = ask.portal.domain.store.any_identity_provider().await?;
    Ok(view! { <Door org user=typed("user") next=typed("next") sso error hidden /> }.into_any())
}

async fn sign_in(portal: Portal, req: Request<Body>) -> Response {
    let (mut parts, body) = req.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    let values = match crate::portal::read_values(body).await {
        Ok(values) => values,
        Err(e) => return respond_public(ask, parts, None, move |_| std::future::ready(Err(e.clone()))).await,
    };
    if values.get("with") == "sso" {
        return leave_for_sso(ask, parts, values).await;
    }
    let password = Password::new(values.get("password"));
    let origin = ask.visitor.origin.clone();
    let result = session::sign_in(&ask.portal.domain, values.get("org"), values.get("user"), &password, origin).await;
    let result = match result {
        Ok(who) => {
            let interrupted = match Interrupted::read(&values) {
                None => Interrupted::kept(&ask).await,
                form => form,
            };
            begin(&ask, &who, &[]).await.map(|()| (who, interrupted))
        }
        Err(e) => Err(e),
    };
    match result {
        Ok((who, interrupted)) => go_on(ask, parts, &who, values.get("next"), interrupted).await,
        Err(e) => {
            let state = crate::portal::FormState { values, error: Some(e) };
            respond_public(ask, parts, Some(state), door).await
        }
    }
}

/// From the sign-in form to single sign-on. By a page that goes on by itself: a browser that follows our policy does not let
/// an answer to a form lead to another site.
async fn leave_for_sso(ask: Ask, parts: Parts, values: Values) -> Response {
    if let Some(form) = Interrupted::read(&values).filter(|form| form.with.len() <= LONGEST_FORM)
        && let Err(e) = keep_for_sso(&ask, INTERRUPTED, (form.to, form.with)).await
    {
        return refused(ask, parts, values.get("org"), values.get("next"), e).await;
    }
    let carried = ["org", "next"].map(|n| (n.to_owned(), values.text(n)));
    let to = Query::new(SSO_PATH, carried).href();
    let page = move |_| {
        let (refresh, to) = (format!("0; url={to}"), to.clone());
        let view = view! {
            <Meta http_equiv="refresh" content=refresh />
            <Bare title="Single sign-on">
                <h1>"On to your identity provider"</h1>
                <p>"You sign in there and come back."</p>
                <a class="btn primary" href=to>
                    "Go on"
                </a>
            </Bare>
        };
        std::future::ready(Ok(view.into_any()))
    };
    respond_public(ask, parts, None, page).await
}

/// Keeps something in the browser's session until it comes back from the identity provider. Nothing of a user who was here
/// before goes along.
pub async fn keep_for_sso(ask: &Ask, key: &str, value: impl Serialize) -> Result<()> {
    let session = ask.session.as_ref().ok_or_else(|| Error::Internal("no session layer".into()))?;
    let until = ask.portal.domain.now() + SSO_TIME;
    let keep = async |s: &Session| {
        if s.get_value("user").await?.is_some() {
            s.clear().await;
            s.cycle_id().await?;
        }
        s.insert(key, value).await?;
        s.set_expiry(Some(Expiry::AtDateTime(until)));
        s.save().await
    };
    keep(session).await.map_err(not_kept)
}

fn not_kept(e: tower_sessions::session::Error) -> Error {
    Error::Unavailable(format!("The session could not be kept: {e}"))
}

/// For somebody whom the identity provider vouched for: a new session, and on to where they wanted to be.
pub async fn enter(ask: Ask, parts: Parts, who: &SignedIn, roles: &[RoleId], next: &str) -> Response {
    let interrupted = Interrupted::kept(&ask).await;
    match begin(&ask, who, roles).await {
        Ok(()) => go_on(ask, parts, who, next, interrupted).await,
        Err(e) => refused(ask, parts, &who.org_name, next, e).await,
    }
}

/// The sign-in page with what went wrong on the way to or from an identity provider.
pub async fn refused(ask: Ask, parts: Parts, org: &str, next: &str, error: Error) -> Response {
    if let Error::Internal(why) = &error {
        tracing::error!(error = %why, "single sign-on failed");
    }
    let values = Values::from_pairs([("org", org.to_owned()), ("next", next.to_owned())]);
    respond_public(ask, parts, Some(crate::portal::FormState { values, error: Some(error) }), door).await
}

/// Where somebody goes who is signed in already.
pub fn already_in(ask: &Ask) -> Response {
    go(&after(ask, ask.query("next")))
}

async fn go_on(ask: Ask, parts: Parts, who: &SignedIn, next: &str, interrupted: Option<Interrupted>) -> Response {
    match interrupted {
        Some(Interrupted { to, with }) => {
            let with = Values::read(with.as_bytes());
            respond_public(ask, parts, None, move |_| std::future::ready(Ok(resume(&to, &with)))).await
        }
        None => go(&next_or(next, &home_of(who))),
    }
}

/// A form that was sent after the session had ended.
struct Interrupted {
    to: String,
    with: String,
}

impl Interrupted {
    fn read(values: &Values) -> Option<Interrupted> {
        let (to, with) = (values.text("resume_to"), values.text("resume_with"));
        own_path(&to).then_some(Interrupted { to, with })
    }

    /// What went along on the way to an identity provider.
    async fn kept(ask: &Ask) -> Option<Interrupted> {
        let (to, with) = ask.session.as_ref()?.get(INTERRUPTED).await.ok()??;
        Some(Interrupted { to, with })
    }
}

/// A new session for somebody who has proven who they are; the old id is of no use any more. `roles` is what the
/// identity provider's groups gave.
pub async fn begin(ask: &Ask, who: &SignedIn, roles: &[RoleId]) -> Result<()> {
    let session = ask.session.as_ref().ok_or_else(|| Error::Internal("no session layer".into()))?;
    let domain = &ask.portal.domain;
    let write = async |s: &Session| {
        s.clear().await;
        s.cycle_id().await?;
        s.insert("user", who.user).await?;
        s.insert("roles", roles).await?;
        s.insert("address", &ask.visitor.origin.address).await?;
        s.insert("agent", &ask.agent).await?;
        s.set_expiry(Some(Expiry::AtDateTime(domain.now() + domain.sessions.absolute)));
        s.save().await
    };
    write(session).await.map_err(not_kept)
}

async fn sign_out(portal: Portal, req: Request<Body>) -> Response {
    let (mut parts, _) = req.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    let ended = async {
        if let Some(actor) = &ask.visitor.actor {
            session::sign_out(&ask.portal.domain, actor).await?;
        }
        if let Some(s) = &ask.session {
            s.flush().await.map_err(|e| Error::Unavailable(format!("The session could not be ended: {e}")))?;
        }
        Ok::<(), Error>(())
    };
    match ended.await {
        Ok(()) => go("/sign-in"),
        Err(e) => respond_public(ask, parts, None, move |_| std::future::ready(Err::<AnyView, Error>(e.clone()))).await,
    }
}

/// A form came in and nobody is signed in: the sign-in page, with what was typed inside.
pub(crate) async fn resume_later(ask: Ask, parts: Parts, values: Values) -> Response {
    let typed: Vec<(&str, &str)> = values.shown().collect();
    let kept = serde_urlencoded::to_string(typed).unwrap_or_default();
    let values = Values::from_pairs([("resume_to", ask.path.clone()), ("resume_with", kept)]);
    let state = crate::portal::FormState { values, error: Some(Error::SignInNeeded) };
    respond_public(ask, parts, Some(state), door).await
}

/// After the sign-in: what was typed, to be sent again.
fn resume(to: &str, with: &Values) -> AnyView {
    let fields: Vec<(String, String)> = with.shown().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let seen: Vec<_> = fields.iter().filter(|(k, v)| k != "version" && !v.is_empty()).cloned().collect();
    let to = to.to_owned();
    view! {
        <Title text="Go on · SSVirt" />
        <main id="main" class="col">
            <form class="confirm" method="post" action=to>
                <h1>"You are signed in again"</h1>
                <p>"Your session had ended, so nothing was saved. What you typed is still here, except passwords and kubeconfigs."</p>
                <dl class="kv">
                    {seen.into_iter().map(|(k, v)| view! { <dt>{k.replace('_', " ")}</dt><dd>{v}</dd> }).collect_view()}
                </dl>
                {fields.into_iter().map(|(k, v)| view! { <input type="hidden" name=k value=v /> }).collect_view()}
                <footer>
                    <a class="btn" href="/">"Leave it"</a>
                    <button class="btn primary">"Send it now"</button>
                </footer>
            </form>
        </main>
    }
    .into_any()
}

fn home_of(who: &SignedIn) -> String {
    if who.org_name == model::org::PROVIDER { "/provider".into() } else { format!("/tenant/{}", who.org_name) }
}

fn after(ask: &Ask, next: &str) -> String {
    let home = ask.visitor.actor.as_ref().map_or_else(|| "/".into(), |a| Place::home(a).base());
    next_or(next, &home)
}

fn next_or(next: &str, home: &str) -> String {
    if own_path(next) { next.to_owned() } else { home.to_owned() }
}

/// A path on this site, and nothing a browser could take for another one.
pub fn own_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains('\\')
        && !path.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn go(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to.to_owned())]).into_response()
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn only_paths_of_this_site_are_followed() {
        assert!(own_path("/tenant/acme?q=1"));
        for bad in ["", "https://evil.test", "//evil.test", "/\\evil.test", "/a\nb", "evil", "/ /evil"] {
            assert!(!own_path(bad), "{bad:?}");
        }
    }
}
