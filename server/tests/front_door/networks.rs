//! Networks, NICs and addresses, from the request to the hub and back.
use crate::{
    harness::{Hubs, TestApp},
    stage::Stage,
};
use domain::{network, nic, vapp, vapp_network, vm};
use hubsim::Flavour;
use model::{
    Action, Actor, Error, NetworkId, VappId, VdcId, VmId,
    network::NetworkForm,
    nic::{Attach, IpMode, NicSpec},
    task::TaskStatus,
    vapp::VappSpec,
    vm::{Power, Vm, VmSpec, VmState},
};
use serde_json::Value;
use std::net::Ipv4Addr;

const UDN: (&str, &str) = ("k8s.ovn.org", "userdefinednetworks");
const CUDN: (&str, &str) = ("k8s.ovn.org", "clusteruserdefinednetworks");
const NAD: (&str, &str) = ("k8s.cni.cncf.io", "network-attachment-definitions");

fn form(name: &str) -> NetworkForm {
    NetworkForm {
        name: name.into(),
        gateway: "10.7.0.1".into(),
        prefix: "24".into(),
        dns1: "9.9.9.9".into(),
        ranges: "10.7.0.10-10.7.0.99".into(),
        ..NetworkForm::default()
    }
}

fn on(index: i16, network: NetworkId, mode: IpMode) -> NicSpec {
    NicSpec { index, attach: Attach::Network(network), mode, ..NicSpec::default() }
}

fn machine(name: &str, nics: Vec<NicSpec>) -> VmSpec {
    VmSpec { name: name.into(), cpus: 1, memory_mb: 1024, nics, power: Power::On, ..VmSpec::default() }
}

async fn compose(stage: &Stage, vdc: &str, name: &str, vms: Vec<VmSpec>) -> Result<VappId, Error> {
    let spec = VappSpec { name: name.into(), description: String::new(), vms };
    let into = stage.acme.vdc(vdc);
    Ok(vapp::compose(&stage.app.domain, &stage.admin, into, spec, vapp::Guest::default()).await?.vapp)
}

async fn made(stage: &Stage, vdc: VdcId, form: NetworkForm) -> NetworkId {
    network::create(&stage.app.domain, &stage.admin, vdc, form).await.unwrap().id
}

async fn set(stage: &Stage, vm: VmId, nics: Vec<NicSpec>) -> Result<(), Error> {
    let version = stage.vm(vm).await.version;
    nic::set(&stage.app.domain, &stage.admin, vm, version, nics).await.map(drop)
}

/// The networks on a hub that people made: every VDC has one of its own besides.
fn made_there(stage: &Stage) -> usize {
    let all = stage.hubs.hub("one").objects(UDN.0, UDN.1);
    all.iter().filter(|n| n["metadata"]["labels"].get("ssvirt.io/network-id").is_some()).count()
}

fn networks_of(object: &Value) -> Vec<String> {
    let all = object["spec"]["template"]["spec"]["networks"].as_array().unwrap();
    all.iter().map(|n| n["multus"]["networkName"].as_str().unwrap_or("pod").to_owned()).collect()
}

/// Every address belongs to a NIC that wants it, and to no other.
async fn exact(app: &TestApp) {
    let odd = "addresses a full join nics n on n.id = a.nic_id and n.network_id = a.network_id and n.address = a.address \
               where (a.nic_id is null and n.address is not null) or n.id is null or n.removed_at is not null";
    assert_eq!(app.db.count(odd).await, 0, "addresses and NICs do not fit");
}

#[tokio::test]
async fn a_network_is_made_changed_and_deleted_by_those_who_may() {
    let stage = Stage::set().await;
    let (d, admin, vdc) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let id = made(&stage, vdc, form("back")).await;
    let again = network::create(d, admin, vdc, form("BACK")).await.unwrap_err();
    assert_eq!(again.fields()[0].field, "name", "{again}");
    let now = network::get(d, admin, id).await.unwrap();
    assert_eq!((now.spec.subnet().cidr().as_str(), now.pool_size()), ("10.7.0.0/24", 90));
    let mut other = form("back");
    (other.gateway, other.ranges, other.shared) = ("10.8.0.1".into(), "10.8.0.4".into(), true);
    let saved = network::edit(d, admin, id, now.version, other.clone()).await.unwrap();
    assert_eq!((saved.spec.gateway, saved.spec.shared), (Ipv4Addr::new(10, 8, 0, 1), true));
    let late = network::edit(d, admin, id, now.version, other).await.unwrap_err();
    assert!(matches!(late, Error::Conflict(_)), "{late}");
    let globex = stage.app.org("globex").vdc("lab").make().await;
    let stranger = stage.app.actor(globex.admin()).await;
    for refused in [
        network::get(d, &stranger, id).await.map(drop),
        network::delete(d, &stranger, id).await.map(drop),
        network::create(d, &stranger, vdc, form("mine")).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    }
    network::delete(d, admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("networks where gone_at is null").await == 0).await;
    stage.until("its task", async || stage.task_of(id.0, Action::NetworkDelete).await.0 == TaskStatus::Success).await;
}

