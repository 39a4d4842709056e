//! Keeps an eye on every hub: one watcher each, a look at its health on a schedule, and what templates it has. What is looked at
//! for all of them together has a round of its own: it may take long, and hubs are held by leases that end soon.
use crate::{
    Shared,
    differences::Differences,
    drill::{Step, at},
    follow, instances, leases, own_namespace, same_cluster, settle, templates,
};
use hub::{
    Client, check,
    client::{Circuit, Revision},
};
use model::{
    HubId, Kind, Result,
    hub::{CheckState, HubCheck, HubState},
};
use std::{collections::HashMap, sync::Arc};
use store::{HubReport, Trouble};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::Instant,
};

struct Kept {
    revision: Revision,
    epoch: watch::Sender<Option<i64>>,
    tasks: Vec<AbortHandle>,
}

impl Kept {
    /// None of them ends by itself: one that did must not leave a hub unseen, whose lease is kept all the same.
    fn lives(&self, hub: &HubId) -> bool {
        let lives = !self.tasks.iter().any(AbortHandle::is_finished);
        if !lives {
            tracing::error!(hub_id = %hub, "what follows a hub ended by itself, and is begun anew");
        }
        lives
    }
}

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut kept: HashMap<HubId, Kept> = HashMap::new();
    let mut tasks: JoinSet<()> = JoinSet::new();
    while !*stop.borrow() {
        match shared.store.credentials_of_hubs().await {
            Ok(hubs) => {
                kept.retain(|id, k| {
                    let there = hubs.iter().any(|h| h.hub == *id && h.revision == k.revision) && k.lives(id);
                    if !there {
                        k.tasks.iter().for_each(AbortHandle::abort);
                    }
                    if !hubs.iter().any(|h| h.hub == *id) {
                        shared.hubs.forget(id);
                    }
                    there
                });
                for hub in hubs {
                    if !kept.contains_key(&hub.hub) {
                        match begin(&shared, &hub.hub, hub.revision, &mut tasks).await {
                            Ok(one) => drop(kept.insert(hub.hub.clone(), one)),
                            Err(e) => {
                                tracing::warn!(hub_id = %hub.hub, error = %internal(&e), "a hub can't be followed")
                            }
                        }
                    }
                    if let Some(k) = kept.get(&hub.hub) {
                        let lease = shared.store.hub_lease(&hub.hub, &shared.owner, shared.times.hub_lease);
                        let epoch = at(Step::HubLease, lease).await.unwrap_or(None);
                        k.epoch.send_if_modified(|e| std::mem::replace(e, epoch) != epoch);
                    }
                }
            }
            Err(e) => tracing::debug!(error = %e, "the hubs can't be read"),
        }
        while tasks.try_join_next().is_some() {}
        tokio::select! {
            () = tokio::time::sleep(shared.times.look) => {}
            _ = stop.changed() => {}
        }
    }
    tasks.shutdown().await;
}

/// Open tasks, leases, and what VDCs have on hubs. It is broken off when it is to stop: the next round finds all of it again.
pub(crate) async fn rounds(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut swept = Instant::now();
    let mut differences = Differences::default();
    while !*stop.borrow() {
        let round = async {
            if swept.elapsed() > shared.times.sweep {
                swept = Instant::now();
                if let Err(e) = settle::sweep(&shared).await {
                    tracing::debug!(error = %e, "open tasks could not be looked at");
                }
                if let Err(e) = clear_cordoned(&shared).await {
                    tracing::debug!(error = %e, "cordoned hubs could not be looked at");
                }
            }
            leases::sweep(&shared).await;
            differences.look(&shared).await;
            if let Err(e) = shared.store.places_look(shared.times.drift).await {
                tracing::debug!(error = %e, "places could not be looked at");
            }
            tokio::time::sleep(shared.times.look).await;
        };
        tokio::select! {
            () = round => {}
            _ = stop.changed() => {}
        }
    }
}

/// VDCs leave a cordoned hub when they have nothing there any more.
async fn clear_cordoned(shared: &Shared) -> Result<()> {
    for (vdc, org) in shared.store.places_to_clear().await? {
        shared.store.enqueue(Kind::Vdc, vdc, org, "").await?;
    }
    Ok(())
}

fn internal(e: &model::Error) -> String {
    match e {
        model::Error::Internal(why) => why.clone(),
        e => e.to_string(),
    }
}

async fn begin(shared: &Arc<Shared>, hub: &HubId, revision: Revision, tasks: &mut JoinSet<()>) -> Result<Kept> {
    let client = shared.hubs.client_of(hub, revision).await?;
    // what the old credentials could not do waits for longer than it needs to now
    shared.store.wake_waiting(&hub.0).await?;
    let (epoch, watched) = watch::channel(None);
    let follow = tasks.spawn(follow::run(shared.clone(), hub.clone(), client.clone(), watched.clone()));
    let check = tasks.spawn(check_now_and_then(shared.clone(), hub.clone(), client.clone(), watched.clone()));
    let instances = tasks.spawn(instances::run(shared.clone(), hub.clone(), client.clone()));
    let templates = tasks.spawn(templates::run(shared.clone(), hub.clone(), client, watched));
    Ok(Kept { revision, epoch, tasks: vec![follow, check, instances, templates] })
}

