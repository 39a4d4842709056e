//! Signing in and out as programs do it.
use super::Program;
use crate::harness::{PASSWORD, TestApp};
use domain::user;

#[tokio::test]
async fn versions_are_told_to_everybody_and_stay_below_forty() {
    let app = TestApp::start().await;
    let said = Program::stranger(&app).send("GET", "/api/versions", "", &[]).await.must(200);
    for version in ["36.0", "37.0", "39.0"] {
        assert!(said.text.contains(&format!("<Version>{version}</Version>")), "{}", said.text);
    }
    assert!(!said.text.contains("<Version>4"), "{}", said.text);
    assert!(said.text.contains("/cloudapi/1.0.0/sessions</LoginUrl>"));
}

#[tokio::test]
async fn a_token_is_good_until_its_session_ends_on_every_replica() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let other = app.replica().await;
    let admin = app.actor(acme.admin()).await;
    let program = Program::sign_in(&app, "acme", &admin.name).await;
    program.at(&other).get("/api/session").await.must(200);
    program.get("/cloudapi/1.0.0/sessions/current").await.must(200);
    program.delete("/api/session").await.must(204);
    program.get("/api/session").await.must(401);
    program.at(&other).get("/api/org").await.must(401);

    let program = Program::sign_in(&app, "acme", &admin.name).await;
    let operator = app.operator().await;
    user::create(&app.domain, &operator, acme.id, crate::vcd::sessions::second(&app).await).await.unwrap();
    user::set_enabled(&app.domain, &operator, acme.admin(), false).await.unwrap();
    program.at(&other).get("/api/session").await.must(401);
}

/// Another administrator, so that the first can go.
async fn second(_: &TestApp) -> model::user::NewUser {
    let spec = model::user::UserSpec {
        name: "second".into(),
        full_name: String::new(),
        email: String::new(),
        role: model::role::Predefined::OrganizationAdministrator.id(),
        limits: model::quota::Limits::default(),
    };
    model::user::NewUser::of(spec, model::user::Password::new(PASSWORD))
}

#[tokio::test]
async fn each_door_is_for_its_own_users_and_says_the_same_to_all_others() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = app.actor(acme.admin()).await.name;
    let nobody = Program::stranger(&app);
    let mut said = Vec::new();
    for (org, name, password) in [
        ("acme", admin.as_str(), "wrong password"),
        ("nowhere", admin.as_str(), PASSWORD),
        ("acme", "nobody", PASSWORD),
    ] {
        let one = nobody.basic(org, name, password).await.must(401);
        assert_eq!(one.json()["minorErrorCode"], "UNAUTHORIZED");
        said.push(one.text);
    }
    // a tenant at the provider's door
    said.push(nobody.basic("System", &admin, PASSWORD).await.must(401).text);
    assert!(said.windows(2).all(|two| two[0] == two[1]), "{said:#?}");
    nobody.get("/api/session").await.must(401);
    nobody.send("GET", "/api/org", "", &[("authorization", "Bearer nonsense")]).await.must(401);
}

#[tokio::test]
async fn unknown_addresses_and_methods_answer_errors_that_programs_read() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let program = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let said = program.get("/api/nothing/here").await.must(404);
    assert!(said.text.contains("<Error ") && said.text.contains("majorErrorCode=\"404\""), "{}", said.text);
    let said = program.get("/cloudapi/1.0.0/nothing").await.must(404);
    assert_eq!(said.json()["minorErrorCode"], "RESOURCE_NOT_FOUND");
    program.call("PATCH", "/api/org", "").await.must(405);
    let long = format!("<a>{}</a>", "x".repeat(8 << 20));
    let said = program.post("/api/vdc/0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92/action/composeVApp", &long).await;
    assert!(said.status.is_client_error() && said.text.contains("<Error "), "{}", said.text);
}

#[tokio::test]
async fn only_the_provider_acts_in_another_organization() {
    let app = TestApp::start().await;
    let (acme, zebra) = (app.org("acme").vdc("prod").make().await, app.org("zebra").vdc("zoo").make().await);
    let operator = Program::sign_in(&app, "System", "administrator").await;
    let tenant = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let query = "/api/query?type=adminOrgVdc&format=records";
    let bearer = format!("Bearer {}", operator.token);
    let in_zebra = zebra.id.to_string();
    let headers = [("authorization", bearer.as_str()), ("x-vmware-vcloud-tenant-context", in_zebra.as_str())];
    let said = operator.send("GET", query, "", &headers).await.must(200);
    assert!(said.text.contains("zoo") && !said.text.contains("\"prod\""), "{}", said.text);
    let bearer = format!("Bearer {}", tenant.token);
    let headers = [("authorization", bearer.as_str()), ("x-vmware-vcloud-tenant-context", in_zebra.as_str())];
    tenant.send("GET", "/api/query?type=orgVdc&format=records", "", &headers).await.must(403);
}
