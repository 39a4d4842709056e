//! What clients set on vApps, VMs and organizations is done, or kept and read back, or refused by name; and what they look for is there.
use super::{Program, Said, cloudapi::provider, flow::Clients};
use crate::{harness::iso, uploads::Desk};
use model::template::ItemKind;

const VCLOUD: &str = "xmlns=\"http://www.vmware.com/vcloud/v1.5\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\"";

/// The address of its first machine.
fn vm_of(vapp: &Said) -> String {
    let at = vapp.text.find("/api/vApp/vm-").unwrap_or_else(|| panic!("no VM in {}", vapp.text));
    vapp.text[at..at + 13 + 36].to_owned()
}

/// The first element of that name with all that is in it, as a document.
fn part(said: &Said, name: &str) -> String {
    let text = &said.text;
    let from = text.find(&format!("<{name} ")).unwrap_or_else(|| panic!("no {name} in {text}"));
    let end = format!("</{name}>");
    let to = from + text[from..].find(&end).unwrap() + end.len();
    // prefixes are declared at the root
    let root = text.find("?>").map_or(0, |at| at + 2);
    let tag = &text[root..root + text[root..].find('>').unwrap()];
    let declared: String =
        tag.split(' ').filter(|word| word.starts_with("xmlns")).map(|word| format!(" {word}")).collect();
    text[from..to].replacen(&format!("<{name} "), &format!("<{name}{declared} "), 1)
}

async fn stopped(c: &Clients, name: &str, template: &str) -> (String, String) {
    let href = c.instantiate(name, template).await;
    c.act(&format!("{href}/action/undeploy"), "").await;
    let vm = vm_of(&c.admin.get(&href).await.must(200));
    (href, vm)
}

#[tokio::test]
async fn a_machine_within_its_vapp_says_what_it_says_by_itself_and_sent_back_changes_nothing() {
    let c = Clients::set().await;
    let (href, vm) = stopped(&c, "shop", "ubuntu-24.04").await;
    let off = format!("<GuestCustomizationSection {VCLOUD}><Enabled>false</Enabled></GuestCustomizationSection>");
    let said = c.admin.put(&format!("{vm}/guestCustomizationSection"), &off).await.must(202);
    c.succeeded(said).await;
    c.act(&format!("{vm}/action/createSnapshot"), "").await;
    let (alone, vapp) = (c.admin.get(&vm).await.must(200), c.admin.get(&href).await.must(200));
    for section in ["GuestCustomizationSection", "SnapshotSection"] {
        assert_eq!(part(&alone, section), part(&vapp, section));
    }
    assert!(part(&vapp, "SnapshotSection").contains("<Snapshot "), "{}", vapp.text);

    c.act(&format!("{vm}/action/removeAllSnapshots"), "").await;
    let nested = part(&c.admin.get(&href).await.must(200), "Vm");
    let before = c.admin.get(&vm).await.must(200).text;
    c.act(&format!("{vm}/action/reconfigureVm"), &nested).await;
    assert_eq!(c.admin.get(&vm).await.must(200).text, before);
    assert!(before.contains("<Enabled>false</Enabled>"), "{before}");
}

