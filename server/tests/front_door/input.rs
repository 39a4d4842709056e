//! What nobody should send, sent anyway: the right status, words that help, and nothing changed.
use crate::harness::{Client, PASSWORD, TestApp};
use axum::body::Body;
use http::header;
use model::role::Predefined::*;

const NEW: &str = "/tenant/acme/vdcs/new";

async fn acme() -> (TestApp, Client) {
    let app = TestApp::start().await;
    app.org("acme").user("alice", VappUser).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    (app, admin)
}

#[tokio::test]
async fn a_form_of_more_than_one_mebibyte_is_refused_and_one_of_nearly_that_is_read() {
    let (app, admin) = acme().await;
    for path in [NEW, "/sign-in", "/profile/edit", "/theme"] {
        let answer = admin.post_raw(path, format!("name=x&description={}", "y".repeat(1 << 20))).await.must(413);
        answer.says("nothing was changed");
    }
    let long = format!("name=x&allocation_model=PayAsYouGo&description={}", "y".repeat(1_000_000));
    let back = admin.post_raw(NEW, long).await.must(422);
    assert_eq!(back.error_of("description").as_deref(), Some("At most 2,000 characters."));
    assert_eq!(back.field("description").unwrap().len(), 1_000_000, "even this is not lost");
    assert_eq!(app.db.count("vdcs").await, 0);
}

#[tokio::test]
async fn what_is_no_text_is_refused_wherever_it_stands() {
    let (app, admin) = acme().await;
    for path in [
        "/tenant/%ff/vdcs",
        "/tenant/acme/vdcs/%c3%28",
        "/tenant/acme/vdcs?q=%fe",
        "/tenant/acme%00",
        "/sign-in?org=%00",
    ] {
        admin.get(path).await.must(400).says("are no text");
    }
    for body in [&b"name=%ff"[..], b"name=\xff\xfe", b"name=a%00b", b"%00=x"] {
        for path in [NEW, "/sign-in", "/theme"] {
            admin.post_raw(path, body).await.must(400).says("nothing was changed");
        }
    }
    assert_eq!(app.db.count("vdcs").await, 0);
}

#[tokio::test]
async fn odd_characters_are_refused_where_they_make_no_sense_and_kept_where_they_do() {
    let (app, admin) = acme().await;
    for name in
        ["a b", "a/b", "..", "ä", "a\u{202e}b", "a\nb", "<script>", "'; drop table vdcs; --", &"x".repeat(64), "-", ""]
    {
        let back = admin.post(NEW, &[("name", name), ("allocation_model", "PayAsYouGo")]).await.must(422);
        assert!(back.error_of("name").is_some(), "{name:?}");
        assert!(!back.body.contains("<script>'"), "{name:?}");
    }
    let description = "Ünïcödé \u{1F9A4} <b>bold</b> & \"quotes\" 'and' \\ more\nlines\ttoo";
    let form = [("name", "odd"), ("allocation_model", "PayAsYouGo"), ("description", description)];
    admin.post(NEW, &form).await.must(303);
    assert_eq!(app.db.text("select description from vdcs").await, description);
    let id = app.db.text("select id::text from vdcs").await;
    let shown = admin.get(&format!("/tenant/acme/vdcs/{id}")).await.must(200);
    assert!(!shown.body.contains("<b>bold</b>") && shown.body.contains("&lt;b&gt;bold"));
}

#[tokio::test]
async fn methods_that_an_address_has_not_got_are_refused() {
    let (app, admin) = acme().await;
    let ask = async |method: &str, path: &str| {
        let request = admin.request(method, path).header(header::ORIGIN, admin.origin());
        admin.send(request.body(Body::empty()).unwrap()).await.status.as_u16()
    };
    for route in server::portal_routes(&app.state) {
        let path = route.path.replace("{org}", "acme").replace("{id}", "01900000-0000-7000-8000-000000000001");
        for method in ["PUT", "PATCH", "DELETE", "TRACE", "BREW"] {
            assert_eq!(ask(method, &path).await, 405, "{method} {path}");
        }
    }
    assert_eq!(ask("GET", "/sign-out").await, 405);
    assert_eq!(ask("GET", "/tenant/acme/users/01900000-0000-7000-8000-000000000001/disable").await, 405);
    assert_eq!(ask("POST", "/tenant/acme/users").await, 405);
    assert_eq!(ask("HEAD", "/tenant/acme/users").await, 200);
}

