//! Secrets reach neither a log nor a page, nor stand in the database as they are.
use crate::{
    harness::{Client, Form, PASSWORD, TestApp},
    request_id::Log,
};
use model::role::Predefined::*;

#[tokio::test]
async fn no_password_and_no_session_is_ever_logged_or_shown() {
    let log = Log::of_all();
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let secrets = ["canary-one-Xq7", "canary-two-Xq7", "canary-three-Xq7", "canary-four-Xq7", "canary-five-Xq7"];
    let admin = app.sign_in("acme", "acme-admin").await;
    let provider = app.provider().await;
    let role = VappUser.id().to_string();
    let mut pages = vec![];
    let set_password = format!("/tenant/acme/users/{}/password", acme.user("alice"));
    let sent: [(&Client, &str, Form<'_>); 8] = [
        (&app.browser(), "/sign-in", &[("org", "acme"), ("user", "alice"), ("password", secrets[0])]),
        (&app.browser(), "/sign-in", &[("org", "acme"), ("user", secrets[1]), ("password", "alice")]),
        (&admin, "/tenant/acme/users/new", &[("name", "bob"), ("role", &role), ("password", secrets[2])]),
        (&admin, "/tenant/acme/users/new", &[("name", "bob"), ("role", &role), ("password", secrets[2])]),
        (&admin, &set_password, &[("password", secrets[3])]),
        (&admin, "/profile/password", &[("old_password", secrets[4]), ("password", secrets[4])]),
        (
            &provider,
            "/provider/organizations/new",
            &[("name", "acme"), ("admin_name", "x"), ("admin_password", secrets[3])],
        ),
        (&app.browser(), "/tenant/acme/users/new", &[("name", "bob"), ("password", secrets[2])]),
    ];
    for (client, path, form) in sent {
        pages.push(client.post(path, form).await);
    }
    for page in ["/tenant/acme/users", "/tenant/acme/audit", "/tenant/acme/events", "/profile", "/metrics"] {
        pages.push(admin.get(page).await);
    }
    let session = admin.cookie("session").unwrap();
    for page in &pages {
        for secret in secrets.iter().chain([&PASSWORD, &session.as_str()]) {
            // what was typed as a name comes back in the field of the name, to whoever typed it
            let typed_as_name = *secret == secrets[1] && page.status.as_u16() == 401;
            assert!(typed_as_name || !page.body.contains(*secret), "{} shows {secret}", page.asked);
        }
    }
    let logged = log.text();
    assert!(logged.contains(pages[0].request_id()), "the log is not heard");
    for secret in secrets.iter().chain([&PASSWORD, &session.as_str(), &"argon2id$"]) {
        assert!(!logged.contains(secret), "the log holds {secret}");
    }
    let tables = "select string_agg(r, ' ') from (select u::text r from users u union all select a::text from audit a union all
                  select e::text from events e union all select s::text from sessions s union all select f::text from sign_in_failures f) t";
    let stored = app.db.text(tables).await;
    for secret in [secrets[0], secrets[2], secrets[3], secrets[4], PASSWORD, &session] {
        assert!(!stored.contains(secret), "the database holds {secret}");
    }
}

#[tokio::test]
async fn a_mistake_of_ours_is_in_the_log_and_not_on_the_page() {
    let log = Log::of_all();
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    app.db.execute("alter table vdcs rename column description to canary_column").await;
    let answer = admin.get("/tenant/acme/vdcs?q=x").await.must(500);
    assert!(!answer.body.contains("canary") && !answer.body.contains("column"), "{}", answer.text());
    let lines = log.of(answer.request_id());
    assert!(lines.iter().any(|line| line["level"] == "ERROR" && line.to_string().contains("description")), "{lines:?}");
}
