//! A look at a hub before anything is saved. What was pasted into a form stays with its writer meanwhile: sealed.
use crate::{
    Domain, Gate,
    hub::{Trust, read_kubeconfig, sealed_as, set_credential},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hub::{Client, check, client::Options};
use model::{
    Action, Actor, Error, HubId, Kind, Result, can,
    decide::{Resource, authorize},
    hub::{CheckState, Hub, HubCheck},
};
use time::Duration;

/// What a hub said when it was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub checks: Vec<HubCheck>,
    /// What requests could be sent to it.
    pub capabilities: Vec<String>,
    pub answers: bool,
    /// All of it, for comparing hubs.
    pub report: check::Report,
}

impl Found {
    /// The first thing that is wrong with it.
    pub fn failed(&self) -> Option<&HubCheck> {
        self.checks.iter().find(|c| c.state == CheckState::Failed)
    }
}

/// Tries a kubeconfig and saves nothing. `action`: what it is wanted for.
pub async fn probe(d: &Domain, actor: &Actor, action: Action, kubeconfig: &str, trust: Trust) -> Result<Found> {
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let credential = read_kubeconfig(d, kubeconfig, trust).await?;
        let gate = if trust == Trust::Operator { Gate::open() } else { d.gate.clone() };
        let unusable = |e: hub::Error| Error::field("kubeconfig", format!("{} {}", e.message(), e.next_step()));
        let client = Client::new(&credential, &gate, d.clock.clone(), Options::default()).map_err(unusable)?;
        let found = check::check(&client, &credential, d.now()).await;
        let mut checks: Vec<HubCheck> = found.checks.iter().map(Into::into).collect();
        if action == Action::HubRegister
            && let Some(first) = d.store.hub_of_cluster(found.cluster.as_deref().unwrap_or_default(), None).await?
        {
            checks.push(HubCheck::same_cluster(&first));
        }
        Ok(Found {
            checks,
            capabilities: found.capabilities.clone(),
            answers: found.kubernetes.is_some(),
            report: found,
        })
    })
    .await
}

/// Another kubeconfig for a hub, which is tried first. One that gets no answer, that leads to another cluster or that can do
/// less than the hub needs is taken only if somebody says `anyway`.
pub async fn change_credential(
    d: &Domain,
    actor: &Actor,
    id: &HubId,
    kubeconfig: &str,
    trust: Trust,
    anyway: bool,
) -> Result<Hub> {
    let action = Action::HubCredential;
    d.attempt(actor, action, d.store.hub(actor, action, id)).await?;
    match anyway {
        true => set_credential(d, actor, id, kubeconfig, trust, None).await,
        false => tried(d, actor, id, kubeconfig, trust, false).await,
    }
}

/// The same at a start, for what the operator names: where neither the old nor the new one gets an answer, nothing is lost by
/// taking the newer one.
pub(crate) async fn change_at_start(d: &Domain, actor: &Actor, id: &HubId, kubeconfig: &str) -> Result<Hub> {
    tried(d, actor, id, kubeconfig, Trust::Operator, true).await
}

async fn tried(d: &Domain, actor: &Actor, id: &HubId, kubeconfig: &str, trust: Trust, at_start: bool) -> Result<Hub> {
    let action = Action::HubCredential;
    let hub = d.store.hub(actor, action, id).await?;
    let found = probe(d, actor, action, kubeconfig, trust).await?;
    let known = d.store.cluster_of_hub(id).await?;
    if let Some(why) = unfit(&hub, &known, &found) {
        let neither = at_start && !found.answers && !registered(d, actor, id).await.is_ok_and(|old| old.answers);
        if !neither {
            return Err(Error::field("kubeconfig", format!("{why} The old one stays.")));
        }
    }
    let cluster = found.report.cluster.as_deref().unwrap_or(&known);
    set_credential(d, actor, id, kubeconfig, trust, Some(cluster)).await
}

/// Why what was found is not the hub as it is known, or no hub to work with.
fn unfit(hub: &Hub, known: &str, found: &Found) -> Option<String> {
    let wrong = |c: &HubCheck| format!("{} {}", c.detail, c.what_to_do);
    if !found.answers {
        return found.failed().map(wrong);
    }
    let cluster = found.report.cluster.as_deref();
    if cluster.is_some_and(|cluster| !known.is_empty() && cluster != known) {
        return Some(format!(
            "It leads to another cluster than the one that {} is: everything on {} would look deleted. Register that one \
             under an id of its own, or use the kubeconfig anyway if the cluster was moved.",
            hub.id, hub.id
        ));
    }
    let vms = can::VMS.key();
    let lost = hub.offers.iter().any(|o| o == vms) && !found.capabilities.iter().any(|c| c == vms);
    lost.then(|| {
        let why = found.failed().map(wrong).unwrap_or_default();
        format!("VMs could not be run with it, as they are now. {why}")
    })
}

/// How long a form may lie open with a kubeconfig in it.
const KEPT: Duration = Duration::minutes(30);

fn kept_as(actor: &Actor) -> String {
    format!("form/{}", actor.user.map(|u| u.to_string()).unwrap_or_default())
}

/// What was pasted, sealed for the one who pasted it: a form can carry it along without showing it.
pub async fn keep(d: &Domain, actor: &Actor, kubeconfig: &str) -> Result<String> {
    let until = (d.now() + KEPT).unix_timestamp();
    let sealed = d.vault()?.seal(&kept_as(actor), format!("{until}\n{kubeconfig}").as_bytes()).await?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// None: it is another's, too old, or nothing of ours.
pub async fn kept(d: &Domain, actor: &Actor, token: &str) -> Option<String> {
    let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
    let plain = d.vault().ok()?.open(&kept_as(actor), &sealed).await.ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (until, kubeconfig) = plain.split_once('\n')?;
    (until.parse::<i64>().ok()? > d.now().unix_timestamp()).then(|| kubeconfig.to_owned())
}

/// Tries a hub that is registered, with the kubeconfig it has.
pub async fn registered(d: &Domain, actor: &Actor, id: &HubId) -> Result<Found> {
    let action = Action::HubView;
    d.store.hub(actor, action, id).await?;
    let stored = d.store.credential_of_hub(id).await?.ok_or(Error::NotFound(Kind::Hub))?;
    let plain = d.vault()?.open(&sealed_as(id), &stored.sealed).await?;
    let kubeconfig =
        String::from_utf8(plain).map_err(|_| Error::Internal(format!("the kubeconfig of {id} is no text")))?;
    let trust = if stored.trusted { Trust::Operator } else { Trust::Checked };
    probe(d, actor, action, &kubeconfig, trust).await
}
