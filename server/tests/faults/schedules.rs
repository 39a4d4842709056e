//! Long random stories: people do one thing after the other, all kinds of things go wrong meanwhile, and at the end all of
//! it is deleted. A story is its seed.
use crate::{
    database,
    fault::Fault,
    operation::Op,
    oracle::Finding,
    run::{PATIENCE, rest},
    stage::{BY_OPENSHIFT, SEVERAL, Stage, machine},
};
use domain::{vapp, vdc, vm};
use model::{Action, VappId, VdcId, VmId, vm::Power};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use std::time::Duration;

/// Faults that end without leaving anything that could not be done.
fn passing() -> Vec<Fault> {
    let harmless = |f: &Fault| !f.may_fail(Op::Instantiate) && !f.own_vdc() && !matches!(f, Fault::None | Fault::Storm);
    Fault::all().into_iter().filter(harmless).collect()
}

/// What one story has made so far.
#[derive(Default)]
struct Cast {
    vdcs: Vec<VdcId>,
    vapps: Vec<VappId>,
    vms: Vec<VmId>,
}

pub(crate) async fn story(stage: &Stage, seed: u64) -> Vec<Finding> {
    let mut rng = StdRng::seed_from_u64(seed);
    let replicas = *[1, 2, 3].choose(&mut rng).unwrap();
    stage.have(replicas).await;
    let mut cast = Cast { vdcs: vec![stage.prod().await], ..Cast::default() };
    let faults = passing();
    for _ in 0..rng.random_range(4..9) {
        if rng.random_bool(0.6) {
            trouble(stage, *faults.choose(&mut rng).unwrap(), replicas, &mut rng, &mut cast).await;
        } else {
            step(stage, &mut rng, &mut cast).await;
        }
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..200))).await;
    }
    stage.have(replicas).await;
    let found = rest(stage, false, PATIENCE).await;
    if found.is_empty() { the_end(stage).await } else { found }
}

/// One or two steps while something is wrong.
async fn trouble(stage: &Stage, fault: Fault, replicas: usize, rng: &mut StdRng, cast: &mut Cast) {
    match fault {
        Fault::Sim(fault) => {
            let faults = stage.hub("one").faults();
            match fault {
                hubsim::Fault::ReplyLost => faults.lose_replies(rng.random_range(1..6)),
                other => faults.set(other, true),
            }
            step(stage, rng, cast).await;
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..600))).await;
            step(stage, rng, cast).await;
            faults.clear();
            stage.hub("one").release_stuck().unwrap();
        }
        Fault::DatabaseCut => {
            step(stage, rng, cast).await;
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..100))).await;
            database::cut(stage).await;
            database::used_up(&stage.app.domain.store).await;
        }
        Fault::Database(trouble) => {
            let hold = Duration::from_millis(rng.random_range(100..500));
            let about = cast.vdcs[0];
            futures::join!(step(stage, rng, cast), trouble.strike(stage, about, hold));
        }
        _ => {
            step(stage, rng, cast).await;
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..100))).await;
            stage.have(0).await;
            stage.have(replicas).await;
        }
    }
}

/// Somebody does something. What the state of things does not allow is refused, and that is fine.
async fn step(stage: &Stage, rng: &mut StdRng, cast: &mut Cast) {
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let vdc = *cast.vdcs.choose(rng).unwrap();
    let vm = cast.vms.choose(rng).copied();
    let pick = rng.random_range(0..16);
    match (pick, vm) {
        (0, _) => cast.vapps.extend(stage.deploy(vdc, SEVERAL, &stage.fresh("story")).await),
        (1, _) => cast.vapps.extend(stage.deploy(vdc, BY_OPENSHIFT, &stage.fresh("story")).await),
        (2, _) => cast.vdcs.extend(stage.new_vdc(&stage.fresh("story")).await),
        (3 | 4, Some(id)) => drop(stage.ask(Action::VmDelete, vm::delete(d, admin, id)).await),
        (5, Some(id)) => {
            drop(stage.ask(Action::VmResize, vm::resize(d, admin, id, rng.random_range(1..5), 2048)).await)
        }
        (6, Some(id)) => {
            if let Ok(now) = vm::get(d, admin, id).await {
                let name = stage.fresh("renamed");
                let _ = stage.ask(Action::VmEdit, vm::edit(d, admin, id, now.version, &name, "")).await;
            }
        }
        (7, _) if !cast.vapps.is_empty() => {
            let asked = vapp::delete(d, admin, cast.vapps[rng.random_range(0..cast.vapps.len())]);
            let _ = stage.ask(Action::VappDelete, asked).await;
        }
        (8, _) if !cast.vapps.is_empty() => {
            let spec = machine(&stage.fresh("added"), Power::On);
            let asked = vm::add(d, admin, cast.vapps[rng.random_range(0..cast.vapps.len())], spec);
            let _ = stage.ask(Action::VmCreate, asked).await;
        }
        (9..=14, Some(id)) => {
            let powers = [
                Action::VmPowerOn,
                Action::VmPowerOff,
                Action::VmSuspend,
                Action::VmShutdown,
                Action::VmReboot,
                Action::VmReset,
            ];
            let action = *powers.choose(rng).unwrap();
            let _ = stage.ask(action, vm::power(d, admin, id, action)).await;
        }
        _ => cast.vapps.extend(stage.compose(vdc, &stage.fresh("story"), &[Power::On, Power::Off]).await),
    }
    cast.vms.clear();
    for vapp in &cast.vapps {
        cast.vms.extend(stage.vms_of(*vapp).await);
    }
}

/// All of it is deleted, also what was made though nobody was told so, and nothing of it may be left.
async fn the_end(stage: &Stage) -> Vec<Finding> {
    let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
    let ids = async |table: &str| {
        let sql = format!(
            "select coalesce(string_agg(id::text, ' '), '') from {table} where name like 'story%' and deleted_at is null"
        );
        db.text(&sql).await.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<uuid::Uuid>>()
    };
    for id in ids("vapps").await {
        stage.ask(Action::VappDelete, vapp::delete(d, admin, VappId(id))).await.unwrap();
    }
    let left = "vms v join vapps a on a.id = v.vapp_id where v.gone_at is null and a.name like 'story%'";
    stage.until("the end of all machines", async || db.count(left).await == 0).await;
    for id in ids("vdcs").await {
        stage.ask(Action::VdcDelete, vdc::delete(d, admin, VdcId(id))).await.unwrap();
    }
    rest(stage, false, PATIENCE).await
}