/// Looks at a hub now and then, and soon again while it does not answer.
async fn check_now_and_then(shared: Arc<Shared>, hub: HubId, client: Client, mut epoch: watch::Receiver<Option<i64>>) {
    let mut last = HubReport::default();
    loop {
        while epoch.borrow().is_none() {
            if epoch.changed().await.is_err() {
                return;
            }
        }
        let pause = match look(&shared, &hub, &client, &mut last).await {
            Ok(true) => shared.times.check,
            Ok(false) => shared.times.check_silent,
            Err(e) => {
                tracing::debug!(hub_id = %hub, error = %e, "a hub's state could not be written");
                shared.times.check_silent
            }
        };
        let (until, looked) = (Instant::now() + pause, (shared.clock)());
        while Instant::now() < until {
            tokio::time::sleep((shared.times.look * 2).min(pause)).await;
            // it fell silent meanwhile, or answers and refuses every call: look whether it is back
            let health = client.health();
            let open = matches!(health.circuit, Circuit::Open { .. });
            let doubt = health.in_doubt() && health.last_error.is_some_and(|last| last.at > looked);
            if open || doubt || shared.store.hub_is_silent(&hub).await.unwrap_or(false) {
                break;
            }
        }
    }
}

async fn look(shared: &Shared, hub: &HubId, client: &Client, last: &mut HubReport) -> Result<bool> {
    let credential = shared.hubs.credential(hub).await?;
    let found = check::check(client, &credential, (shared.clock)()).await;
    let mut offers: Vec<String> = found.capabilities.iter().cloned().chain(found.features.iter().cloned()).collect();
    offers.sort_unstable();
    let measured = found.capacity.nodes > 0;
    let mut report = HubReport {
        checks: found.checks.iter().map(Into::into).collect(),
        offers,
        kubernetes_version: found.kubernetes.clone().unwrap_or_default(),
        kubevirt_version: found.kubevirt.clone().unwrap_or_default(),
        cluster_uid: found.cluster.clone().unwrap_or_default(),
        cpus_capacity: measured.then_some(found.capacity.cpus),
        memory_capacity_mb: measured.then_some(found.capacity.memory_mb),
        // the checks have a column of their own
        found: serde_json::to_value(check::Report { checks: Vec::new(), ..found.clone() }).unwrap_or_default(),
    };
    if found.kubernetes.is_some() {
        report.checks.push(own_namespace::bring(shared, hub, client).await?);
    }
    same_cluster::look(shared, hub, &mut report).await?;
    let found_anew = say(hub, &last.checks, &report.checks);
    let before = std::mem::replace(last, report.clone());
    // it may have fallen silent in the middle: then half of the answers are missing
    let health = client.health();
    if found.kubernetes.is_none() || matches!(health.circuit, Circuit::Open { .. }) {
        let why = report.checks.iter().find(|c| c.state == CheckState::Failed);
        let trouble = Trouble {
            kind: health.last_error.map(|last| last.error.key().to_owned()).unwrap_or_default(),
            message: why.map(|c| c.detail.clone()).unwrap_or_default(),
            next_step: why.map(|c| c.what_to_do.clone()).unwrap_or_default(),
        };
        let fell_silent = at(Step::HubSilent, shared.store.hub_silent(hub, &trouble)).await?;
        at(Step::HubReport, shared.store.hub_report(hub, &report, HubState::Unreachable)).await?;
        if fell_silent || found_anew {
            follow::tell_of_hub(shared).await;
        }
        return Ok(false);
    }
    let degraded = report.checks.iter().any(|c| c.state == CheckState::Failed);
    let news = at(Step::HubAnswers, shared.store.hub_answers(hub, (shared.clock)())).await?;
    let state = if degraded { HubState::Degraded } else { HubState::Ready };
    at(Step::HubReport, shared.store.hub_report(hub, &report, state)).await?;
    // what it was found to have may be what something waits for
    if news || before.offers != report.offers {
        shared.store.wake_waiting(&hub.0).await?;
    }
    if news || found_anew {
        follow::tell_of_hub(shared).await;
    }
    Ok(true)
}

/// What is found is said once, and again when it changes: a hub that stays broken is no news every minute. True if it is news.
fn say(hub: &HubId, before: &[HubCheck], now: &[HubCheck]) -> bool {
    let news = |c: &&HubCheck| {
        let same = |b: &HubCheck| b.state == c.state && (c.state == CheckState::Failed || b.detail == c.detail);
        !before.iter().any(|b| b.key == c.key && same(b))
    };
    let mut any = false;
    for c in now.iter().filter(news) {
        any = true;
        match c.state {
            CheckState::Ok => tracing::info!(hub_id = %hub, check = c.key, "✅ {}", c.detail),
            CheckState::Warning => tracing::warn!(hub_id = %hub, check = c.key, "⚠️ {}", c.detail),
            CheckState::Failed => tracing::warn!(hub_id = %hub, check = c.key, "❌ {}", c.detail),
            CheckState::Skipped => {}
        }
    }
    any
}
