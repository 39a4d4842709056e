//! Changing the keys that secrets are sealed with, as an operator does it.
use crate::{
    cli::ssvirt,
    harness::{TestApp, TestOrg, kubeconfig},
};
use domain::{
    Domain, Vault, hub,
    idp::{self, ClientSecret, Sealer},
    keys::{self, Rotate},
    vapp::{self, Guest},
};
use futures::FutureExt;
use model::{
    Error, HubId,
    hub::HubSpec,
    idp::IdpSpec,
    vapp::VappSpec,
    vm::{Disk, VmSpec},
};
use std::panic::AssertUnwindSafe;
use uuid::Uuid;

const OLD: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";
const NEW: &str = "mX4uR7eTq1Zc9Nw2Lb6Vy8Kh3Jd5Gs0P";
const OTHER: &str = "Tz6Bw1Qf9Hy3Xk8Lm2Vd7Rn4Cs5Jg0Ue";

struct Stage {
    app: TestApp,
    acme: TestOrg,
}

impl Stage {
    /// Two hubs, a client secret, and two VMs with cloud-init, all sealed under the old master secret.
    async fn set() -> Stage {
        let app = TestApp::start().await;
        let acme = app.org("acme").vdc("prod").make().await;
        let stage = Stage { app, acme };
        let (d, operator) = (stage.replica(OLD, None), stage.app.operator().await);
        for id in ["one", "two"] {
            let spec = HubSpec { id: id.into(), namespace: "vmaas-system".into(), ..HubSpec::default() };
            hub::register(&d, &operator, spec, kubeconfig().await, hub::Trust::Operator).await.unwrap();
        }
        for name in ["web", "db"] {
            stage.compose(&d, name).await;
        }
        stage.parameters(&d).await;
        let spec = IdpSpec {
            issuer: "https://login.example.com".into(),
            client_id: "ssvirt".into(),
            groups_claim: "groups".into(),
            scopes: "openid".into(),
            groups: Vec::new(),
            default_role: Some("vApp User".into()),
        };
        let secret = ClientSecret::new("of the client");
        idp::set(&d, &operator, &Sealer::new(OLD), "acme", spec, Some(secret)).await.unwrap();
        stage
    }

    async fn compose(&self, d: &Domain, name: &str) {
        let disk = Disk { name: "root".into(), size_mb: 1024, ..Disk::default() };
        let vm = VmSpec {
            name: name.into(),
            computer_name: name.into(),
            cpus: 1,
            memory_mb: 1024,
            disks: vec![disk],
            ..VmSpec::default()
        };
        let guest = Guest { user_data: format!("#cloud-config\nhostname: {name}\n"), ..Guest::default() };
        let spec = VappSpec { name: name.into(), description: String::new(), vms: vec![vm] };
        let admin = self.app.actor(self.acme.admin()).await;
        vapp::compose(d, &admin, self.acme.vdc("prod"), spec, guest).await.unwrap();
    }

    /// Parameters for one of the vApps, as of a template that asks for some.
    async fn parameters(&self, d: &Domain) {
        let id = self.app.db.text("select id::text from vapps where name = 'web'").await;
        let sealed = d.vault().unwrap().seal(&format!("vapp/{id}"), b"of the vApp").await.unwrap();
        let hex: String = sealed.iter().map(|b| format!("{b:02x}")).collect();
        self.app.db.execute(&format!("update vapps set parameters = '\\x{hex}' where id = '{id}'")).await;
    }

    /// A replica with these master secrets.
    fn replica(&self, secret: &str, old: Option<&str>) -> Domain {
        let vault = Vault::new(self.app.domain.store.clone(), secret);
        let vault = old.map_or(vault.clone(), |old| vault.or_old(old));
        Domain { vault: Some(vault), ..self.app.domain.clone() }
    }

    /// Code, what it said, what it complained about.
    async fn run(&self, args: &[&str], secret: &str, old: Option<&str>) -> (i32, String, String) {
        let env = [("DATABASE_URL", self.app.db.url.as_str()), ("SSVIRT_SECRET", secret)];
        let old = old.map(|old| ("SSVIRT_OLD_SECRET", old));
        let env: Vec<(&str, &str)> = env.into_iter().chain(old).collect();
        let mut command = ssvirt(args, &env);
        let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (said, wrong) = (text(done.stdout), text(done.stderr));
        for secret in [OLD, NEW, OTHER] {
            assert!(!said.contains(secret) && !wrong.contains(secret), "{said}{wrong}");
        }
        (done.status.code().unwrap(), said, wrong)
    }

