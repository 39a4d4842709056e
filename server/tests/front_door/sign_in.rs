//! Signing in and out, and how long it lasts.
use crate::harness::{ADMINISTRATOR, Answer, Client, PASSWORD, TestApp};
use domain::{org, role, user};
use model::{
    Right,
    org::PROVIDER,
    role::{Predefined::*, RoleForm},
    user::UserSpec,
};
use std::time::Instant;
use time::Duration;

async fn try_password(client: &Client, org: &str, user: &str, password: &str) -> Answer {
    client.post("/sign-in", &[("org", org), ("user", user), ("password", password)]).await
}

/// Is somebody signed in with this browser?
async fn is_in(client: &Client, home: &str) -> bool {
    let answer = client.get(home).await;
    match answer.status.as_u16() {
        200 => true,
        303 if answer.location().starts_with("/sign-in") => false,
        _ => panic!("{} {}", answer.status, answer.text()),
    }
}

#[tokio::test]
async fn everybody_comes_home_after_signing_in() {
    let app = TestApp::start().await;
    app.org("acme").user("alice", VappUser).make().await;
    let home = async |org, user| {
        let answer = try_password(&app.browser(), org, user, PASSWORD).await.must(303);
        answer.location().to_owned()
    };
    assert_eq!(home("acme", "acme-admin").await, "/tenant/acme");
    assert_eq!(home("ACME", "Alice").await, "/tenant/acme", "names are the same in any case");
    assert_eq!(home(PROVIDER, ADMINISTRATOR).await, "/provider");
    let alice = app.sign_in("acme", "alice").await;
    assert_eq!(alice.get("/").await.must(303).location(), "/tenant/acme");
    assert_eq!(app.browser().get("/").await.must(303).location(), "/sign-in");
}

#[tokio::test]
async fn the_page_that_was_asked_for_comes_after_signing_in_and_no_foreign_one_does() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let browser = app.browser();
    let door = browser.get("/tenant/acme/organization?x=1").await.must(303);
    assert_eq!(door.location(), "/sign-in?next=%2Ftenant%2Facme%2Forganization%3Fx%3D1");
    let page = browser.get(door.location()).await.must(200);
    let next = page.field("next").unwrap();
    assert_eq!(page.field("org").as_deref(), Some("acme"), "the address says which organization it is");
    let send = async |next: &str| {
        let form = [("org", "acme"), ("user", "acme-admin"), ("password", PASSWORD), ("next", next)];
        app.browser().post("/sign-in", &form).await.must(303).location().to_owned()
    };
    assert_eq!(send(&next).await, "/tenant/acme/organization?x=1");
    for foreign in ["https://evil.test/", "//evil.test", "/\\evil.test", "evil"] {
        assert_eq!(send(foreign).await, "/tenant/acme", "{foreign}");
    }
}

#[tokio::test]
async fn whatever_is_wrong_the_answer_is_the_same() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("bob", VappUser).make().await;
    app.org("globex").make().await;
    let operator = app.operator().await;
    user::set_enabled(&app.domain, &operator, acme.user("bob"), false).await.unwrap();
    let globex = app.domain.store.org_id("globex").await.unwrap().unwrap();
    org::set_enabled(&app.domain, &operator, globex, false).await.unwrap();
    let cases = [
        ("acme", "acme-admin", "a wrong password"),
        ("acme", "nobody", PASSWORD),
        ("nowhere", "acme-admin", PASSWORD),
        ("acme", "bob", PASSWORD),
        ("globex", "globex-admin", PASSWORD),
        ("", "", ""),
        (&"x".repeat(300), &"y".repeat(300), &"z".repeat(2000)),
    ];
    let mut pages = vec![];
    for (org, user, password) in cases {
        let answer = try_password(&app.browser(), org, user, password).await.must(401);
        assert_eq!(answer.field("org").as_deref(), Some(org), "what was typed is kept");
        assert_eq!(answer.field("user").as_deref(), Some(user));
        assert_eq!(answer.field("password").as_deref(), Some(""), "a password is not");
        assert_eq!(answer.set_cookie("session"), None);
        let typed = [format!("value=\"{org}\""), format!("value=\"{user}\"")];
        pages.push(answer.apart_from(&typed.each_ref().map(String::as_str)));
    }
    assert!(pages.windows(2).all(|two| two[0] == two[1]), "{pages:#?}");
}

