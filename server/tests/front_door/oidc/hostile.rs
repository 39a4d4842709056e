//! What must not work: states, codes and tokens of others, providers that lie, people who are not welcome.
use super::{
    Provider, acme, alice,
    provider::{self, Back, SECRET},
    set, through,
};
use crate::harness::{Client, PASSWORD, TestApp};
use domain::{org, user};
use model::{Error, role::Predefined};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Begins a sign-in in a new browser and lets the provider answer.
async fn begun(app: &TestApp, op: &Provider) -> (Client, Back) {
    let browser = app.browser();
    let away = browser.get("/sign-in/sso?org=acme").await.must(303);
    let back = op.answer(away.location(), alice(&["staff"])).into_iter().collect();
    (browser, back)
}

async fn nobody_is_in(app: &TestApp, browser: &Client) {
    browser.get("/tenant/acme").await.must(303);
    assert_eq!(app.db.count("sessions where user_id is not null").await, 0);
    assert_eq!(app.db.count("users where issuer is not null").await, 0);
}

#[tokio::test]
async fn a_state_is_good_once_in_its_own_browser_for_ten_minutes() {
    let (app, op) = acme().await;
    let (browser, back) = begun(&app, &op).await;
    let (path, state) = (back.path(), back.get("state"));
    let mut answers = Vec::new();

    let stranger = app.browser();
    answers.push(stranger.get(&path).await.must(401).apart_from(&[&path]));
    let (other, others_back) = begun(&app, &op).await;
    answers.push(other.get(&path).await.must(401).apart_from(&[&path]));
    for wrong in [back.with("state", "made-up"), others_back.without("state")] {
        let wrong = wrong.path();
        answers.push(browser.get(&wrong).await.must(401).apart_from(&[&wrong]));
    }
    let bare = "/sign-in/sso/callback";
    answers.push(browser.get(bare).await.must(401).apart_from(&[bare]));
    nobody_is_in(&app, &browser).await;

    browser.copy().get(&path).await.must(303);
    answers.push(browser.get(&path).await.must(401).apart_from(&[&path]));
    let error = format!("{bare}?error=access_denied&state={state}");
    answers.push(browser.get(&error).await.must(401).apart_from(&[&error]));

    let (late, back) = begun(&app, &op).await;
    app.clock.advance(time::Duration::minutes(10));
    let path = back.path();
    answers.push(late.get(&path).await.must(401).says("took longer than 10 minutes").apart_from(&[&path]));
    for answer in &answers[1..] {
        assert_eq!(*answer, answers[0], "foreign, made up, used and old are answered alike");
    }
}

#[tokio::test]
async fn of_two_who_bring_the_same_state_at_once_one_comes_in() {
    let (app, op) = acme().await;
    let (browser, back) = begun(&app, &op).await;
    let (path, twin) = (back.path(), browser.copy());
    let (one, two) = tokio::join!(browser.get(&path), twin.get(&path));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 401]);
    assert_eq!(op.asked().iter().filter(|what| *what == "token").count(), 1, "the code was shown once");
}

#[tokio::test]
async fn a_code_is_of_no_use_in_another_browser() {
    let (app, op) = acme().await;
    let (_, thiefs) = begun(&app, &op).await;
    let (victim, own) = begun(&app, &op).await;
    let mixed = own.with("code", &thiefs.get("code"));
    victim.get(&mixed.path()).await.must(401).says("did not confirm the sign-in");
    nobody_is_in(&app, &victim).await;
    let used = "audit where action = 'session.sign_in' and result = 'refused' and reason like '%invalid_grant%'";
    assert_eq!(app.db.count(used).await, 1);
}

#[tokio::test]
async fn a_session_that_somebody_planted_is_not_the_one_that_is_signed_in() {
    let (app, op) = acme().await;
    let (browser, back) = begun(&app, &op).await;
    let planted = browser.copy();
    browser.get(&back.path()).await.must(303);
    browser.get("/tenant/acme").await.must(200);
    assert_ne!(browser.cookie("session"), planted.cookie("session"));
    planted.get("/tenant/acme").await.must(303);
}

