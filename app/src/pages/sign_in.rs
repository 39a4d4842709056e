//! Signing in and out. A form sent after the session ended is kept over the sign-in, so that nothing typed is lost.
use crate::{
    parts::Query,
    portal::{Ask, Place, Portal, Routes, Values, respond_public},
    shell::Door,
};
use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use domain::session::{self, SignedIn};
use leptos::prelude::*;
use leptos_meta::Title;
use model::{Error, Result, RoleId, user::Password};
use tower_sessions::{Expiry, Session};

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
        return go(&after(&ask, ask.query("next")));
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
        let carried = ["org", "next"].map(|n| (n.to_owned(), values.text(n)));
        return go(&Query::new("/sign-in/sso", carried).href());
    }
    let password = Password::new(values.get("password"));
    let origin = ask.visitor.origin.clone();
    let result = session::sign_in(&ask.portal.domain, values.get("org"), values.get("user"), &password, origin).await;
    let result = match result {
        Ok(who) => begin(&ask, &who, &[]).await.map(|()| who),
        Err(e) => Err(e),
    };
    match result {
        Ok(_) if own_path(values.get("resume_to")) => {
            let (to, with) = (values.text("resume_to"), Values::read(values.get("resume_with").as_bytes()));
            respond_public(ask, parts, None, move |_| std::future::ready(Ok(resume(&to, &with)))).await
        }
        Ok(who) => go(&next_or(values.get("next"), &home_of(&who))),
        Err(e) => {
            let state = crate::portal::FormState { values, error: Some(e) };
            respond_public(ask, parts, Some(state), door).await
        }
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
    write(session)
        .await
        .map_err(|e: tower_sessions::session::Error| Error::Unavailable(format!("The session could not be kept: {e}")))
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
                <p>"Your session had ended, so nothing was saved. What you typed is still here, except passwords."</p>
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
pub(crate) fn own_path(path: &str) -> bool {
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