#[tokio::test]
async fn nothing_is_changed_from_another_site() {
    let (app, admin) = acme().await;
    let before = app.db.count("audit").await;
    for route in server::portal_routes(&app.state).into_iter().filter(|route| route.method == "POST") {
        let path = route.path.replace("{org}", "acme").replace("{id}", "01900000-0000-7000-8000-000000000001");
        for headers in [
            &[][..],
            &[("origin", "https://evil.test")],
            &[("origin", "null")],
            &[("origin", "http://cloud.example.com"), ("sec-fetch-site", "cross-site")],
            &[("referer", "http://cloud.example.com/")],
        ] {
            let mut request =
                admin.request("POST", &path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = admin.send(request.body(Body::from("name=x")).unwrap()).await.must(403);
            answer.says("Not from a page of this site");
        }
    }
    assert_eq!(app.db.count("audit").await, before, "not even looked at");
    admin.get("/tenant/acme").await.must(200);
}

#[tokio::test]
async fn a_form_without_its_version_or_with_another_one_saves_nothing() {
    let (app, admin) = acme().await;
    let edit = "/tenant/acme/organization/edit";
    for version in ["", "x", "1.0", "99999999999999999999"] {
        admin.post(edit, &[("version", version), ("display_name", "New")]).await.must(400).says("Open the page again.");
    }
    admin.post(edit, &[("version", "7"), ("display_name", "New")]).await.must(409);
    assert_eq!(app.db.text("select display_name from organizations where name = 'acme'").await, "acme");
}

#[tokio::test]
async fn bodies_that_are_no_form_make_nothing() {
    let (app, admin) = acme().await;
    let before = app.db.count("vdcs").await;
    for (kind, body) in [
        ("application/json", r#"{"name":"x","allocation_model":"PayAsYouGo"}"#),
        ("text/plain", "name=x"),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nx\r\n--x--\r\n",
        ),
        ("application/x-www-form-urlencoded", "&&&==&%zz=%&name"),
        ("application/x-www-form-urlencoded", ""),
    ] {
        let request =
            admin.request("POST", NEW).header(header::ORIGIN, admin.origin()).header(header::CONTENT_TYPE, kind);
        let answer = admin.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status.as_u16(), 422, "{kind}: {}", answer.text());
    }
    assert_eq!(app.db.count("vdcs").await, before);
}

#[tokio::test]
async fn a_field_that_comes_twice_counts_once() {
    let (app, admin) = acme().await;
    admin.post(NEW, &[("name", "first"), ("name", "second"), ("allocation_model", "PayAsYouGo")]).await.must(303);
    assert_eq!(app.db.text("select string_agg(name, ' ') from vdcs").await, "first");
}

#[tokio::test]
async fn numbers_that_do_not_fit_are_said_beside_their_fields() {
    let (_app, admin) = acme().await;
    for (value, fits) in
        [("0", true), ("9223372036854775807", false), ("-1", false), ("1e3", false), ("٣", false), ("1 000", true)]
    {
        let form = [("name", "x"), ("allocation_model", "Wrong"), ("memory_limit", value)];
        let back = admin.post(NEW, &form).await.must(422);
        assert_eq!(back.error_of("memory_limit").is_none(), fits, "{value}: {}", back.text());
        assert_eq!(back.field("memory_limit").as_deref(), Some(value));
    }
}

#[tokio::test]
async fn very_long_addresses_and_cookies_do_no_harm() {
    let (_app, admin) = acme().await;
    let long = "x".repeat(30_000);
    admin.get(&format!("/tenant/{long}")).await.must(404);
    admin.get(&format!("/tenant/acme/vdcs/{long}")).await.must(404);
    admin.get(&format!("/tenant/acme/vdcs?unknown={long}")).await.must(200);
    admin.set_cookie("theme", &long);
    admin.get("/tenant/acme").await.must(200);
    let form = [("org", long.as_str()), ("user", &long), ("password", PASSWORD)];
    admin.post("/sign-in", &form).await.must(401);
}
