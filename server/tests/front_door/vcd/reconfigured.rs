//! A VM changed as a whole: each of its sections counts, what it can't become is refused by name before anything of it is changed, and
//! what hubs have nothing like is kept.
use super::{Said, flow::Clients};

const VCLOUD: &str = "xmlns=\"http://www.vmware.com/vcloud/v1.5\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\" xmlns:vmw=\"http://www.vmware.com/schema/ovf\"";

/// The address of a stopped VM.
async fn stopped(c: &Clients) -> String {
    let href = c.instantiate("shop", "ubuntu-24.04").await;
    c.act(&format!("{href}/action/undeploy"), "").await;
    let vapp = c.admin.get(&href).await.must(200);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    vapp.text[at..at + 13 + 36].to_owned()
}

async fn document(c: &Clients, vm: &str) -> String {
    c.admin.get(vm).await.must(200).text
}

/// The first element of that name, with its tags.
fn part<'t>(text: &'t str, name: &str) -> &'t str {
    let from = text.find(&format!("<{name}")).unwrap_or_else(|| panic!("no {name} in {text}"));
    let end = format!("</{name}>");
    let to = from + text[from..].find(&end).unwrap() + end.len();
    &text[from..to]
}

/// The hardware item of that type.
fn item<'t>(text: &'t str, kind: &str) -> &'t str {
    let mut items = text.split("<ovf:Item>").skip(1).map(|i| i.split("</ovf:Item>").next().unwrap());
    items.find(|i| i.contains(&format!("<rasd:ResourceType>{kind}<"))).unwrap()
}

fn quantity(item: &str) -> i64 {
    item.split("<rasd:VirtualQuantity>").nth(1).unwrap().split('<').next().unwrap().parse().unwrap()
}

fn raised(text: &str, kind: &str, by: i64) -> String {
    let (old, now) = (item(text, kind), quantity(item(text, kind)));
    let words = |n: i64| format!("<rasd:VirtualQuantity>{n}<");
    text.replace(old, &old.replace(&words(now), &words(now + by)))
}

async fn reconfigure(c: &Clients, vm: &str, body: &str) -> Said {
    c.admin.post(&format!("{vm}/action/reconfigureVm"), body).await
}

#[tokio::test]
async fn a_whole_vm_that_is_sent_back_is_changed_where_it_differs() {
    let c = Clients::set().await;
    let vm = stopped(&c).await;
    let before = document(&c, &vm).await;
    let capacity = before.split("capacity=\"").nth(1).unwrap().split('"').next().unwrap();
    let larger = (capacity.parse::<i64>().unwrap() + 1024).to_string();
    let after = raised(&raised(&before, "3", 1), "4", 256)
        .replace(&format!("capacity=\"{capacity}\""), &format!("capacity=\"{larger}\""))
        .replace("vmw:osType=\"ubuntu64Guest\"", "vmw:osType=\"debian12_64Guest\"")
        .replace("<CpuHotAddEnabled>false<", "<CpuHotAddEnabled>true<");
    let said = reconfigure(&c, &vm, &after).await.must(202);
    c.succeeded(said).await;
    let now = document(&c, &vm).await;
    assert_eq!(quantity(item(&now, "3")), quantity(item(&before, "3")) + 1, "{now}");
    assert_eq!(quantity(item(&now, "4")), quantity(item(&before, "4")) + 256, "{now}");
    for word in [&format!("capacity=\"{larger}\""), "<OsType>debian12_64Guest<", "<CpuHotAddEnabled>true<"] {
        assert!(now.contains(word), "{word} is not in {now}");
    }
    // as it is: nothing happens
    let said = reconfigure(&c, &vm, &now).await.must(202);
    assert!(said.text.contains("operationName=\"vappUpdateVm\""), "{}", said.text);
    assert_eq!(document(&c, &vm).await, now);

    // single sections, as clients send them by themselves
    let property = "<ovf:ProductSection><ovf:Info/><ovf:Property ovf:key=\"site\" ovf:type=\"string\"><ovf:Value ovf:value=\"north\"/></ovf:Property></ovf:ProductSection>";
    let body = |inside: &str| format!("<Vm {VCLOUD} name=\"ubuntu-24.04\">{inside}</Vm>");
    for (inside, word) in [
        (property, "ovf:value=\"north\""),
        ("<ovf:OperatingSystemSection vmw:osType=\"centos9_64Guest\"/>", "<OsType>centos9_64Guest<"),
        (
            "<VmCapabilities><MemoryHotAddEnabled>true</MemoryHotAddEnabled></VmCapabilities>",
            "<MemoryHotAddEnabled>true<",
        ),
        (
            "<ovf:VirtualHardwareSection><vmw:ExtraConfig vmw:key=\"k\" vmw:value=\"v\"/></ovf:VirtualHardwareSection>",
            "vmw:value=\"v\"",
        ),
    ] {
        reconfigure(&c, &vm, &body(inside)).await.must(202);
        let now = document(&c, &vm).await;
        assert!(now.contains(word), "{inside}: {now}");
    }
}

