//! What makes a hub itself: its certificate, its token, and the key that service account tokens are signed with.

use anyhow::Context;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{fs, net::IpAddr, path::Path};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub token: String,
    pub ca: String,
    pub certificate: String,
    pub key: String,
    /// Base64.
    signing_key: String,
}

impl Identity {
    pub(crate) fn make(token: Option<String>, address: IpAddr, now: OffsetDateTime) -> anyhow::Result<Self> {
        let mut authority = rcgen::CertificateParams::new(Vec::new())?;
        authority.distinguished_name.push(rcgen::DnType::CommonName, "simulated hub");
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        authority.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign, rcgen::KeyUsagePurpose::DigitalSignature];
        let authority_key = rcgen::KeyPair::generate()?;
        let mut names = vec!["localhost".to_owned(), "kubernetes.default.svc".to_owned()];
        for ip in ["127.0.0.1".to_owned(), "::1".to_owned(), address.to_string()] {
            if !names.contains(&ip) {
                names.push(ip);
            }
        }
        let mut server = rcgen::CertificateParams::new(names)?;
        server.distinguished_name.push(rcgen::DnType::CommonName, "kube-apiserver");
        server.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        for params in [&mut authority, &mut server] {
            params.not_before = now - Duration::days(1);
            params.not_after = now + Duration::days(3650);
        }
        let ca = authority.self_signed(&authority_key)?;
        let issuer = rcgen::Issuer::new(authority, authority_key);
        let key = rcgen::KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        Ok(Self {
            token: token.unwrap_or_else(|| URL_SAFE_NO_PAD.encode(rand::random::<[u8; 24]>())),
            ca: ca.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            signing_key: STANDARD.encode(rand::random::<[u8; 32]>()),
        })
    }

    /// The identity of an earlier start, or a new one that the next start finds.
    pub(crate) fn load_or_make(
        folder: &Path,
        token: Option<String>,
        address: IpAddr,
        now: OffsetDateTime,
    ) -> anyhow::Result<Self> {
        let path = folder.join("identity.json");
        let shown = path.display();
        if path.exists() {
            let text = fs::read_to_string(&path).with_context(|| format!("{shown} cannot be read"))?;
            let mut known: Self = serde_json::from_str(&text).with_context(|| {
                format!("{shown} is damaged; remove it to give the hub a new certificate and token")
            })?;
            if let Some(token) = token {
                known.token = token;
            }
            return Ok(known);
        }
        let fresh = Self::make(token, address, now)?;
        write_private(&path, &serde_json::to_string_pretty(&fresh)?)
            .with_context(|| format!("{shown} cannot be written"))?;
        Ok(fresh)
    }

    pub(crate) fn kubeconfig(&self, name: &str, address: &str, token: &str) -> String {
        let ca = STANDARD.encode(&self.ca);
        let quoted = |text: &str| Value::from(text).to_string();
        let (name, token) = (quoted(name), quoted(token));
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: {name}\n  cluster:\n    server: https://{address}\n    certificate-authority-data: {ca}\n\
             users:\n- name: {name}\n  user:\n    token: {token}\n\
             contexts:\n- name: {name}\n  context:\n    cluster: {name}\n    user: {name}\n    namespace: default\n\
             current-context: {name}\n"
        )
    }

    /// A token for a service account, a JWT as the real server gives.
    pub(crate) fn sign(&self, namespace: &str, name: &str, uid: &str, now: i64, expires: Option<i64>) -> String {
        let mut claims = json!({
            "aud": ["https://kubernetes.default.svc"], "iat": now, "iss": "https://kubernetes.default.svc", "nbf": now,
            "jti": super::new_uid(),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
        });
        if let Some(expires) = expires {
            claims["exp"] = expires.into();
        }
        let head = URL_SAFE_NO_PAD.encode(json!({"alg": "HS256", "typ": "JWT"}).to_string());
        let text = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature = hmac::sign(&self.hmac_key(), text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    /// The claims of a token that this hub signed and that has not ended.
    pub(crate) fn verify(&self, token: &str, now: i64) -> Option<Value> {
        let (text, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.hmac_key(), text.as_bytes(), &signature).ok()?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text.split_once('.')?.1).ok()?).ok()?;
        claims["exp"].as_i64().is_none_or(|expires| now < expires).then_some(claims)
    }

    fn hmac_key(&self) -> hmac::Key {
        let bytes = STANDARD.decode(&self.signing_key).unwrap_or_default();
        hmac::Key::new(hmac::HMAC_SHA256, &bytes)
    }
}

fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let fresh = path.with_extension("new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn a_service_account_token_is_taken_until_it_ends_and_never_when_changed() {
        let identity = Identity::make(None, IpAddr::from([127, 0, 0, 1]), datetime!(2030-01-01 00:00 UTC)).unwrap();
        let token = identity.sign("ns", "sa", "uid-1", 100, Some(200));
        assert_eq!(identity.verify(&token, 150).unwrap()["sub"], "system:serviceaccount:ns:sa");
        assert!(identity.verify(&token, 200).is_none());
        let mut changed = token.clone();
        changed.insert(30, 'A');
        assert!(identity.verify(&changed, 150).is_none());
    }
}