#[tokio::test]
async fn a_hardware_section_that_is_put_changes_processors_memory_disks_and_cards() {
    let c = Clients::set().await;
    let (_, vm) = stopped(&c, "one", "ubuntu-24.04").await;
    let at = format!("{vm}/virtualHardwareSection/");
    let before = c.admin.get(&at).await.must(200).text;
    let item = |text: &str, kind: &str| {
        let found = text.split("<ovf:Item>").skip(1).map(|i| i.split("</ovf:Item>").next().unwrap().to_owned());
        found.into_iter().find(|i| i.contains(&format!("<rasd:ResourceType>{kind}<"))).unwrap()
    };
    let quantity = |item: &str| -> i64 {
        item.split("<rasd:VirtualQuantity>").nth(1).unwrap().split('<').next().unwrap().parse().unwrap()
    };
    let raised = |item: &str, by: i64| {
        let now = quantity(item);
        item.replace(&format!("<rasd:VirtualQuantity>{now}<"), &format!("<rasd:VirtualQuantity>{}<", now + by))
    };
    let (cpu, memory, disk) = (item(&before, "3"), item(&before, "4"), item(&before, "17"));
    let capacity = disk.split("capacity=\"").nth(1).unwrap().split('"').next().unwrap();
    let larger = (capacity.parse::<i64>().unwrap() + 1024).to_string();
    let card = item(&before, "10");
    let after = before
        .replace(&cpu, &raised(&cpu, 1))
        .replace(&memory, &raised(&memory, 256))
        .replace(&format!("capacity=\"{capacity}\""), &format!("capacity=\"{larger}\""))
        .replace(&format!("<ovf:Item>{card}</ovf:Item>"), "");
    let said = c.admin.put(&at, &after).await.must(202);
    c.succeeded(said).await;
    let now = c.admin.get(&at).await.must(200).text;
    assert_eq!(quantity(&item(&now, "3")), quantity(&cpu) + 1, "{now}");
    assert_eq!(quantity(&item(&now, "4")), quantity(&memory) + 256, "{now}");
    assert!(now.contains(&format!("capacity=\"{larger}\"")), "{now}");
    assert!(!now.contains("<rasd:ResourceType>10<"), "{now}");

    // back with its card, and then as it is: nothing happens
    let back = now.replacen("<ovf:Item>", &format!("<ovf:Item>{card}</ovf:Item><ovf:Item>"), 1);
    let said = c.admin.put(&at, &back).await.must(202);
    c.succeeded(said).await;
    let now = c.admin.get(&at).await.must(200).text;
    assert!(now.contains("<rasd:ResourceType>10<"), "{now}");
    let said = c.admin.put(&at, &now).await.must(202);
    assert!(said.text.contains("operationName=\"vappUpdateVm\""), "{}", said.text);
    assert_eq!(c.admin.get(&at).await.must(200).text, now);
}

