//! How to reach a hub and prove who we are: what is left of a kubeconfig once it is checked.
use crate::{Secret, kubeconfig::server::Server};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use std::fmt;
use time::OffsetDateTime;

#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub server: Server,
    /// The authorities that may vouch for the server, as PEM.
    pub ca_pem: String,
    /// The name the server's certificate is checked against, where it isn't the address's host.
    pub tls_server_name: Option<String>,
    pub auth: Auth,
    /// The context's namespace, if it named one.
    pub namespace: Option<String>,
    /// When the token or client certificate stops working, if it says so.
    pub expires: Option<OffsetDateTime>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    Token(Secret),
    ClientCertificate { certificate_pem: String, key_pem: Secret },
}

impl Auth {
    pub fn word(&self) -> &'static str {
        match self {
            Auth::Token(_) => "token",
            Auth::ClientCertificate { .. } => "client certificate",
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("server", &self.server.to_string())
            .field("auth", &self.auth)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The time in a token that is a JWT. Only read: whether the token is good is the hub's to say.
pub(crate) fn token_expiry(token: &str) -> Option<OffsetDateTime> {
    let mut parts = token.split('.');
    let (_, claims, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else { return None };
    let claims: serde_json::Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let exp = claims.get("exp")?;
    let seconds = exp.as_i64().or_else(|| exp.as_f64().map(|f| f as i64))?;
    OffsetDateTime::from_unix_timestamp(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tokens_end_is_read_and_anything_else_has_none() {
        let jwt = |claims: &str| format!("h.{}.s", BASE64_URL_SAFE_NO_PAD.encode(claims));
        let at = |s| OffsetDateTime::from_unix_timestamp(s).ok();
        assert_eq!(token_expiry(&jwt(r#"{"exp": 1700000000}"#)), at(1_700_000_000));
        assert_eq!(token_expiry(&jwt(r#"{"exp": 1700000000.5}"#)), at(1_700_000_000));
        for odd in ["opaque", "a.b", "a.b.c.d", "a.!.c", &jwt("{}"), &jwt("[1"), &jwt(r#"{"exp": "soon"}"#)] {
            assert_eq!(token_expiry(odd), None, "{odd}");
        }
        assert_eq!(token_expiry(&jwt(r#"{"exp": 99999999999999999}"#)), None);
    }
}
