//! Access tokens: EdDSA JWTs that carry a session's secret. The signature keeps nonsense away from the database; whether the
//! session lives is looked up for every request.
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as B64};
use model::{Error, Result};
use ring::{
    hkdf::{HKDF_SHA256, Salt},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use time::OffsetDateTime;

/// Nobody's token is longer.
const LONGEST: usize = 4096;

/// Keys to sign with and to check by, from the installation's master secret: all replicas have the same.
pub struct Tokens {
    sign: Ed25519KeyPair,
    /// Those of the secret before it as well, while it is changed.
    check: Vec<Vec<u8>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// The session's secret: the database knows its hash.
    pub jti: String,
    pub sub: String,
    pub org: String,
    pub iat: i64,
    pub exp: i64,
}

impl Tokens {
    pub fn new(secret: &str, old: Option<&str>) -> Result<Tokens> {
        let sign = pair(secret)?;
        let mut check = vec![sign.public_key().as_ref().to_vec()];
        if let Some(old) = old {
            check.push(pair(old)?.public_key().as_ref().to_vec());
        }
        Ok(Tokens { sign, check })
    }

    pub(crate) fn issue(&self, claims: &Claims) -> Result<String> {
        let part = |v: &serde_json::Value| serde_json::to_vec(v).map(|bytes| B64.encode(bytes));
        let odd = |e: serde_json::Error| Error::Internal(e.to_string());
        let head = part(&json!({"alg": "EdDSA", "typ": "JWT"})).map_err(odd)?;
        let body = B64.encode(serde_json::to_vec(claims).map_err(odd)?);
        let signed = format!("{head}.{body}");
        let signature = B64.encode(self.sign.sign(signed.as_bytes()).as_ref());
        Ok(format!("{signed}.{signature}"))
    }

    /// The claims of a token that we signed and that has not expired.
    pub(crate) fn read(&self, token: &str, now: OffsetDateTime) -> Option<Claims> {
        if token.len() > LONGEST {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = B64.decode(signature).ok()?;
        let good = |key: &Vec<u8>| UnparsedPublicKey::new(&ED25519, key).verify(signed.as_bytes(), &signature).is_ok();
        if !self.check.iter().any(good) {
            return None;
        }
        let (_, body) = signed.split_once('.')?;
        let claims: Claims = serde_json::from_slice(&B64.decode(body).ok()?).ok()?;
        (claims.exp > now.unix_timestamp()).then_some(claims)
    }
}

fn pair(secret: &str) -> Result<Ed25519KeyPair> {
    let odd = || Error::Internal("the key of access tokens can't be made".into());
    let mut seed = [0; 32];
    let salt = Salt::new(HKDF_SHA256, b"ssvirt").extract(secret.as_bytes());
    let info = [b"vcd access tokens".as_slice()];
    salt.expand(&info, HKDF_SHA256).and_then(|okm| okm.fill(&mut seed)).map_err(|_| odd())?;
    Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| odd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_by_who_has_the_secret_and_before_its_end() {
        let claims = Claims { jti: "x".repeat(32), sub: "u".into(), org: "o".into(), iat: 1, exp: 100 };
        let at = |s| OffsetDateTime::from_unix_timestamp(s).expect("a time");
        let tokens = Tokens::new("first", None).expect("keys");
        let token = tokens.issue(&claims).expect("a token");
        assert_eq!(tokens.read(&token, at(50)), Some(claims.clone()));
        assert_eq!(tokens.read(&token, at(100)), None, "expired");
        assert_eq!(Tokens::new("second", None).expect("keys").read(&token, at(50)), None);
        assert_eq!(Tokens::new("second", Some("first")).expect("keys").read(&token, at(50)), Some(claims));
        for bad in ["", ".", "..", "a.b.c", &token[1..], &token[..token.len() - 2], &"x".repeat(5000)] {
            assert_eq!(tokens.read(bad, at(50)), None, "{bad}");
        }
        let none = token.replacen(&B64.encode(r#"{"alg":"EdDSA","typ":"JWT"}"#), &B64.encode(r#"{"alg":"none"}"#), 1);
        assert_eq!(tokens.read(&none, at(50)), None, "an algorithm of somebody's choice");
    }
}
