//! What providers say of themselves: fetched once, kept for a while, and asked for again when a key is missing.
use super::http::{Clients, Http, all_causes};
use openidconnect::{
    AdditionalClaims, AdditionalProviderMetadata, AuthType, ClientId, ClientSecret, EmptyExtraTokenFields,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, IdTokenFields, IssuerUrl, ProviderMetadata, RedirectUrl,
    StandardErrorResponse, StandardTokenResponse, core::*, url::Url,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long a description holds.
const FRESH: Duration = Duration::from_secs(600);
/// At most this often for the sake of a key that is not there: anybody can make a token that names one.
const KEYS_AGAIN: Duration = Duration::from_secs(10);
/// A provider that did not answer is left alone this long.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// More than these, and all are asked for anew.
const MOST_KEPT: usize = 500;

/// Claims by names that we don't know beforehand: the groups' is a setting.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct OtherClaims {
    #[serde(flatten)]
    pub all: HashMap<String, serde_json::Value>,
}

impl AdditionalClaims for OtherClaims {}

/// RFC 9207: the provider names itself in every answer that a browser brings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NamesItself {
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for NamesItself {}

pub(super) type Metadata = ProviderMetadata<
    NamesItself,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

pub(super) type Fields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

pub(super) type Client = openidconnect::Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// A provider's description and the way to call it.
#[derive(Clone)]
pub(super) struct Found {
    pub metadata: Arc<Metadata>,
    pub http: Http,
}

impl Found {
    pub(super) fn client(&self, id: &str, secret: &str, redirect_uri: &str) -> Result<Client, String> {
        let (id, secret) = (ClientId::new(id.to_owned()), ClientSecret::new(secret.to_owned()));
        let redirect_uri = RedirectUrl::new(redirect_uri.to_owned()).map_err(|e| all_causes(&e))?;
        let methods = self.metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_some_and(|all| all.contains(&method));
        // the header is what everybody must take who does not say otherwise
        let in_body = takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic);
        let client = Client::from_provider_metadata(Metadata::clone(&self.metadata), id, Some(secret));
        Ok(client.set_redirect_uri(redirect_uri).set_auth_type(if in_body {
            AuthType::RequestBody
        } else {
            AuthType::BasicAuth
        }))
    }

    pub(super) fn names_itself(&self) -> bool {
        self.metadata.additional_metadata().authorization_response_iss_parameter_supported
    }
}

#[derive(Default)]
pub(super) struct Providers {
    clients: Clients,
    known: Mutex<HashMap<String, Slot>>,
}

/// Locked while it is filled, so that many who come at once ask the provider once.
type Slot = Arc<tokio::sync::Mutex<Option<Known>>>;

struct Known {
    at: Instant,
    found: Result<Found, String>,
}

impl Providers {
    /// By its exact name. What went wrong otherwise is for the log.
    pub(super) async fn get(&self, issuer: &str) -> Result<Found, String> {
        self.not_older_than(FRESH, issuer).await
    }

    /// Its keys may have changed.
    pub(super) async fn get_again(&self, issuer: &str) -> Result<Found, String> {
        self.not_older_than(KEYS_AGAIN, issuer).await
    }

    async fn not_older_than(&self, limit: Duration, issuer: &str) -> Result<Found, String> {
        let slot = self.slot(issuer);
        let mut known = slot.lock().await;
        if let Some(known) = &*known
            && known.at.elapsed() < if known.found.is_ok() { limit } else { LEFT_ALONE }
        {
            return known.found.clone();
        }
        let found = self.discover(issuer).await;
        *known = Some(Known { at: Instant::now(), found: found.clone() });
        found
    }

    fn slot(&self, issuer: &str) -> Slot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KEPT && !known.contains_key(issuer) {
            known.clear();
        }
        Arc::clone(known.entry(issuer.to_owned()).or_default())
    }

    async fn discover(&self, issuer: &str) -> Result<Found, String> {
        let http = self.clients.for_issuer(issuer).map_err(|e| all_causes(&e))?;
        let url = IssuerUrl::new(issuer.to_owned()).map_err(|e| all_causes(&e))?;
        let metadata = Metadata::discover_async(url, &http).await.map_err(|e| all_causes(&e))?;
        let allowed = |url: &Url| http.allows(url.scheme(), url.host_str().unwrap_or(""));
        if !allowed(metadata.authorization_endpoint().url()) {
            return Err("its authorization endpoint is not an https address".into());
        }
        if metadata.token_endpoint().is_none() {
            return Err("it has no token endpoint".into());
        }
        Ok(Found { metadata: Arc::new(metadata), http })
    }
}
