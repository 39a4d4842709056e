//! Hubs, by the provider in the portal. A kubeconfig goes in and never comes out.
use crate::harness::{ADMINISTRATOR, Answer, CANARY, PASSWORD, TestApp, kubeconfig};
use domain::{hub, probe};
use model::role::Predefined::SystemAdministrator;
use time::Duration;

const NEW: &str = "/provider/hubs/new";
const TEST: &str = "/provider/hubs/new/test";

/// A hub that answers, with the canary as its token.
async fn living() -> hubsim::Hub {
    let options = hubsim::Options { token: Some(CANARY.into()), ..hubsim::Options::default() };
    let hub = hubsim::Hub::start(options).await.unwrap();
    hubsim::actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    hub
}

#[track_caller]
fn silent(answer: Answer) -> Answer {
    for (name, value) in &answer.headers {
        assert!(!value.to_str().unwrap_or_default().contains(CANARY), "{} tells in {name}", answer.asked);
    }
    assert!(!answer.body.contains(CANARY), "{} tells the kubeconfig", answer.asked);
    answer
}

#[tokio::test]
async fn a_hub_is_tested_without_being_saved_and_then_registered_without_pasting_again() {
    let (app, sim) = (TestApp::start().await, living().await);
    let provider = app.provider().await;
    let text = sim.kubeconfig();
    assert!(text.contains(CANARY));
    let typed = [
        ("id", "vmaas-primary"),
        ("hub_type", "hybrid"),
        ("capabilities", "virtualmachines"),
        ("namespace", "vmaas-system"),
        ("region", "eu-central"),
        ("zone", "a"),
        ("description", "Runs what earns money"),
    ];
    let page = provider.get(NEW).await.must(200);
    let tested = provider.fill_page(&page, TEST, &[&typed[..], &[("kubeconfig", &text)]].concat()).await;
    let tested = silent(tested.must(200).says("The hub answers").says("Nothing is saved").says("Kubernetes version"));
    assert_eq!(app.db.count("hubs").await, 0);
    for (name, value) in typed {
        assert_eq!(tested.field(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(tested.field("kubeconfig").as_deref(), Some(""));
    let made = silent(provider.fill_page(&tested, NEW, &[]).await);
    let page = silent(provider.follow(made).await);
    page.says("Hub vmaas-primary is registered")
        .says("VMs and clusters")
        .says("eu-central, zone a")
        .says("stored, never shown");
    let stored = app.db.text("select hubs::text from hubs").await;
    let told = app.db.text("select string_agg(t::text, ' ') from audit t").await;
    assert!(!stored.contains(CANARY) && !told.contains(CANARY));
    assert_eq!(app.db.text("select array_to_string(capabilities, ' ') from hubs").await, "virtualmachines");
    for path in
        ["/provider/hubs", "/provider/hubs/vmaas-primary", "/provider/hubs/vmaas-primary/edit", "/provider/audit"]
    {
        silent(provider.get(path).await.must(200));
    }
    silent(provider.get("/provider/hubs/vmaas-primary/kubeconfig").await.must(200));
}

#[tokio::test]
async fn what_is_wrong_with_fields_and_kubeconfig_is_said_at_once_beside_them() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let back = provider.fill(NEW, &[("id", "Not A Label"), ("hub_type", "big"), ("region", "kept")]).await.must(422);
    for field in ["id", "hub_type", "namespace", "kubeconfig"] {
        assert!(back.error_of(field).is_some(), "{field}");
    }
    assert_eq!(back.field("region").as_deref(), Some("kept"));
    assert_eq!(back.error_of("hub_type").as_deref(), Some("Choose what it is for: vmaas, cluster or hybrid."));
    let back = provider.fill(NEW, &[("id", "one"), ("capabilities", "teapots")]).await.must(422);
    assert!(back.error_of("capabilities").unwrap().contains("virtualmachines, clusters or both"));
    let back = provider.fill(NEW, &[("id", "one"), ("hub_type", "cluster"), ("capabilities", "virtualmachines")]).await;
    assert!(back.must(422).error_of("capabilities").unwrap().contains("not open for virtualmachines"));
    let good = kubeconfig().await;
    for (kubeconfig, words) in [
        (String::new(), "is empty"),
        ("not: [a, kubeconfig".into(), "kubeconfig"),
        (
            good.replace(
                "certificate-authority-data",
                "insecure-skip-tls-verify: true\n    certificate-authority-data",
            ),
            "insecure-skip-tls-verify",
        ),
        (good.replace("https://", "http://"), "server"),
        (good.replace("token:", "tokenFile:"), "tokenFile"),
    ] {
        let typed = [("id", "one"), ("namespace", "vmaas-system"), ("kubeconfig", kubeconfig.as_str())];
        for path in [NEW, TEST] {
            let page = provider.get(NEW).await;
            let back = silent(provider.fill_page(&page, path, &typed).await.must(422));
            let said = back.error_of("kubeconfig").unwrap_or_default();
            assert!(said.contains(words), "{words}: {said}");
            assert_eq!(back.field("id").as_deref(), Some("one"));
        }
    }
    assert_eq!(app.db.count("hubs").await, 0);
    app.hub("one").await;
    let typed = [("id", "one"), ("namespace", "vmaas-system"), ("kubeconfig", good)];
    let back = silent(provider.fill(NEW, &typed).await.must(409));
    assert_eq!(back.error_of("id").as_deref(), Some("Another hub has that id. Choose another one."));
}

#[tokio::test]
async fn a_test_of_a_hub_that_is_away_says_so() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let page = provider.get(NEW).await;
    let back = provider.fill_page(&page, TEST, &[("kubeconfig", kubeconfig().await)]).await.must(200);
    silent(back.says("The hub does not answer").says("To do:"));
}

#[tokio::test]
async fn a_kept_kubeconfig_opens_for_its_writer_only_and_not_for_long() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let page = provider.get(NEW).await;
    let back = provider.fill_page(&page, NEW, &[("kubeconfig", kubeconfig().await)]).await.must(422);
    let kept = back.field("kept_kubeconfig").unwrap();
    let system = app.domain.store.provider_org().await.unwrap().unwrap().0;
    app.user(system, "second", SystemAdministrator.id()).await;
    let second = app.sign_in(model::org::PROVIDER, "second").await;
    let typed =
        [("id", "one"), ("hub_type", "vmaas"), ("namespace", "vmaas-system"), ("kept_kubeconfig", kept.as_str())];
    let refused = second.post(NEW, &typed).await.must(422);
    assert!(refused.error_of("kubeconfig").is_some());
    // a session ends sooner than that, so the operation itself is asked
    let sql = format!("select id::text from users where name = '{ADMINISTRATOR}'");
    let writer = app.actor(app.db.text(&sql).await.parse().unwrap()).await;
    assert!(probe::kept(&app.domain, &writer, &kept).await.is_some());
    app.clock.advance(Duration::minutes(31));
    assert!(probe::kept(&app.domain, &writer, &kept).await.is_none());
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_keeps_all_but_the_kubeconfig() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let page = provider.get(NEW).await;
    app.clock.advance(Duration::minutes(31));
    let typed = [("id", "kept-id"), ("kubeconfig", kubeconfig().await)];
    let door = silent(provider.fill_page(&page, NEW, &typed).await.must(401));
    assert!(door.body.contains("kept-id"), "what else was typed goes on");
    let (to, with) = (door.field("resume_to").unwrap(), door.field("resume_with").unwrap());
    let again = [
        ("org", model::org::PROVIDER),
        ("user", ADMINISTRATOR),
        ("password", PASSWORD),
        ("resume_to", &to),
        ("resume_with", &with),
    ];
    silent(provider.post("/sign-in", &again).await).says("You are signed in again").says("kept-id");
}

