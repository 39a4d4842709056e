//! The queue of work, as the provider sees it.
use crate::harness::TestApp;
use std::time::Duration;

#[tokio::test]
async fn the_queue_is_shown_in_numbers_and_failed_work_is_tried_again() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").vdc("test").make().await;
    let provider = app.provider().await;
    app.db.execute("delete from work").await;
    provider.get("/provider/work").await.must(200).says("Nothing to do");
    let insert = |vdc, failing: &str, why: &str| {
        format!(
            "insert into work (kind, id, org_id, attempt, failing, last_error) values ('vdc', '{vdc}', '{}', 3, '{failing}', '{why}')",
            acme.id
        )
    };
    app.db.execute(&insert(acme.vdc("prod"), "failed", "The quota is refused.")).await;
    app.db.execute(&insert(acme.vdc("test"), "wait", "No hub with virtualmachine capability found")).await;
    let page = provider.get("/provider/work").await.must(200);
    let page = page.says("1 failed").says("1 waiting for something").says("The quota is refused.").says("none chosen");
    assert_eq!(page.body.matches("Try again").count(), 1);
    assert_eq!(page.link("prod"), Some(format!("/provider/vdcs/{}", acme.vdc("prod"))));
    let id = acme.vdc("prod").to_string();
    let done = provider.post("/provider/work/retry", &[("kind", "vdc"), ("id", &id)]).await;
    provider.follow(done).await.says("The VDC is tried again.").says("0 failed").says("1 queued");
    assert_eq!(app.db.count("audit where action = 'work.retry' and result <> 'refused'").await, 1);
    let missing = "01900000-0000-7000-8000-0000deadbeef";
    provider.post("/provider/work/retry", &[("kind", "vdc"), ("id", missing)]).await.must(404);
    provider.post("/provider/work/retry", &[("kind", "teapot"), ("id", &id)]).await.must(400);
}

#[tokio::test]
async fn one_organization_with_much_to_do_does_not_keep_another_one_waiting() {
    let app = TestApp::start().await;
    let (acme, globex) = (app.org("acme").make().await, app.org("globex").make().await);
    app.db.execute("delete from work").await;
    let insert = |org, count, age| {
        format!(
            "insert into work (kind, id, org_id, hub_id, not_before)
             select 'vm', gen_random_uuid(), '{org}', 'one', now() - interval '{age} minutes' from generate_series(1, {count})"
        )
    };
    app.db.execute(&insert(acme.id, 1000, 10)).await;
    app.db.execute(&insert(globex.id, 2, 1)).await;
    let claim = async || app.domain.store.claim("a worker", 64, Duration::from_secs(8)).await.unwrap();
    let first = claim().await;
    let of = |org| first.iter().filter(|c| c.org == org).count();
    assert_eq!((of(acme.id), of(globex.id)), (14, 2), "as many as a hub takes at once, and both of the other's");
    assert_eq!(claim().await, [], "the hub has enough to do");
    app.domain.store.work_done(&first[0]).await.unwrap();
    assert_eq!(claim().await.len(), 1);
    app.domain.store.release_leases("a worker").await.unwrap();
    assert_eq!(claim().await.len(), 16);
}

#[tokio::test]
async fn what_failed_for_good_is_in_nobodys_way() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    app.db.execute("delete from work").await;
    let insert = |failing, count| {
        format!(
            "insert into work (kind, id, org_id, hub_id, failing)
             select 'vm', gen_random_uuid(), '{}', 'one', '{failing}' from generate_series(1, {count})",
            acme.id
        )
    };
    app.db.execute(&insert("failed", 100)).await;
    app.db.execute(&insert("", 3)).await;
    app.db.execute(&insert("retry", 1)).await;
    let claimed = app.domain.store.claim("a worker", 64, Duration::from_secs(8)).await.unwrap();
    assert_eq!(claimed.len(), 4);
}

#[tokio::test]
async fn what_comes_while_somebody_finds_it_missing_is_not_waited_for() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let store = &app.domain.store;
    let claimed = store.claim("a worker", 64, Duration::from_secs(8)).await.unwrap();
    assert_eq!(claimed.iter().map(|c| c.id).collect::<Vec<_>>(), [acme.vdc("prod").0], "the VDC");
    let later = async |claim| {
        let wait = store::Later::Wait { after: Duration::from_secs(30), why: "There is no hub.".into() };
        store.work_later(claim, &wait).await.unwrap();
        store.claim("a worker", 64, Duration::from_secs(8)).await.unwrap()
    };
    store.wake_waiting("one").await.unwrap();
    let again = later(&claimed[0]).await;
    assert_eq!(again.len(), 1, "a hub came after the worker had looked for one, and before it said so");
    assert_eq!(later(&again[0]).await, [], "nothing came since");
    store.wake_waiting("one").await.unwrap();
    assert_eq!(store.claim("a worker", 64, Duration::from_secs(8)).await.unwrap().len(), 1);
}
