//! Secrets at rest: kubeconfigs, cloud-init, parameters. Each is sealed with a data key and bound to what it belongs to;
//! data keys are sealed with the master secret and stand in the database, so that both can be changed.
use crate::{Store, constraint::mapped};
use model::{Error, Result};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
    rand::{SecureRandom, SystemRandom},
};
use std::{collections::BTreeMap, fmt, sync::Arc};
use tokio::sync::RwLock;
use uuid::Uuid;

/// Before everything sealed, so that there can be another way of sealing one day.
const FORMAT: u8 = 2;
const KEY_LEN: usize = 32;

#[derive(Clone)]
pub struct Vault {
    store: Store,
    master: LessSafeKey,
    keys: Arc<RwLock<BTreeMap<Uuid, LessSafeKey>>>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault(…)")
    }
}

impl Vault {
    /// Reads nothing yet: the database may be down.
    pub fn new(store: Store, master_secret: &str) -> Vault {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"ssvirt");
        let derived = salt.extract(master_secret.as_bytes());
        let key = derived.expand(&[b"data keys"], &CHACHA20_POLY1305).expect("one key is never too long");
        Vault { store, master: LessSafeKey::new(UnboundKey::from(key)), keys: Arc::default() }
    }

    /// `of` names what the secret belongs to, as `hub/vmaas-primary`: it can't be opened as anything else's.
    pub async fn seal(&self, of: &str, plain: &[u8]) -> Result<Vec<u8>> {
        let (id, key) = self.current().await?;
        let text = sealed_with(&key, of, plain)?;
        Ok([&[FORMAT][..], id.as_bytes(), &text].concat())
    }

    pub async fn open(&self, of: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let lost = || {
            Error::Internal(format!(
                "the secret of {of} can't be opened: auth.secret is not the one it was sealed with, or it was moved; set it anew"
            ))
        };
        let (id, text) = sealed.strip_prefix(&[FORMAT]).and_then(|s| s.split_first_chunk::<16>()).ok_or_else(lost)?;
        let id = Uuid::from_bytes(*id);
        let mut known = self.keys.read().await.get(&id).cloned();
        if known.is_none() {
            self.load().await?;
            known = self.keys.read().await.get(&id).cloned();
        }
        opened_with(&known.ok_or_else(lost)?, of, text).ok_or_else(lost)
    }

    /// Is it sealed with the newest key?
    pub async fn is_current(&self, sealed: &[u8]) -> Result<bool> {
        let (id, _) = self.current().await?;
        Ok(sealed.get(1..17) == Some(&id.as_bytes()[..]))
    }

    /// A new data key; what is sealed from now on takes it.
    pub async fn add_key(&self) -> Result<()> {
        let mut plain = [0; KEY_LEN];
        SystemRandom::new().fill(&mut plain).map_err(|_| Error::Internal("no randomness".into()))?;
        let id = Uuid::now_v7();
        let sealed = sealed_with(&self.master, &format!("key/{id}"), &plain)?;
        sqlx::query!("insert into data_keys (id, sealed) values ($1, $2)", id, sealed)
            .execute(&self.store.pool)
            .await
            .map_err(mapped)?;
        self.load().await
    }

    /// The newest key, by its id: they are v7.
    async fn current(&self) -> Result<(Uuid, LessSafeKey)> {
        loop {
            if let Some((id, key)) = self.keys.read().await.last_key_value() {
                return Ok((*id, key.clone()));
            }
            self.load().await?;
            if self.keys.read().await.is_empty() {
                self.add_key().await?;
            }
        }
    }

    async fn load(&self) -> Result<()> {
        let rows =
            sqlx::query!("select id, sealed from data_keys").fetch_all(&self.store.pool).await.map_err(mapped)?;
        let mut keys = self.keys.write().await;
        for row in rows {
            let plain = opened_with(&self.master, &format!("key/{}", row.id), &row.sealed).ok_or_else(|| {
                Error::Internal("a data key can't be opened: auth.secret is not the one it was sealed with".into())
            })?;
            let key = UnboundKey::new(&CHACHA20_POLY1305, &plain).map_err(|_| Error::Internal("a bad key".into()))?;
            keys.insert(row.id, LessSafeKey::new(key));
        }
        Ok(())
    }
}

fn sealed_with(key: &LessSafeKey, of: &str, plain: &[u8]) -> Result<Vec<u8>> {
    let failed = |_| Error::Internal(format!("the secret of {of} could not be sealed"));
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).map_err(failed)?;
    let mut text = plain.to_vec();
    let aad = Aad::from(of.as_bytes());
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text).map_err(failed)?;
    Ok([&nonce[..], &text].concat())
}

fn opened_with(key: &LessSafeKey, of: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let mut text = text.to_vec();
    let plain = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(of.as_bytes()), &mut text).ok()?;
    Some(plain.to_vec())
}