#[tokio::test]
async fn an_unknown_user_is_as_much_work_as_a_known_one() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let quickest = async |user: &'static str| {
        let mut times = vec![];
        for _ in 0..3 {
            let started = Instant::now();
            try_password(&app.browser(), "acme", user, "a wrong password").await.must(401);
            times.push(started.elapsed());
        }
        times.into_iter().min().unwrap()
    };
    let (known, unknown) = (quickest("acme-admin").await, quickest("nobody").await);
    // a missing hash would be a tenth of it or less
    assert!(unknown * 4 > known && known * 4 > unknown, "known {known:?}, unknown {unknown:?}");
}

#[tokio::test]
async fn failures_make_the_next_try_wait_longer_and_longer_and_then_it_opens_again() {
    let app = TestApp::start().await;
    app.org("acme").user("bob", VappUser).make().await;
    let browser = app.browser();
    for _ in 0..6 {
        try_password(&browser, "acme", "acme-admin", "a wrong password").await.must(401);
    }
    let mut waits = vec![];
    for _ in 0..4 {
        // the right password does not help while it waits, and is not even looked at
        let locked = try_password(&browser, "acme", "acme-admin", PASSWORD).await.must(429);
        let wait: i64 = locked.header("retry-after").parse().unwrap();
        waits.push(wait);
        locked.says("Too many failed tries");
        app.clock.advance(Duration::seconds(wait));
        try_password(&browser, "acme", "acme-admin", "a wrong password").await.must(401);
    }
    assert_eq!(waits, [1, 2, 4, 8]);
    try_password(&browser, "acme", "bob", PASSWORD).await.must(303);
    let locked = try_password(&app.browser().at_address("10.9.9.9"), "Acme", "ACME-admin", PASSWORD).await.must(429);
    let wait: i64 = locked.header("retry-after").parse().unwrap();
    app.clock.advance(Duration::seconds(wait));
    try_password(&browser, "acme", "acme-admin", PASSWORD).await.must(303);
    // a success wipes the slate
    try_password(&browser, "acme", "acme-admin", "a wrong password").await.must(401);
    try_password(&browser, "acme", "acme-admin", PASSWORD).await.must(303);
}

#[tokio::test]
async fn the_wait_ends_at_a_quarter_of_an_hour_and_names_nobody_has_wait_too() {
    let app = TestApp::start().await;
    let store = &app.domain.store;
    for _ in 0..40 {
        store.sign_in_failed("name:acme/nobody", 5, Duration::minutes(15), app.domain.now()).await.unwrap();
    }
    let locked = try_password(&app.browser(), "acme", "nobody", PASSWORD).await.must(429);
    assert_eq!(locked.header("retry-after"), "900");
    locked.says("opens again in 15 minutes");
}

#[tokio::test]
async fn one_address_that_tries_many_names_waits_and_others_do_not() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    for _ in 0..50 {
        app.domain.store.sign_in_failed("address:10.6.6.6", 50, Duration::minutes(15), app.domain.now()).await.unwrap();
    }
    let bad = app.browser().at_address("10.6.6.6");
    try_password(&bad, "acme", "one-more", "a wrong password").await.must(401);
    try_password(&bad, "acme", "acme-admin", PASSWORD).await.must(429);
    try_password(&app.browser(), "acme", "acme-admin", PASSWORD).await.must(303);
}

#[tokio::test]
async fn a_session_that_somebody_planted_or_had_before_is_of_no_use_after_signing_in() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let browser = app.sign_in("acme", "acme-admin").await;
    let before = browser.copy();
    assert!(is_in(&before, "/tenant/acme").await);
    try_password(&browser, "acme", "acme-admin", PASSWORD).await.must(303);
    assert_ne!(browser.cookie("session"), before.cookie("session"));
    assert!(is_in(&browser, "/tenant/acme").await && !is_in(&before, "/tenant/acme").await);

    let (planted, victim) = (app.browser(), app.browser());
    let id = "AAAAAAAAAAAAAAAAAAAAAQ";
    planted.set_cookie("session", id);
    victim.set_cookie("session", id);
    try_password(&victim, "acme", "acme-admin", PASSWORD).await.must(303);
    assert_ne!(victim.cookie("session").as_deref(), Some(id));
    assert!(is_in(&victim, "/tenant/acme").await && !is_in(&planted, "/tenant/acme").await);
}