#[tokio::test]
async fn a_token_that_is_not_exactly_right_lets_nobody_in() {
    let (app, op) = acme().await;
    type Lie = fn(&mut provider::Token);
    let lies: &[(&str, Lie)] = &[
        ("another nonce", |t| t.claims["nonce"] = "another".into()),
        ("no nonce", |t| drop(t.claims.as_object_mut().unwrap().remove("nonce"))),
        ("another audience", |t| t.claims["aud"] = "somebody-else".into()),
        ("one audience too many", |t| t.claims["aud"] = json!(["ssvirt", "somebody-else"])),
        ("no audience", |t| drop(t.claims.as_object_mut().unwrap().remove("aud"))),
        ("made for another client", |t| t.claims["azp"] = "somebody-else".into()),
        ("another issuer", |t| t.claims["iss"] = "https://evil.test".into()),
        ("nearly the issuer", |t| t.claims["iss"] = format!("{}/", t.claims["iss"].as_str().unwrap()).into()),
        ("expired", |t| t.claims["exp"] = (t.claims["iat"].as_i64().unwrap() - 3600).into()),
        ("no end", |t| drop(t.claims.as_object_mut().unwrap().remove("exp"))),
        ("another access token", |t| t.claims["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA".into()),
        ("no subject", |t| drop(t.claims.as_object_mut().unwrap().remove("sub"))),
        ("signed by another key", |t| t.key = 1),
        ("signed by a key nobody knows", |t| {
            t.key = 1;
            t.header["kid"] = "hidden".into();
        }),
        ("not signed", |t| {
            t.header = json!({ "alg": "none" });
            t.signature = false;
        }),
        ("without its signature", |t| t.signature = false),
        ("an algorithm with a shared secret", |t| t.header["alg"] = "HS256".into()),
        ("another kind of token", |t| t.header["typ"] = "at+jwt".into()),
        ("something critical", |t| t.header["crit"] = json!(["b64"])),
    ];
    for (name, lie) in lies {
        op.lie_about_token(*lie);
        let (browser, answer) = through(&app, &op, "acme", alice(&["admins"])).await;
        answer.must(401).says("could not be believed").says_not(SECRET);
        assert_eq!(browser.get("/tenant/acme").await.status, 303, "{name}");
    }
    nobody_is_in(&app, &app.browser()).await;
    let told = "audit where action = 'session.sign_in' and result = 'refused' and reason like 'single sign-on: %'";
    assert_eq!(app.db.count(told).await, lies.len() as i64);
    op.be_honest();
    through(&app, &op, "acme", alice(&["admins"])).await.1.must(303);
}

#[tokio::test]
async fn the_user_info_must_be_about_the_same_person() {
    let (app, op) = acme().await;
    op.be_terse();
    op.lie(|lies| lies.user_info = Some(json!({ "sub": "1", "preferred_username": "alice", "groups": ["admins"] })));
    through(&app, &op, "acme", alice(&[])).await.1.must(401).says("could not be believed");
    op.lie(|lies| lies.user_info = Some(json!("nothing")));
    through(&app, &op, "acme", alice(&[])).await.1.must(401);
    nobody_is_in(&app, &app.browser()).await;
}

#[tokio::test]
async fn an_answer_that_names_another_issuer_or_none_is_not_taken() {
    let (app, op) = acme().await;
    let (browser, back) = begun(&app, &op).await;
    browser.get(&back.with("iss", "https://evil.test").path()).await.must(401).says("could not be believed");
    let (browser, back) = begun(&app, &op).await;
    browser.get(&back.without("iss").path()).await.must(401);
    let (browser, back) = begun(&app, &op).await;
    browser.get(&back.without("code").path()).await.must(401);
    nobody_is_in(&app, &browser).await;
    assert!(!op.asked().contains(&"token".to_owned()), "the code went nowhere");
}

#[tokio::test]
async fn a_provider_that_does_not_name_itself_is_believed_by_its_token() {
    let (app, op) = acme().await;
    op.lie(|lies| {
        lies.metadata = Some(Box::new(|all| {
            all.as_object_mut().unwrap().remove("authorization_response_iss_parameter_supported");
        }));
    });
    let (browser, back) = begun(&app, &op).await;
    browser.get(&back.without("iss").path()).await.must(303);
    let (browser, back) = begun(&app, &op).await;
    browser.get(&back.with("iss", "https://evil.test").path()).await.must(401);
}

#[tokio::test]
async fn what_the_provider_says_instead_of_a_code_is_told_in_our_words() {
    let (app, op) = acme().await;
    for (error, words) in [
        ("access_denied", "cancelled at the identity provider"),
        ("temporarily_unavailable", "has trouble at the moment"),
        ("login_required", "wants to ask you something"),
        ("invalid_scope", "refused our request (invalid_scope)"),
        ("<b>call 555</b>", "refused our request."),
    ] {
        let (browser, back) = begun(&app, &op).await;
        let back = back.without("code").with("error", error).with("error_description", "Call 555-0100 <script>");
        let answer = browser.get(&back.path()).await.must(401).says(words).says_not("555");
        assert_eq!(answer.field("org").as_deref(), Some("acme"), "one can try again at once");
    }
}

#[tokio::test]
async fn no_tenant_gets_a_right_of_the_provider_by_its_groups() {
    let (app, op) = acme().await;
    for bad in [&[("admins", "System Administrator")][..], &[("admins", "Defer to Identity Provider")]] {
        let Err(Error::Invalid(fields)) = set(&app, &op, "acme", bad, None).await else { panic!("taken") };
        assert!(fields[0].message.contains("acme has no role"), "{}", fields[0].message);
    }
    assert!(set(&app, &op, "acme", &[], Some("System Administrator")).await.is_err());

    // whatever stands in the database
    let boss = Predefined::SystemAdministrator.id();
    app.db
        .execute(&format!("update identity_provider_groups set role_id = '{boss}' where group_name = 'admins'"))
        .await;
    app.db.execute(&format!("update identity_providers set default_role = '{boss}'")).await;
    through(&app, &op, "acme", alice(&["admins"])).await.1.must(401).says("none of your groups");

    // and whatever stands in a session
    let (browser, answer) = through(&app, &op, "acme", alice(&["staff"])).await;
    answer.must(303);
    app.db.execute(&format!("update sessions set role_ids = array['{boss}'::uuid]")).await;
    browser.get("/provider/organizations").await.must(404);
    browser.get("/tenant/acme/organization").await.must(200).says_not("Disable");
}

#[tokio::test]
async fn a_disabled_user_stays_out_and_a_disabled_organization_too() {
    let (app, op) = acme().await;
    let operator = app.operator().await;
    let (browser, _) = through(&app, &op, "acme", alice(&["staff"])).await;
    let id = app.db.text("select id::text from users where name = 'alice'").await.parse().unwrap();
    user::set_enabled(&app.domain, &operator, id, false).await.unwrap();
    browser.get("/tenant/acme").await.must(303);
    through(&app, &op, "acme", alice(&["staff"])).await.1.must(401).says("Your user alice in acme is disabled");
    user::set_enabled(&app.domain, &operator, id, true).await.unwrap();
    through(&app, &op, "acme", alice(&["staff"])).await.1.must(303);

    let (late, back) = begun(&app, &op).await;
    let acme = app.domain.store.org_id("acme").await.unwrap().unwrap();
    org::set_enabled(&app.domain, &operator, acme, false).await.unwrap();
    late.get(&back.path()).await.must(401).says("has no single sign-on");
    app.browser().get("/sign-in/sso?org=acme").await.must(401);
}

#[tokio::test]
async fn a_change_of_settings_on_the_way_makes_one_start_again() {
    let (app, op) = acme().await;
    let (browser, back) = begun(&app, &op).await;
    set(&app, &op, "acme", &[("staff", "Console Access Only")], None).await.unwrap();
    browser.get(&back.path()).await.must(401).says("Start again");
    nobody_is_in(&app, &browser).await;
}

#[tokio::test]
async fn nobody_becomes_a_local_user_by_having_the_same_name() {
    let (app, op) = acme().await;
    let impostor =
        json!({ "sub": "1001", "preferred_username": "acme-admin", "email": "acme-admin", "groups": ["staff"] });
    let (browser, answer) = through(&app, &op, "acme", impostor).await;
    answer.must(303);
    browser.get("/profile").await.must(200).says("acme-admin-2").says("vApp User");
    browser.get("/tenant/acme/users").await.must(403);
    app.sign_in("acme", "acme-admin").await.get("/tenant/acme/users").await.must(200);
    let by_password = [("org", "acme"), ("user", "acme-admin-2"), ("password", PASSWORD)];
    app.browser().post("/sign-in", &by_password).await.must(401);
}

#[tokio::test]
async fn odd_claims_make_a_plain_user_or_none() {
    let (app, op) = acme().await;
    let odd = json!({ "sub": "ö\u{1F600}", "preferred_username": "<b>\u{0}x' or 1=1--", "name": "A\u{0}\nB".repeat(200),
                      "email": "not an address", "groups": ["staff", 7, null, { "a": 1 }] });
    let (browser, answer) = through(&app, &op, "acme", odd).await;
    answer.must(303);
    browser.get("/profile").await.must(200).says("b-x-or-1-1");
    for sub in ["", "a\u{0}b", &"x".repeat(256)] {
        let (_, answer) = through(&app, &op, "acme", json!({ "sub": sub, "groups": ["staff"] })).await;
        answer.must(401);
    }
    for groups in [json!(null), json!(true), json!({ "staff": true }), json!("staff,admins"), json!([["staff"]])] {
        let (_, answer) = through(&app, &op, "acme", json!({ "sub": "2000", "groups": groups })).await;
        answer.must(401).says("none of your groups");
    }
    through(&app, &op, "acme", json!({ "sub": "2001", "groups": "staff" })).await.1.must(303);
}

/// What the sign-in page says when the provider can't be used.
async fn unusable(lie: impl FnOnce(&mut provider::Lies)) -> Provider {
    let (app, op) = acme().await;
    op.lie(lie);
    let answer = app.browser().get("/sign-in/sso?org=acme").await.must(503);
    let answer = answer.says("The identity provider of acme does not answer as it should");
    assert!(!answer.header("retry-after").is_empty());
    assert_eq!(app.db.count("sessions").await, 0);
    op.asked();
    app.browser().get("/sign-in/sso?org=acme").await.must(503);
    assert!(op.asked().is_empty(), "it is left alone for a while");
    op
}

fn metadata(lie: impl FnMut(&mut Value) + Send + 'static) -> impl FnOnce(&mut provider::Lies) {
    |lies| lies.metadata = Some(Box::new(lie))
}

#[tokio::test]
async fn a_provider_must_be_who_it_says_and_keep_to_https() {
    unusable(metadata(|all| all["issuer"] = "https://evil.test".into())).await;
    unusable(metadata(|all| all["issuer"] = format!("{}/", all["issuer"].as_str().unwrap()).into())).await;
    unusable(metadata(|all| all["jwks_uri"] = "http://192.0.2.1/jwks".into())).await;
    unusable(metadata(|all| all["authorization_endpoint"] = "http://evil.test/authorize".into())).await;
    unusable(metadata(|all| all["authorization_endpoint"] = "javascript:alert(1)".into())).await;
    unusable(metadata(|all| drop(all.as_object_mut().unwrap().remove("token_endpoint")))).await;
    unusable(metadata(|all| all["padding"] = "x".repeat(600 << 10).into())).await;
    unusable(metadata(|all| *all = json!("nothing"))).await;
    unusable(|lies| lies.moved = true).await;
}

#[tokio::test]
async fn a_slow_provider_is_not_waited_for_long() {
    let begun = Instant::now();
    unusable(|lies| lies.delay = Duration::from_secs(60)).await;
    assert!((5..9).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_a_provider_answers_to_a_code_may_be_anything() {
    use axum::http::StatusCode;
    let (app, op) = acme().await;
    for (status, body) in [
        (StatusCode::OK, "{}"),
        (StatusCode::OK, "not json"),
        (StatusCode::OK, r#"{"access_token":"x","token_type":"Bearer"}"#),
        (StatusCode::OK, r#"{"access_token":"x","token_type":"Bearer","id_token":"a.b.c"}"#),
        (StatusCode::INTERNAL_SERVER_ERROR, ""),
        (StatusCode::BAD_REQUEST, r#"{"error":"invalid_client"}"#),
    ] {
        op.lie(|lies| lies.token_answer = Some((status, body)));
        through(&app, &op, "acme", alice(&["staff"])).await.1.must(401).says("again");
    }
    nobody_is_in(&app, &app.browser()).await;
}

#[tokio::test]
async fn without_the_master_secret_it_was_sealed_with_nobody_comes_in() {
    let (app, _) = acme().await;
    let other = [("auth.secret", "Zt5Hc2Wb9Ky4Md6Pf8Gaq83Vn0Jr1Lx7")];
    let changed = TestApp::open(app.db.clone(), &app.db.url, &other, app.clock.clone());
    changed.browser().get("/sign-in/sso?org=acme").await.must(500).says_not(SECRET);
    let without = TestApp::open(app.db.clone(), &app.db.url, &[("auth.secret", "")], app.clock.clone());
    without.browser().get("/sign-in/sso?org=acme").await.must(500);
}
