//! The keys that secrets are sealed with: which are in use, and changing them while everything runs.
use crate::{Domain, idp::Sealer};
use model::{
    Action, Actor, Error, Fields, Result,
    decide::{Resource, authorize},
};
use store::{DataKey, Record, Vault};
use uuid::Uuid;

/// A master secret by its name, and what needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MasterSecret {
    /// Empty: nobody knows which one.
    pub name: String,
    /// Where it is set; None: nowhere.
    pub setting: Option<&'static str>,
    pub data_keys: i64,
    pub client_secrets: i64,
}

/// Everything that is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub masters: Vec<MasterSecret>,
    pub data_keys: Vec<DataKey>,
}

impl Keys {
    /// Data keys and client secrets that wait to be sealed with the present master secret.
    pub fn behind(&self) -> i64 {
        self.masters.iter().skip(1).filter(|m| m.setting.is_some()).map(|m| m.data_keys + m.client_secrets).sum()
    }

    /// Secrets that are not sealed with the newest data key.
    pub fn on_older_keys(&self) -> i64 {
        self.data_keys.iter().rev().skip(1).map(DataKey::secrets).sum()
    }

    /// What can't be opened, one line each.
    pub fn lost(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for key in self.data_keys.iter().filter(|k| !k.opens && k.secrets() > 0) {
            let need = format!(
                "hubs ({}), VMs ({}) and vApps ({}) need the data key {}",
                key.hubs, key.vms, key.vapps, key.id
            );
            lines.push(match (key.made, key.master.as_str()) {
                (None, _) => {
                    format!("{need}, which is missing; restore the table data_keys, or set their secrets anew")
                }
                (Some(_), "") => format!("{need}, which is sealed with a master secret that is not set; {SET_OLD}"),
                (Some(_), master) => {
                    format!("{need}, which is sealed with the master secret {master}, and that is not set; {SET_OLD}")
                }
            });
        }
        for m in self.masters.iter().filter(|m| m.setting.is_none() && m.client_secrets > 0) {
            let n = m.client_secrets;
            lines.push(format!(
                "{n} client secrets of identity providers need a master secret that is not set; {SET_OLD}"
            ));
        }
        lines
    }
}

const SET_OLD: &str = "set auth.old_secret to it";
/// Where the vault's master secrets come from, in their order.
const SETTINGS: [&str; 2] = ["auth.secret", "auth.old_secret"];

pub async fn list(d: &Domain, actor: &Actor, sealer: &Sealer) -> Result<Keys> {
    authorize(actor, Action::KeysList, Resource::Installation)?;
    let vault = d.vault()?;
    let ours = vault.masters().into_iter().zip(SETTINGS);
    let mut masters: Vec<MasterSecret> =
        ours.map(|(name, s)| MasterSecret { name, setting: Some(s), ..MasterSecret::default() }).collect();
    let data_keys = vault.data_keys().await?;
    for key in data_keys.iter().filter(|k| k.made.is_some()) {
        of(&mut masters, &key.master).data_keys += 1;
    }
    for (org, sealed) in d.store.client_secrets().await? {
        match sealer.opened(org, &sealed) {
            Some((i, _)) if i < masters.len() => masters[i].client_secrets += 1,
            _ => of(&mut masters, "").client_secrets += 1,
        }
    }
    Ok(Keys { masters, data_keys })
}

fn of<'a>(masters: &'a mut Vec<MasterSecret>, name: &str) -> &'a mut MasterSecret {
    let at = masters.iter().position(|m| m.name == name).unwrap_or_else(|| {
        masters.push(MasterSecret { name: name.to_owned(), ..MasterSecret::default() });
        masters.len() - 1
    });
    &mut masters[at]
}

/// How keys are to be changed.
#[derive(Clone, Copy, Debug)]
pub struct Rotate {
    /// Make a new data key, and seal every secret with it.
    pub data_keys: bool,
    /// How many are done in one transaction.
    pub batch: i64,
}

impl Default for Rotate {
    fn default() -> Self {
        Rotate { data_keys: false, batch: 200 }
    }
}

/// How far it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    pub master: String,
    /// Sealed anew with the present master secret.
    pub data_keys: i64,
    pub client_secrets: i64,
    /// Sealed anew with the newest data key.
    pub secrets: i64,
    /// Made now.
    pub new_data_key: Option<Uuid>,
}

