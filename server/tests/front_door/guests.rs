//! What guests are told: when they are deployed and when it is changed, by Linux's ways and by Windows', and who may read it.
use crate::stage::Stage;
use base64::{Engine, prelude::BASE64_STANDARD};
use domain::{guest, share, vapp, vm};
use model::{
    Action, Error, Right, VmId,
    guest::GuestSettings,
    share::{Access, Grant, Subject},
    task::TaskStatus,
    vapp::VappSpec,
    vm::{Power, Vm, VmSpec, VmState},
};
use serde_json::Value;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1mHBaSf5Tq9x9tTn1l8VJ5qQ9m8mC1m3Z0mZ9yQ2aB me@home";

impl Stage {
    fn secret(&self, vm: &Vm) -> Option<Value> {
        let name = format!("{}-cloudinit", vm.hub_name);
        self.hubs.hub("one").object("", "secrets", &vm.namespace, &name).map(|o| (*o).clone())
    }

    /// One of the files that its guest finds, with the parts of an archive unpacked.
    pub(crate) fn told(&self, vm: &Vm, file: &str) -> String {
        let secret = self.secret(vm).unwrap_or_default();
        let decode = |text: &str| String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok();
        let whole = secret["data"][file].as_str().and_then(decode).unwrap_or_default();
        let part = |line: &str| if line.contains(' ') { None } else { decode(line) };
        match whole.starts_with("Content-Type: multipart") {
            true => whole.lines().filter_map(part).collect::<Vec<_>>().join("\n"),
            false => whole,
        }
    }

