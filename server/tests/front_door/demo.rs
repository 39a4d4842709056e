//! The demonstration's data: made once, completed after a crash, never put back.
use crate::harness::{Client, TestApp};
use domain::org;
use model::{
    Action,
    org::{NewOrg, OrgSpec},
};
use server::demo::{PASSWORD, scale, seed};

async fn sign_in(app: &TestApp, org: &str, user: &str) -> Client {
    let client = app.browser();
    client.post("/sign-in", &[("org", org), ("user", user), ("password", PASSWORD)]).await.must(303);
    client
}

/// How many rows there are of everything.
async fn rows(app: &TestApp) -> Vec<i64> {
    let mut all = vec![];
    for table in ["organizations", "users", "roles", "vdcs", "tasks", "events", "audit"] {
        all.push(app.db.count(table).await);
    }
    all
}

#[tokio::test]
async fn everybody_of_the_demo_can_sign_in_and_a_second_start_writes_nothing() {
    let app = TestApp::start().await;
    seed::run(&app.domain).await.unwrap();
    let made = rows(&app).await;
    // the test's own administrator was there before, and keeps the password
    for user in seed::USERS.iter().filter(|u| u.org != model::org::PROVIDER) {
        let home = sign_in(&app, user.org, user.name).await.get(&format!("/tenant/{}", user.org)).await;
        home.must(200).says(user.name);
    }
    let admin = sign_in(&app, "acme", "acme-admin").await;
    admin.get("/tenant/acme/vdcs").await.must(200).says("acme-prod").says("acme-dev").says_not("globex-prod");
    admin.get("/tenant/acme/roles").await.must(200).says("Auditor");
    admin.get("/tenant/acme/tasks").await.must(200).says("Create VDC").says("acme-prod");
    let signed_in = rows(&app).await;
    assert_eq!(signed_in[..4], made[..4]);
    seed::run(&app.domain).await.unwrap();
    assert_eq!(rows(&app).await, signed_in);
}

#[tokio::test]
async fn a_start_after_a_crash_makes_what_is_missing() {
    let app = TestApp::start().await;
    let spec = OrgSpec { name: "acme".into(), ..OrgSpec::default() };
    let acme = org::create(&app.domain, &app.operator().await, NewOrg { spec, admin: None }).await.unwrap();
    seed::run(&app.domain).await.unwrap();
    assert_eq!(app.db.count("organizations where name = 'acme'").await, 1);
    assert_eq!(app.db.count(&format!("vdcs where org_id = '{}'", acme.id)).await, 2);
    assert_eq!(app.db.count(&format!("users where org_id = '{}'", acme.id)).await, 4);
}

#[tokio::test]
async fn what_people_renamed_deleted_or_filled_stays_as_they_left_it() {
    let app = TestApp::start().await;
    seed::run(&app.domain).await.unwrap();
    app.db.execute("update users set deleted_at = now() where name = 'acme-user'").await;
    app.db.execute("update vdcs set name = 'test' where name = 'acme-dev'").await;
    app.db.execute("update organizations set name = 'Acme2' where name = 'acme'").await;
    app.db.execute("update organizations set deleted_at = now() where name = 'globex'").await;
    let before = rows(&app).await;
    seed::run(&app.domain).await.unwrap();
    assert_eq!(rows(&app).await, before);
    assert_eq!(app.db.count("organizations where deleted_at is null").await, 2);
}

#[tokio::test]
async fn an_organization_that_somebody_made_by_the_same_name_gets_the_demos_things() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let admin = [("name", "acme"), ("admin_name", "acme-admin"), ("admin_password", PASSWORD), ("vdc_limit", "1")];
    provider.fill("/provider/organizations/new", &admin).await.must(303);
    // no room for a second VDC, and there is an acme-admin: both are left out, and the demo starts
    seed::run(&app.domain).await.unwrap();
    let acme = app.domain.store.org_id("acme").await.unwrap().unwrap();
    assert_eq!(app.db.count(&format!("vdcs where org_id = '{acme}'")).await, 1);
    assert_eq!(app.db.count(&format!("users where org_id = '{acme}'")).await, 4);
}

#[tokio::test]
async fn numbered_organizations_are_whole_and_are_added_only_where_they_are_missing() {
    let app = TestApp::start().await;
    scale::run(&app.domain, 1).await.unwrap();
    assert_eq!(app.domain.store.last_numbered_org().await.unwrap(), 0);
    scale::run(&app.domain, 3).await.unwrap();
    app.db.execute("update organizations set deleted_at = now() where name = 'org-000003'").await;
    let before = rows(&app).await;
    scale::run(&app.domain, 3).await.unwrap();
    assert_eq!(rows(&app).await, before);
    scale::run(&app.domain, 5).await.unwrap();
    assert_eq!(app.db.count("organizations where name ~ '^org-'").await, 5);
    assert_eq!(app.db.count("users where name ~ '^org-'").await, 25);

    let admin = sign_in(&app, "org-000002", "org-000002-admin").await;
    admin.get("/tenant/org-000002/vdcs").await.must(200).says("org-000002-prod").says("org-000002-dev");
    admin.get("/tenant/org-000002/tasks?limit=100").await.must(200).says("Created VDC");
    admin.get("/tenant/org-000002/audit?q=vdc.edit").await.must(200).says("Edited VDC");
    let operator = app.operator().await;
    let org = app.domain.store.org_by_name(&operator, Action::OrgView, "org-000002").await.unwrap();
    assert!(org.used.is_zero() && org.users == 5 && org.vdcs == 2, "{:?}", *org);
}
