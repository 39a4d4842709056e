//! The database goes away in the middle, and comes back.
use crate::harness::{Database, PASSWORD, Proxy, TestApp};
use domain::Store;
use futures::{StreamExt, future::join_all};
use model::Error;
use std::sync::Arc;

/// An application that reaches its database by a line that can be cut.
async fn over_proxy(settings: &[(&'static str, &str)]) -> (TestApp, Proxy) {
    let db = Arc::new(Database::new().await);
    let proxy = Proxy::before(&db.url).await;
    (TestApp::over(db, &proxy.url, settings), proxy)
}

#[tokio::test]
async fn while_the_database_is_away_pages_say_so_and_forms_keep_what_was_typed() {
    let (app, proxy) = over_proxy(&[]).await;
    let acme = app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let edit = "/tenant/acme/organization/edit";
    let opened = admin.get(edit).await.must(200);
    let new_user = "/tenant/acme/users/new";
    let door = app.browser();
    proxy.cut();

    let role = model::role::Predefined::VappUser.id().to_string();
    let user = [("name", "alice"), ("role", role.as_str()), ("password", "a canary sings")];
    let sign_in = [("org", "acme"), ("user", "acme-admin"), ("password", PASSWORD)];
    let (page, form, other, signing_in, ready, alive) = tokio::join!(
        admin.get("/tenant/acme/vdcs"),
        admin.fill_page(&opened, edit, &[("display_name", "Acme & more")]),
        admin.post(new_user, &user),
        door.post("/sign-in", &sign_in),
        door.get("/readyz"),
        door.get("/healthz"),
    );
    for answer in [&page, &form, &other, &signing_in, &ready] {
        assert_eq!(answer.status.as_u16(), 503, "{}\n{}", answer.asked, answer.text());
        assert_ne!(answer.header("retry-after"), "", "{}", answer.asked);
    }
    let page = page.says("The database does not answer.");
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(!page.body.contains("127.0.0.1") && !page.body.contains("pool"), "nothing of the inside shows");
    assert_eq!(page.set_cookie("session"), None, "nobody is signed out by it");
    let form = form.says("Send it again").says("What you typed is kept on this page");
    assert_eq!(form.field("display_name").as_deref(), Some("Acme & more"));
    let other = other.says("except passwords");
    assert_eq!((other.field("name").as_deref(), other.body.contains("canary")), (Some("alice"), false));
    assert!(!signing_in.body.contains(PASSWORD));
    assert_eq!(alive.status.as_u16(), 200);

    proxy.mend();
    let again: Vec<(String, String)> = ["version", "display_name", "description", "runtime_lease", "storage_lease"]
        .map(|name| (name.to_owned(), form.field(name).unwrap()))
        .to_vec();
    let again: Vec<(&str, &str)> = again.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    admin.post(edit, &again).await.must(303);
    admin.get("/tenant/acme/organization").await.must(200).says("Acme & more");
    door.post("/sign-in", &sign_in).await.must(303);
    door.get("/readyz").await.must(200);
    assert_eq!(app.db.count(&format!("audit where org_id = '{}' and action = 'org.edit'", acme.id)).await, 1);
}

#[tokio::test]
async fn after_a_failover_one_request_finds_out_and_the_next_ones_are_answered() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    // at once, so that there are several connections
    join_all((0..8).map(|_| admin.get("/tenant/acme/vdcs"))).await;
    app.db
        .execute("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and application_name = 'ssvirt'")
        .await;
    let first = admin.get("/tenant/acme/vdcs").await.status.as_u16();
    assert!([200, 503].contains(&first), "{first}");
    for answer in join_all((0..8).map(|_| admin.get("/tenant/acme/vdcs"))).await {
        answer.must(200);
    }
}

#[tokio::test]
async fn a_database_that_takes_the_question_and_never_answers_is_given_up() {
    let (app, proxy) = over_proxy(&[("limits.request_timeout", "2s")]).await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    proxy.hold();
    let answer = admin.get("/tenant/acme/vdcs").await.must(503);
    assert_ne!(answer.header("retry-after"), "");
    proxy.mend();
    admin.get("/tenant/acme/vdcs").await.must(200);
}

#[tokio::test]
async fn a_stream_lives_through_it_and_hears_what_comes_after() {
    let (app, proxy) = over_proxy(&[]).await;
    app.follow_changes();
    let acme = app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let stream = admin.begin(admin.request("GET", "/events").body(Default::default()).unwrap()).await;
    let mut stream = stream.into_body().into_data_stream();
    proxy.cut();
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    proxy.mend();
    // made past the proxy by another replica, again until it is heard
    let other = app.replica().await;
    let mut times = 0;
    for n in 0..60 {
        other.vdc(acme.id, &format!("vdc-{n}")).await;
        let heard = tokio::time::timeout(std::time::Duration::from_secs(1), stream.next()).await;
        let text = heard.map(|chunk| String::from_utf8(chunk.expect("the stream ended").unwrap().to_vec()).unwrap());
        // once that something may have been missed, and then what is new
        times += usize::from(text.is_ok_and(|text| text.contains("changed")));
        if times == 2 {
            return;
        }
    }
    panic!("the stream hears nothing any more");
}

#[tokio::test]
async fn replicas_that_start_together_migrate_once() {
    let db = Database::empty().await;
    let replicas: Vec<Store> = (0..4).map(|_| Store::open(&db.url, 3).unwrap()).collect();
    assert!(replicas[0].migrations_pending().await.unwrap() > 0);
    for result in join_all(replicas.iter().map(Store::migrate)).await {
        result.unwrap();
    }
    assert_eq!(replicas[0].migrations_pending().await.unwrap(), 0);
    assert_eq!(db.count("_sqlx_migrations").await, db.count("_sqlx_migrations where success").await);
    assert_eq!(db.count("roles").await, 7);
    assert_eq!(replicas[0].refuse_newer().await, Ok(()));
    db.execute("insert into _sqlx_migrations (version, description, success, checksum, execution_time) values (9999, 'later', true, '', 0)").await;
    for refused in [replicas[0].refuse_newer().await, replicas[0].migrate().await] {
        assert!(matches!(&refused, Err(Error::Internal(why)) if why.contains("newer than this ssvirt")), "{refused:?}");
    }
    assert_eq!(replicas[0].migrations_pending().await, Ok(0), "what runs already goes on");
    let organizations = join_all(replicas.iter().map(|r| r.ensure_provider_org("System"))).await;
    assert!(organizations.windows(2).all(|two| two[0] == two[1] && two[0].is_ok()), "{organizations:?}");
}

/// As when a client goes away: its request is dropped wherever it waits at that moment.
#[tokio::test]
async fn a_request_that_is_given_up_in_the_middle_leaves_no_transaction_open() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = app.actor(acme.admin()).await;
    let open = "pg_stat_activity where datname = current_database() and state like 'idle in transaction%'";
    for polls in 1..20 {
        let mut asked = Box::pin(app.domain.store.write(&admin));
        for _ in 0..polls {
            if futures::poll!(asked.as_mut()).is_ready() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        drop(asked);
        for _ in 0..40 {
            if app.db.count(open).await == 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(app.db.count(open).await, 0, "given up after it was looked at {polls} times");
    }
}