#[tokio::test]
async fn a_vm_gets_its_network_and_its_address_and_leaves_nothing() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let back = made(&stage, stage.acme.vdc("prod"), form("back")).await;
    let nics = vec![NicSpec::default(), on(1, back, IpMode::Pool)];
    let id = compose(&stage, "prod", "shop", vec![machine("web", nics)]).await.unwrap();
    let one = stage.running(id).await.remove(0);
    let udn = stage.hubs.hub("one").objects(UDN.0, UDN.1).remove(0);
    assert_eq!(udn["metadata"]["labels"]["ssvirt.io/network-id"], back.to_string());
    let object = stage.object(&one).unwrap();
    assert_eq!(networks_of(&object), ["pod", udn["metadata"]["name"].as_str().unwrap()]);
    let card = &object["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][1];
    assert_eq!(card["macAddress"], one.nics[1].spec.mac.as_str(), "{card}");
    assert_eq!(one.nics[1].spec.address, Some(Ipv4Addr::new(10, 7, 0, 10)));
    stage.until("the address in the guest", async || stage.vm(one.id).await.nics[1].seen_ips == ["10.7.0.10"]).await;

    let used = network::delete(d, admin, back).await.unwrap_err();
    assert!(used.to_string().contains("used by web"), "{used}");
    let mut moved = form("back");
    moved.prefix = "16".into();
    let version = network::get(d, admin, back).await.unwrap().version;
    let fixed = network::edit(d, admin, back, version, moved).await.unwrap_err();
    assert_eq!(fixed.fields()[0].field, "prefix", "{fixed}");
    let mut fewer = form("back");
    fewer.ranges = "10.7.0.50-10.7.0.60".into();
    let lost = network::edit(d, admin, back, version, fewer).await.unwrap_err();
    assert!(lost.to_string().contains("web has 10.7.0.10"), "{lost}");

    // a bridged NIC goes while the machine runs, and its address with it
    set(&stage, one.id, vec![NicSpec::default()]).await.unwrap();
    stage.until("the address's end", async || stage.app.db.count("addresses").await == 0).await;
    assert_eq!(stage.vm(one.id).await.state(), VmState::Running);
    assert_eq!(stage.app.db.count("nics").await, 1);
    // and comes back under another name, as another card
    set(&stage, one.id, vec![NicSpec::default(), on(4, back, IpMode::Manual).with("10.7.0.200")]).await.unwrap();
    stage.until("it is plugged in", async || !stage.vm(one.id).await.nics[1].seen_mac.is_empty()).await;
    let again = stage.vm(one.id).await;
    assert_ne!(again.nics[1].spec.mac, one.nics[1].spec.mac);
    assert!(!again.restart_needed);

    vapp::delete(d, admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("vms where gone_at is null").await == 0).await;
    assert_eq!(stage.app.db.count("addresses").await + stage.app.db.count("nics").await, 0);
    network::delete(d, admin, back).await.unwrap();
    stage.until("the network's end", async || stage.app.db.count("networks where gone_at is null").await == 0).await;
    assert_eq!((made_there(&stage), stage.hubs.count("one", NAD)), (0, 1), "but the VDC's own");
}