#[tokio::test]
async fn what_a_vm_can_not_become_leaves_it_as_it_was() {
    let c = Clients::set().await;
    let vm = stopped(&c).await;
    let before = document(&c, &vm).await;
    let name = before.split(" name=\"").nth(1).unwrap().split('"').next().unwrap();
    let body = |inside: &str| format!("<Vm {VCLOUD} name=\"another\"><Description>other</Description>{inside}</Vm>");
    let hardware = part(&before, "ovf:VirtualHardwareSection");
    let card = item(hardware, "10");
    let network = card.split("</rasd:Connection>").next().unwrap().rsplit('>').next().unwrap();
    let elsewhere = card.replace(&format!(">{network}</rasd:Connection>"), ">nowhere</rasd:Connection>");
    let spec = part(&before, "VmSpecSection").replace("Modified=\"false\"", "Modified=\"true\"");
    let cpus = part(&spec, "NumCpus").to_owned();
    for (inside, why) in [
        (hardware.replace(card, &elsewhere), "nowhere"),
        (hardware.replace(&format!("<rasd:VirtualQuantity>{}<", quantity(item(hardware, "3"))), "<rasd:VirtualQuantity>many<"), "many"),
        (raised(hardware, "3", 1) + &spec.replace(&cpus, "<NumCpus>7</NumCpus>"), "NumCpus"),
        ("<ovf:OperatingSystemSection vmw:osType=\"two words\"/>".into(), "two words"),
        ("<VmCapabilities><CpuHotAddEnabled>maybe</CpuHotAddEnabled></VmCapabilities>".into(), "maybe"),
        ("<ovf:ProductSection><ovf:Property ovf:type=\"string\"/></ovf:ProductSection>".into(), "no key"),
        ("<ComputePolicy><VmPlacementPolicy href=\"http://x/cloudapi/1.0.0/vdcComputePolicies/urn:vcloud:vdcComputePolicy:01900000-0000-7000-8000-00000000beef\"/></ComputePolicy>".into(), "VmPlacementPolicy"),
        (spec.replacen("<SharesLevel>NORMAL<", "<SharesLevel>SOME<", 1), "SOME"),
        (spec.replacen("<Reservation>0<", "<Reservation>-5<", 1), "Reservation"),
    ] {
        let said = reconfigure(&c, &vm, &body(&inside)).await;
        assert!(said.status.is_client_error() && said.text.contains(why), "{inside}: {} {}", said.status, said.text);
        let now = document(&c, &vm).await;
        assert!(now.contains(&format!(" name=\"{name}\"")) && now == before, "{inside}: {now}");
    }
}