#[tokio::test]
async fn the_database_does_not_know_what_the_cookie_holds() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let client = app.sign_in("acme", "acme-admin").await;
    let rows = app.db.text("select string_agg(s::text, ' ') from sessions s").await;
    assert!(!rows.is_empty() && !rows.contains(&client.cookie("session").unwrap()), "{rows}");
}

#[tokio::test]
async fn a_session_ends_after_half_an_hour_of_silence() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let client = app.sign_in("acme", "acme-admin").await;
    for _ in 0..3 {
        app.clock.advance(Duration::minutes(29));
        assert!(is_in(&client, "/tenant/acme").await);
    }
    app.clock.advance(Duration::minutes(31));
    assert!(!is_in(&client, "/tenant/acme").await);
}

#[tokio::test]
async fn a_session_ends_after_a_day_however_busy() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let client = app.sign_in("acme", "acme-admin").await;
    for _ in 0..57 {
        app.clock.advance(Duration::minutes(25));
        assert!(is_in(&client, "/tenant/acme").await);
    }
    app.clock.advance(Duration::minutes(25));
    assert!(!is_in(&client, "/tenant/acme").await);
    assert!(app.domain.store.sessions_purge(app.domain.now()).await.unwrap() >= 1);
    assert_eq!(app.db.count("sessions").await, 0);
}

#[tokio::test]
async fn signing_out_ends_the_session_on_the_server() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let (client, other) = (app.sign_in("acme", "acme-admin").await, app.sign_in("acme", "acme-admin").await);
    let stolen = client.copy();
    let bye = client.post("/sign-out", &[]).await.must(303);
    assert_eq!(bye.location(), "/sign-in");
    assert_eq!(client.cookie("session"), None);
    assert!(!is_in(&stolen, "/tenant/acme").await);
    assert!(is_in(&other, "/tenant/acme").await, "only this session ended");
    client.post("/sign-out", &[]).await.must(303);
}

#[tokio::test]
async fn a_disabled_or_deleted_user_is_out_at_the_next_request_and_a_disabled_organization_is_too() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("bob", VappUser).user("carol", VappUser).make().await;
    let operator = app.operator().await;
    let other_replica = app.replica().await;
    let [bob, carol, admin] =
        [app.sign_in("acme", "bob").await, app.sign_in("acme", "carol").await, app.sign_in("acme", "acme-admin").await];
    for client in [&bob, &carol, &admin] {
        assert!(is_in(&client.at(&other_replica.router), "/tenant/acme").await);
    }
    user::set_enabled(&app.domain, &operator, acme.user("bob"), false).await.unwrap();
    assert!(!is_in(&bob, "/tenant/acme").await && !is_in(&bob.at(&other_replica.router), "/tenant/acme").await);
    user::set_enabled(&app.domain, &operator, acme.user("bob"), true).await.unwrap();
    assert!(!is_in(&bob, "/tenant/acme").await, "the old session stays ended");
    user::delete(&app.domain, &operator, acme.user("carol"), None).await.unwrap();
    assert!(!is_in(&carol.at(&other_replica.router), "/tenant/acme").await);
    org::set_enabled(&app.domain, &operator, acme.id, false).await.unwrap();
    assert!(!is_in(&admin, "/tenant/acme").await && !is_in(&admin.at(&other_replica.router), "/tenant/acme").await);
}

#[tokio::test]
async fn another_role_or_other_rights_count_at_the_next_request() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("bob", OrganizationAdministrator).make().await;
    let operator = app.operator().await;
    let bob = app.sign_in("acme", "bob").await;
    let edit = "/tenant/acme/organization/edit";
    bob.get(edit).await.must(200);
    let set_role = async |role| {
        let now = user::get(&app.domain, &operator, acme.user("bob")).await.unwrap();
        let spec = UserSpec { role, ..UserSpec::from(&now) };
        user::edit(&app.domain, &operator, now.id, now.version, spec).await.unwrap();
    };
    set_role(VappUser.id()).await;
    bob.get(edit).await.must(403).says("Organization: Edit Properties");

    let own = app.role(acme.id, "Editors", &[Right::OrgView, Right::OrgEdit]).await;
    set_role(own).await;
    bob.get(edit).await.must(200);
    let form =
        RoleForm { name: "Editors".into(), description: String::new(), rights: [Right::OrgView].into_iter().collect() };
    role::edit(&app.domain, &operator, own, 1, form).await.unwrap();
    bob.get(edit).await.must(403);
}