impl Fields for Rotated {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![("master_secret", self.master.clone())];
        let counts =
            [("data_keys", self.data_keys), ("client_secrets", self.client_secrets), ("secrets", self.secrets)];
        out.extend(counts.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name, n.to_string())));
        out.extend(self.new_data_key.map(|id| ("new_data_key", id.to_string())));
        out
    }
}

/// Brings everything to the present master secret and, if wished, to a new data key. It may be stopped at any time: what is
/// done is done, and the next run goes on. `step` hears how far it came.
pub async fn rotate(
    d: &Domain,
    actor: &Actor,
    sealer: &Sealer,
    how: Rotate,
    mut step: impl FnMut(&Rotated),
) -> Result<Rotated> {
    let action = Action::KeysRotate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let vault = d.vault()?;
        let before = list(d, actor, sealer).await?;
        refuse_wrong_secret(vault, &before)?;
        let name = before.masters.first().map(|m| m.name.clone()).unwrap_or_default();
        let mut all = Rotated { master: name.clone(), ..Rotated::default() };
        let record = |part: &Rotated| {
            let part = Rotated { master: name.clone(), ..part.clone() };
            Record::new(action, actor.org, actor.org, "this installation").after(&part)
        };

        let mut after = None;
        loop {
            let mut tx = d.store.write(actor).await?;
            let batch = tx.rewrap(vault, after, how.batch).await?;
            let Some(last) = batch.last else { break };
            after = Some(last);
            if batch.done > 0 {
                tx.commit(record(&Rotated { data_keys: batch.done, ..Rotated::default() })).await?;
                all.data_keys += batch.done;
                step(&all);
            }
        }

        let mut tx = d.store.write(actor).await?;
        let mut done = 0;
        for (org, sealed) in d.store.client_secrets().await? {
            if let Some((1.., secret)) = sealer.opened(org, &sealed) {
                let anew = sealer.seal(org, &secret)?;
                done += i64::from(tx.client_secret_reseal(org, &sealed, &anew).await?);
            }
        }
        if done > 0 {
            tx.commit(record(&Rotated { client_secrets: done, ..Rotated::default() })).await?;
            all.client_secrets = done;
            step(&all);
        }

        if how.data_keys {
            all.new_data_key = renew(d, actor, vault, &before, &record).await?;
            let newest = vault.newest_id().await?;
            let mut after = None;
            loop {
                let mut tx = d.store.write(actor).await?;
                let batch = tx.reseal(vault, newest, after, how.batch).await?;
                let Some(last) = batch.last else { break };
                after = Some(last);
                if batch.done > 0 {
                    tx.commit(record(&Rotated { secrets: batch.done, ..Rotated::default() })).await?;
                    all.secrets += batch.done;
                    step(&all);
                }
            }
        }
        Ok(all)
    })
    .await
}

/// A new data key, unless an earlier run made one and has not sealed everything with it.
async fn renew(
    d: &Domain,
    actor: &Actor,
    vault: &Vault,
    before: &Keys,
    record: &impl Fn(&Rotated) -> Record,
) -> Result<Option<Uuid>> {
    if before.on_older_keys() > 0 {
        return Ok(None);
    }
    let mut tx = d.store.write(actor).await?;
    let id = tx.data_key_add(vault).await?;
    tx.commit(record(&Rotated { new_data_key: Some(id), ..Rotated::default() })).await?;
    Ok(Some(id))
}

/// With a secret that opens nothing there is nothing to change, and a new data key would only hide the mistake.
fn refuse_wrong_secret(vault: &Vault, keys: &Keys) -> Result<()> {
    let there: Vec<&DataKey> = keys.data_keys.iter().filter(|k| k.made.is_some()).collect();
    if there.is_empty() || there.iter().any(|k| k.opens) {
        return Ok(());
    }
    let ours = vault.masters().join(" and ");
    let theirs: Vec<&str> = there.iter().map(|k| k.master.as_str()).filter(|m| !m.is_empty()).collect();
    let theirs = if theirs.is_empty() { String::new() } else { format!(" ({})", theirs.join(", ")) };
    Err(Error::NotNow(format!(
        "No data key can be opened: they are sealed with another master secret{theirs}, and the settings have {ours}. \
         Set auth.old_secret to the secret they were sealed with. Nothing was changed."
    )))
}