#[tokio::test]
async fn reservations_limits_and_shares_are_kept_and_read_back() {
    let c = Clients::set().await;
    let vm = stopped(&c).await;
    let before = document(&c, &vm).await;
    let name = before.split(" name=\"").nth(1).unwrap().split('"').next().unwrap();
    let changed = |section: &str, name: &str, words: [&str; 4]| {
        let old = part(section, name);
        let configured = part(old, "Configured");
        let [reservation, limit, level, shares] = words;
        let new = format!(
            "<{name}>{configured}<Reservation>{reservation}</Reservation><Limit>{limit}</Limit><SharesLevel>{level}</SharesLevel><Shares>{shares}</Shares></{name}>"
        );
        section.replace(old, &new)
    };
    let spec = part(&before, "VmSpecSection").replace("Modified=\"false\"", "Modified=\"true\"");
    let spec = changed(&spec, "CpuResourceMhz", ["300", "900", "HIGH", "1"]);
    let spec = changed(&spec, "MemoryResourceMb", ["256", "-1", "CUSTOM", "4711"]);
    let said = reconfigure(&c, &vm, &format!("<Vm {VCLOUD} name=\"{name}\">{spec}</Vm>")).await.must(202);
    c.succeeded(said).await;
    let now = document(&c, &vm).await;
    let words = |name: &str| {
        let of = part(&now, name);
        let word = |w: &str| of.split(&format!("<{w}>")).nth(1).unwrap().split('<').next().unwrap().to_owned();
        ["Reservation", "Limit", "SharesLevel", "Shares"].map(word)
    };
    let cpus = quantity(item(&now, "3"));
    assert_eq!(words("CpuResourceMhz"), ["300", "900", "HIGH", &(2000 * cpus).to_string()]);
    assert_eq!(words("MemoryResourceMb"), ["256", "-1", "CUSTOM", "4711"]);
    assert!(item(&now, "3").contains("<rasd:Reservation>300<"), "{now}");
    // Terraform sends the defaults, and they are what they were
    let spec = changed(part(&now, "VmSpecSection"), "CpuResourceMhz", ["0", "-1", "NORMAL", "1000"]);
    let spec = changed(&spec, "MemoryResourceMb", ["0", "-1", "NORMAL", "0"])
        .replace("Modified=\"false\"", "Modified=\"true\"");
    reconfigure(&c, &vm, &format!("<Vm {VCLOUD} name=\"{name}\">{spec}</Vm>")).await.must(202);
    assert_eq!(document(&c, &vm).await, before);

    // by the older addresses
    let cpu = format!("{vm}/virtualHardwareSection/cpu");
    let one = c.admin.get(&cpu).await.must(200).text;
    let said = c.admin.put(&cpu, &one.replace("<rasd:Reservation>0<", "<rasd:Reservation>500<")).await.must(202);
    c.succeeded(said).await;
    assert!(document(&c, &vm).await.contains("<Reservation>500</Reservation>"));
    // a new one has them from the first
    let spec = "<VmSpecSection Modified=\"true\"><NumCpus>1</NumCpus><CpuResourceMhz><Configured>1000</Configured><Reservation>100</Reservation></CpuResourceMhz>\
                <MemoryResourceMb><Configured>512</Configured><SharesLevel>LOW</SharesLevel></MemoryResourceMb></VmSpecSection>";
    let body =
        format!("<CreateVmParams {VCLOUD} name=\"new\"><CreateVm name=\"new\">{spec}</CreateVm></CreateVmParams>");
    let made = c.admin.post(&format!("{}/action/createVm", c.vdc()), &body).await.must(202);
    c.succeeded(made).await;
    let found = c.admin.get("/api/query?type=vm&filter=name==new").await.must(200);
    let at = found.text.find("/api/vApp/vm-").unwrap();
    let new = document(&c, &found.text[at..at + 13 + 36]).await;
    assert!(part(&new, "CpuResourceMhz").contains("<Reservation>100<"), "{new}");
    assert!(part(&new, "MemoryResourceMb").contains("<SharesLevel>LOW</SharesLevel><Shares>2560<"), "{new}");
}