#[tokio::test]
async fn an_address_that_is_given_later_reaches_the_guest() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let back = made(&stage, stage.acme.vdc("prod"), form("back")).await;
    let with = || vec![NicSpec::default(), on(1, back, IpMode::Pool)];
    let off = |name, os: &str| VmSpec { power: Power::Off, os: os.into(), ..machine(name, vec![NicSpec::default()]) };
    let vms = vec![off("linux", "Ubuntu 24.04"), off("windows", "Microsoft Windows Server 2022")];
    let id = compose(&stage, "prod", "shop", vms).await.unwrap();
    stage.until("stopped VMs", async || stage.vms(id).await.iter().all(|v| v.state() == VmState::Stopped)).await;
    let vms = stage.vms(id).await;
    let [linux, windows] = ["linux", "windows"].map(|name| vms.iter().find(|v| v.name == name).unwrap());
    assert_eq!(stage.told(linux, "networkdata"), "", "the VDC's own network tells it");
    assert!(!stage.told(windows, "unattend.xml").contains("10.7.0."));

    // before its first start
    set(&stage, linux.id, with()).await.unwrap();
    stage.until("the address", async || stage.told(linux, "networkdata").contains("10.7.0.10/24")).await;
    stage.until("its disc", async || stage.volumes(linux).contains(&"cloudinit".to_owned())).await;
    vm::power(d, admin, linux.id, Action::VmPowerOn).await.unwrap();
    stage.until("it in the guest", async || stage.vm(linux.id).await.nics[1].seen_ips == ["10.7.0.10"]).await;
    set(&stage, windows.id, with()).await.unwrap();
    stage.until("the answers", async || stage.told(windows, "unattend.xml").contains("10.7.0.11/24")).await;

    // while it runs: the card at once, its address before the next start
    let third = compose(&stage, "prod", "third", vec![machine("third", vec![NicSpec::default()])]).await.unwrap();
    let third = stage.running(third).await.remove(0);
    set(&stage, third.id, with()).await.unwrap();
    stage
        .until("it is plugged in", async || stage.vm(third.id).await.nics.iter().all(|n| !n.seen_mac.is_empty()))
        .await;
    assert!(!stage.vm(third.id).await.restart_needed && stage.told(&third, "networkdata").is_empty());
    vm::power(d, admin, third.id, Action::VmPowerOff).await.unwrap();
    stage.until("its end", async || stage.vm(third.id).await.state() == VmState::Stopped).await;
    vm::power(d, admin, third.id, Action::VmPowerOn).await.unwrap();
    stage.until("its address", async || stage.vm(third.id).await.nics[1].seen_ips == ["10.7.0.12"]).await;
    assert!(stage.told(&third, "networkdata").contains("10.7.0.12/24"));

    // and an address that it does not have any more is not told
    vm::power(d, admin, third.id, Action::VmPowerOff).await.unwrap();
    stage.until("its end", async || stage.vm(third.id).await.state() == VmState::Stopped).await;
    set(&stage, third.id, vec![NicSpec::default()]).await.unwrap();
    stage.until("nothing to tell", async || !stage.volumes(&third).contains(&"cloudinit".to_owned())).await;
    assert_eq!(stage.told(&third, "networkdata"), "");
}

trait With {
    fn with(self, address: &str) -> Self;
}

impl With for NicSpec {
    fn with(self, address: &str) -> NicSpec {
        NicSpec { address: Some(address.parse().unwrap()), ..self }
    }
}