    pub(crate) fn volumes(&self, vm: &Vm) -> Vec<String> {
        let object = self.object(vm).unwrap();
        let all = object["spec"]["template"]["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|v| v["name"].as_str().map(str::to_owned)).collect()
    }

    async fn retold(&self, vm: VmId) {
        self.until("a guest that is told", async || {
            let (status, why) = self.task_of(vm.0, Action::VmGuest).await;
            assert_ne!(status, TaskStatus::Error, "{why}");
            status == TaskStatus::Success
        })
        .await;
    }

    async fn one(&self, name: &str, os: &str, told: GuestSettings) -> Vm {
        let spec = VmSpec {
            name: name.into(),
            cpus: 1,
            memory_mb: 1024,
            os: os.into(),
            power: Power::Off,
            ..VmSpec::default()
        };
        let spec = VappSpec { name: name.into(), vms: vec![spec], ..VappSpec::default() };
        let id = vapp::compose(&self.app.domain, &self.admin, self.acme.vdc("prod"), spec, told).await.unwrap().vapp;
        self.until("a stopped VM", async || self.vms(id).await[0].state() == VmState::Stopped).await;
        self.vms(id).await.remove(0)
    }
}

fn all_of_it() -> GuestSettings {
    GuestSettings {
        set_password: true,
        auto_password: true,
        reset_password: true,
        script: "#!/bin/sh\necho \"$1\" >> /root/stages\n".into(),
        ssh_keys: vec![KEY.into()],
        user_data: "#cloud-config\npackages: [nginx]\n".into(),
        ..GuestSettings::default()
    }
}

#[tokio::test]
async fn a_guest_is_told_when_it_is_deployed_and_again_when_that_is_changed() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let template = stage.template("ubuntu-24.04").await.unwrap();
    let ask = vapp::Deploy { name: "mail".into(), power_on: true, guest: all_of_it(), ..vapp::Deploy::default() };
    let id = vapp::deploy(d, admin, stage.acme.vdc("prod"), template.id, ask).await.unwrap().vapp;
    let one = stage.running(id).await.remove(0);
    let (_, known) = guest::get(d, admin, one.id).await.unwrap();
    assert_eq!(known.password.len(), 19, "one was made up");
    let told = stage.told(&one, "userdata");
    for part in ["packages: [nginx]", "hostname: \"mail\"", KEY, "run=0\n", "passwd -e root"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(told.contains(&BASE64_STANDARD.encode(format!("root:{}", known.password))), "{told}");
    assert!(told.contains(&BASE64_STANDARD.encode(&all_of_it().script)), "{told}");

    let wished = GuestSettings { script: "#!/bin/sh\ntrue\n".into(), ..known.clone() };
    guest::set(d, admin, one.id, one.version, "post", wished).await.unwrap();
    stage.retold(one.id).await;
    let again = stage.told(&one, "userdata");
    assert!(again.contains("run=1\n") && again.contains("hostname: \"post\""), "{again}");
    assert!(again.contains(&BASE64_STANDARD.encode(format!("root:{}", known.password))), "the password stays: {again}");
    assert_eq!(stage.vm(one.id).await.computer_name, "post");
    let stale = guest::set(d, admin, one.id, one.version, "late", known).await.unwrap_err();
    assert!(matches!(stale, Error::Conflict(_)), "{stale:?}");

    // nothing of it is in the audit, in events or in tasks
    let password = guest::get(d, admin, one.id).await.unwrap().1.password;
    for table in ["audit", "events", "tasks"] {
        let sql = format!("{table} t where t::text like '%{password}%' or t::text like '%/root/stages%'");
        assert_eq!(stage.app.db.count(&sql).await, 0, "{table}");
    }
    vapp::delete(d, admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
    assert!(stage.secret(&one).is_none());
}

#[tokio::test]
async fn a_vm_that_was_told_nothing_gets_its_disc_when_there_is_something_to_tell() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let one = stage.one("bare", "", GuestSettings::default()).await;
    assert!(stage.secret(&one).is_none() && !stage.volumes(&one).contains(&"cloudinit".to_owned()));
    guest::set(d, admin, one.id, one.version, "", GuestSettings { ssh_keys: vec![KEY.into()], ..Default::default() })
        .await
        .unwrap();
    stage.retold(one.id).await;
    assert!(stage.volumes(&one).contains(&"cloudinit".to_owned()));
    assert!(stage.told(&one, "userdata").contains(KEY));
    let owners = stage.secret(&one).unwrap()["metadata"]["ownerReferences"].clone();
    assert_eq!(owners[0]["name"], one.hub_name, "it goes with its VM");
    // and loses it again
    let now = stage.vm(one.id).await;
    guest::set(d, admin, one.id, now.version, "", GuestSettings::default()).await.unwrap();
    stage.until("no disc", async || !stage.volumes(&one).contains(&"cloudinit".to_owned())).await;
    // a copy is told what its original was
    let now = stage.vm(one.id).await;
    guest::set(d, admin, one.id, now.version, "", all_of_it()).await.unwrap();
    stage.until("told", async || stage.told(&one, "userdata").contains("nginx")).await;
    let (twin, _) = domain::copy::vm(d, admin, one.id, one.vapp, "twin").await.unwrap();
    let copied = guest::get(d, admin, twin).await.unwrap().1;
    assert_eq!(copied.script, all_of_it().script);
}

#[tokio::test]
async fn another_computer_name_by_itself_reaches_the_guest() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let one = stage.one("bare", "", GuestSettings::default()).await;
    let again = async |name: &str| {
        let version = stage.vm(one.id).await.version;
        guest::set(d, admin, one.id, version, name, GuestSettings::default()).await.unwrap();
        stage.retold(one.id).await;
    };
    again("bare").await;
    assert!(stage.secret(&one).is_none(), "it has that name already");
    again("front").await;
    assert!(stage.told(&one, "userdata").contains("hostname: \"front\""));
    assert!(stage.volumes(&one).contains(&"cloudinit".to_owned()));
    again("").await;
    assert!(stage.told(&one, "userdata").contains("hostname: \"front\""), "it is still to be told");
    vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap();
    let host = async |name: &str| {
        let vmi = stage.hubs.hub("one").object("kubevirt.io", "virtualmachineinstances", &one.namespace, &one.hub_name);
        vmi.is_some_and(|vmi| vmi["spec"]["hostname"] == name)
    };
    stage.until("its name", async || host("front").await).await;
    // one that runs has it from its next start on
    stage.running(one.vapp).await;
    again("back").await;
    stage.until("word of a restart", async || stage.vm(one.id).await.restart_needed).await;
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("its end", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap();
    stage.until("its other name", async || host("back").await).await;
}

#[tokio::test]
async fn windows_reads_answers_of_sysprep() {
    let stage = Stage::set().await;
    let told = GuestSettings {
        set_password: true,
        password: "Tr0ub4dor&3".into(),
        auto_logons: 1,
        script: "echo %1 >> c:\\stages.txt\r\n".into(),
        ..GuestSettings::default()
    };
    let one = stage.one("desktop", "Microsoft Windows Server 2022", told).await;
    assert_eq!(stage.volumes(&one), ["sysprep"]);
    let answers = stage.told(&one, "unattend.xml");
    for part in ["<ComputerName>desktop</ComputerName>", "Tr0ub4dor&amp;3", "<LogonCount>1</LogonCount>"] {
        assert!(answers.contains(part), "{part}: {answers}");
    }
    assert!(stage.told(&one, "customize.bat").contains("stages.txt"));
}

#[tokio::test]
async fn passwords_are_read_back_by_those_who_may_set_them_and_by_nobody_else() {
    let stage = Stage::set().await;
    let (d, app) = (&stage.app.domain, &stage.app);
    let told = GuestSettings { auto_password: false, password: "hunter2-and-more".into(), ..all_of_it() };
    let one = stage.one("vault", "", told.clone()).await;
    let few = app.role(stage.acme.id, "Operators", &[Right::VmEdit, Right::VappPower]).await;
    let editor = app.actor(app.user(stage.acme.id, "editor", few).await).await;
    let looker = app.actor(app.user(stage.acme.id, "looker", few).await).await;
    let version = vapp::get(d, &stage.admin, one.vapp).await.unwrap().version;
    let grants = [(&editor, Access::Change), (&looker, Access::ReadOnly)]
        .map(|(who, access)| Grant { subject: Subject::User(who.user.unwrap()), access });
    share::set(d, &stage.admin, share::On::Vapp(one.vapp), version, grants.to_vec()).await.unwrap();

    let seen = guest::get(d, &editor, one.id).await.unwrap().1;
    assert_eq!((seen.password.as_str(), seen.script.as_str()), ("", told.script.as_str()));
    let seen = guest::get(d, &looker, one.id).await.unwrap().1;
    assert_eq!((seen.password.as_str(), seen.script.as_str(), seen.user_data.as_str()), ("", "", ""));
    let page = app.sign_in("acme", "looker").await.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200);
    page.says_not("hunter2");

