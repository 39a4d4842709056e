//! `GET /sign-in/sso/callback`: back from the identity provider, with a code or with a reason why not.
use super::{Failure, failure, pending, pending::Pending, token};
use crate::AppState;
use app::{
    pages::sign_in,
    portal::{Ask, Portal},
};
use axum::{body::Body, http::Request, response::Response};
use domain::{idp, session::SignedIn};
use model::{Error, Result, RoleId};
use store::IdentityProvider;

pub(super) async fn callback(state: AppState, portal: Portal, req: Request<Body>) -> Response {
    let (mut parts, _) = req.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    let pending = match (&ask.visitor.trouble, pending::take(&ask, ask.query("state")).await) {
        (Some(trouble), _) => return sign_in::refused(ask.clone(), parts, "", "", trouble.clone()).await,
        (None, Ok(Some(pending))) => pending,
        (None, Ok(None)) => return sign_in::refused(ask, parts, "", "", failure::not_begun_here()).await,
        (None, Err(e)) => return sign_in::refused(ask, parts, "", "", e).await,
    };
    match finish(&state, &ask, &pending).await {
        Ok((who, roles)) => sign_in::enter(ask, parts, &who, &roles, &pending.next).await,
        Err(e) => sign_in::refused(ask, parts, &pending.org, &pending.next, e).await,
    }
}

async fn finish(state: &AppState, ask: &Ask, pending: &Pending) -> Result<(SignedIn, Vec<RoleId>)> {
    let domain = &state.domain;
    let p = domain.store.identity_provider(&pending.org).await?.ok_or_else(failure::no_sso)?;
    if p.version != pending.version {
        return Err(failure::not_begun_here());
    }
    match prove(state, ask, pending, &p).await {
        Ok(identity) => idp::sign_in(domain, &p, &identity, ask.visitor.origin.clone()).await,
        Err(Failure::Refused { why, say }) => {
            tracing::warn!(org = p.org_name, issuer = p.issuer, why, "single sign-on refused");
            idp::refuse(domain, &p, None, &why, &ask.visitor.origin).await?;
            Err(Error::SignInRefused(say))
        }
        Err(Failure::Other(e)) => Err(e),
    }
}

/// From what the browser brought to who it is.
async fn prove(state: &AppState, ask: &Ask, pending: &Pending, p: &IdentityProvider) -> Result<idp::Identity, Failure> {
    let (client, found) = state.sso.client(p, &pending.redirect_uri).await?;
    // a provider that names itself does so in errors too: who else would have sent the browser back?
    match ask.query("iss") {
        "" if found.names_itself() => return Err(Failure::unbelievable("the answer does not name its issuer")),
        iss if !iss.is_empty() && iss != p.issuer => {
            return Err(Failure::unbelievable("the answer is from another issuer"));
        }
        _ => {}
    }
    if !ask.query("error").is_empty() {
        return Err(provider_says(ask.query("error"), ask.query("error_description")));
    }
    if ask.query("code").is_empty() {
        return Err(Failure::unbelievable("the answer has neither a code nor an error"));
    }
    token::identity(&state.sso, p, &client, found, pending, ask.query("code"), state.domain.now()).await
}

/// The codes of OAuth and OpenID Connect in our words. The provider's own text goes to the log only.
fn provider_says(code: &str, description: &str) -> Failure {
    let harmless = |text: &str| text.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    let known = code.len() <= 40 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let say = match code {
        "access_denied" => "You were not signed in: it was cancelled at the identity provider, or it refused you.".into(),
        "server_error" | "temporarily_unavailable" => {
            "The identity provider has trouble at the moment. Try again later, or use a local account.".into()
        }
        "login_required" | "interaction_required" | "consent_required" | "account_selection_required" => {
            "The identity provider wants to ask you something first. Start again and answer it there.".into()
        }
        code if known => format!(
            "The identity provider refused our request ({code}). The organization's administrator can find the reason in its log."
        ),
        _ => "The identity provider refused our request. The organization's administrator can find the reason in its log."
            .into(),
    };
    let why = format!("the provider answered {} ({})", harmless(code), harmless(description));
    Failure::Refused { why, say }
}
