//! `GET /sign-in/sso`: off to the identity provider of an organization.
use super::{CALLBACK_PATH, failure::no_sso, pending, pending::Pending};
use crate::{AppState, edge::OwnOrigin};
use app::{
    pages::sign_in,
    portal::{Ask, Portal},
};
use axum::{
    body::Body,
    http::{Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use model::{Error, Result};
use openidconnect::{AuthenticationFlow, CsrfToken, Nonce, PkceCodeChallenge, Scope, core::CoreResponseType, url::Url};

pub(super) async fn start(state: AppState, portal: Portal, req: Request<Body>) -> Response {
    let (mut parts, _) = req.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    if ask.visitor.actor.is_some() {
        return sign_in::already_in(&ask);
    }
    let (org, next) = (ask.query("org").trim().to_owned(), ask.query("next").to_owned());
    match leave(&state, &ask, parts.extensions.get::<OwnOrigin>(), &org, &next).await {
        Ok(to) => (StatusCode::SEE_OTHER, [(header::LOCATION, to.to_string())]).into_response(),
        Err(e) => sign_in::refused(ask, parts, &org, &next, e).await,
    }
}

async fn leave(state: &AppState, ask: &Ask, own: Option<&OwnOrigin>, org: &str, next: &str) -> Result<Url> {
    if let Some(trouble) = &ask.visitor.trouble {
        return Err(trouble.clone());
    }
    if org.is_empty() {
        return Err(Error::SignInRefused("Type your organization, then choose single sign-on again.".into()));
    }
    let p = state.domain.store.identity_provider(org).await?.ok_or_else(no_sso)?;
    let own = own.ok_or_else(|| Error::BadRequest("The request does not say which site it is for.".into()))?;
    let redirect_uri = format!("{}{CALLBACK_PATH}", own.0);
    let (client, _) = state.sso.client(&p, &redirect_uri).await?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
    // the client asks for openid by itself
    let scopes = p.scopes.split(' ').filter(|scope| *scope != "openid").map(|scope| Scope::new(scope.to_owned()));
    let (to, csrf, nonce) = client
        .authorize_url(flow, CsrfToken::new_random, Nonce::new_random)
        .add_scopes(scopes)
        .set_pkce_challenge(challenge)
        .url();
    let pending = Pending {
        org: p.org_name,
        version: p.version,
        nonce: nonce.secret().clone(),
        verifier: verifier.into_secret(),
        redirect_uri,
        next: if sign_in::own_path(next) { next.to_owned() } else { String::new() },
        begun_at: state.domain.now(),
    };
    pending::keep(ask, csrf.secret(), pending).await?;
    Ok(to)
}