#[tokio::test]
async fn what_is_done_to_machines_when_their_vapp_starts_and_stops_is_kept_and_done() {
    let c = Clients::set().await;
    let (href, _) = stopped(&c, "shop", "web-and-db").await;
    let at = format!("{href}/startupSection/");
    let before = c.admin.get(&at).await.must(200).text;
    let first = before.replacen("startAction=\"powerOn\"", "startAction=\"none\"", 1);
    let last = first.rfind("stopAction=\"powerOff\"").unwrap();
    let after = format!("{}stopAction=\"suspend\"{}", &first[..last], &first[last + 21..]);
    let after = after.replace("stopDelay=\"0\"", "stopDelay=\"60\"");
    c.admin.put(&at, &after).await.must(202);
    assert_eq!(c.admin.get(&at).await.must(200).text, after);
    let bad = before.replacen("stopAction=\"powerOff\"", "stopAction=\"explode\"", 1);
    assert!(c.admin.put(&at, &bad).await.must(400).text.contains("explode"));

    // one stays off when the vApp starts, and the other one is suspended when it stops
    c.act(&format!("{href}/power/action/powerOn"), "").await;
    let vapp = c.admin.get(&href).await.must(200);
    let states = |said: &Said| {
        let of = |vm: &str| vm.split("status=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let mut all: Vec<String> = said.text.split("<Vm ").skip(1).map(of).collect();
        all.sort();
        all
    };
    assert_eq!(states(&vapp), ["4", "8"], "{}", vapp.text);
    c.act(&format!("{href}/action/undeploy"), "").await;
    assert_eq!(states(&c.admin.get(&href).await.must(200)), ["3", "8"]);
}

#[tokio::test]
async fn machines_that_are_described_or_copied_are_composed_with_all_that_is_said_of_them() {
    let c = Clients::set().await;
    let (_, vm) = stopped(&c, "origin", "ubuntu-24.04").await;
    let disc = media(&c).await;
    let spec = "<VmSpecSection Modified=\"true\"><NumCpus>1</NumCpus><MemoryResourceMb><Configured>512</Configured></MemoryResourceMb></VmSpecSection>";
    let body = format!(
        "<ComposeVAppParams {VCLOUD} name=\"parts\"><SourcedItem><Source href=\"http://x{vm}\"/><VmGeneralParams><Name>twin</Name></VmGeneralParams></SourcedItem>\
         <CreateItem name=\"blank\"><Description>from a disc</Description>{spec}<Media href=\"http://x/api/media/{disc}\"/></CreateItem></ComposeVAppParams>"
    );
    let made = c.admin.post(&format!("{}/action/composeVApp", c.vdc()), &body).await.must(201);
    let href = made.attr("href");
    let vapp = c.admin.get(&href).await.must(200);
    assert!(vapp.text.contains("<Vm name=\"twin\"") && vapp.text.contains("<Vm name=\"blank\""), "{}", vapp.text);
    assert!(vapp.text.contains(&format!("/api/media/{disc}")), "{}", vapp.text);

    let body = format!(
        "<CreateVmParams {VCLOUD} name=\"single\"><Description>beside it</Description><CreateVm>{spec}</CreateVm>\
         <Media href=\"http://x/api/media/{disc}\"/></CreateVmParams>"
    );
    c.admin.post(&format!("{href}/vms"), &body).await.must(202);
    let vapp = c.admin.get(&href).await.must(200);
    assert!(vapp.text.contains("<Description>beside it</Description>"), "{}", vapp.text);
    assert_eq!(vapp.text.matches(&format!("/api/media/{disc}\" id=")).count(), 2, "{}", vapp.text);

    // what can't be copied makes no vApp
    let body = body.replace("CreateVmParams", "ComposeVAppParams");
    let body = body.split_once("<CreateVm>").unwrap().0.replace("single", "left");
    let body =
        format!("{body}<SourcedItem><Source href=\"http://x/api/vApp/vm-{disc}\"/></SourcedItem></ComposeVAppParams>");
    c.admin.post(&format!("{}/action/composeVApp", c.vdc()), &body).await.must(403);
    assert!(!c.admin.get("/api/query?type=vApp").await.must(200).text.contains("name=\"left\""));
}

/// A disc in a catalog of the organization.
async fn media(c: &Clients) -> String {
    let desk = Desk::open(&c.stage.app, &c.stage.admin, "acme").await;
    desk.uploaded("tools", ItemKind::Media, "tools.iso", &iso()).await.to_string()
}

#[tokio::test]
async fn clients_find_the_links_of_what_is_served() {
    let c = Clients::set().await;
    let (href, vm) = stopped(&c, "shop", "ubuntu-24.04").await;
    let alone = c.admin.get(&vm).await.must(200);
    for rel in ["upgrade", "consolidate"] {
        c.act(&alone.link(rel, "").unwrap_or_else(|| panic!("no {rel} in {}", alone.text)), "").await;
    }
    c.admin.post(&alone.link("customizeAtNextPowerOn", "").unwrap(), "").await.must(204);
    let said = c.admin.get(&format!("{vm}/checkpostcustomizationscript/")).await.must(200);
    assert!(said.text.contains("<CheckPostGCStatus>"), "{}", said.text);

    let config = format!(
        "<NetworkConfigSection {VCLOUD}><ovf:Info/><NetworkConfig networkName=\"inner\"><Configuration><IpScopes><IpScope><IsInherited>false</IsInherited>\
         <Gateway>192.168.3.1</Gateway><Netmask>255.255.255.0</Netmask><IpRanges><IpRange><StartAddress>192.168.3.10</StartAddress><EndAddress>192.168.3.20</EndAddress></IpRange></IpRanges>\
         </IpScope></IpScopes><FenceMode>isolated</FenceMode></Configuration></NetworkConfig></NetworkConfigSection>"
    );
    c.admin.put(&format!("{href}/networkConfigSection"), &config).await.must(202);
    let vapp = c.admin.get(&href).await.must(200);
    let link =
        vapp.text.split("<Link ").find(|l| l.contains("vAppNetwork+xml") && l.contains("name=\"inner\"")).unwrap();
    let network = link.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
    let network = c.admin.get(network).await.must(200);
    let addresses = network.link("down", "allocatedNetworkAddress").unwrap_or_else(|| panic!("{}", network.text));
    c.admin.get(&addresses).await.must(200);
}

#[tokio::test]
async fn tasks_of_cloudapi_are_found_by_the_names_that_they_show() {
    let c = Clients::set().await;
    c.instantiate("shop", "ubuntu-24.04").await;
    let all = c.admin.get("/cloudapi/1.0.0/tasks").await.must(200).json();
    for task in all["values"].as_array().unwrap() {
        let name = task["operationName"].as_str().unwrap();
        let found =
            c.admin.get(&format!("/cloudapi/1.0.0/tasks?filter=operationName%3D%3D{name}")).await.must(200).json();
        let ids: Vec<&str> = found["values"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
        assert!(ids.contains(&task["id"].as_str().unwrap()), "{name}: {ids:?}");
        assert!(found["values"].as_array().unwrap().iter().all(|t| t["operationName"] == name), "{found}");
    }
    assert!(all["resultTotal"].as_i64().unwrap() > 0);
}

#[tokio::test]
async fn a_task_says_that_a_change_comes_with_the_next_start() {
    let c = Clients::set().await;
    let href = c.instantiate("shop", "ubuntu-24.04").await;
    let vm = vm_of(&c.admin.get(&href).await.must(200));
    let details = async |said: &Said| {
        let at = said.text.find("/api/task/").unwrap();
        c.admin.get(&said.text[at..at + 46]).await.must(200).text
    };
    let section = format!(
        "<GuestCustomizationSection {VCLOUD}><Enabled>true</Enabled><CustomizationScript>true</CustomizationScript></GuestCustomizationSection>"
    );
    let said = c.admin.put(&format!("{vm}/guestCustomizationSection"), &section).await.must(202);
    let said = c.succeeded(said).await;
    assert!(
        details(&said).await.contains("<Details>It comes with the next start.</Details>"),
        "{}",
        details(&said).await
    );

    // less memory needs a restart: the hub says so
    let item = c.admin.get(&format!("{vm}/virtualHardwareSection/memory")).await.must(200).text;
    let now = item.split("<rasd:VirtualQuantity>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let less = (now.parse::<i64>().unwrap() / 2).to_string();
    let less = item.replace(&format!("VirtualQuantity>{now}<"), &format!("VirtualQuantity>{less}<"));
    let said = c.admin.put(&format!("{vm}/virtualHardwareSection/memory"), &less).await.must(202);
    let said = c.succeeded(said).await;
    c.stage.until("said", async || details(&said).await.contains("It comes with the next start.")).await;

    // what is powered off waits for nothing
    c.act(&format!("{href}/action/undeploy"), "").await;
    let said =
        c.admin.put(&format!("{vm}/guestCustomizationSection"), &section.replace("true<", "false<")).await.must(202);
    let said = c.succeeded(said).await;
    assert!(!details(&said).await.contains("next start"), "{}", details(&said).await);
}

#[tokio::test]
async fn an_empty_vapp_is_on_after_it_was_powered_on_and_keeps_its_product_sections() {
    let c = Clients::set().await;
    let made =
        c.admin.post(&format!("{}/action/composeVApp", c.vdc()), "<ComposeVAppParams name=\"empty\"/>").await.must(201);
    let href = made.attr("href");
    let state = async || {
        let vapp = c.admin.get(&href).await.must(200);
        let found = c.admin.get("/api/query?type=vApp&filter=name==empty").await.must(200);
        let record = found.text[found.text.find("<VAppRecord").unwrap()..].to_owned();
        let said = |word: &str| record.contains(word);
        (vapp.attr("status"), vapp.attr("deployed"), said("status=\"POWERED_ON\""), said("isDeployed=\"true\""))
    };
    assert_eq!(state().await, ("1".into(), "false".into(), false, false));
    let on = c.admin.get(&href).await.link("power:powerOn", "").unwrap();
    c.act(&on, "").await;
    assert_eq!(state().await, ("4".into(), "true".into(), true, true));
    for filter in ["status==POWERED_ON", "isDeployed==true"] {
        let found = c.admin.get(&format!("/api/query?type=vApp&filter={filter}")).await.must(200);
        assert_eq!(found.attr("total"), "1", "{filter}");
    }
    let undeploy = c.admin.get(&href).await.link("undeploy", "undeploy").unwrap();
    c.act(&undeploy, "").await;
    assert_eq!(state().await, ("1".into(), "false".into(), false, false));
    c.admin.post(&undeploy, "").await.must(400);

    let at = format!("{href}/productSections");
    let list = format!(
        "<ProductSectionList {VCLOUD}><ovf:ProductSection><ovf:Info>x</ovf:Info><ovf:Property ovf:key=\"site\" ovf:type=\"string\" ovf:userConfigurable=\"true\" ovf:value=\"\"><ovf:Value ovf:value=\"A &amp; B\"/></ovf:Property>\
         <ovf:Property ovf:key=\"pin\" ovf:type=\"string\" ovf:password=\"true\"><ovf:Value ovf:value=\"4711\"/></ovf:Property></ovf:ProductSection></ProductSectionList>"
    );
    c.admin.put(&at, &list).await.must(202);
    let said = c.admin.get(&at).await.must(200);
    assert!(said.text.contains("ovf:value=\"A &amp; B\"") && said.text.contains("4711"), "{}", said.text);
    assert!(c.admin.get(&href).await.must(200).text.contains("ovf:key=\"site\""));
    assert!(
        !c.stage
            .app
            .db
            .text("select encode(properties, 'escape') from vapps where name = 'empty'")
            .await
            .contains("4711")
    );
    c.admin.put(&at, &said.text).await.must(202);
    assert_eq!(c.admin.get(&at).await.must(200).text, said.text);
    c.admin.put(&at, &format!("<ProductSectionList {VCLOUD}/>")).await.must(202);
    assert!(!c.admin.get(&at).await.must(200).text.contains("Property"));
}

#[tokio::test]
async fn settings_of_an_organization_are_said_alike_everywhere_and_a_lockout_is_refused() {
    let c = Clients::set().await;
    let chief: Program = provider(&c.stage.app).await;
    let id = c.stage.acme.id;
    let at = format!("/api/admin/org/{id}");
    let whole = chief.get(&at).await.must(200).text;
    let publishing = whole.replace("<CanPublishCatalogs>false<", "<CanPublishCatalogs>true<");
    let publishing = publishing.replace("<InvalidLoginsBeforeLockout>0<", "<InvalidLoginsBeforeLockout>7<");
    let said = chief.put(&at, &publishing).await;
    assert!(said.status.is_success(), "{}", said.text);
    let now = chief.get(&at).await.must(200).text;
    assert!(now.contains("<CanPublishCatalogs>true<") && now.contains("<InvalidLoginsBeforeLockout>7<"), "{now}");
    let record = chief.get("/api/query?type=organization&filter=canPublishCatalogs==true;name==acme").await.must(200);
    assert!(record.text.contains("canPublishCatalogs=\"true\""), "{}", record.text);
    let one = chief.get(&format!("/cloudapi/1.0.0/orgs/{}", id.urn())).await.must(200).json();
    assert_eq!(one["canPublish"], true);

    let locking = now.replace("<AccountLockoutEnabled>false<", "<AccountLockoutEnabled>true<");
    let said = chief.put(&at, &locking).await.must(400);
    assert!(said.text.contains("AccountLockoutEnabled"), "{}", said.text);
}

#[tokio::test]
async fn a_captured_template_keeps_whether_its_guests_are_customized() {
    let c = Clients::set().await;
    let (href, _) = stopped(&c, "shop", "ubuntu-24.04").await;
    let spec = model::catalog::CatalogSpec { name: "own".into(), ..model::catalog::CatalogSpec::default() };
    let own = domain::catalog::create(&c.stage.app.domain, &c.stage.admin, c.stage.acme.id, spec).await.unwrap().id;
    for (name, wanted) in [("alike", "false"), ("told", "true")] {
        let body = format!(
            "<CaptureVAppParams {VCLOUD} name=\"{name}\"><Source href=\"{href}\"/><CustomizationSection><ovf:Info/>\
             <CustomizeOnInstantiate>{wanted}</CustomizeOnInstantiate></CustomizationSection></CaptureVAppParams>"
        );
        c.act(&format!("/api/catalog/{own}/action/captureVApp"), &body).await;
        let template = c.admin.get(&c.template(name).await).await.must(200);
        assert!(template.text.contains(&format!("<CustomizeOnInstantiate>{wanted}<")), "{}", template.text);
    }
}
