//! Keys, what is sealed with them, and changing both: data keys are sealed anew with another master secret, secrets with
//! another data key. Each batch is a transaction, so that it can end anywhere and be begun again.
use crate::{
    Vault, Write,
    constraint::mapped,
    vault::{sealed_as, sealed_with},
};
use model::{Error, Result};
use std::collections::BTreeMap;
use time::OffsetDateTime;
use uuid::Uuid;

/// A data key and how many secrets need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKey {
    pub id: Uuid,
    /// None: secrets need it, and it is not there.
    pub made: Option<OffsetDateTime>,
    /// The name of the master secret it is sealed with; empty where that is not known.
    pub master: String,
    /// One of our master secrets opens it.
    pub opens: bool,
    pub hubs: i64,
    pub vms: i64,
    pub vapps: i64,
}

impl DataKey {
    pub fn secrets(&self) -> i64 {
        self.hubs + self.vms + self.vapps
    }
}

/// What became of a batch of data keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrapped {
    pub done: i64,
    /// The last one looked at; None: there are no more.
    pub last: Option<Uuid>,
}

/// What became of a batch of secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    pub done: i64,
    /// What the last one looked at belongs to; None: there are no more.
    pub last: Option<(String, String)>,
}

impl Vault {
    /// The names of the master secrets; the first one seals.
    pub fn masters(&self) -> Vec<String> {
        self.masters.iter().map(|m| m.name.clone()).collect()
    }

    /// The data key that seals now, read anew: another replica may have made one.
    pub async fn newest_id(&self) -> Result<Uuid> {
        self.load().await?;
        Ok(self.newest().await?.0)
    }

    pub async fn data_keys(&self) -> Result<Vec<DataKey>> {
        let mut all: BTreeMap<Uuid, DataKey> = BTreeMap::new();
        let rows = sqlx::query!("select id, sealed, master, created_at from data_keys")
            .fetch_all(&self.store.pool)
            .await
            .map_err(mapped)?;
        for r in rows {
            let opener = self.unwrapped(r.id, &r.sealed);
            let master = opener.as_ref().map_or(r.master, |(m, _)| m.name.clone());
            let (opens, made) = (opener.is_some(), Some(r.created_at));
            all.insert(r.id, DataKey { id: r.id, made, master, opens, hubs: 0, vms: 0, vapps: 0 });
        }
        let used = sqlx::query!(
            r#"select s.of as "of!", encode(substring(s.sealed from 2 for 16), 'hex') as "key!", count(*) as "count!" from
                 (select 'hub' as of, credential as sealed from hubs
                  union all select 'vm', cloud_init from vms where cloud_init is not null
                  union all select 'vapp', parameters from vapps where parameters is not null) s
               group by 1, 2"#
        )
        .fetch_all(&self.store.pool)
        .await
        .map_err(mapped)?;
        for u in used {
            // what is too short to name its key has none
            let id = Uuid::try_parse(&u.key).unwrap_or_default();
            let missing = DataKey { id, made: None, master: String::new(), opens: false, hubs: 0, vms: 0, vapps: 0 };
            let key = all.entry(id).or_insert(missing);
            match u.of.as_str() {
                "hub" => key.hubs += u.count,
                "vm" => key.vms += u.count,
                _ => key.vapps += u.count,
            }
        }
        Ok(all.into_values().collect())
    }
}

impl Write<'_> {
    /// A new data key: what is sealed from now on takes it.
    pub async fn data_key_add(&mut self, vault: &Vault) -> Result<Uuid> {
        let (id, sealed, master) = vault.new_key()?;
        sqlx::query!("insert into data_keys (id, sealed, master) values ($1, $2, $3)", id, sealed, master)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(id)
    }

    /// Seals the next data keys with the present master secret. Those that can't be opened stay as they are.
    pub async fn rewrap(&mut self, vault: &Vault, after: Option<Uuid>, at_most: i64) -> Result<Rewrapped> {
        let present = vault.masters.first().ok_or_else(|| Error::Internal("no master secret".into()))?;
        let rows = sqlx::query!(
            "select id, sealed from data_keys where master <> $1 and id > $2 order by id limit $3 for update",
            present.name,
            after.unwrap_or_default(),
            at_most
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let mut batch = Rewrapped { done: 0, last: rows.last().map(|r| r.id) };
        for r in rows {
            let Some((by, plain)) = vault.unwrapped(r.id, &r.sealed) else { continue };
            let sealed =
                if by.name == present.name { r.sealed } else { sealed_with(&present.key, &sealed_as(r.id), &plain)? };
            sqlx::query!("update data_keys set sealed = $2, master = $3 where id = $1", r.id, sealed, present.name)
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
            batch.done += 1;
        }
        Ok(batch)
    }

    /// Seals the next secrets with the newest data key. Those that can't be opened, and those that somebody changes at the
    /// same time, stay as they are.
    pub async fn reseal(
        &mut self,
        vault: &Vault,
        newest: Uuid,
        after: Option<(String, String)>,
        at_most: i64,
    ) -> Result<Resealed> {
        let (kind, id) = after.unwrap_or_default();
        let rows = sqlx::query!(
            r#"select s.of as "of!", s.id as "id!", s.sealed as "sealed!" from
                 (select 'hub' as of, id, credential as sealed from hubs
                  union all select 'vm', id::text, cloud_init from vms where cloud_init is not null
                  union all select 'vapp', id::text, parameters from vapps where parameters is not null) s
               where substring(s.sealed from 2 for 16) <> $1 and (s.of, s.id) > ($2, $3) order by s.of, s.id limit $4"#,
            &newest.as_bytes()[..],
            kind,
            id,
            at_most
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let mut batch = Resealed { done: 0, last: rows.last().map(|r| (r.of.clone(), r.id.clone())) };
        for r in rows {
            let of = format!("{}/{}", r.of, r.id);
            let plain = match vault.open(&of, &r.sealed).await {
                Ok(plain) => plain,
                Err(e @ Error::Unavailable(_)) => return Err(e),
                Err(_) => continue,
            };
            let sealed = vault.seal(&of, &plain).await?;
            batch.done += self.set_sealed(&r.of, &r.id, &r.sealed, &sealed).await?;
        }
        Ok(batch)
    }

    async fn set_sealed(&mut self, of: &str, id: &str, old: &[u8], new: &[u8]) -> Result<i64> {
        let uuid = || id.parse::<Uuid>().map_err(|e| Error::Internal(format!("{of}/{id}: {e}")));
        let done = match of {
            "hub" => {
                sqlx::query!("update hubs set credential = $3 where id = $1 and credential = $2", id, old, new)
                    .execute(&mut *self.tx)
                    .await
            }
            "vm" => {
                sqlx::query!("update vms set cloud_init = $3 where id = $1 and cloud_init = $2", uuid()?, old, new)
                    .execute(&mut *self.tx)
                    .await
            }
            _ => {
                sqlx::query!("update vapps set parameters = $3 where id = $1 and parameters = $2", uuid()?, old, new)
                    .execute(&mut *self.tx)
                    .await
            }
        };
        Ok(done.map_err(mapped)?.rows_affected() as i64)
    }
}
