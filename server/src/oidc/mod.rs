//! Single sign-on by OpenID Connect: discovery, code flow with PKCE, and a session at the end of it. What the identity
//! provider's word is worth is the domain's to say.
mod callback;
mod failure;
mod http;
mod pending;
mod provider;
mod settings;
mod start;
mod token;

pub use settings::apply;
pub(crate) use settings::sealer;

use crate::AppState;
use app::{
    pages::sign_in::SSO_PATH,
    portal::{Portal, Routes},
};
use axum::{http::Method, routing::get};
use domain::idp::Sealer;
use failure::Failure;
use model::{Error, Result};
use store::IdentityProvider;

/// Where identity providers send browsers back to; it is registered there.
pub const CALLBACK_PATH: &str = "/sign-in/sso/callback";

/// What single sign-on keeps between requests.
pub struct Sso {
    /// None without a master secret: then no client secret can be opened, and nobody signs in this way.
    sealer: Option<Sealer>,
    providers: provider::Providers,
}

impl Sso {
    pub(crate) fn new(sealer: Option<Sealer>) -> Sso {
        Sso { sealer, providers: provider::Providers::default() }
    }

    /// The provider as it describes itself, and our client there.
    async fn client(&self, p: &IdentityProvider, redirect_uri: &str) -> Result<(provider::Client, provider::Found)> {
        let sealer = self.sealer.as_ref().ok_or_else(|| Error::Internal("auth.secret is not set".into()))?;
        let secret = sealer.open(p.org, &p.client_secret)?;
        let found = self.providers.get(&p.issuer).await.map_err(|why| failure::unreachable(p, &why))?;
        let client = found.client(&p.client_id, secret.expose(), redirect_uri);
        Ok((client.map_err(|why| failure::unreachable(p, &why))?, found))
    }
}

/// Asks an issuer to describe itself: what is wrong with it, in words for an operator.
pub(crate) async fn try_issuer(issuer: &str) -> std::result::Result<(), String> {
    provider::Providers::default().get(issuer).await.map(|_| ())
}

pub(crate) fn routes(state: &AppState, portal: Portal) -> Routes {
    let (begin, end) = (state.clone(), state.clone());
    let (here, back) = (portal.clone(), portal.clone());
    Routes::new(portal).route(Method::GET, SSO_PATH, get(async move |req| start::start(begin, here, req).await)).route(
        Method::GET,
        CALLBACK_PATH,
        get(async move |req| callback::callback(end, back, req).await),
    )
}
