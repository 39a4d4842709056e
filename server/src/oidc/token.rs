//! From a code to a proven identity: exchange, signature, issuer, audience, nonce, time; then what else is said.
use super::{
    Failure, Sso,
    failure::unreachable,
    http::all_causes,
    pending::Pending,
    provider::{Client, Fields, Found, Metadata, OtherClaims},
};
use domain::idp::Identity;
use openidconnect::{
    AccessToken, AccessTokenHash, AuthorizationCode, ClaimsVerificationError, ClientId, EndUserFamilyName,
    EndUserGivenName, EndUserName, IdTokenClaims, IdTokenVerifier, LocalizedClaim, Nonce, OAuth2TokenResponse,
    PkceCodeVerifier, RequestTokenError, SignatureVerificationError, StandardTokenResponse, TokenResponse,
    UserInfoClaims,
    core::{CoreGenderClaim, CoreJsonWebKey, CoreJwsSigningAlgorithm, CoreTokenType},
};
use store::IdentityProvider;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Signatures that anybody can check and only the provider can make. Neither `none` nor a shared secret is among them.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

type Tokens = StandardTokenResponse<Fields, CoreTokenType>;
type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;

pub(super) async fn identity(
    sso: &Sso,
    p: &IdentityProvider,
    client: &Client,
    found: Found,
    pending: &Pending,
    code: &str,
    now: OffsetDateTime,
) -> Result<Identity, Failure> {
    let tokens = exchange(p, client, &found, pending, code).await?;
    let nonce = Nonce::new(pending.nonce.clone());
    let claims = match verified(&tokens, p, &found.metadata, &nonce, now) {
        Err(Wrong::NoSuchKey) => {
            let found = sso.providers.get_again(&p.issuer).await.map_err(|why| unreachable(p, &why))?;
            verified(&tokens, p, &found.metadata, &nonce, now)
        }
        result => result,
    };
    let claims = claims.map_err(|wrong| Failure::unbelievable(wrong.to_string()))?;
    let known = said(claims.additional_claims(), p).is_some() && claims.preferred_username().is_some();
    let more = if known { None } else { user_info(client, &found, &tokens, claims).await? };
    Ok(identity_of(p, claims, more.as_ref()))
}

async fn exchange(
    p: &IdentityProvider,
    client: &Client,
    found: &Found,
    pending: &Pending,
    code: &str,
) -> Result<Tokens, Failure> {
    let request = client
        .exchange_code(AuthorizationCode::new(code.to_owned()))
        .map_err(|e| Failure::unbelievable(all_causes(&e)))?
        .set_pkce_verifier(PkceCodeVerifier::new(pending.verifier.clone()));
    request.request_async(&found.http).await.map_err(|e| match e {
        RequestTokenError::Request(e) => Failure::Other(unreachable(p, &all_causes(&e))),
        RequestTokenError::ServerResponse(answer) => Failure::refused(
            format!("the code was not taken: {}", answer.error().as_ref()),
            "The identity provider did not confirm the sign-in. Start again.",
        ),
        e => Failure::unbelievable(all_causes(&e)),
    })
}

enum Wrong {
    NoSuchKey,
    Else(String),
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::NoSuchKey => f.write_str("the ID token is signed by a key that the provider has not got"),
            Wrong::Else(why) => write!(f, "the ID token does not hold: {why}"),
        }
    }
}

fn verified<'t>(
    tokens: &'t Tokens,
    p: &IdentityProvider,
    metadata: &Metadata,
    nonce: &Nonce,
    now: OffsetDateTime,
) -> Result<&'t Claims, Wrong> {
    let wrong = |e: &dyn std::error::Error| Wrong::Else(all_causes(e));
    let token = tokens.id_token().ok_or_else(|| Wrong::Else("there is none".into()))?;
    let now = now.format(&Rfc3339).map_err(|e| wrong(&e))?;
    let client_id = ClientId::new(p.client_id.clone());
    let keys = metadata.jwks().clone();
    let verifier =
        IdTokenVerifier::<CoreJsonWebKey>::new_public_client(client_id.clone(), metadata.issuer().clone(), keys)
            .set_allowed_algs(SIGNATURES)
            .set_time_fn(move || now.parse().expect("a time that was just written"));
    let claims = token.claims(&verifier, nonce).map_err(|e| match &e {
        ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey) => Wrong::NoSuchKey,
        e => wrong(e),
    })?;
    if claims.authorized_party().is_some_and(|azp| *azp != client_id) {
        return Err(Wrong::Else("it was made for another client".into()));
    }
    if let Some(hash) = claims.access_token_hash() {
        let signature = token.signing_alg().map_err(|e| wrong(&e))?;
        let key = token.signing_key(&verifier).map_err(|e| wrong(&e))?;
        let own = AccessTokenHash::from_token(tokens.access_token(), signature, key).map_err(|e| wrong(&e))?;
        if own != *hash {
            return Err(Wrong::Else("its access token is another one".into()));
        }
    }
    Ok(claims)
}

