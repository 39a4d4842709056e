//! Single sign-on against an identity provider of the test's own. The browser's way through a real one is in end2end.
mod commands;
mod hostile;
mod provider;

use crate::harness::{Answer, Client, PASSWORD, TestApp};
use domain::{
    idp::{self, ClientSecret, Sealer},
    org, user,
};
use model::{Error, Right, idp::IdpSpec, org::PROVIDER, role::Predefined::OrganizationAdministrator, user::UserSpec};
use provider::{CLIENT, Provider, SECRET};
use serde_json::{Value, json};
use time::Duration;

const MASTER: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";
const LIST: &[(&str, &str)] = &[("admins", "Organization Administrator"), ("staff", "vApp User")];

/// The application with organization acme, whose users sign in by a provider.
async fn acme() -> (TestApp, Provider) {
    let (app, op) = (TestApp::start_with(&[("auth.secret", MASTER)]).await, Provider::start().await);
    app.org("acme").make().await;
    set(&app, &op, "acme", LIST, None).await.unwrap();
    (app, op)
}

fn spec(op: &Provider, groups: &[(&str, &str)], default_role: Option<&str>) -> IdpSpec {
    IdpSpec {
        issuer: op.issuer().to_owned(),
        client_id: CLIENT.into(),
        groups_claim: "groups".into(),
        scopes: "openid profile email groups".into(),
        groups: groups.iter().map(|(group, role)| ((*group).to_owned(), (*role).to_owned())).collect(),
        default_role: default_role.map(str::to_owned),
    }
}

async fn set(
    app: &TestApp,
    op: &Provider,
    org: &str,
    groups: &[(&str, &str)],
    default_role: Option<&str>,
) -> Result<bool, Error> {
    let (sealer, secret) = (Sealer::new(MASTER), ClientSecret::new(SECRET));
    let operator = app.operator().await;
    idp::set(&app.domain, &operator, &sealer, org, spec(op, groups, default_role), Some(secret)).await
}

fn alice(groups: &[&str]) -> Value {
    json!({ "sub": "1001", "preferred_username": "alice", "email": "alice@example.com", "name": "Alice A.", "groups": groups })
}

/// All the way to the provider and back; where it ends.
async fn through(app: &TestApp, op: &Provider, org: &str, account: Value) -> (Client, Answer) {
    let browser = app.browser();
    let away = browser.get(&format!("/sign-in/sso?org={org}")).await.must(303);
    let back = op.sign_in(away.location(), account);
    let answer = browser.get(&back).await;
    (browser, answer)
}

#[tokio::test]
async fn somebody_the_provider_vouches_for_comes_in_with_the_roles_of_their_groups() {
    let (app, op) = acme().await;
    let (alice_at, answer) = through(&app, &op, "acme", alice(&["admins", "strangers"])).await;
    assert_eq!(answer.must(303).location(), "/tenant/acme");
    alice_at.get("/tenant/acme/users").await.must(200).says("alice").says("Alice A.");
    alice_at.get("/profile").await.must(200).says("alice@example.com").says("Organization Administrator");
    alice_at.get("/provider/organizations").await.must(404);

    let bob = json!({ "sub": "1002", "preferred_username": "bob", "groups": ["staff"] });
    let (bob_at, answer) = through(&app, &op, "acme", bob).await;
    answer.must(303);
    bob_at.get("/tenant/acme/vdcs").await.must(200);
    bob_at.get("/tenant/acme/users").await.must(403);

    let made =
        "audit where action = 'user.create' and user_name = 'single sign-on' and object_name in ('alice', 'bob')";
    assert_eq!(app.db.count(made).await, 2);
    assert_eq!(
        app.db.count("audit where action = 'session.sign_in' and result = 'done' and user_name = 'bob'").await,
        1
    );
}

#[tokio::test]
async fn the_request_has_all_that_makes_the_answer_ours_alone() {
    let (app, op) = acme().await;
    let browser = app.browser();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let away = browser.get("/sign-in/sso?org=ACME").await.must(303);
        let request = op.request(away.location());
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("redirect_uri", "http://cloud.example.com/sign-in/sso/callback"),
            ("scope", "openid profile email groups"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(request[name], value, "{name}");
        }
        for secret in ["state", "nonce", "code_challenge"] {
            assert!(request[secret].len() >= 22, "{secret}");
            assert!(!seen.contains(&request[secret]), "{secret} was used before");
            seen.push(request[secret].clone());
        }
        assert!(!away.location().contains(SECRET));
    }
    assert_eq!(op.asked(), ["metadata", "keys"], "what it says of itself is asked for once");
}