#[tokio::test]
async fn what_networks_and_deployments_have_not_got_here_is_refused_by_name_and_defaults_pass() {
    let c = Clients::set().await;
    let vm = stopped(&c).await;
    let vapp = c.admin.get(&vm).await.must(200).link("up", "vApp").unwrap();
    let section = |inside: &str| {
        format!(
            "<NetworkConfigSection {VCLOUD}><ovf:Info/><NetworkConfig networkName=\"inner\"><Configuration><IpScopes><IpScope><Gateway>10.9.0.1</Gateway>\
             <Netmask>255.255.255.0</Netmask></IpScope></IpScopes><FenceMode>isolated</FenceMode>{inside}</Configuration></NetworkConfig></NetworkConfigSection>"
        )
    };
    let of_vdc = |config: &str, service: &str| {
        format!(
            "<OrgVdcNetwork {VCLOUD} name=\"lan\"><Configuration><IpScopes><IpScope><Gateway>10.8.0.1</Gateway><Netmask>255.255.255.0</Netmask></IpScope></IpScopes>\
             <FenceMode>isolated</FenceMode>{config}</Configuration>{service}</OrgVdcNetwork>"
        )
    };
    let range = "<IpRange><StartAddress>10.9.0.10</StartAddress><EndAddress>10.9.0.20</EndAddress></IpRange>";
    let dhcp = |on: bool, more: &str| format!("<DhcpService><IsEnabled>{on}</IsEnabled>{more}</DhcpService>");
    let features = |inside: &str| format!("<Features>{inside}</Features>");
    let service = |inside: &str| format!("<ServiceConfig>{inside}</ServiceConfig>");
    let times = "<DefaultLeaseTime>3600</DefaultLeaseTime><MaxLeaseTime>7200</MaxLeaseTime>";
    let at = format!("{vapp}/networkConfigSection/");
    let nets = format!("/api/admin/vdc/{}/networks", c.stage.acme.vdc("prod"));
    for (inside, why) in [
        (features(&dhcp(true, range)), "IpRange"),
        (features(&dhcp(true, "<DefaultLeaseTime>60</DefaultLeaseTime>")), "DefaultLeaseTime"),
        (
            "<RetainNetInfoAcrossDeployments>true</RetainNetInfoAcrossDeployments>".into(),
            "RetainNetInfoAcrossDeployments",
        ),
        ("<GuestVlanAllowed>true</GuestVlanAllowed>".into(), "GuestVlanAllowed"),
    ] {
        let said = c.admin.put(&at, &section(&inside)).await.must(400);
        assert!(said.text.contains(why) && said.text.contains("inner"), "{}", said.text);
    }
    for (body, why) in [
        (of_vdc("", &service(&dhcp(true, range))), "IpRange"),
        (
            of_vdc("<RetainNetInfoAcrossDeployments>true</RetainNetInfoAcrossDeployments>", ""),
            "RetainNetInfoAcrossDeployments",
        ),
        (of_vdc("<GuestVlanAllowed>true</GuestVlanAllowed>", ""), "GuestVlanAllowed"),
    ] {
        let said = c.admin.post(&nets, &body).await.must(400);
        assert!(said.text.contains(why), "{}", said.text);
    }
    let plain = "<RetainNetInfoAcrossDeployments>false</RetainNetInfoAcrossDeployments><GuestVlanAllowed>false</GuestVlanAllowed>";
    c.admin.put(&at, &section(&format!("{plain}{}", features(&dhcp(true, times))))).await.must(202);
    c.admin.post(&nets, &of_vdc(plain, &service(&dhcp(false, times)))).await.must(201);

    for thing in [&vapp, &vm] {
        let deploy = |seconds: i64| {
            format!(
                "<DeployVAppParams {VCLOUD} powerOn=\"false\" deploymentLeaseSeconds=\"{seconds}\" forceCustomization=\"false\"/>"
            )
        };
        let said = c.admin.post(&format!("{thing}/action/deploy"), &deploy(600)).await.must(400);
        assert!(said.text.contains("deploymentLeaseSeconds"), "{}", said.text);
        c.admin.post(&format!("{thing}/action/deploy"), &deploy(0)).await.must(202);
    }
    let item = |policy: &str| {
        format!(
            "<RecomposeVAppParams {VCLOUD}><CreateItem name=\"placed\"><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection><ComputePolicy>{policy}</ComputePolicy></CreateItem></RecomposeVAppParams>"
        )
    };
    let placed = "<VmPlacementPolicy id=\"urn:vcloud:vdcComputePolicy:01900000-0000-7000-8000-00000000beef\"/>";
    let said = c.admin.post(&format!("{vapp}/action/recomposeVApp"), &item(placed)).await.must(400);
    assert!(said.text.contains("VmPlacementPolicy"), "{}", said.text);
    c.admin.post(&format!("{vapp}/action/recomposeVApp"), &item("<VmPlacementPolicy/>")).await.must(202);
}
