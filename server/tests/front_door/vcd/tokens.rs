//! API tokens: made in two steps, shown once, and over with everything they opened as soon as they are revoked.
use super::{Program, Said};
use crate::harness::TestApp;
use domain::user;
use model::role::Predefined;

const HAND_OUT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

async fn grant(program: &Program, org: &str, form: &str) -> Said {
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    program.send("POST", &format!("/oauth/tenant/{org}/token"), form, &kind).await
}

/// A registered client's id.
async fn register(program: &Program, org: &str, name: &str) -> String {
    let body = format!(r#"{{"client_name": "{name}"}}"#);
    let said = program.post(&format!("/oauth/tenant/{org}/register"), &body).await.must(200);
    said.json()["client_id"].as_str().unwrap().to_owned()
}

/// The API token itself.
async fn hand_out(program: &Program, org: &str, client: &str) -> Said {
    grant(program, org, &format!("grant_type={HAND_OUT}&client_id={client}&assertion={}", program.token)).await
}

async fn sign_in_by(app: &TestApp, org: &str, secret: &str) -> Program {
    let mut program = Program::stranger(app);
    let said = grant(&program, org, &format!("grant_type=refresh_token&refresh_token={secret}")).await.must(200);
    program.token = said.json()["access_token"].as_str().unwrap().to_owned();
    program
}

#[tokio::test]
async fn a_token_is_shown_once_and_its_sessions_end_with_it_on_every_replica() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    app.org("globex").make().await;
    let other = app.replica().await;
    let admin = app.actor(acme.admin()).await;
    let person = Program::sign_in(&app, "acme", &admin.name).await;
    let client = register(&person, "acme", "terraform").await;
    let taken = person.post("/oauth/tenant/acme/register", r#"{"client_name": "Terraform"}"#).await.must(400);
    assert_eq!(taken.json()["minorErrorCode"], "DUPLICATE_NAME");
    person.post("/oauth/tenant/globex/register", r#"{"client_name": "x"}"#).await.must(403);
    person.post("/oauth/provider/register", r#"{"client_name": "x"}"#).await.must(403);

    let said = hand_out(&person, "acme", &client).await.must(200).json();
    let secret = said["refresh_token"].as_str().unwrap().to_owned();
    assert_eq!(hand_out(&person, "acme", &client).await.must(400).json()["error"], "invalid_grant");
    let one = person.get(&format!("/cloudapi/1.0.0/tokens/urn:vcloud:token:{client}")).await.must(200);
    assert!(!one.text.contains(&secret), "{}", one.text);

    let program = sign_in_by(&app, "acme", &secret).await;
    program.at(&other).get("/cloudapi/1.0.0/sessions/current").await.must(200);
    // whoever has only the token makes no others
    program.post("/oauth/tenant/acme/register", r#"{"client_name": "more"}"#).await.must(400);
    let elsewhere = format!("grant_type=refresh_token&refresh_token={secret}");
    assert_eq!(grant(&program, "globex", &elsewhere).await.must(400).json()["error"], "invalid_grant");

    person.delete(&format!("/cloudapi/1.0.0/tokens/{client}")).await.must(204);
    program.get("/cloudapi/1.0.0/sessions/current").await.must(401);
    program.at(&other).get("/api/org").await.must(401);
    grant(&program, "acme", &elsewhere).await.must(400);
    person.get("/cloudapi/1.0.0/sessions/current").await.must(200);
}

#[tokio::test]
async fn who_is_disabled_or_deleted_signs_in_by_no_token() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("author", Predefined::VappAuthor).make().await;
    let operator = app.operator().await;
    let author = app.actor(acme.user("author")).await;
    let person = Program::sign_in(&app, "acme", &author.name).await;
    let client = register(&person, "acme", "script").await;
    let secret =
        hand_out(&person, "acme", &client).await.must(200).json()["refresh_token"].as_str().unwrap().to_owned();
    let program = sign_in_by(&app, "acme", &secret).await;
    let again = format!("grant_type=refresh_token&refresh_token={secret}");
    let id = author.user.unwrap();

    user::set_enabled(&app.domain, &operator, id, false).await.unwrap();
    program.get("/cloudapi/1.0.0/sessions/current").await.must(401);
    grant(&program, "acme", &again).await.must(400);
    user::set_enabled(&app.domain, &operator, id, true).await.unwrap();
    let program = sign_in_by(&app, "acme", &secret).await;
    user::delete(&app.domain, &operator, id, None).await.unwrap();
    program.get("/cloudapi/1.0.0/sessions/current").await.must(401);
    grant(&program, "acme", &again).await.must(400);
}

#[tokio::test]
async fn one_sees_ones_own_tokens_and_with_the_right_all_of_the_organization() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("author", Predefined::VappAuthor).make().await;
    let globex = app.org("globex").make().await;
    let admin = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let author = Program::sign_in(&app, "acme", &app.actor(acme.user("author")).await.name).await;
    let stranger = Program::sign_in(&app, "globex", &app.actor(globex.admin()).await.name).await;
    let theirs = register(&admin, "acme", "of the administrator").await;
    let own = register(&author, "acme", "of the author").await;
    let count = async |program: &Program| {
        program.get("/cloudapi/1.0.0/tokens").await.must(200).json()["resultTotal"].as_i64().unwrap()
    };
    assert_eq!((count(&admin).await, count(&author).await, count(&stranger).await), (2, 1, 0));
    author.get(&format!("/cloudapi/1.0.0/tokens/{theirs}")).await.must(403);
    author.delete(&format!("/cloudapi/1.0.0/tokens/{theirs}")).await.must(403);
    stranger.delete(&format!("/cloudapi/1.0.0/tokens/{own}")).await.must(403);
    // nobody gets another's secret
    hand_out(&admin, "acme", &own).await.must(401);
    admin.delete(&format!("/cloudapi/1.0.0/tokens/{own}")).await.must(204);
    assert_eq!(count(&author).await, 0);
}

#[tokio::test]
async fn wrong_tokens_have_to_wait_after_a_while_and_grants_are_read_strictly() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let nobody = Program::stranger(&app);
    for (form, error) in [
        ("", "invalid_request"),
        ("grant_type=password", "unsupported_grant_type"),
        ("grant_type=refresh_token", "invalid_grant"),
        ("grant_type=refresh_token&refresh_token=%00", "invalid_grant"),
    ] {
        let said = grant(&nobody, "acme", form).await;
        assert!(said.status.as_u16() == 400, "{form}: {}", said.text);
        assert!(said.json()["error"] == error || form.contains("%00"), "{form}: {}", said.text);
    }
    let wrong = format!("grant_type=refresh_token&refresh_token={}", "x".repeat(43));
    for _ in 0..50 {
        grant(&nobody, "acme", &wrong).await;
    }
    grant(&nobody, "acme", &wrong).await.must(429);
}

#[tokio::test]
async fn a_service_account_is_refused_by_name_and_gives_nobody_a_token() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let person = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let body = r#"{"client_name": "robot", "software_id": "12345678-1234-1234-1234-1234567890ab", "scope": "urn:vcloud:role:vApp%20User"}"#;
    let said = person.post("/oauth/tenant/acme/register", body).await.must(400);
    assert!(said.text.contains("service accounts"), "{}", said.text);
    assert_eq!(person.get("/cloudapi/1.0.0/tokens").await.must(200).json()["resultTotal"], 0);
}