#[tokio::test]
async fn of_two_who_edit_a_hub_the_second_sees_both_values() {
    let app = TestApp::start().await;
    app.hub("one").await;
    let (first, second) = (app.provider().await, app.provider().await);
    let edit = "/provider/hubs/one/edit";
    let opened = second.get(edit).await.must(200);
    first.fill(edit, &[("region", "eu-north")]).await.must(303);
    let back = second.fill_page(&opened, edit, &[("region", "eu-south")]).await.must(409);
    let back = back.says("now “eu-north”, yours “eu-south”");
    second.fill_page(&back, edit, &[("zone", "\u{7}")]).await.must(422);
    second.fill_page(&back, edit, &[]).await.must(303);
    assert_eq!(app.db.text("select region from hubs").await, "eu-south");
}

#[tokio::test]
async fn a_hub_is_cordoned_opened_again_and_deleted_when_nothing_is_on_it() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    app.hub("one").await;
    let provider = app.provider().await;
    let done = provider.post("/provider/hubs/one/cordon", &[]).await;
    provider.follow(done).await.says("Hub one is cordoned").says("Cordoned");
    provider.get("/provider/hubs").await.says("Cordoned");
    provider.post("/provider/hubs/one/cordon", &[]).await.must(409).says("It is cordoned already.");
    let done = provider.post("/provider/hubs/one/uncordon", &[]).await;
    provider.follow(done).await.says("open for new VMs").says_not("Cordoned");

    let (delete, vdc) = ("/provider/hubs/one/delete", acme.vdc("prod"));
    let place = format!("insert into places (vdc_id, hub_id, namespace) values ('{vdc}', 'one', 'vdc-acme-prod')");
    app.db.execute(&place).await;
    provider.get(delete).await.must(200).says("Not now:");
    provider.post(delete, &[("name", "one")]).await.must(409).says("Cordon it first");
    app.db.execute("update places set gone_at = now()").await;
    provider.fill(delete, &[("name", "two")]).await.must(422);
    let done = provider.fill(delete, &[("name", "one")]).await;
    provider.follow(done).await.says("Hub one is deleted.").says("No hub yet");
    assert_eq!(app.db.count("hubs").await, 0);
}