type MoreClaims = UserInfoClaims<OtherClaims, CoreGenderClaim>;

/// Many providers tell names and groups only here. It must be about the same subject.
async fn user_info(
    client: &Client,
    found: &Found,
    tokens: &Tokens,
    claims: &Claims,
) -> Result<Option<MoreClaims>, Failure> {
    let token = tokens.access_token();
    if client.user_info_url().is_none() {
        return Ok(None);
    }
    if !fits_header(token) {
        return Err(Failure::unbelievable("the access token has odd characters"));
    }
    let request = client.user_info(token.clone(), Some(claims.subject().clone()));
    let request = request.map_err(|e| Failure::unbelievable(all_causes(&e)))?;
    let answer = request.request_async(&found.http).await;
    answer.map(Some).map_err(|e| Failure::unbelievable(format!("the user's data could not be had: {}", all_causes(&e))))
}

fn fits_header(token: &AccessToken) -> bool {
    token.secret().bytes().all(|b| b.is_ascii_graphic())
}

/// The claim that holds the groups, as the settings name it.
fn said<'c>(claims: &'c OtherClaims, p: &IdentityProvider) -> Option<&'c serde_json::Value> {
    claims.all.get(&p.groups_claim)
}

/// What the ID token says comes first, what it leaves open is filled up.
fn identity_of(p: &IdentityProvider, claims: &Claims, more: Option<&MoreClaims>) -> Identity {
    let text = |first: Option<&String>, second: Option<&String>| first.or(second).cloned().unwrap_or_default();
    let group_value = said(claims.additional_claims(), p).or_else(|| more.and_then(|m| said(m.additional_claims(), p)));
    Identity {
        subject: claims.subject().to_string(),
        user_name: text(
            claims.preferred_username().map(|n| &**n),
            more.and_then(|m| m.preferred_username()).map(|n| &**n),
        ),
        email: text(claims.email().map(|e| &**e), more.and_then(|m| m.email()).map(|e| &**e)),
        full_name: full_name(claims.name(), claims.given_name(), claims.family_name())
            .or_else(|| more.and_then(|m| full_name(m.name(), m.given_name(), m.family_name())))
            .unwrap_or_default(),
        groups: groups(group_value),
    }
}

fn full_name(
    name: Option<&LocalizedClaim<EndUserName>>,
    given: Option<&LocalizedClaim<EndUserGivenName>>,
    family: Option<&LocalizedClaim<EndUserFamilyName>>,
) -> Option<String> {
    let parts =
        [given.and_then(|n| n.get(None)).map(|n| n.as_str()), family.and_then(|n| n.get(None)).map(|n| n.as_str())];
    let joined = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    name.and_then(|n| n.get(None)).map(|n| n.to_string()).or((!joined.is_empty()).then_some(joined))
}

/// A list of names, or one name alone. Anything else gives nothing.
fn groups(value: Option<&serde_json::Value>) -> Vec<String> {
    match value {
        Some(serde_json::Value::Array(all)) => all.iter().filter_map(|v| v.as_str()).map(str::to_owned).collect(),
        Some(serde_json::Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_are_a_list_or_one_name() {
        assert_eq!(groups(Some(&json!(["a", "b", 3, null, ["c"]]))), ["a", "b"]);
        assert_eq!(groups(Some(&json!("a, b"))), ["a, b"]);
        for none in [json!(null), json!(true), json!({ "a": ["b"] })] {
            assert!(groups(Some(&none)).is_empty(), "{none}");
        }
        assert!(groups(None).is_empty());
    }
}