    /// Does everything that is sealed open, and to what it was?
    async fn opens(&self, d: &Domain) -> Result<(), Error> {
        let vault = d.vault()?;
        for id in ["one", "two"] {
            let sealed = d.store.credential_of_hub(&HubId(id.into())).await?.unwrap();
            assert_eq!(vault.open(&format!("hub/{id}"), &sealed.sealed).await?, kubeconfig().await.as_bytes());
            assert!(vault.open("hub/three", &sealed.sealed).await.is_err(), "it opens as that hub's only");
        }
        let ids = self.app.db.text("select string_agg(id::text, ' ') from vms").await;
        for id in ids.split(' ').map(|id| id.parse::<Uuid>().unwrap()) {
            let vm = d.store.vm_work(id).await?.unwrap();
            let plain = vault.open(&format!("vm/{id}"), &vm.cloud_init.unwrap()).await?;
            assert!(String::from_utf8(plain).unwrap().contains(&format!("hostname: {}", vm.name)));
        }
        let id = self.app.db.text("select id::text from vapps where name = 'web'").await.parse::<Uuid>().unwrap();
        let sealed = d.store.vapp_work(id).await?.unwrap().parameters.unwrap();
        assert_eq!(vault.open(&format!("vapp/{id}"), &sealed).await?, b"of the vApp");
        Ok(())
    }

    async fn sealed(&self) -> String {
        let all = "select md5(concat((select string_agg(sealed::text, ' ' order by id) from data_keys), \
                   (select string_agg(credential::text, ' ' order by id) from hubs), \
                   (select string_agg(cloud_init::text, ' ' order by id) from vms), (select string_agg(parameters::text, ' ') from vapps), \
                   (select string_agg(client_secret::text, ' ') from identity_providers)))";
        self.app.db.text(all).await
    }
}

#[tokio::test]
async fn the_master_secret_is_changed_while_replicas_run() {
    let stage = Stage::set().await;
    let (before, during) = (stage.replica(OLD, None), stage.replica(NEW, Some(OLD)));
    stage.opens(&before).await.unwrap();
    stage.opens(&during).await.unwrap();
    let (code, said, wrong) = stage.run(&["keys", "rotate"], NEW, Some(OLD)).await;
    assert_eq!(code, 0, "{said}{wrong}");
    assert!(said.contains("1 data key, 1 client secret.") && said.contains("older master secret: 0."), "{said}");
    // all of them go on: the one that was not told of the new secret has its data key open
    for d in [&before, &during, &stage.replica(NEW, None)] {
        stage.opens(d).await.unwrap();
    }
    let refused = stage.opens(&stage.replica(OLD, None)).await.unwrap_err();
    assert!(matches!(&refused, Error::Internal(why) if why.contains("set auth.old_secret to")), "{refused:?}");
    // what replicas with the new secret seal can be read by it alone
    stage.compose(&during, "cache").await;
    stage.opens(&stage.replica(NEW, None)).await.unwrap();
    let kept = stage.app.domain.store.client_secrets().await.unwrap();
    assert_eq!(Sealer::new(NEW).open(kept[0].0, &kept[0].1).unwrap(), ClientSecret::new("of the client"));

    let (code, said, _) = stage.run(&["keys", "rotate"], NEW, Some(OLD)).await;
    assert!(code == 0 && said.contains("0 data keys, 0 client secrets."), "{said}");
    let audit = "audit where action = 'keys.rotate' and result = 'done' and user_name = 'operator'";
    assert_eq!(stage.app.db.count(audit).await, 2, "one for the data keys, one for the client secrets");
    let page = stage.app.provider().await.get("/provider/audit?q=keys.rotate").await.must(200);
    page.says("this installation");
}

#[tokio::test]
async fn a_wrong_secret_changes_nothing_and_says_what_is_missing() {
    let stage = Stage::set().await;
    let sealed = stage.sealed().await;
    for old in [None, Some(OTHER)] {
        for args in [&["keys", "rotate"][..], &["keys", "rotate", "--data-keys"]] {
            let (code, said, wrong) = stage.run(args, NEW, old).await;
            assert!(code == 1 && said.is_empty(), "{said}");
            assert!(wrong.contains("No data key can be opened") && wrong.contains("Nothing was changed"), "{wrong}");
        }
        let (code, said, wrong) = stage.run(&["check"], NEW, old).await;
        assert!(code == 1 && said.contains("hubs (2), VMs (2) and vApps (1) need the data key"), "{said}{wrong}");
    }
    assert_eq!(stage.sealed().await, sealed);
    let refused = stage.replica(NEW, None).vault().unwrap().seal("hub/three", b"x").await.unwrap_err();
    assert!(matches!(&refused, Error::Internal(why) if why.contains("nothing can be sealed")), "{refused:?}");
    stage.opens(&stage.replica(OLD, None)).await.unwrap();
}

