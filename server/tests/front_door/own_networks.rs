//! The network that every VM of a VDC is on unless told otherwise, and hubs that lack what a vApp needs.
use crate::{
    harness::{Hubs, TestApp},
    stage::Stage,
};
use domain::{storage, vapp, vdc};
use hubsim::Flavour;
use model::{
    nic::NicSpec,
    storage::{HubClass, StoragePolicySpec, VdcPolicySpec},
    vapp::VappSpec,
    vm::{Power, VmSpec},
};
use serde_json::{Value, json};

const UDN: (&str, &str) = ("k8s.ovn.org", "userdefinednetworks");

fn card(object: &Value) -> Value {
    object["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0].clone()
}

#[tokio::test]
async fn a_hub_with_user_defined_networks_makes_one_of_a_vdcs_own() {
    let stage = Stage::set().await;
    let (d, admin, hub) = (&stage.app.domain, &stage.admin, stage.hubs.hub("one"));
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let own = hub.object(UDN.0, UDN.1, &one.namespace, "ssvirt-own").unwrap();
    assert_eq!(own["spec"]["layer2"]["role"], "Primary");
    let space = hub.object("", "namespaces", "", &one.namespace).unwrap();
    assert_eq!(space["metadata"]["labels"]["k8s.ovn.org/primary-user-defined-network"], "");
    let nic = card(&stage.object(&one).unwrap());
    assert_eq!((&nic["binding"], nic.get("masquerade")), (&json!({"name": "l2bridge"}), None), "{nic}");
    stage
        .until("an address of it", async || {
            stage.vm(one.id).await.nics[0].seen_ips[..].iter().any(|ip| ip.starts_with("10.198."))
        })
        .await;

    vapp::delete(d, admin, id).await.unwrap();
    stage.until("the VM's end", async || stage.app.db.count("vms where gone_at is null").await == 0).await;
    vdc::delete(d, &stage.app.operator().await, stage.acme.vdc("prod")).await.unwrap();
    stage.until("the VDC's end", async || stage.app.db.count("places where gone_at is null").await == 0).await;
    assert!(hub.objects(UDN.0, UDN.1).is_empty());
}

#[tokio::test]
async fn a_hub_without_them_has_the_pod_network() {
    let app = TestApp::start().await;
    let mut hubs = Hubs::start(&app, &[]).await;
    hubs.kill_controller();
    hubs.add(&app, "one", Flavour { user_defined_networks: false, ..Flavour::default() }).await;
    hubs.start_controller(&app);
    let acme = app.org("acme").vdc("prod").make().await;
    let admin = app.actor(acme.admin()).await;
    let stage = Stage { app, hubs, acme, admin };
    let vm = VmSpec {
        name: "web".into(),
        cpus: 1,
        memory_mb: 1024,
        nics: vec![NicSpec::default()],
        power: Power::On,
        ..VmSpec::default()
    };
    let spec = VappSpec { name: "shop".into(), description: String::new(), vms: vec![vm] };
    let into = stage.acme.vdc("prod");
    let asked = vapp::compose(&stage.app.domain, &stage.admin, into, spec, vapp::Guest::default()).await;
    let id = asked.unwrap().vapp;
    let one = stage.running(id).await.remove(0);
    let nic = card(&stage.object(&one).unwrap());
    assert!(nic.get("masquerade").is_some() && nic.get("binding").is_none(), "{nic}");
    let space = stage.hubs.hub("one").object("", "namespaces", "", &one.namespace).unwrap();
    assert!(space["metadata"]["labels"].get("k8s.ovn.org/primary-user-defined-network").is_none());
}

#[tokio::test]
async fn a_hub_that_lacks_the_class_of_a_policy_is_not_chosen_and_it_says_so() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    // "one" would be taken first: it comes first by name and both are empty
    let spec = StoragePolicySpec {
        name: "gold".into(),
        class: "fast".into(),
        classes: vec![HubClass { hub: "one".into(), class: "platinum".into() }],
        ..StoragePolicySpec::default()
    };
    let policy = storage::create(d, &operator, spec).await.unwrap();
    let wanted = vec![VdcPolicySpec { id: policy.id, limit_mb: None, is_default: true }];
    storage::set_for_vdc(d, &operator, stage.acme.vdc("prod"), wanted).await.unwrap();
    // it waits for "two" rather than go where it can't be
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    assert_eq!(one.hub, Some("two".into()));
    let stored = stage.app.db.text(&format!("select placement::text from vapps where id = '{id}'")).await;
    assert!(stored.contains("It has not got the storage class platinum of the policy gold."), "{stored}");
}