#[tokio::test]
async fn a_nic_that_changes_its_network_has_both_addresses_until_the_next_start() {
    let stage = Stage::set().await;
    let (back, side) = (made(&stage, stage.acme.vdc("prod"), form("back")).await, {
        let other = NetworkForm { gateway: "10.9.0.1".into(), ranges: "10.9.0.7".into(), ..form("side") };
        made(&stage, stage.acme.vdc("prod"), other).await
    });
    let id = compose(&stage, "prod", "shop", vec![machine("web", vec![on(0, back, IpMode::Pool)])]).await.unwrap();
    let one = stage.running(id).await.remove(0);
    set(&stage, one.id, vec![on(0, side, IpMode::Pool)]).await.unwrap();
    stage.until("word of a restart", async || stage.vm(one.id).await.restart_needed).await;
    assert_eq!(stage.vm(one.id).await.nics[0].spec.mac, one.nics[0].spec.mac, "the MAC is kept for life");
    assert_eq!(stage.app.db.count("addresses").await, 2, "the guest still has the old one");
    let held = network::delete(&stage.app.domain, &stage.admin, back).await.unwrap_err();
    assert!(held.to_string().contains("used by web"), "{held}");
    vm::power(&stage.app.domain, &stage.admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("the old one's end", async || stage.app.db.count("addresses").await == 1).await;
    assert_eq!(stage.app.db.text("select host(address) from addresses").await, "10.9.0.7");
    network::delete(&stage.app.domain, &stage.admin, back).await.unwrap();
    exact(&stage.app).await;
}

#[tokio::test]
async fn lists_of_nics_that_can_not_be_are_refused_beside_them() {
    let stage = Stage::set().await;
    let vdc = stage.acme.vdc("prod");
    let back = made(&stage, vdc, NetworkForm { ranges: "10.7.0.10".into(), ..form("back") }).await;
    let dhcp = NetworkForm { ranges: String::new(), dhcp: true, ..form("dhcp") };
    let dhcp = made(&stage, vdc, dhcp).await;
    let globex = stage.app.org("globex").vdc("lab").make().await;
    let theirs = stage.app.actor(globex.admin()).await;
    let theirs = network::create(&stage.app.domain, &theirs, globex.vdc("lab"), form("theirs")).await.unwrap().id;
    let first = compose(&stage, "prod", "one", vec![machine("a", vec![on(0, back, IpMode::Pool)])]).await.unwrap();
    for (nics, words) in [
        (vec![on(0, back, IpMode::Pool)], "no free address left"),
        (vec![on(0, back, IpMode::Manual).with("10.7.0.10")], "10.7.0.10 is used by a"),
        (vec![on(0, back, IpMode::Manual).with("10.7.0.1")], "the gateway's"),
        (vec![on(0, back, IpMode::Manual).with("10.8.0.1")], "outside of 10.7.0.0/24"),
        (vec![on(0, back, IpMode::Dhcp)], "has no DHCP"),
        (vec![on(0, dhcp, IpMode::Pool)], "hands out its addresses by DHCP"),
        (vec![on(0, theirs, IpMode::Pool)], "not one of this VDC"),
        (vec![NicSpec::default(), NicSpec { index: 1, ..NicSpec::default() }], "Only one NIC can be on the VDC's own"),
    ] {
        let e = compose(&stage, "prod", "two", vec![machine("b", nics)]).await.unwrap_err();
        assert!(e.fields()[0].field == "nics" && e.to_string().contains(words), "{e} / {words}");
    }
    let a = stage.vms(first).await.remove(0);
    let other_mac = vec![NicSpec { mac: "02:00:00:00:00:07".into(), ..on(0, back, IpMode::Pool) }];
    let e = set(&stage, a.id, other_mac).await.unwrap_err();
    assert!(e.to_string().contains("keeps its MAC address"), "{e}");
    exact(&stage.app).await;
}

#[tokio::test]
async fn what_the_form_of_nics_asks_for_is_done_or_refused_at_its_field() {
    let stage = Stage::set().await;
    let back = made(&stage, stage.acme.vdc("prod"), NetworkForm { ranges: "10.7.0.10".into(), ..form("back") }).await;
    let vms = vec![machine("a", vec![NicSpec::default()])];
    let vapp = compose(&stage, "prod", "one", vms).await.unwrap();
    let a = stage.vms(vapp).await.remove(0);
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let (to, back) = (format!("/tenant/acme/vms/{}/nics", a.id), back.to_string());
    let version = a.version.to_string();
    let post = async |fields: &[(&str, &str)]| {
        let fields: Vec<_> = [("version", version.as_str())].iter().chain(fields).copied().collect();
        page.post(&to, &fields).await
    };

    // the VDC's own network gives no address that was chosen, and takes none from a pool
    let own = [("nic0-network", "vdc"), ("nic0-mode", "manual"), ("nic0-address", "10.10.0.9")];
    for fields in [&own[..], &[own[0], own[2]], &[own[0], ("nic0-mode", "pool")]] {
        let said = post(fields).await.must(422);
        assert!(said.text().contains("hands out addresses by DHCP"), "{fields:?}: {}", said.text());
    }
    let said = post(&[("nic0-network", "vdc"), ("nic1-network", &back), ("primary", "7")]).await.must(422);
    assert!(said.error_of("primary").unwrap().contains("no NIC 7"), "{}", said.text());
    assert!(!page.get(&to).await.must(200).text().contains("NIC 7"));
    post(&[("nic0-network", "vdc"), ("nic1-network", &back), ("primary", "1")]).await.must(303);
    let nics: Vec<_> = stage.vm(a.id).await.nics.iter().map(|n| (n.spec.index, n.spec.primary)).collect();
    assert_eq!(nics, [(0, false), (1, true)]);
    let page = page.get(&format!("/tenant/acme/vapps/{vapp}")).await.must(200).text();
    assert!(!page.contains("Remove back"), "{page}");
}

#[tokio::test]
async fn many_at_once_never_get_the_same_address() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let (admin, vdc) = (app.actor(acme.admin()).await, acme.vdc("prod"));
    let ranges = NetworkForm { ranges: "10.7.0.10-10.7.0.39, 10.7.0.100-10.7.0.109".into(), ..form("back") };
    let back = network::create(&app.domain, &admin, vdc, ranges).await.unwrap().id;
    let other = network::create(&app.domain, &admin, vdc, form("other")).await.unwrap().id;
    let one = |n: usize| {
        let (d, admin): (_, Actor) = (app.domain.clone(), admin.clone());
        async move {
            let pool = |net| on(0, net, IpMode::Pool);
            // networks are named in both orders
            let nics = match n % 2 {
                0 => vec![pool(back), NicSpec { index: 1, ..pool(other) }],
                _ => vec![pool(other), NicSpec { index: 1, ..pool(back) }],
            };
            let spec = VappSpec { name: format!("v{n}"), description: String::new(), vms: vec![machine("m", nics)] };
            // a busy database says so, and is asked again
            let made = loop {
                match vapp::compose(&d, &admin, vdc, spec.clone(), vapp::Guest::default()).await {
                    Ok(made) => break made,
                    Err(Error::Unavailable(_)) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
                    Err(e) => {
                        assert!(e.to_string().contains("no free address left"), "{e}");
                        return false;
                    }
                }
            };
            let vms = loop {
                match vapp::with_vms(&d, &admin, made.vapp).await {
                    Ok(found) => break found.1,
                    Err(e) => assert!(matches!(e, Error::Unavailable(_)), "{e}"),
                }
            };
            let done = match n % 4 {
                0 => vapp::delete(&d, &admin, made.vapp).await.map(drop),
                1 => nic::set(&d, &admin, vms[0].id, vms[0].version, vec![pool(back)]).await.map(drop),
                2 => nic::set(&d, &admin, vms[0].id, vms[0].version, vec![]).await.map(drop),
                _ => Ok(()),
            };
            if let Err(e) = done {
                // it has both until it is proven to have left one, and there may be no more of them
                let full = n % 4 == 1 && e.to_string().contains("no free address left");
                assert!(full || matches!(e, Error::Unavailable(_)), "{e}");
            }
            true
        }
    };
    let mut running = tokio::task::JoinSet::new();
    (0..60).for_each(|n| drop(running.spawn(one(n))));
    let mut made = 0;
    while let Some(done) = running.join_next().await {
        made += usize::from(done.unwrap());
    }
    assert!(made >= 40, "40 addresses are there, and some were given back: {made}");
    exact(&app).await;
    let outside = "addresses a join networks n on n.id = a.network_id where n.name = 'back' and not (a.address between '10.7.0.10' and '10.7.0.39' \
                   or a.address between '10.7.0.100' and '10.7.0.109')";
    assert_eq!(app.db.count(outside).await, 0);
    // without a hub nothing was made, so what was deleted is gone as soon as somebody looks
    let hubs = Hubs::start(&app, &[]).await;
    for _ in 0..200 {
        if app.db.count("vms where deleted_at is not null and gone_at is null").await == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    hubs.kill_controller();
    exact(&app).await;
    let left = "addresses a join nics n on n.id = a.nic_id join vms v on v.id = n.vm_id where v.gone_at is not null";
    assert_eq!(app.db.count(left).await, 0);
    assert_eq!(app.db.text("select (count(*) = count(distinct mac))::text from nics").await, "true");
}

#[tokio::test]
async fn a_shared_network_reaches_another_vdc_and_one_that_is_not_does_not() {
    let stage = Stage::set().await;
    let second = stage.app.vdc(stage.acme.id, "test").await;
    let shared = made(&stage, stage.acme.vdc("prod"), NetworkForm { shared: true, ..form("shared") }).await;
    let own = made(&stage, stage.acme.vdc("prod"), form("own")).await;
    let spec = |net| VappSpec {
        name: "shop".into(),
        description: String::new(),
        vms: vec![machine("web", vec![on(0, net, IpMode::Pool)])],
    };
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let e = vapp::compose(d, admin, second, spec(own), vapp::Guest::default()).await.err().unwrap();
    assert!(e.to_string().contains("its network is not one of this VDC"), "{e}");
    let id = vapp::compose(d, admin, second, spec(shared), vapp::Guest::default()).await.unwrap().vapp;
    let one = stage.running(id).await.remove(0);
    assert_eq!(stage.hubs.count("one", CUDN), 1);
    let there = stage.hubs.hub("one").objects(NAD.0, NAD.1);
    assert!(there.iter().any(|n| n["metadata"]["namespace"] == one.namespace.as_str()));
    vapp::delete(d, admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("vms where gone_at is null").await == 0).await;
    network::delete(d, admin, shared).await.unwrap();
    stage.until("the network's end", async || stage.hubs.count("one", CUDN) == 0).await;
}

#[tokio::test]
async fn a_hub_without_user_defined_networks_makes_bridges_and_says_what_it_can_not() {
    let app = TestApp::start().await;
    let mut hubs = Hubs::start(&app, &[]).await;
    hubs.kill_controller();
    hubs.add(&app, "one", Flavour { user_defined_networks: false, ..Flavour::default() }).await;
    hubs.start_controller(&app);
    let acme = app.org("acme").vdc("prod").make().await;
    let admin = app.actor(acme.admin()).await;
    let stage = Stage { app, hubs, acme, admin };
    let back = made(&stage, stage.acme.vdc("prod"), form("back")).await;
    let id = compose(&stage, "prod", "shop", vec![machine("web", vec![on(0, back, IpMode::Pool)])]).await.unwrap();
    stage.running(id).await;
    let nad = stage.hubs.hub("one").objects(NAD.0, NAD.1).remove(0);
    assert!(nad["spec"]["config"].as_str().unwrap().contains("\"type\":\"bridge\""), "{nad}");
    let dhcp =
        made(&stage, stage.acme.vdc("prod"), NetworkForm { dhcp: true, ranges: String::new(), ..form("dhcp") }).await;
    let bad = compose(&stage, "prod", "bad", vec![machine("x", vec![on(0, dhcp, IpMode::Dhcp)])]).await.unwrap_err();
    assert_eq!(bad.fields()[0].field, "vdc", "{bad}");
    assert!(bad.to_string().contains("No hub that the VDC prod may use has networks of the kind of dhcp."), "{bad}");
    // one that is there already is told what is wrong with its NIC
    let web = stage.vms(id).await.remove(0);
    set(&stage, web.id, vec![on(0, dhcp, IpMode::Dhcp)]).await.unwrap();
    stage.until("a word", async || stage.vm(web.id).await.problem.contains("hands out no addresses")).await;
}

#[tokio::test]
async fn a_shared_network_is_the_same_bridge_in_every_vdc_of_a_hub_without_user_defined_networks() {
    let app = TestApp::start().await;
    let mut hubs = Hubs::start(&app, &[]).await;
    hubs.kill_controller();
    hubs.add(&app, "one", Flavour { user_defined_networks: false, ..Flavour::default() }).await;
    hubs.start_controller(&app);
    let acme = app.org("acme").vdc("prod").vdc("test").make().await;
    let admin = app.actor(acme.admin()).await;
    let stage = Stage { app, hubs, acme, admin };
    let shared = made(&stage, stage.acme.vdc("prod"), NetworkForm { shared: true, ..form("shared") }).await;
    let one = compose(&stage, "prod", "shop", vec![machine("web", vec![on(0, shared, IpMode::Pool)])]).await.unwrap();
    let two = compose(&stage, "test", "shop", vec![machine("web", vec![on(0, shared, IpMode::Pool)])]).await.unwrap();
    let (one, two) = (stage.running(one).await.remove(0), stage.running(two).await.remove(0));
    assert_ne!(one.namespace, two.namespace);
    let there = stage.hubs.hub("one").objects(NAD.0, NAD.1);
    let config = |vm: &Vm| {
        let of = there.iter().find(|n| n["metadata"]["namespace"] == vm.namespace.as_str()).unwrap();
        of["spec"]["config"].as_str().unwrap().to_owned()
    };
    assert!(config(&one).contains("\"bridge\":\"ss"), "{}", config(&one));
    assert_eq!(config(&one), config(&two), "one segment");
    let address = async |vm: VmId| stage.vm(vm).await.nics[0].spec.address;
    assert_ne!(address(one.id).await, address(two.id).await);

    let (d, admin) = (&stage.app.domain, &stage.admin);
    for vm in [&one, &two] {
        vapp::delete(d, admin, vm.vapp).await.unwrap();
    }
    stage.until("the end", async || stage.app.db.count("vms where gone_at is null").await == 0).await;
    network::delete(d, admin, shared).await.unwrap();
    stage.until("the network's end", async || stage.hubs.count("one", NAD) == 0).await;
}

#[tokio::test]
async fn a_preview_before_deploying_shows_the_addresses_that_guests_will_have() {
    let stage = Stage::set().await;
    let back = made(&stage, stage.acme.vdc("prod"), form("back")).await.to_string();
    let browser = stage.app.sign_in("acme", "acme-admin").await;
    let template = stage.template("web-and-db").await.unwrap();
    let at = format!("/tenant/acme/templates/{}/deploy", template.id);
    let opened = browser.get(&at).await.must(200);
    let typed = [
        ("name", "shop"),
        ("vm0-nic0-network", back.as_str()),
        ("vm0-nic0-mode", "pool"),
        ("vm1-nic0-network", back.as_str()),
        ("vm1-nic0-mode", "manual"),
        ("vm1-nic0-address", "10.7.0.200"),
    ];
    let shown = browser.fill_page(&opened, &format!("{at}/preview"), &typed).await.must(200);
    let shown = shown.says("network-config").says("(from the pool)/24").says("(given when it is made)");
    shown.says("10.7.0.200/24").says_not("is told nothing");
    assert_eq!(stage.app.db.count("addresses").await, 0, "nothing is asked for");
}

#[tokio::test]
async fn a_preview_shows_the_addresses_that_a_guest_is_told() {
    let stage = Stage::set().await;
    let back = made(&stage, stage.acme.vdc("prod"), form("back")).await;
    let id = compose(&stage, "prod", "shop", vec![machine("web", vec![on(0, back, IpMode::Pool)])]).await.unwrap();
    let one = stage.running(id).await.remove(0);
    let browser = stage.app.sign_in("acme", "acme-admin").await;
    let at = format!("/tenant/acme/vms/{}/guest", one.id);
    let page = browser.get(&at).await.must(200);
    let shown = browser.fill_page(&page, &format!("{at}/preview"), &[("computer_name", "front")]).await.must(200);
    let address = one.nics[0].spec.address.unwrap();
    shown.says("network-config").says(&format!("{address}/24")).says("9.9.9.9").says(&one.nics[0].spec.mac);
}

#[tokio::test]
async fn a_network_inside_a_vapp_comes_and_goes_with_it() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = compose(&stage, "prod", "shop", vec![]).await.unwrap();
    let inner = vapp_network::create(d, admin, id, form("inner")).await.unwrap();
    let back = made(&stage, stage.acme.vdc("prod"), form("back")).await;
    vapp_network::bridge(d, admin, id, back).await.unwrap();
    let names = async || {
        let all = vapp_network::list(d, admin, id).await.unwrap();
        all.iter().map(|n| n.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["back", "inner"]);
    let used = network::delete(d, admin, back).await.unwrap_err();
    assert!(used.to_string().contains("the vApp shop"), "{used}");
    let elsewhere = compose(&stage, "prod", "other", vec![machine("x", vec![on(0, inner, IpMode::Pool)])]).await;
    assert!(elsewhere.unwrap_err().to_string().contains("not one of this VDC"));
    let one = vm::add(d, admin, id, machine("web", vec![on(0, inner, IpMode::Pool)])).await.unwrap().0;
    stage.running(id).await;
    let busy = vapp_network::remove(d, admin, id, inner).await.unwrap_err();
    assert!(busy.to_string().contains("web is on the network inner"), "{busy}");
    vapp_network::remove(d, admin, id, back).await.unwrap();
    assert_eq!(names().await, ["inner"]);
    assert_eq!(made_there(&stage), 1);
    vapp::delete(d, admin, id).await.unwrap();
    stage.until("the end of all", async || made_there(&stage) == 0).await;
    assert_eq!(stage.app.db.count(&format!("nics where vm_id = '{one}'")).await, 0);
    stage.until("the row's end", async || stage.app.db.count("networks where gone_at is null").await == 1).await;
}