    // the editor changes the rest, and the password stays; another one is refused
    let now = stage.vm(one.id).await;
    let wished = GuestSettings { script: String::new(), ..guest::get(d, &editor, one.id).await.unwrap().1 };
    guest::set(d, &editor, one.id, now.version, "", wished.clone()).await.unwrap();
    assert_eq!(guest::get(d, &stage.admin, one.id).await.unwrap().1.password, "hunter2-and-more");
    let now = stage.vm(one.id).await;
    let another = GuestSettings { password: "mine".into(), ..wished };
    let refused = guest::set(d, &editor, one.id, now.version, "", another).await.unwrap_err();
    assert!(matches!(refused, Error::Forbidden { .. }), "{refused:?}");
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_its_field() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let one = stage.one("web", "", GuestSettings::default()).await;
    let with = |change: fn(&mut GuestSettings)| {
        let mut g = GuestSettings::default();
        change(&mut g);
        g
    };
    for (field, name, told) in [
        ("password", "", with(|g| g.set_password = true)),
        ("password", "", with(|g| (g.set_password, g.password) = (true, "a\nb".into()))),
        ("password", "", with(|g| (g.set_password, g.password) = (true, "x".repeat(128)))),
        ("script", "", with(|g| g.script = "x".repeat(49_001))),
        ("script", "", with(|g| g.script = "a\0b".into())),
        ("auto_logons", "", with(|g| g.auto_logons = 101)),
        ("ssh_keys", "", with(|g| g.ssh_keys = vec!["hello".into()])),
        ("user_data", "", with(|g| g.user_data = "packages: [x]".into())),
        ("user_data", "", with(|g| g.user_data = "#cloud-config\npackage: [x]\n".into())),
        ("user_data", "", with(|g| g.user_data = "#cloud-config\nruncmd: reboot\n".into())),
        ("user_data", "", with(|g| g.user_data = "#cloud-config\nusers: [{shell: /bin/sh}]\n".into())),
        ("user_data", "", with(|g| g.user_data = format!("#cloud-config\n# {}", "x".repeat(70_000)))),
        ("computer_name", "UPPER_case!", with(|_| {})),
    ] {
        let version = stage.vm(one.id).await.version;
        let error = guest::set(d, admin, one.id, version, name, told).await.unwrap_err();
        assert_eq!(error.fields().first().map(|f| f.field), Some(field), "{error:?}");
    }
    let made = vm::get(d, admin, one.id).await.unwrap();
    assert_eq!(made.version, stage.vm(one.id).await.version, "nothing was changed");
}

#[tokio::test]
async fn what_guests_are_told_is_shown_before_it_is_asked_for() {
    let stage = Stage::set().await;
    let browser = stage.app.sign_in("acme", "acme-admin").await;
    let template = stage.template("web-and-db").await.unwrap();
    let form = format!("/tenant/acme/templates/{}/deploy", template.id);
    let opened = browser.get(&form).await.must(200).says("Preview");
    let typed = [
        ("name", "shop"),
        ("administrator", "own"),
        ("password", "hunter2"),
        ("script", "echo hello"),
        ("user_data", "#cloud-config\npackages: [nginx]\n"),
    ];
    let shown = browser.fill_page(&opened, &format!("{form}/preview"), &typed).await.must(200);
    let shown = shown.says("What guests are told").says("packages: [nginx]").says("echo hello").says("(not shown)");
    shown.says_not("hunter2");
    assert_eq!(stage.app.db.count("vapps").await, 0, "nothing is asked for");
    let wrong = [("name", "shop"), ("user_data", "#cloud-config\npackage: [x]\n")];
    let back = browser.fill_page(&opened, &format!("{form}/preview"), &wrong).await.must(422);
    assert_eq!(back.error_of("user_data").as_deref(), Some("cloud-init knows no package. Is packages meant?"));

    let one = stage.one("web", "", GuestSettings::default()).await;
    let at = format!("/tenant/acme/vms/{}/guest", one.id);
    let page = browser.get(&at).await.must(200);
    let typed = [("computer_name", "front"), ("script", "echo hello"), ("administrator", "auto")];
    browser.fill_page(&page, &format!("{at}/preview"), &typed).await.must(200).says("hostname: \"front\"");
    browser.fill_page(&page, &at, &typed).await.must(303);
    stage.retold(one.id).await;
    let password = guest::get(&stage.app.domain, &stage.admin, one.id).await.unwrap().1.password;
    let page = browser.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200);
    page.says("What its guest is told").says("front").says(&password);
}
