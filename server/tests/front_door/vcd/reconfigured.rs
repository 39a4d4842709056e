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
        (
            hardware.replace(
                &format!("<rasd:VirtualQuantity>{}<", quantity(item(hardware, "3"))),
                "<rasd:VirtualQuantity>many<",
            ),
            "many",
        ),
        (raised(hardware, "3", 1) + &spec.replace(&cpus, "<NumCpus>7</NumCpus>"), "NumCpus"),
        ("<ovf:OperatingSystemSection vmw:osType=\"two words\"/>".into(), "two words"),
        ("<VmCapabilities><CpuHotAddEnabled>maybe</CpuHotAddEnabled></VmCapabilities>".into(), "maybe"),
        ("<ovf:ProductSection><ovf:Property ovf:type=\"string\"/></ovf:ProductSection>".into(), "no key"),
    ] {
        let said = reconfigure(&c, &vm, &body(&inside)).await;
        assert!(said.status.is_client_error() && said.text.contains(why), "{inside}: {} {}", said.status, said.text);
        let now = document(&c, &vm).await;
        assert!(now.contains(&format!(" name=\"{name}\"")) && now == before, "{inside}: {now}");
    }
}