#[tokio::test]
async fn the_address_to_come_back_to_is_the_one_that_the_browser_used_or_the_settings_name() {
    let (app, op) = acme().await;
    let away = app.browser().over_https().get("/sign-in/sso?org=acme").await.must(303);
    assert_eq!(op.request(away.location())["redirect_uri"], "https://cloud.example.com/sign-in/sso/callback");

    let settings = [("auth.secret", MASTER), ("api.public_url", "https://portal.example.com")];
    let behind_proxy = TestApp::open(app.db.clone(), &app.db.url, &settings, app.clock.clone());
    let away = behind_proxy.browser().get("/sign-in/sso?org=acme").await.must(303);
    assert_eq!(op.request(away.location())["redirect_uri"], "https://portal.example.com/sign-in/sso/callback");
}

#[tokio::test]
async fn any_replica_takes_a_browser_back() {
    let (app, op) = acme().await;
    let other = TestApp::open(app.db.clone(), &app.db.url, &[("auth.secret", MASTER)], app.clock.clone());
    let browser = app.browser();
    let away = browser.get("/sign-in/sso?org=acme").await.must(303);
    let back = op.sign_in(away.location(), alice(&["staff"]));
    let browser = browser.at(&other.router);
    browser.get(&back).await.must(303);
    browser.at(&app.router).get("/tenant/acme/vdcs").await.must(200);
}

#[tokio::test]
async fn several_tabs_can_be_on_their_way_at_once() {
    let (app, op) = acme().await;
    let browser = app.browser();
    let mut ways = Vec::new();
    for n in 0..6 {
        let away = browser.get(&format!("/sign-in/sso?org=acme&next=/tenant/acme/vdcs?n={n}")).await.must(303);
        ways.push(op.sign_in(away.location(), alice(&["staff"])));
        app.clock.advance(Duration::seconds(1));
    }
    browser.copy().get(&ways[0]).await.must(401).says("Start again");
    assert_eq!(browser.get(&ways[1]).await.must(303).location(), "/tenant/acme/vdcs?n=1");
    browser.get("/tenant/acme/vdcs").await.must(200);
}