#[tokio::test]
async fn a_new_kubeconfig_is_tried_before_it_takes_the_place_of_the_old_one() {
    let (app, sim) = (TestApp::start().await, living().await);
    app.hub("one").await;
    let provider = app.provider().await;
    let (path, old) = ("/provider/hubs/one/kubeconfig", app.db.text("select server from hubs").await);
    let version = async || app.db.text("select credential_version::text from hubs").await.parse::<i64>().unwrap();
    let first = version().await;
    let back = silent(provider.fill(path, &[("kubeconfig", kubeconfig().await)]).await.must(422));
    assert!(back.error_of("kubeconfig").unwrap().contains("The old one stays."));
    assert_eq!(version().await, first);
    let done = provider.fill(path, &[("kubeconfig", &sim.kubeconfig())]).await;
    silent(provider.follow(done).await).says("Hub one has its new kubeconfig.");
    assert_eq!(version().await, first + 1);
    assert_ne!(app.db.text("select server from hubs").await, old);
    // what was pasted is kept for the second press, and taken though nobody answers
    silent(provider.fill_page(&back, path, &[("anyway", "on")]).await.must(303));
    assert_eq!((version().await, app.db.text("select server from hubs").await), (first + 2, old));
}

#[tokio::test]
async fn credentials_that_end_soon_and_checks_that_failed_are_shown_with_what_to_do() {
    let app = TestApp::start().await;
    app.hub("one").await;
    let provider = app.provider().await;
    provider.get("/provider/hubs/one").await.must(200).says("Not tried yet").says("names no end");
    app.db
        .execute(
            r#"update hubs set state = 'degraded', credential_expires_at = now() + interval '3 days', kubevirt_version = 'v1.6.1',
               cpus_capacity = 96, memory_capacity_mb = 65536, seen_at = now(), checked_at = now(),
               checks = '[{"key":"cdi","title":"Containerized Data Importer","state":"failed","detail":"It is missing.","what_to_do":"Install it."},
                          {"key":"version","title":"Kubernetes version","state":"ok","detail":"Kubernetes v1.31.","what_to_do":""}]'"#,
        )
        .await;
    provider
        .get("/provider/hubs/one")
        .await
        .says("The kubeconfig's credentials end on")
        .says("1 of 2 pass")
        .says("It is missing. To do: Install it.")
        .says("0 of 960 vCPU")
        .says("0 of 64 GB");
    let list = provider.get("/provider/hubs").await.says("Degraded").says("Containerized Data Importer");
    list.says("v1.6.1").says("0 of 960 vCPU").says("kubeconfig ends");
    provider.get("/provider").await.says("lacks something").says("Give it a newer kubeconfig.");
    app.db.execute("update hubs set state = 'unreachable', last_error = 'Nobody is there.', next_step = 'Look.'").await;
    provider.get("/provider/hubs").await.says("one: Nobody is there. Look.").says("Data Importer, as of");
    app.db.execute("update hubs set state = 'ready', checks = '[]', last_error = '', next_step = ''").await;
    provider.get("/provider").await.says("needs a newer kubeconfig");
}

