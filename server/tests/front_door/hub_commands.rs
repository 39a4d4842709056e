//! `ssvirt hub` and `ssvirt start controller`, as an operator types them.
use crate::{
    cli::ssvirt,
    harness::{CANARY, TestApp, kubeconfig},
    stage::Stage,
};
use domain::vapp;
use model::{network::NetworkForm, vapp::VappSpec};
use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECRET: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";

struct File(PathBuf);

impl File {
    fn new(text: &str) -> File {
        let path = std::env::temp_dir().join(format!("ssvirt-hub-{}.kubeconfig", uuid::Uuid::now_v7()));
        std::fs::write(&path, text).unwrap();
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Code, what it said, what it complained about.
pub(crate) async fn run(app: &TestApp, args: &[&str]) -> (i32, String, String) {
    let env = [("DATABASE_URL", app.db.url.as_str()), ("SSVIRT_SECRET", SECRET)];
    let mut command = ssvirt(args, &env);
    let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (said, wrong) = (text(done.stdout), text(done.stderr));
    assert!(!said.contains(CANARY) && !wrong.contains(CANARY), "{said}{wrong}");
    (done.status.code().unwrap(), said, wrong)
}

#[tokio::test]
async fn a_hub_is_registered_listed_changed_cordoned_and_deleted() {
    let app = TestApp::start().await;
    let file = File::new(kubeconfig().await);
    let (code, said, wrong) =
        run(&app, &["hub", "register", "one", "--kubeconfig", file.path(), "--region", "eu"]).await;
    assert_eq!((code, wrong.as_str()), (0, ""));
    assert!(said.contains("Registered one at https://127.0.0.1:"), "{said}");
    let (code, _, wrong) = run(&app, &["hub", "register", "one", "--kubeconfig", file.path()]).await;
    assert!(code == 1 && wrong.contains("Another hub has that id"), "{wrong}");
    let (_, said, _) = run(&app, &["hub", "set", "one", "--type", "hybrid", "--zone", "a"]).await;
    assert!(said.contains("one is set."), "{said}");
    let set = app
        .db
        .text("select concat_ws(' ', hub_type, region, zone, array_to_string(capabilities, ',')) from hubs")
        .await;
    assert_eq!(set, "hybrid eu a virtualmachines,clusters");
    assert_eq!(run(&app, &["hub", "cordon", "one"]).await.0, 0);
    let (_, said, _) = run(&app, &["hub", "list"]).await;
    assert!(said.contains("one") && said.contains("unknown, cordoned"), "{said}");
    assert!(said.contains("hybrid") && said.contains("virtualmachines,clusters"), "{said}");
    let (code, _, wrong) = run(&app, &["hub", "cordon", "one"]).await;
    assert!(code == 1 && wrong.contains("cordoned already"), "{wrong}");
    assert_eq!(run(&app, &["hub", "uncordon", "one"]).await.0, 0);
    // what disagrees is refused, and capabilities alone say the type
    let (code, _, wrong) = run(&app, &["hub", "set", "one", "--type", "vmaas", "--capability", "clusters"]).await;
    assert!(code == 1 && wrong.contains("A hub of type vmaas is not open for clusters"), "{wrong}");
    let (code, _, wrong) = run(&app, &["hub", "set", "one", "--capability", "nothing"]).await;
    assert!(code == 2 && wrong.contains("virtualmachines or clusters"), "{wrong}");
    let typed = async || app.db.text("select concat_ws(' ', hub_type, is_default) from hubs").await;
    assert_eq!(run(&app, &["hub", "set", "one", "--type", "cluster", "--default"]).await.0, 0);
    assert_eq!(typed().await, "cluster t");
    let both = ["hub", "set", "one", "--capability", "clusters", "--capability", "virtualmachines", "--default=false"];
    assert_eq!(run(&app, &both).await.0, 0);
    assert_eq!(typed().await, "hybrid f");
    let (code, _, wrong) = run(&app, &["hub", "set", "one", "--kubeconfig", file.path()]).await;
    assert!(code == 1 && wrong.contains("The old one stays."), "{wrong}");
    assert_eq!(run(&app, &["hub", "set", "one", "--kubeconfig", file.path(), "--anyway"]).await.0, 0);
    let (code, said, _) = run(&app, &["hub", "check", "one"]).await;
    assert!(code == 1 && said.contains("❌") && said.contains("To do:"), "{said}");
    assert_eq!(run(&app, &["hub", "delete", "one"]).await.0, 0);
    let (code, _, wrong) = run(&app, &["hub", "delete", "one"]).await;
    assert!(code == 1 && wrong.contains("there is no hub one"), "{wrong}");
}

#[tokio::test]
async fn a_hub_is_checked_by_its_kubeconfig_and_a_refused_file_is_named_with_its_field() {
    let app = TestApp::start().await;
    let hub = hubsim::Hub::start(hubsim::Options::default()).await.unwrap();
    hubsim::actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    let file = File::new(&hub.kubeconfig());
    let (_, said, wrong) = run(&app, &["hub", "check", "--kubeconfig", file.path()]).await;
    assert!(said.contains("✅ Connection") && said.contains("✅ Kubernetes version"), "{said}{wrong}");
    assert!(!said.contains("Differences"), "there is no other: {said}");
    assert_eq!(app.db.count("hubs").await, 0);
    assert_eq!(run(&app, &["hub", "register", "one", "--kubeconfig", file.path()]).await.0, 0);
    let older = r#"{"kubernetes": "v1.30.1", "kubevirt": "v1.2.0"}"#;
    app.db.execute(&format!("update hubs set found = '{older}'")).await;
    let (_, said, _) = run(&app, &["hub", "check", "--kubeconfig", file.path()]).await;
    assert!(
        said.contains("; one: v1.2.0.") && said.contains("this hub: v1.") && said.contains("Upgrade the older one"),
        "{said}"
    );
    assert_eq!(run(&app, &["hub", "delete", "one"]).await.0, 0);
    let good = hub.kubeconfig();
    for (text, field) in [
        (String::new(), "is empty"),
        ("\u{0}binary".into(), "kubeconfig"),
        (good.replace("https://", "http://"), "server"),
        (good.replace("certificate-authority-data", "certificate-authority"), "certificate-authority"),
        (good.replace("token:", "exec:\n      command: x\n    token:"), "exec"),
    ] {
        let bad = File::new(&text);
        let (code, _, wrong) = run(&app, &["start", "controller", "--vmaas-hub-kubeconfig", bad.path()]).await;
        assert!(code == 1 && wrong.contains(bad.path()) && wrong.contains(field), "{field}: {wrong}");
    }
    let bad = File::new(&good.replace("token:", "tokenFile:"));
    for args in [
        &["hub", "check", "--kubeconfig", bad.path()][..],
        &["hub", "register", "one", "--kubeconfig", bad.path()],
        &["start", "controller", "--vmaas-hub-kubeconfig", bad.path()],
    ] {
        let (code, _, wrong) = run(&app, args).await;
        assert!(code == 1 && wrong.contains(bad.path()) && wrong.contains("tokenFile"), "{args:?}: {wrong}");
    }
    let (code, _, wrong) = run(&app, &["hub", "check", "--kubeconfig", "/nowhere/at/all"]).await;
    assert!(code == 1 && wrong.contains("/nowhere/at/all can't be read"), "{wrong}");
}

#[tokio::test]
async fn where_a_vm_would_go_is_explained() {
    let app = TestApp::start().await;
    app.org("acme").vdc("prod").make().await;
    let explain = ["hub", "explain", "--vdc", "acme/prod", "--cpus", "2", "--memory-gb", "4"];
    let (code, said, _) = run(&app, &explain).await;
    assert!(code == 1 && said.contains("No hub with virtualmachine capability found"), "{said}");
    let file = File::new(kubeconfig().await);
    for id in ["one", "two"] {
        assert_eq!(run(&app, &["hub", "register", id, "--kubeconfig", file.path()]).await.0, 0);
    }
    let fit = "update hubs set state = 'ready', offers = '{virtualmachines}', cordoned = id = 'two'";
    app.db.execute(fit).await;
    let (code, said, _) = run(&app, &explain).await;
    assert_eq!((code, said.lines().count()), (0, 2), "{said}");
    assert!(said.contains("one: It is the only one that fits.") && said.contains("not two: It is cordoned"), "{said}");
    let (code, _, wrong) = run(&app, &["hub", "explain", "--vdc", "acme/none"]).await;
    assert!(code == 1 && wrong.contains("there is no VDC acme/none"), "{wrong}");
}

#[tokio::test]
async fn where_a_template_would_go_is_explained_by_what_it_needs() {
    let stage = Stage::on(&["one", "two"]).await;
    let db = &stage.app.db;
    let source = stage.template("ubuntu-24.04").await.unwrap().source;
    let both = format!("hub_templates where source = '{source}'");
    stage.until("the template on both hubs", async || db.count(&both).await == 2).await;
    stage.hubs.kill_controller();
    // real ones need not be as large as each other, nor checked to the end by now
    db.execute(
        "update hubs set state = 'ready', cpus_capacity = case id when 'one' then 200 else 100 end, memory_capacity_mb = 1000000",
    )
    .await;
    let explain = async |more: &[&str]| {
        let args = [&["hub", "explain", "--vdc", "acme/prod"][..], more].concat();
        run(&stage.app, &args).await
    };
    let (code, said, _) = explain(&["--template", "linux/ubuntu-24.04"]).await;
    assert!(code == 0 && said.starts_with("one: ") && said.contains("not two: It fits too"), "{said}");
    db.execute(&format!("delete from hub_templates where hub_id = 'one' and source = '{source}'")).await;
    let (_, said, _) = explain(&["--template", "ubuntu-24.04"]).await;
    assert!(said.starts_with("two: ") && said.contains("not one: It has not got the template."), "{said}");
    db.execute("update storage_policies set class = 'gone'").await;
    let (code, said, _) = explain(&["--storage", "default"]).await;
    assert!(
        code == 1 && said.contains("not one: It has not got the storage class gone of the policy default."),
        "{said}"
    );

    let form =
        NetworkForm { name: "back".into(), gateway: "10.7.0.1".into(), prefix: "24".into(), ..NetworkForm::default() };
    let vdc = stage.acme.vdc("prod");
    let back = domain::network::create(&stage.app.domain, &stage.admin, vdc, form).await.unwrap().id;
    let (_, said, _) = explain(&["--network", "back"]).await;
    assert!(said.starts_with("one: "), "{said}");
    let spec = VappSpec { name: "there".into(), ..VappSpec::default() };
    let made = vapp::compose(&stage.app.domain, &stage.admin, vdc, spec, vapp::Guest::default()).await.unwrap().vapp;
    domain::vapp_network::bridge(&stage.app.domain, &stage.admin, made, back).await.unwrap();
    db.execute("update vapps set hub_id = 'two'").await;
    let (_, said, _) = explain(&["--network", "back"]).await;
    assert!(said.starts_with("two: The network back lives there."), "{said}");
    for (wrong, words) in [
        (["--template", "none"], "there is no template none"),
        (["--network", "none"], "acme/prod reaches no network none"),
        (["--storage", "none"], "The VDC has no storage policy none."),
    ] {
        let (code, _, said) = explain(&wrong).await;
        assert!(code == 1 && said.contains(words), "{said}");
    }
}

/// A controller as a process of its own, with every flag it knows.
struct Started {
    process: std::process::Child,
    log: File,
}

impl Started {
    fn controller(app: &TestApp, kubeconfig: &str) -> Started {
        let args = [
            "start",
            "controller",
            "--log-level",
            "info",
            "--grpc-server-address",
            "fulfillment-api:8000",
            "--grpc-token-file",
            "/nowhere/token",
            "--grpc-ca-file",
            "/nowhere/ca",
            "--grpc-server-insecure",
            "--vmaas-hub-kubeconfig",
            kubeconfig,
            "--vmaas-hub-namespace",
            "vmaas-system",
            "--vmaas-hub-id",
            "vmaas-primary",
        ];
        let env = [
            ("DATABASE_URL", app.db.url.as_str()),
            ("SSVIRT_SECRET", SECRET),
            ("DEFAULT_KUBEVIRT_CONFIG", "vmaas-primary"),
            ("SSVIRT_CONTROLLER_HTTP", "127.0.0.1:0"),
        ];
        let log = File::new("");
        let to = std::fs::File::create(log.path()).unwrap();
        Started { process: ssvirt(&args, &env).stdout(Stdio::null()).stderr(to).spawn().unwrap(), log }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    async fn says(&mut self, words: &str) {
        let begun = Instant::now();
        while !self.said().contains(words) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{words:?} is not in\n{}", self.said());
            assert!(self.process.try_wait().unwrap().is_none(), "the controller ended: {}", self.said());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Its hub is registered, and it works.
    async fn runs(&mut self) {
        self.says("the controller runs").await;
    }

    async fn until(&mut self, app: &TestApp, what: &str) {
        let begun = Instant::now();
        while app.db.count(what).await == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "not reached: {what}");
            assert!(self.process.try_wait().unwrap().is_none(), "the controller ended");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ended by a signal; what it logged.
    async fn stop(mut self) -> String {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let (status, said) =
            tokio::task::spawn_blocking(move || (self.process.wait().unwrap(), self.said())).await.unwrap();
        assert!(status.success() && said.contains("stopped"), "{said}");
        said
    }
}

async fn furnished() -> hubsim::Hub {
    let hub = hubsim::Hub::start(hubsim::Options::default()).await.unwrap();
    hubsim::actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    hub
}

#[tokio::test]
async fn the_controller_alone_registers_its_hub_and_looks_at_it_until_a_signal() {
    let app = TestApp::start().await;
    let (hub, other) = (furnished().await, furnished().await);
    let file = File::new(&hub.kubeconfig());
    let mut first = Started::controller(&app, file.path());
    let seen = "hubs where id = 'vmaas-primary' and hub_type = 'vmaas' and is_default and seen_at is not null";
    first.until(&app, seen).await;
    first.says("/metrics").await;
    let said = first.said();
    let (_, rest) = said.split_once("http://127.0.0.1:").unwrap();
    let address = format!("127.0.0.1:{}", rest.split_once("/metrics").unwrap().0);
    let asked = async |path: &str| {
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let numbers = asked("/metrics").await;
    let counted = ["ssvirt_hub_connections_total{", "ssvirt_db_connections "];
    assert!(numbers.starts_with("HTTP/1.1 200") && counted.iter().all(|c| numbers.contains(c)), "{numbers}");
    assert!(asked("/").await.starts_with("HTTP/1.1 404"));
    // a mounted Secret changes: what can't be used is not, and what answers is
    std::fs::write(file.path(), kubeconfig().await).unwrap();
    first.says("is not used, the old one stays").await;
    assert_eq!(app.db.text("select credential_version::text from hubs").await, "1");
    first.until(&app, "hubs where cluster_uid <> ''").await;
    std::fs::write(file.path(), other.kubeconfig()).unwrap();
    first.says("another cluster").await;
    assert_eq!(app.db.text("select credential_version::text from hubs").await, "1");
    let account = hub.account(include_str!("../../../deploy/hub-role.yaml")).unwrap();
    std::fs::write(file.path(), account).unwrap();
    first.until(&app, "hubs where credential_version = 2").await;
    first.says("new kubeconfig is in use").await;
    assert!(first.stop().await.contains("Registered VMaaS hub"));
}

#[tokio::test]
async fn controllers_that_start_together_and_again_register_one_hub_and_leave_what_people_set() {
    let app = TestApp::start().await;
    // long gone: that stops no start
    let file = File::new(kubeconfig().await);
    let mut all: Vec<Started> = (0..3).map(|_| Started::controller(&app, file.path())).collect();
    for one in &mut all {
        one.runs().await;
        one.until(&app, "hubs where state = 'unreachable'").await;
    }
    for one in all {
        let said = one.stop().await;
        assert!(said.contains("Registered VMaaS hub"), "{said}");
    }
    assert_eq!(run(&app, &["hub", "set", "vmaas-primary", "--type", "hybrid"]).await.0, 0);
    let mut again = Started::controller(&app, file.path());
    again.runs().await;
    let said = again.stop().await;
    assert!(said.contains("Registered VMaaS hub"), "a start that finds it says so too: {said}");
    let columns = "select string_agg(concat_ws(' ', id, hub_type, namespace, credential_version), ';') from hubs";
    assert_eq!(app.db.text(columns).await, "vmaas-primary hybrid vmaas-system 1");
    // without the flag, or with an empty one, it starts as before and the hub stays
    let mut without = Started::controller(&app, "");
    without.runs().await;
    let said = without.stop().await;
    assert!(!said.contains("Registered VMaaS hub"), "{said}");
    assert_eq!(app.db.count("hubs").await, 1);
}

#[tokio::test]
async fn a_start_tries_a_new_kubeconfig_and_leaves_the_old_one_if_it_leads_to_another_cluster() {
    let app = TestApp::start().await;
    let (hub, other) = (furnished().await, furnished().await);
    let file = File::new(&hub.kubeconfig());
    let mut first = Started::controller(&app, file.path());
    first.until(&app, "hubs where cluster_uid <> ''").await;
    first.stop().await;
    std::fs::write(file.path(), other.kubeconfig()).unwrap();
    let mut again = Started::controller(&app, file.path());
    again.says("is not used, the old one stays").await;
    again.runs().await;
    assert!(again.said().contains("another cluster"), "{}", again.said());
    assert_eq!(app.db.text("select credential_version::text from hubs").await, "1");
    // and so it is by command, unless somebody means it
    let set = ["hub", "set", "vmaas-primary", "--kubeconfig", file.path()];
    let (code, _, wrong) = run(&app, &set).await;
    assert!(code == 1 && wrong.contains("another cluster") && wrong.contains("The old one stays."), "{wrong}");
    assert_eq!(run(&app, &[&set[..], &["--anyway"]].concat()).await.0, 0);
    let uid =
        other.object("", "namespaces", "", "kube-system").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    again.until(&app, &format!("hubs where credential_version = 2 and cluster_uid = '{uid}'")).await;
    again.stop().await;
    // where neither answers, the newer one is taken
    drop((hub, other));
    std::fs::write(file.path(), kubeconfig().await).unwrap();
    let mut last = Started::controller(&app, file.path());
    last.until(&app, "hubs where credential_version = 3").await;
    last.stop().await;
}

#[tokio::test]
async fn a_hub_that_is_registered_after_the_start_becomes_the_default_one_that_the_settings_name() {
    let app = TestApp::start().await;
    let mut started = Started::controller(&app, "");
    started.says("names a hub that is not registered yet").await;
    started.runs().await;
    let file = File::new(kubeconfig().await);
    for id in ["another", "vmaas-primary"] {
        assert_eq!(run(&app, &["hub", "register", id, "--kubeconfig", file.path()]).await.0, 0);
    }
    started.until(&app, "hubs where is_default and id = 'vmaas-primary'").await;
    started.stop().await;
    assert_eq!(app.db.count("hubs where is_default").await, 1);
}

#[tokio::test]
async fn check_asks_every_hub_and_says_what_to_do_about_those_that_are_silent() {
    let app = TestApp::start().await;
    let hub = hubsim::Hub::start(hubsim::Options::default()).await.unwrap();
    hubsim::actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    let living = File::new(&hub.kubeconfig());
    let dead = File::new(kubeconfig().await);
    for (id, file) in [("alive", &living), ("dead", &dead)] {
        assert_eq!(run(&app, &["hub", "register", id, "--kubeconfig", file.path()]).await.0, 0);
    }
    app.db.execute("update hubs set credential_expires_at = now() + interval '3 days' where id = 'alive'").await;
    let (code, said, wrong) = run(&app, &["check"]).await;
    let line = |start: &str| said.lines().find(|l| l.trim_start().starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("alive").ends_with("reachable") && !line("alive").contains("not reachable"), "{said}{wrong}");
    assert!(line("dead").contains("not reachable: The hub refused the connection"), "{said}");
    assert!(said.contains("To do: Check that the API server runs"), "{said}");
    assert!(line("hub alive: its credential is good until").contains("ssvirt hub set alive --kubeconfig"), "{said}");
    assert!(line("hub dead: not reachable").contains("Check that the API server runs"), "{said}");
    assert_eq!(code, 1);
    assert_eq!(run(&app, &["hub", "delete", "dead"]).await.0, 0);
    let (code, said, _) = run(&app, &["check"]).await;
    assert!(code == 0 && said.contains("Nothing is wrong, but for the warnings above."), "{said}");
    app.db.execute("update hubs set credential_expires_at = null").await;
    let (code, said, _) = run(&app, &["check"]).await;
    assert!(code == 0 && said.contains("Nothing is wrong."), "{said}");
    assert_eq!(run(&app, &["hub", "delete", "alive"]).await.0, 0);
    let (code, said, _) = run(&app, &["check"]).await;
    assert!(
        code == 0 && said.contains("no hub is registered, so nothing can be deployed; ssvirt hub register"),
        "{said}"
    );
}

#[tokio::test]
async fn a_kubeconfig_is_tried_before_there_is_an_installation() {
    let check = async |file: &File| {
        let mut command = ssvirt(&["hub", "check", "--kubeconfig", file.path()], &[]);
        let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
    };
    let sim = hubsim::Hub::start(hubsim::Options::default()).await.unwrap();
    let (_, said, wrong) = check(&File::new(&sim.kubeconfig())).await;
    assert!(said.contains("Kubernetes version") && said.contains("KubeVirt") && wrong.is_empty(), "{said}{wrong}");
    let (code, said, wrong) = check(&File::new("kind: Config\nexec: x\n")).await;
    assert!(code == 1 && said.is_empty() && wrong.contains("exec"), "{code} {said}{wrong}");
}
