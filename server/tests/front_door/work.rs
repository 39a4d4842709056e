//! The queue of work, as the provider sees it.
use crate::harness::TestApp;

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