#[tokio::test]
async fn faults_are_switched_on_simulated_hubs_only() {
    let app = TestApp::start().await;
    app.hub("sim-one").await;
    app.hub("real").await;
    let provider = app.provider().await;
    let form = [("fault", "refuse"), ("on", "true")];
    let done = provider.post("/provider/hubs/sim-one/faults", &form).await;
    provider.follow(done).await.says("Connections are refused: on").says("Answers come late: off");
    provider.get("/provider/hubs/real").await.must(200).says_not("Faults");
    provider.post("/provider/hubs/real/faults", &form).await.must(404);
    provider.post("/provider/hubs/sim-one/faults", &[("fault", "flood"), ("on", "true")]).await.must(400);
    let audit = app.db.text("select after::text from audit where action = 'hub.fault' and result <> 'refused'").await;
    assert!(audit.contains("refuse is on"), "{audit}");
}

#[tokio::test]
async fn the_address_of_a_kubeconfig_is_held_against_the_installations_list() {
    let app = TestApp::start_with(&[]).await;
    let closed =
        domain::Domain { gate: domain::Gate::new(Default::default(), domain::Ports::any()), ..app.domain.clone() };
    let refused = hub::read_kubeconfig(&closed, kubeconfig().await, hub::Trust::Checked).await.unwrap_err();
    assert_eq!(refused.fields()[0].field, "kubeconfig");
    assert!(hub::read_kubeconfig(&closed, kubeconfig().await, hub::Trust::Operator).await.is_ok());
    // as an installation is that sets neither list
    let unset =
        domain::Domain { gate: domain::Gate::new(Default::default(), Default::default()), ..app.domain.clone() };
    let at = async |server: &str| {
        let text = kubeconfig().await;
        let (before, rest) = text.split_once("https://").unwrap();
        let after = rest.split_once('\n').unwrap().1;
        hub::read_kubeconfig(&unset, &format!("{before}https://{server}\n{after}"), hub::Trust::Checked).await
    };
    for (server, setting) in [
        ("10.1.2.3:6443", "hubs.allow"),
        ("[fd00::7]", "hubs.allow"),
        ("100.64.0.9", "hubs.allow"),
        ("203.0.113.9:22", "hubs.ports"),
    ] {
        let refused = at(server).await.unwrap_err();
        assert!(refused.fields()[0].message.contains(setting), "{server}: {refused:?}");
    }
    assert!(at("203.0.113.9:6443").await.is_ok() && at("203.0.113.9").await.is_ok());
}

#[tokio::test]
async fn the_table_of_hubs_can_be_asked_by_those_who_know_it() {
    let app = TestApp::start().await;
    app.hub("one").await;
    let row = "select concat_ws(' ', id, array_to_string(capabilities, ','), hub_type) from hubs";
    assert_eq!(app.db.text(row).await, "one clusters cluster");
    let indexes = "select string_agg(indexdef, ';' order by indexname) from pg_indexes
                   where tablename = 'hubs' and indexname in ('hubs_by_capability', 'hubs_by_type')";
    let indexes = app.db.text(indexes).await;
    assert!(indexes.contains("gin (capabilities)") && indexes.contains("(hub_type)"), "{indexes}");
    let columns = "select string_agg(column_name || ' ' || udt_name, ',' order by column_name) from information_schema.columns
                   where table_name = 'hubs' and column_name in ('id', 'capabilities', 'hub_type', 'created_at', 'updated_at')";
    let expected = "capabilities _text,created_at timestamptz,hub_type text,id text,updated_at timestamptz";
    assert_eq!(app.db.text(columns).await, expected);
}
