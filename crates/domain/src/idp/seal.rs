//! The secret that proves us to an identity provider. It is kept sealed: who reads the database has not got it, and a
//! sealed secret moved to another organization can't be opened.
use model::{Error, OrgId, Result};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
    rand::{SecureRandom, SystemRandom},
};
use std::fmt;

/// Before every sealed secret, so that there can be a second way of sealing one day.
const FORMAT: u8 = 1;

/// It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(String);

impl ClientSecret {
    pub fn new(text: impl Into<String>) -> ClientSecret {
        ClientSecret(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// Seals and opens with a key that is derived from the master secret and serves nothing else. The first key seals; the
/// others, of earlier master secrets, only open.
#[derive(Clone)]
pub struct Sealer(Vec<LessSafeKey>);

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl Sealer {
    pub fn new(master_secret: &str) -> Sealer {
        Sealer(vec![key_of(master_secret)])
    }

    /// Also opens what was sealed with an earlier master secret.
    pub fn or_old(mut self, master_secret: &str) -> Sealer {
        self.0.push(key_of(master_secret));
        self
    }

    pub fn seal(&self, org: OrgId, secret: &ClientSecret) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        let failed = |_| Error::Internal("a client secret could not be sealed".into());
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut text = secret.0.clone().into_bytes();
        let aad = Aad::from(org.0.into_bytes());
        let key = self.0.first().ok_or_else(|| Error::Internal("no master secret".into()))?;
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text).map_err(failed)?;
        Ok([&[FORMAT][..], &nonce, &text].concat())
    }

    pub fn open(&self, org: OrgId, sealed: &[u8]) -> Result<ClientSecret> {
        self.opened(org, sealed).map(|(_, secret)| secret).ok_or_else(|| {
            Error::Internal(
                "the client secret of an identity provider can't be opened; neither auth.secret nor auth.old_secret is the one \
                 it was sealed with: set it anew with ssvirt idp set"
                    .into(),
            )
        })
    }

    /// With the place of the key that opens it: 0 is the present master secret's.
    pub(crate) fn opened(&self, org: OrgId, sealed: &[u8]) -> Option<(usize, ClientSecret)> {
        let (nonce, text) = sealed.strip_prefix(&[FORMAT])?.split_first_chunk::<NONCE_LEN>()?;
        self.0.iter().enumerate().find_map(|(i, key)| {
            let mut text = text.to_vec();
            let aad = Aad::from(org.0.into_bytes());
            let plain = key.open_in_place(Nonce::assume_unique_for_key(*nonce), aad, &mut text).ok()?;
            String::from_utf8(plain.to_vec()).ok().map(|secret| (i, ClientSecret(secret)))
        })
    }
}

fn key_of(master_secret: &str) -> LessSafeKey {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, b"ssvirt").extract(master_secret.as_bytes());
    let key = derived.expand(&[b"client secrets of identity providers"], &CHACHA20_POLY1305);
    LessSafeKey::new(UnboundKey::from(key.expect("one key is never too long")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const ACME: OrgId = OrgId(Uuid::from_u128(1));

    #[test]
    fn a_sealed_secret_opens_with_the_same_master_secret_for_the_same_organization_only() {
        let sealer = Sealer::new("a master secret");
        let secret = ClientSecret::new("canary");
        let sealed = sealer.seal(ACME, &secret).unwrap();
        assert_eq!(sealer.open(ACME, &sealed).unwrap(), secret);
        assert_eq!(Sealer::new("a master secret").open(ACME, &sealed).unwrap(), secret);
        assert!(Sealer::new("another one").open(ACME, &sealed).is_err());
        let later = Sealer::new("another one").or_old("a master secret");
        assert_eq!(later.open(ACME, &sealed).unwrap(), secret);
        assert!(sealer.open(ACME, &later.seal(ACME, &secret).unwrap()).is_err(), "the old one seals nothing");
        assert!(sealer.open(OrgId(Uuid::from_u128(2)), &sealed).is_err());
    }

    #[test]
    fn what_was_changed_or_cut_does_not_open() {
        let sealer = Sealer::new("a master secret");
        let sealed = sealer.seal(ACME, &ClientSecret::new("canary")).unwrap();
        for i in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[i] ^= 1;
            assert!(sealer.open(ACME, &changed).is_err(), "byte {i}");
            assert!(sealer.open(ACME, &sealed[..i]).is_err(), "{i} bytes");
        }
    }

    #[test]
    fn nothing_shows_it() {
        let sealer = Sealer::new("a master secret");
        let sealed = sealer.seal(ACME, &ClientSecret::new("canary")).unwrap();
        assert!(!sealed.windows(6).any(|w| w == b"canary"));
        assert_ne!(sealed, sealer.seal(ACME, &ClientSecret::new("canary")).unwrap());
        assert!(!format!("{:?} {sealer:?}", ClientSecret::new("canary")).contains("canary"));
    }
}