#[tokio::test]
async fn a_new_data_key_takes_over_every_secret_and_a_run_that_ended_early_goes_on() {
    let stage = Stage::set().await;
    let (d, operator, sealer) = (stage.replica(OLD, None), stage.app.operator().await, Sealer::new(OLD));
    let how = Rotate { data_keys: true, batch: 1 };
    let mut steps = 0;
    // it ends right there, with what is done and what is not known for sure
    let ended = AssertUnwindSafe(keys::rotate(&d, &operator, &sealer, how, |so_far| {
        steps += 1;
        assert!(so_far.secrets < 2, "this is the end of an early run");
    }));
    ended.catch_unwind().await.expect_err("it was not stopped");
    assert!(steps >= 2);
    stage.opens(&d).await.unwrap();
    let halfway = keys::list(&d, &operator, &sealer).await.unwrap();
    assert_eq!((halfway.data_keys.len(), halfway.on_older_keys()), (2, 3));
    let (_, said, _) = stage.run(&["keys", "list"], OLD, None).await;
    assert_eq!(said.lines().filter(|l| l.contains("auth.secret")).count(), 1, "{said}");
    let uses: Vec<String> = said.lines().rev().take(2).map(|l| l.split_whitespace().rev().take(3).collect()).collect();
    assert_eq!(uses, ["002", "120"], "hubs are on the new one, the rest on the old one still: {said}");

    let (code, said, wrong) = stage.run(&["keys", "rotate", "--data-keys"], OLD, None).await;
    assert_eq!(code, 0, "{said}{wrong}");
    assert!(said.contains("the data key of an earlier run: 3 secrets") && said.contains("data keys: 0."), "{said}");
    assert_eq!(stage.app.db.count("data_keys").await, 2);
    for d in [&d, &stage.replica(OLD, None)] {
        stage.opens(d).await.unwrap();
    }
    let versions = stage.app.db.text("select string_agg(distinct credential_version::text, ' ') from hubs").await;
    assert_eq!(versions, "1", "nobody has to connect anew");
    // both at once
    let (code, said, _) = stage.run(&["keys", "rotate", "--data-keys"], NEW, Some(OLD)).await;
    assert!(code == 0 && said.contains("2 data keys, 1 client") && said.contains("5 secrets"), "{said}");
    stage.opens(&stage.replica(NEW, None)).await.unwrap();
}

#[tokio::test]
async fn check_says_what_is_left_to_do_about_keys() {
    let stage = Stage::set().await;
    let (_, said, _) = stage.run(&["check"], NEW, Some(OLD)).await;
    assert!(said.contains("2 data keys and client secrets are sealed with auth.old_secret"), "{said}");
    assert_eq!(stage.run(&["keys", "rotate"], NEW, Some(OLD)).await.0, 0);
    let (_, said, _) = stage.run(&["check"], NEW, Some(OLD)).await;
    assert!(said.contains("nothing needs auth.old_secret any more"), "{said}");
    let (_, said, _) = stage.run(&["check"], NEW, None).await;
    assert!(!said.contains("auth.old_secret is") && !said.contains("data key"), "{said}");
    // a table restored without its data keys
    stage.app.db.execute("delete from data_keys").await;
    let (code, said, _) = stage.run(&["check"], NEW, None).await;
    assert!(code == 1 && said.contains("which is missing; restore the table data_keys"), "{said}");
}

#[tokio::test]
async fn nobody_but_the_provider_sees_or_changes_keys() {
    let stage = Stage::set().await;
    let admin = stage.app.actor(stage.acme.admin()).await;
    let (d, sealer) = (stage.replica(OLD, None), Sealer::new(OLD));
    let listed = keys::list(&d, &admin, &sealer).await;
    assert!(matches!(listed, Err(Error::Forbidden { .. })), "{listed:?}");
    let rotated = keys::rotate(&d, &admin, &sealer, Rotate::default(), |_| {}).await;
    assert!(matches!(rotated, Err(Error::Forbidden { .. })), "{rotated:?}");
    assert_eq!(stage.app.db.count("audit where action = 'keys.rotate' and result <> 'done'").await, 1);
}