#[tokio::test]
async fn the_page_that_was_asked_for_comes_after_it_and_no_foreign_one_does() {
    let (app, op) = acme().await;
    for (next, to) in [
        ("/tenant/acme/users?q=a", "/tenant/acme/users?q=a"),
        ("https://evil.test/", "/tenant/acme"),
        ("//evil.test", "/tenant/acme"),
        ("/\\evil.test", "/tenant/acme"),
        ("", "/tenant/acme"),
    ] {
        let browser = app.browser();
        let query = serde_urlencoded::to_string([("org", "acme"), ("next", next)]).unwrap();
        let away = browser.get(&format!("/sign-in/sso?{query}")).await.must(303);
        let back = op.sign_in(away.location(), alice(&["staff"]));
        assert_eq!(browser.get(&back).await.must(303).location(), to, "{next}");
        assert_eq!(browser.get(&format!("/sign-in/sso?{query}")).await.must(303).location(), to, "signed in already");
    }
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_is_kept_over_single_sign_on() {
    let (app, op) = acme().await;
    let (browser, _) = through(&app, &op, "acme", alice(&["admins"])).await;
    app.clock.advance(Duration::minutes(31));
    let form = [("name", "prod"), ("description", "typed with care")];
    let door = browser.post("/tenant/acme/vdcs/new", &form).await.must(401);
    let kept = [("resume_to", door.field("resume_to").unwrap()), ("resume_with", door.field("resume_with").unwrap())];
    let fields: Vec<(&str, &str)> =
        kept.iter().map(|(k, v)| (*k, v.as_str())).chain([("org", "acme"), ("with", "sso")]).collect();
    let leave = browser.post("/sign-in", &fields).await.must(200);
    assert!(leave.body.contains("http-equiv=\"refresh\""), "{}", leave.body);
    let other_way = browser.copy();
    let by_password = [("org", "acme"), ("user", "acme-admin"), ("password", PASSWORD)];
    other_way.post("/sign-in", &by_password).await.must(200).says("typed with care");

    let leave = browser.post("/sign-in", &fields).await.must(200);
    let away = browser.get(&leave.link("Go on").unwrap()).await.must(303);
    // the provider's clock has not been turned
    op.lie_about_token(|token| token.claims["exp"] = (token.claims["exp"].as_i64().unwrap() + 3600).into());
    let back = op.sign_in(away.location(), alice(&["admins"]));
    let resume = browser.get(&back).await.must(200).says("You are signed in again").says("typed with care");
    assert_eq!(resume.field("name").as_deref(), Some("prod"));
    browser.get("/tenant/acme").await.must(200);
}

#[tokio::test]
async fn names_and_groups_may_come_from_the_user_info_endpoint() {
    let (app, op) = acme().await;
    op.be_terse();
    let (browser, answer) = through(&app, &op, "acme", alice(&["admins"])).await;
    answer.must(303);
    browser.get("/profile").await.must(200).says("alice@example.com").says("Alice A.");
    browser.get("/tenant/acme/users").await.must(200);
    assert_eq!(op.asked(), ["metadata", "keys", "token", "user info"]);
}

#[tokio::test]
async fn users_are_known_by_issuer_and_subject_and_by_nothing_else() {
    let (app, op) = acme().await;
    let (_, answer) = through(&app, &op, "acme", alice(&["staff"])).await;
    answer.must(303);
    let renamed = json!({ "sub": "1001", "preferred_username": "alicia", "email": "alicia@example.com",
                          "given_name": "Alicia", "family_name": "B.", "groups": ["staff"] });
    let (browser, _) = through(&app, &op, "acme", renamed).await;
    browser.get("/profile").await.must(200).says("alice").says("alicia@example.com").says("Alicia B.");
    assert_eq!(app.db.count("audit where action = 'user.edit' and user_name = 'single sign-on'").await, 1);

    let namesake =
        json!({ "sub": "1003", "preferred_username": "alice", "email": "alicia@example.com", "groups": ["staff"] });
    let (browser, _) = through(&app, &op, "acme", namesake.clone()).await;
    browser.get("/profile").await.must(200).says("alice-2");
    let (browser, _) = through(&app, &op, "acme", namesake).await;
    browser.get("/profile").await.must(200).says("alice-2");
    assert_eq!(app.db.count("users where issuer is not null").await, 2);
}

#[tokio::test]
async fn the_same_person_is_somebody_else_in_another_organization() {
    let (app, op) = acme().await;
    app.org("globex").make().await;
    set(&app, &op, "globex", &[], Some("Console Access Only")).await.unwrap();
    let (at_acme, _) = through(&app, &op, "acme", alice(&["admins"])).await;
    let (at_globex, answer) = through(&app, &op, "globex", alice(&["admins"])).await;
    assert_eq!(answer.must(303).location(), "/tenant/globex");
    at_globex.get("/profile").await.must(200).says("Console Access Only");
    at_globex.get("/tenant/acme").await.must(404);
    at_acme.get("/tenant/globex").await.must(404);
}

#[tokio::test]
async fn other_groups_count_at_the_next_sign_in_and_none_at_all_keeps_out() {
    let (app, op) = acme().await;
    let (first, _) = through(&app, &op, "acme", alice(&["admins"])).await;
    let (second, _) = through(&app, &op, "acme", alice(&["staff"])).await;
    first.get("/tenant/acme/users").await.must(200);
    second.get("/tenant/acme/users").await.must(403);
    let (third, answer) = through(&app, &op, "acme", alice(&["strangers"])).await;
    answer.must(401).says("none of your groups has a role in acme");
    assert_eq!(third.get("/tenant/acme").await.must(303).location(), "/sign-in?next=%2Ftenant%2Facme");
    let both = json!({ "sub": "1004", "preferred_username": "carol", "groups": ["staff", "admins"] });
    let (fourth, _) = through(&app, &op, "acme", both).await;
    fourth.get("/tenant/acme/users").await.must(200);
    fourth.get("/profile").await.must(200).says("Organization Administrator, vApp User");
}

#[tokio::test]
async fn a_role_given_by_hand_counts_whatever_the_groups_are() {
    let (app, op) = acme().await;
    through(&app, &op, "acme", alice(&["staff"])).await.1.must(303);
    let operator = app.operator().await;
    let id = app.db.text("select id::text from users where name = 'alice'").await.parse().unwrap();
    let found = user::get(&app.domain, &operator, id).await.unwrap();
    let by_hand = UserSpec { role: OrganizationAdministrator.id(), ..UserSpec::from(&found) };
    user::edit(&app.domain, &operator, id, found.version, by_hand).await.unwrap();
    let (browser, answer) = through(&app, &op, "acme", alice(&[])).await;
    answer.must(303);
    browser.get("/tenant/acme/users").await.must(200);
}

#[tokio::test]
async fn an_organizations_own_role_can_be_given_and_what_it_loses_is_lost_at_once() {
    let (app, op) = acme().await;
    let acme = app.domain.store.org_id("acme").await.unwrap().unwrap();
    let role = app.role(acme, "Auditor", &[Right::AuditView]).await;
    set(&app, &op, "acme", &[("auditors", "auditor")], None).await.unwrap();
    let (browser, _) = through(&app, &op, "acme", alice(&["auditors"])).await;
    browser.get("/tenant/acme").await.must(200);
    browser.get("/tenant/acme/users").await.must(403);
    app.db.execute(&format!("update roles set deleted_at = now() where id = '{role}'")).await;
    let (_, answer) = through(&app, &op, "acme", alice(&["auditors"])).await;
    answer.must(401).says("none of your groups");
}

#[tokio::test]
async fn the_providers_own_staff_can_be_system_administrators() {
    let (app, op) = acme().await;
    set(&app, &op, PROVIDER, &[("cloud-admins", "System Administrator")], None).await.unwrap();
    let (browser, answer) = through(&app, &op, PROVIDER, alice(&["cloud-admins"])).await;
    assert_eq!(answer.must(303).location(), "/provider");
    browser.get("/provider/organizations").await.must(200).says("acme");
    let (_, answer) = through(&app, &op, "acme", alice(&["cloud-admins"])).await;
    answer.must(401);
}

#[tokio::test]
async fn another_setting_ends_the_sessions_that_began_by_the_old_one() {
    let (app, op) = acme().await;
    let local = app.sign_in("acme", "acme-admin").await;
    let (browser, _) = through(&app, &op, "acme", alice(&["admins"])).await;
    assert!(!set(&app, &op, "acme", LIST, None).await.unwrap(), "the same once more changes nothing");
    browser.get("/tenant/acme").await.must(200);
    assert!(set(&app, &op, "acme", &[("staff", "vApp User")], None).await.unwrap());
    browser.get("/tenant/acme").await.must(303);

    let (browser, answer) = through(&app, &op, "acme", alice(&["staff"])).await;
    answer.must(303);
    idp::remove(&app.domain, &app.operator().await, "acme").await.unwrap();
    browser.get("/tenant/acme").await.must(303);
    app.browser().get("/sign-in/sso?org=acme").await.must(401).says("has no single sign-on");
    local.get("/tenant/acme").await.must(200);
}

#[tokio::test]
async fn a_new_signing_key_is_fetched_when_it_is_first_met() {
    let (app, op) = acme().await;
    through(&app, &op, "acme", alice(&["staff"])).await.1.must(303);
    op.change_key();
    through(&app, &op, "acme", alice(&["staff"])).await.1.must(401);
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    tokio::time::resume();
    through(&app, &op, "acme", alice(&["staff"])).await.1.must(303);
    let again = op.asked().iter().filter(|what| *what == "keys").count();
    assert_eq!(again, 2, "a key that nobody has is not looked for at every try");
}

#[tokio::test]
async fn the_sign_in_page_offers_it_once_somebody_has_it() {
    let app = TestApp::start_with(&[("auth.secret", MASTER)]).await;
    let op = Provider::start().await;
    app.browser().get("/sign-in").await.must(200).says_not("SSO");
    app.org("acme").make().await;
    set(&app, &op, "acme", LIST, None).await.unwrap();
    app.browser().get("/sign-in").await.must(200).says("Sign in with SSO");
    let leave = app.browser().post("/sign-in", &[("org", "acme"), ("next", "/x"), ("with", "sso")]).await.must(200);
    assert_eq!(leave.link("Go on").as_deref(), Some("/sign-in/sso?org=acme&next=%2Fx"));
}

#[tokio::test]
async fn everybody_else_is_answered_alike() {
    let (app, op) = acme().await;
    app.org("globex").make().await;
    let off = app.org("initech").make().await;
    set(&app, &op, "initech", LIST, None).await.unwrap();
    org::set_enabled(&app.domain, &app.operator().await, off.id, false).await.unwrap();
    let mut answers = Vec::new();
    for org in ["globex", "nobody", "initech"] {
        let answer = app.browser().get(&format!("/sign-in/sso?org={org}")).await.must(401);
        let answer = answer.says("This organization has no single sign-on; use a local account.");
        answers.push(answer.apart_from(&[org]));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
    app.browser().get("/sign-in/sso").await.must(401).says("Type your organization");
    assert_eq!(app.db.count("sessions").await, 0, "who goes nowhere leaves nothing behind");
}
