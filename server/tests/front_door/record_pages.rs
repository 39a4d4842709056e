//! The pages of tasks, events and the audit: who can read what is written down, and how it is found.
use crate::harness::{Client, TestApp};
use model::role::Predefined::*;

/// acme's administrator edits a VDC; the request's id.
async fn edit_a_vdc(app: &TestApp, admin: &Client) -> String {
    let acme = app.domain.store.org_id("acme").await.unwrap().unwrap();
    let id = app.vdc(acme, "prod").await;
    let answer = admin.fill(&format!("/tenant/acme/vdcs/{id}/edit"), &[("cpu_limit", "8")]).await.must(303);
    answer.request_id().to_owned()
}

#[tokio::test]
async fn a_change_leaves_a_task_an_event_and_an_audit_entry_that_hang_together() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let request = edit_a_vdc(&app, &admin).await;

    let tasks = admin.get("/tenant/acme/tasks?q=edited+vdc").await.must(200).says("Edit VDC prod Waiting acme-admin");
    let task = admin.get(&tasks.link("Edit VDC").unwrap()).await.must(200).says("Asked by acme-admin");
    assert!(task.body.contains(&format!("data-copy=\"{request}\"")), "the request's id can be copied");
    assert!(tasks.link("prod").unwrap().starts_with("/tenant/acme/vdcs/"));

    admin.get(&format!("/tenant/acme/events?q={request}")).await.must(200).says("Edit VDC prod acme-admin");

    let audit = admin.get(&task.link("What this request did").unwrap()).await.must(200).says("Edited VDC prod Done");
    let entry = audit.link("Edited VDC").unwrap();
    let entry = admin.get(entry.split('#').next().unwrap()).await.must(200);
    let entry = entry.says("acme-admin edited VDC prod").says("− CPU limit: no limit + CPU limit: 8 vCPU");
    entry.says("portal, from 10.0.0.7").says("Organization vDC: Edit");
}

#[tokio::test]
async fn a_refusal_says_why_and_who_tried() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).vdc("prod").make().await;
    let alice = app.sign_in("acme", "alice").await;
    alice.post(&format!("/tenant/acme/vdcs/{}/disable", acme.vdc("prod")), &[]).await.must(403);
    let admin = app.sign_in("acme", "acme-admin").await;
    let list = admin.get("/tenant/acme/audit?result=refused").await.must(200).says("alice Disable VDC");
    let entry = list.link("Disable VDC").unwrap();
    let entry = admin.get(entry.split('#').next().unwrap()).await.must(200);
    entry.says("alice tried to disable a VDC").says("takes the right “Organization vDC: Activate / Deactivate”");
}

#[tokio::test]
async fn without_the_right_one_sees_ones_own_and_no_audit() {
    let app = TestApp::start().await;
    app.org("acme").user("carl", ConsoleAccessOnly).vdc("prod").make().await;
    let carl = app.sign_in("acme", "carl").await;
    let events = carl.get("/tenant/acme/events").await.must(200).says("Signed in carl").says_not("prod");
    events.says("Only your own. To see everybody's takes the right “Event: View”.");
    carl.get("/tenant/acme/tasks").await.must(200).says("No tasks yet").says_not("prod");
    carl.get("/tenant/acme/audit").await.must(403).says("Audit Trail: View").says("Console Access Only");
    carl.get("/tenant/acme/audit.csv").await.must(403);
    let file = carl.get("/tenant/acme/events.csv").await.must(200);
    assert!(file.body.contains("Signed in carl") && !file.body.contains("prod"), "{}", file.body);
}

#[tokio::test]
async fn records_of_another_organization_are_not_there() {
    let app = TestApp::start().await;
    app.org("acme").vdc("prod").make().await;
    app.org("globex").vdc("secret").make().await;
    let task = app.db.text("select id::text from tasks where object_name = 'secret'").await;
    let entry = app.db.text("select id::text from audit where object_name = 'secret'").await;
    let admin = app.sign_in("acme", "acme-admin").await;
    for path in ["tasks", "events", "audit", "tasks.csv", "events.csv", "audit.csv"] {
        let answer = admin.get(&format!("/tenant/acme/{path}")).await.must(200);
        assert!(answer.body.contains("prod") && !answer.body.contains("secret"), "{path}");
        admin.get(&format!("/tenant/globex/{path}")).await.must(404);
        admin.get(&format!("/provider/{path}")).await.must(404);
    }
    admin.get(&format!("/tenant/acme/tasks/{task}")).await.must(404);
    admin.get(&format!("/tenant/acme/audit?entry={entry}")).await.must(404);
    // the provider sees both, each in its own place
    let provider = app.provider().await;
    provider.get(&format!("/provider/tasks/{task}")).await.must(200).says("secret").says("globex");
    provider.get(&format!("/tenant/globex/tasks/{task}")).await.must(200);
    provider.get(&format!("/tenant/acme/tasks/{task}")).await.must(404);
    provider.get(&format!("/tenant/acme/audit?entry={entry}")).await.must(404);
    provider.get(&format!("/provider/audit?entry={entry}")).await.must(200).says("operator created VDC secret");
}

#[tokio::test]
async fn what_is_gone_is_named_but_not_linked() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").vdc("dev").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let gone = format!("/tenant/acme/vdcs/{}", acme.vdc("dev"));
    admin.fill(&format!("{gone}/delete"), &[("name", "dev")]).await.must(303);
    for path in ["tasks", "events", "audit"] {
        let page = admin.get(&format!("/tenant/acme/{path}")).await.must(200).says("dev");
        assert!(page.body.contains(&format!("/tenant/acme/vdcs/{}\"", acme.vdc("prod"))), "{path}");
        assert!(!page.body.contains(&gone), "{path}");
    }
}

#[tokio::test]
async fn long_records_are_paged_by_time_and_files_have_all_of_them() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    app.db
        .execute(
            "insert into events (id, org_id, user_name, kind, object_kind, object_name, message, created_at)
             select gen_random_uuid(), o.id, 'somebody', 'vdc.edit', 'vdc', 'x', 'happening ' || n, now() + n * interval '1 s'
             from organizations o, generate_series(1, 2500) n where o.name = 'acme'",
        )
        .await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let first = admin.get("/tenant/acme/events?q=happening").await.must(200);
    let first = first.says("happening 2500").says("First 20 of 2,500, newest first").says_not("happening 2480 ");
    assert!(first.link("Newer").is_none());
    let second = admin.get(&first.link("Older").unwrap()).await.must(200).says("happening 2480 ");
    admin.get(&second.link("Newer").unwrap()).await.must(200).says("happening 2500");
    let oldest = admin.get("/tenant/acme/events?q=happening&sort=time").await.must(200).says("happening 1 ");
    assert!(oldest.says("oldest first").link("Newer").is_some());
    let file = admin.get("/tenant/acme/events.csv?q=happening").await.must(200);
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(file.body.lines().count(), 2501);
    assert!(file.body.lines().last().is_some_and(|row| row.contains("happening 1,")), "all of them, in order");
}
