//! The operator's side: `ssvirt idp`, and the settings of the provider's own.
use super::{MASTER, Provider, SECRET, alice, through};
use crate::{cli::ssvirt, harness::TestApp};
use model::org::PROVIDER;
use server::{
    oidc,
    settings::{Need, Resolved, Settings, Sources},
};
use std::{io::Write, process::Stdio};

/// Runs `ssvirt idp …`: code, what it said, what it complained about.
async fn idp(app: &TestApp, args: &[&str], input: &str) -> (i32, String, String) {
    let env = [("DATABASE_URL", app.db.url.as_str()), ("SSVIRT_SECRET", MASTER)];
    let args: Vec<&str> = ["idp"].iter().chain(args).copied().collect();
    let mut command = ssvirt(&args, &env);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

#[tokio::test]
async fn set_show_use_and_remove() {
    let app = TestApp::start_with(&[("auth.secret", MASTER)]).await;
    let op = Provider::start().await;
    app.org("acme").make().await;
    let set = ["set", "--org", "acme", "--issuer", op.issuer(), "--client-id", "ssvirt"];
    let with = |more: &[&'static str]| set.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let groups = ["--group", "cn=admins=Organization Administrator", "--group", "staff=vApp User"];

    let (code, _, wrong) = idp(&app, &with(&groups), "").await;
    assert!(code == 1 && wrong.contains("secret"), "{wrong}");
    let all = with(&[&groups[..], &["--client-secret-stdin"]].concat());
    let (code, said, wrong) = idp(&app, &all, &format!("{SECRET}\n")).await;
    assert_eq!((code, wrong.as_str()), (0, ""), "{said}");
    assert!(said.contains("Users of acme can sign in by") && said.contains("/sign-in/sso/callback"), "{said}");
    let (_, said, _) = idp(&app, &with(&groups), "").await;
    assert!(said.contains("Everything was set so already"), "the secret stays: {said}");

    let (code, shown, _) = idp(&app, &["show", "--org", "ACME"], "").await;
    assert_eq!(code, 0);
    for line in [op.issuer(), "cn=admins = Organization Administrator", "staff = vApp User", "none: who is in no"] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    let kept = app.db.text("select string_agg(t::text, ' ') from identity_providers t").await;
    let audit = app.db.text("select string_agg(t::text, ' ') from audit t where action = 'idp.set'").await;
    for text in [&said, &shown, &kept, &audit] {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(audit.contains("staff = vApp User") && audit.contains("operator"), "{audit}");

    let (browser, answer) = through(&app, &op, "acme", alice(&["cn=admins"])).await;
    answer.must(303);
    browser.get("/tenant/acme/users").await.must(200);

    let (code, _, _) = idp(&app, &["remove", "--org", "acme"], "").await;
    assert_eq!(code, 0);
    browser.get("/tenant/acme").await.must(303);
    let (code, _, wrong) = idp(&app, &["show", "--org", "acme"], "").await;
    assert!(code == 1 && wrong.contains("acme has no identity provider"), "{wrong}");
}

#[tokio::test]
async fn mistakes_are_told_before_anything_is_set() {
    let app = TestApp::start_with(&[("auth.secret", MASTER)]).await;
    app.org("acme").make().await;
    let try_it = async |org: &str, issuer: &str, more: &[&str]| {
        let args = ["set", "--org", org, "--issuer", issuer, "--client-id", "ssvirt", "--client-secret-stdin"];
        idp(&app, &args.iter().chain(more).copied().collect::<Vec<_>>(), "x\n").await
    };
    let good = "https://login.example.com";
    for (org, issuer, more, words) in [
        ("nobody", good, &["--default-role", "vApp User"][..], "There is no such organization"),
        ("acme", "http://login.example.com", &["--default-role", "vApp User"], "must be https"),
        ("acme", good, &["--default-role", "System Administrator"], "acme has no role"),
        ("acme", good, &["--group", "admins=System Administrator"], "It has: Catalog Author, "),
        ("acme", good, &[], "nobody could sign in"),
    ] {
        let (code, _, wrong) = try_it(org, issuer, more).await;
        assert!(code == 1 && wrong.contains(words), "{wrong}");
    }
    assert_eq!(try_it("acme", good, &["--group", "admins"]).await.0, 2, "no role");
    assert_eq!(app.db.count("identity_providers").await, 0);

    let (code, said, wrong) = try_it("acme", "http://127.0.0.1:1", &["--default-role", "vApp User"]).await;
    assert_eq!(code, 0, "it may be started later");
    assert!(said.contains("can sign in") && wrong.contains("does not answer as it should"), "{said}{wrong}");
}

#[tokio::test]
async fn the_settings_set_the_providers_own_once() {
    let app = TestApp::start_with(&[("auth.secret", MASTER)]).await;
    let op = Provider::start().await;
    let settings = |groups: &str| {
        let sources = [
            ("database.url", app.db.url.as_str()),
            ("auth.secret", MASTER),
            ("auth.oidc_issuer", op.issuer()),
            ("auth.oidc_client_id", "ssvirt"),
            ("auth.oidc_client_secret", SECRET),
            ("auth.oidc_groups", groups),
        ];
        let sources = sources.iter().fold(Sources::default(), |all, (key, value)| all.with_default(key, *value));
        Settings::build(&Resolved::read(&sources), Need::Serve).unwrap()
    };
    let good = settings("cloud-admins=System Administrator");
    for _ in 0..3 {
        oidc::apply(&app.domain, &good).await.unwrap();
    }
    assert_eq!(app.db.count("audit where action = 'idp.set'").await, 1, "a restart changes nothing");
    let (browser, answer) = through(&app, &op, PROVIDER, alice(&["cloud-admins"])).await;
    answer.must(303);
    browser.get("/provider/organizations").await.must(200);

    let wrong = oidc::apply(&app.domain, &settings("cloud-admins=Boss")).await.unwrap_err();
    assert!(format!("{wrong:#}").contains("System has no role “Boss”"), "{wrong:#}");
}
