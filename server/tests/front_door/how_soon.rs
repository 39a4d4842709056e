//! How soon things are noticed, with the times that installations have.
use crate::stage::{Stage, VMS};
use serde_json::Value;
use sqlx::{Connection, Executor};
use std::time::{Duration, Instant};

#[tokio::test]
async fn the_work_of_a_killed_replica_is_taken_over_within_ten_seconds() {
    let stage = Stage::set().await;
    let db = &stage.app.db;
    let faults = stage.hubs.hub("one").faults();
    // whoever works on it hangs in a call
    faults.set(hubsim::Fault::BlackHole, true);
    stage.deploy("ubuntu-24.04", "mail").await;
    let held = "work where lease_until > now()";
    stage.until("work under way", async || db.count(held).await > 0).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let epochs = "select coalesce(string_agg(kind || id || ' ' || lease_epoch, ',' order by kind, id), '') from work
                  where lease_until > now()";
    let before = db.text(epochs).await;
    assert!(!before.is_empty(), "it is still held");
    let hub_before = db.text("select lease_epoch::text from hubs").await;

    stage.hubs.kill_controller();
    let killed = Instant::now();
    faults.set(hubsim::Fault::BlackHole, false);
    stage.hubs.start_controller(&stage.app);
    // what was held has another holder, or is done
    let taken = async || {
        let now = db.text("select coalesce(string_agg(kind || id || ' ' || lease_epoch, ','), '') from work").await;
        !before.split(',').any(|one| now.split(',').any(|other| other == one))
    };
    stage.until("a new holder", taken).await;
    let work = killed.elapsed();
    stage
        .until("who follows the hub", async || db.text("select lease_epoch::text from hubs").await != hub_before)
        .await;
    let hub = killed.elapsed();
    assert!(work < Duration::from_secs(10), "the work was taken over after {work:?}");
    assert!(hub < Duration::from_secs(10), "the hub was followed again after {hub:?}");
}

#[tokio::test]
async fn a_change_on_the_hub_by_hand_is_named_within_a_second() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let hub = stage.hubs.hub("one");
    let outside = async || stage.app.db.text(&format!("select outside from vms where id = '{}'", one.id)).await;
    let edited = |labels: Value| {
        hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, |o| {
            o["spec"]["template"]["spec"]["nodeSelector"] = labels.clone();
            o["metadata"]["generation"] = (o["metadata"]["generation"].as_i64().unwrap() + 1).into();
        })
        .unwrap()
    };
    let mut soonest = Duration::MAX;
    // the best of some tries: what else this machine does at the moment is nobody's promise
    for _ in 0..5 {
        let begun = Instant::now();
        assert!(edited(serde_json::json!({"disk": "ssd"})));
        stage.until("its name", async || outside().await == "Its settings were changed on its hub by hand.").await;
        soonest = soonest.min(begun.elapsed());
        assert!(edited(Value::Null));
        stage.until("as it was", async || outside().await.is_empty()).await;
    }
    assert!(soonest < Duration::from_secs(1), "named after {soonest:?}");
}

#[tokio::test]
async fn a_hub_stays_with_its_replica_while_open_tasks_take_long_to_look_at() {
    let stage = Stage::set().await;
    let db = &stage.app.db;
    let epoch_now = async || db.text("select lease_epoch::text from hubs").await;
    let before = epoch_now().await;
    stage.hubs.look_every(&stage.app, Duration::from_millis(300));
    stage.until("another holder", async || epoch_now().await != before).await;
    let (held, epoch) = ("hubs where lease_until > now()", epoch_now().await);
    // longer than a lease
    let mut other = sqlx::PgConnection::connect(&db.url).await.unwrap();
    let slow = async { other.execute("lock table tasks in access exclusive mode; select pg_sleep(8)").await.unwrap() };
    let looks = async {
        for _ in 0..70 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(db.count(held).await, 1, "its lease ended");
        }
    };
    futures::join!(slow, looks);
    assert_eq!(epoch_now().await, epoch);
}
