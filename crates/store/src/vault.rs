//! Secrets at rest: kubeconfigs, cloud-init, parameters. Each is sealed with a data key and bound to what it belongs to;
//! data keys are sealed with the master secret and stand in the database, so that both can be changed.
use crate::{Store, constraint::mapped};
use model::{Error, Result};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
    rand::{SecureRandom, SystemRandom},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::RwLock;
use uuid::Uuid;

/// Before everything sealed, so that there can be another way of sealing one day.
const FORMAT: u8 = 2;
const KEY_LEN: usize = 32;

/// For how long the data keys are believed to be all there are: another replica may have made one.
const FRESH: Duration = Duration::from_secs(10);

/// What a master secret seals with, and the name it goes by. The name says nothing about the secret.
#[derive(Clone)]
pub(crate) struct Master {
    pub(crate) name: String,
    pub(crate) key: LessSafeKey,
}

struct NameLen;

impl hkdf::KeyType for NameLen {
    fn len(&self) -> usize {
        8
    }
}

impl Master {
    fn new(secret: &str) -> Master {
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, b"ssvirt").extract(secret.as_bytes());
        let key = derived.expand(&[b"data keys"], &CHACHA20_POLY1305).expect("one key is never too long");
        let mut name = [0; 8];
        let named = derived.expand(&[b"name of the master secret"], NameLen).and_then(|okm| okm.fill(&mut name));
        named.expect("eight bytes are never too long");
        let name = name.iter().map(|b| format!("{b:02x}")).collect();
        Master { name, key: LessSafeKey::new(UnboundKey::from(key)) }
    }
}

#[derive(Clone)]
pub struct Vault {
    pub(crate) store: Store,
    /// The first one seals; the others only open.
    pub(crate) masters: Vec<Master>,
    known: Arc<RwLock<Known>>,
}

/// The data keys, as they were last read.
#[derive(Default)]
struct Known {
    keys: BTreeMap<Uuid, LessSafeKey>,
    /// Those that none of our master secrets opens, with the name of the one that would.
    locked: BTreeMap<Uuid, String>,
    read_at: Option<Instant>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault(…)")
    }
}

impl Vault {
    /// Reads nothing yet: the database may be down.
    pub fn new(store: Store, master_secret: &str) -> Vault {
        Vault { store, masters: vec![Master::new(master_secret)], known: Arc::default() }
    }

    /// Also opens what was sealed with an earlier master secret.
    pub fn or_old(mut self, master_secret: &str) -> Vault {
        self.masters.push(Master::new(master_secret));
        self.masters.dedup_by(|a, b| a.name == b.name);
        self
    }

    /// `of` names what the secret belongs to, as `hub/vmaas-primary`: it can't be opened as anything else's.
    pub async fn seal(&self, of: &str, plain: &[u8]) -> Result<Vec<u8>> {
        let (id, key) = self.newest().await?;
        let text = sealed_with(&key, of, plain)?;
        Ok([&[FORMAT][..], id.as_bytes(), &text].concat())
    }

    pub async fn open(&self, of: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let lost = |why: &str| Error::Internal(format!("the secret of {of} can't be opened: {why}"));
        let (id, text) = sealed
            .strip_prefix(&[FORMAT])
            .and_then(|s| s.split_first_chunk::<16>())
            .ok_or_else(|| lost("it was not sealed here; set it anew"))?;
        let id = Uuid::from_bytes(*id);
        if !self.known.read().await.keys.contains_key(&id) {
            self.load().await?;
        }
        let known = self.known.read().await;
        let Some(key) = known.keys.get(&id) else {
            return Err(match known.locked.get(&id) {
                Some(master) => lost(&self.locked(id, master)),
                None => lost(&format!("its data key {id} is missing; set it anew")),
            });
        };
        opened_with(key, of, text).ok_or_else(|| lost("it was changed or moved; set it anew"))
    }

    /// Why a data key stays closed, and what opens it.
    pub(crate) fn locked(&self, id: Uuid, master: &str) -> String {
        let ours = self.masters.first().map_or("", |m| m.name.as_str());
        let needed = if master.is_empty() { "another master secret" } else { master };
        format!(
            "its data key {id} is sealed with {needed}, and auth.secret is {ours}; set auth.old_secret to the master secret it was sealed with"
        )
    }

    /// A new data key, closed, for the table.
    pub(crate) fn new_key(&self) -> Result<(Uuid, Vec<u8>, &str)> {
        let master = self.masters.first().ok_or_else(|| Error::Internal("no master secret".into()))?;
        let mut plain = [0; KEY_LEN];
        SystemRandom::new().fill(&mut plain).map_err(|_| Error::Internal("no randomness".into()))?;
        let id = Uuid::now_v7();
        Ok((id, sealed_with(&master.key, &sealed_as(id), &plain)?, &master.name))
    }

    /// The newest data key, by its id: they are v7. The very first one is made here.
    pub(crate) async fn newest(&self) -> Result<(Uuid, LessSafeKey)> {
        if self.known.read().await.read_at.is_none_or(|at| at.elapsed() > FRESH) {
            self.load().await?;
        }
        if self.known.read().await.is_empty() {
            let (id, sealed, master) = self.new_key()?;
            sqlx::query!("insert into data_keys (id, sealed, master) values ($1, $2, $3)", id, sealed, master)
                .execute(&self.store.pool)
                .await
                .map_err(mapped)?;
            self.load().await?;
        }
        let known = self.known.read().await;
        match (known.keys.last_key_value(), known.locked.last_key_value()) {
            (Some((id, key)), locked) if locked.is_none_or(|(l, _)| l < id) => Ok((*id, key.clone())),
            (_, Some((id, master))) => {
                Err(Error::Internal(format!("nothing can be sealed: {}", self.locked(*id, master))))
            }
            _ => Err(Error::Internal("there is no data key".into())),
        }
    }

    /// The key of a data key in the table, by the first master secret that opens it.
    pub(crate) fn unwrapped(&self, id: Uuid, sealed: &[u8]) -> Option<(&Master, Vec<u8>)> {
        self.masters.iter().find_map(|m| Some((m, opened_with(&m.key, &sealed_as(id), sealed)?)))
    }

    pub(crate) async fn load(&self) -> Result<()> {
        let rows = sqlx::query!("select id, sealed, master from data_keys")
            .fetch_all(&self.store.pool)
            .await
            .map_err(mapped)?;
        let mut now = Known { read_at: Some(Instant::now()), ..Known::default() };
        for row in rows {
            let Some((_, plain)) = self.unwrapped(row.id, &row.sealed) else {
                now.locked.insert(row.id, row.master);
                continue;
            };
            let key = UnboundKey::new(&CHACHA20_POLY1305, &plain).map_err(|_| Error::Internal("a bad key".into()))?;
            now.keys.insert(row.id, LessSafeKey::new(key));
        }
        let mut known = self.known.write().await;
        // what was opened once stays open: its data key may be sealed with a master secret that came after us
        for (id, key) in std::mem::take(&mut known.keys) {
            if now.locked.remove(&id).is_some() {
                now.keys.insert(id, key);
            }
        }
        *known = now;
        Ok(())
    }
}

impl Known {
    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.locked.is_empty()
    }
}

/// What a data key is sealed as.
pub(crate) fn sealed_as(key: Uuid) -> String {
    format!("key/{key}")
}

pub(crate) fn sealed_with(key: &LessSafeKey, of: &str, plain: &[u8]) -> Result<Vec<u8>> {
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