#[tokio::test]
async fn over_https_the_cookie_is_for_this_host_and_https_alone() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let plain = app.browser();
    let set = try_password(&plain, "acme", "acme-admin", PASSWORD).await.must(303).set_cookie("session").unwrap();
    let attributes = set.split_once("; ").unwrap().1;
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");

    let safe = app.browser().over_https();
    let answer = try_password(&safe, "acme", "acme-admin", PASSWORD).await.must(303);
    assert_eq!(answer.set_cookie("session"), None);
    let set = answer.set_cookie("__Host-session").unwrap();
    assert_eq!(set.split_once("; ").unwrap().1, "Path=/; HttpOnly; SameSite=Lax; Secure");
    assert!(is_in(&safe, "/tenant/acme").await);

    // a session from plain http is none over https
    let mixed = app.browser().over_https();
    mixed.set_cookie("session", &plain.cookie("session").unwrap());
    assert!(!is_in(&mixed, "/tenant/acme").await);
    let bye = safe.post("/sign-out", &[]).await.must(303).set_cookie("__Host-session").unwrap();
    assert_eq!(bye, "; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure");
}

#[tokio::test]
async fn a_cookie_that_makes_no_sense_is_nobody() {
    let app = TestApp::start().await;
    for odd in ["", "x", "AAAAAAAAAAAAAAAAAAAAAA", "%00", "\"", &"a".repeat(4000)] {
        let client = app.browser();
        client.set_cookie("session", odd);
        client.set_cookie("toast", odd);
        client.set_cookie("theme", odd);
        assert!(!is_in(&client, "/provider").await, "{odd}");
        client.get("/sign-in").await.must(200);
    }
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_is_kept_over_the_sign_in() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let client = app.sign_in("acme", "acme-admin").await;
    app.clock.advance(Duration::minutes(40));
    let address = "/tenant/acme/organization/edit";
    let typed =
        [("version", "1"), ("display_name", "Acme & Söhne \"GmbH\""), ("description", ""), ("password", "canary")];
    let door = client.post(address, &typed).await.must(401);
    let door = door.says("Your session ended").says("you can go on with what you typed");
    assert!(!door.body.contains("canary"), "a password is not kept");

    // a mistake in between loses nothing
    let (to, with) = (door.field("resume_to").unwrap(), door.field("resume_with").unwrap());
    let form = [
        ("org", "acme"),
        ("user", "acme-admin"),
        ("password", "wrong password"),
        ("resume_to", &to),
        ("resume_with", &with),
    ];
    let door = client.post("/sign-in", &form).await.must(401);
    assert_eq!((door.field("resume_to").unwrap(), door.field("resume_with").unwrap()), (to.clone(), with.clone()));
    let form = form.map(|(k, v)| if k == "password" { (k, PASSWORD) } else { (k, v) });
    let again = client.post("/sign-in", &form).await.must(200).says("You are signed in again").says("Acme & Söhne");
    assert!(again.body.contains(&format!("action=\"{address}\"")), "{}", again.body);

    let kept: Vec<(&str, String)> =
        ["version", "display_name", "description"].map(|name| (name, again.field(name).unwrap())).to_vec();
    let kept: Vec<(&str, &str)> = kept.iter().map(|(k, v)| (*k, v.as_str())).collect();
    client.post(address, &kept).await.must(303);
    let saved = org::get(&app.domain, &app.operator().await, acme.id).await.unwrap();
    assert_eq!(saved.display_name, "Acme & Söhne \"GmbH\"");
}

#[tokio::test]
async fn a_form_is_never_sent_on_to_another_site_after_signing_in() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    for to in ["https://evil.test/", "//evil.test", "/\\evil.test"] {
        let form = [
            ("org", "acme"),
            ("user", "acme-admin"),
            ("password", PASSWORD),
            ("resume_to", to),
            ("resume_with", "a=b"),
        ];
        let answer = app.browser().post("/sign-in", &form).await.must(303);
        assert_eq!(answer.location(), "/tenant/acme");
    }
}
