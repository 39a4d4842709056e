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
    // more memory comes at once, and less needs a restart: the hub says so, of the second change alone
    let item = c.admin.get(&format!("{vm}/virtualHardwareSection/memory")).await.must(200).text;
    let now = item.split("<rasd:VirtualQuantity>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let set = async |mb: i64| {
        let other = item.replace(&format!("VirtualQuantity>{now}<"), &format!("VirtualQuantity>{mb}<"));
        let said = c.admin.put(&format!("{vm}/virtualHardwareSection/memory"), &other).await.must(202);
        c.succeeded(said).await
    };
    let mb: i64 = now.parse().unwrap();
    let more = set(mb * 2).await;
    let less = set(mb / 2).await;
    c.stage.until("said", async || details(&less).await.contains("It comes with the next start.")).await;
    assert!(!details(&more).await.contains("next start"), "{}", details(&more).await);

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

#[tokio::test]
async fn vapps_are_found_by_metadata_of_every_type_and_say_it_where_that_is_asked_for() {
    let c = Clients::set().await;
    let xsi = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    for (name, weight, until, live) in
        [("nine", "9", "2026-11-18T12:00:00+02:00", "true"), ("ten", "10", "2027-01-01T00:00:00Z", "false")]
    {
        let href = c.instantiate(name, "ubuntu-24.04").await;
        let one = |key: &str, kind: &str, value: &str| {
            format!(
                "<MetadataEntry><Key>{key}</Key><TypedValue xsi:type=\"Metadata{kind}Value\"><Value>{value}</Value></TypedValue></MetadataEntry>"
            )
        };
        let entries = [
            one("weight", "Number", weight),
            one("until", "DateTime", until),
            one("live", "Boolean", live),
            one("team", "String", name),
        ];
        c.act(&format!("{href}/metadata"), &format!("<Metadata {VCLOUD} {xsi}>{}</Metadata>", entries.concat())).await;
    }
    let found = |filter: &'static str| {
        let admin = &c.admin;
        async move {
            let said =
                admin.get(&format!("/api/query?type=vApp&filter=metadata:{filter}&sortAsc=name")).await.must(200);
            let names = said
                .text
                .split("<VAppRecord ")
                .skip(1)
                .map(|r| r.split("name=\"").nth(1).unwrap().split('"').next().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        }
    };
    for (filter, names) in [
        // as numbers and not as texts
        ("weight=gt=NUMBER:9", "ten"),
        ("weight=ge=NUMBER:9", "nine ten"),
        ("weight=lt=NUMBER:10", "nine"),
        ("weight==NUMBER:0010", "ten"),
        ("weight!=NUMBER:10", "nine"),
        ("weight==STRING:10", ""),
        // the same moment in another zone
        ("until==DATETIME:2026-11-18T10:00:00Z", "nine"),
        ("until=lt=DATETIME:2026-12-31T23:59:59.5Z", "nine"),
        ("live==BOOLEAN:True", "nine"),
        ("team==STRING:t*", "ten"),
        ("team==nine", "nine"),
    ] {
        assert_eq!(found(filter).await, names, "{filter}");
    }
    for (filter, said) in [
        ("weight=gt=NUMBER:nine", "A whole number"),
        ("until==DATETIME:today", "A time such as"),
        ("live==BOOLEAN:maybe", "true or false"),
    ] {
        let answer = c.admin.get(&format!("/api/query?type=vApp&filter=metadata:{filter}")).await.must(400);
        assert!(answer.text.contains(said), "{filter}: {}", answer.text);
    }
    let said = c.admin.get("/api/query?type=vApp&fields=name,metadata:weight&filter=name==ten").await.must(200);
    assert!(said.text.contains("<Key>weight</Key>") && said.text.contains("<Value>10</Value>"), "{}", said.text);
    assert!(!said.text.contains("<Key>team</Key>"), "{}", said.text);
}

#[tokio::test]
async fn a_copied_machine_has_the_size_and_guest_that_are_asked_for_it_and_what_it_can_not_have_is_refused() {
    let c = Clients::set().await;
    let (_, vm) = stopped(&c, "origin", "ubuntu-24.04").await;
    let hardware = "<ovf:VirtualHardwareSection><ovf:Item><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>3</rasd:VirtualQuantity></ovf:Item>\
                    <ovf:Item><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>1536</rasd:VirtualQuantity></ovf:Item></ovf:VirtualHardwareSection>";
    let guest = "<GuestCustomizationSection><Enabled>true</Enabled><ComputerName>another</ComputerName></GuestCustomizationSection>";
    let property = "<ovf:ProductSection><ovf:Property ovf:key=\"role\" ovf:type=\"string\"><ovf:Value ovf:value=\"spare\"/></ovf:Property></ovf:ProductSection>";
    let rasd = "xmlns:rasd=\"http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData\"";
    let item = |goes: bool, name: &str, more: &str| {
        format!(
            "<SourcedItem sourceDelete=\"{goes}\"><Source href=\"http://x{vm}\"/><VmGeneralParams><Name>{name}</Name></VmGeneralParams>\
             <InstantiationParams>{hardware}{guest}{property}</InstantiationParams>{more}</SourcedItem>"
        )
    };
    let compose = |name: &str, item: &str| {
        format!("<ComposeVAppParams {VCLOUD} {rasd} name=\"{name}\">{item}</ComposeVAppParams>")
    };
    let at = format!("{}/action/composeVApp", c.vdc());
    let made = c.admin.post(&at, &compose("copies", &item(false, "twin", ""))).await.must(201);
    let made = c.succeeded(made).await;
    // and the machine itself, moved
    let body = format!(
        "<RecomposeVAppParams {VCLOUD} {rasd} powerOn=\"true\">{}</RecomposeVAppParams>",
        item(true, "moved", "")
    );
    c.act(&format!("{}/action/recomposeVApp", made.attr("href")), &body).await;
    let vapp = c.admin.get(&made.attr("href")).await.must(200);
    for name in ["twin", "moved"] {
        let machine = vapp.text.split("<Vm ").find(|m| m.contains(&format!("name=\"{name}\""))).expect("a machine");
        assert!(machine.contains("<NumCpus>3</NumCpus>"), "{machine}");
        assert!(machine.contains("<ComputerName>another</ComputerName>"), "{machine}");
        let (_, memory) = machine.split_once("<MemoryResourceMb>").expect("memory");
        assert!(memory.trim_start().starts_with("<Configured>1536<"), "{machine}");
        assert!(machine.contains("spare"), "{machine}");
    }

    // what a copy can't have is said before there is one
    let larger = hardware.replace("</ovf:VirtualHardwareSection>", "<ovf:Item><rasd:HostResource ns:capacity=\"999999\" xmlns:ns=\"http://www.vmware.com/vcloud/v1.5\"/><rasd:ResourceType>17</rasd:ResourceType></ovf:Item></ovf:VirtualHardwareSection>");
    let (_, vm) = stopped(&c, "another", "ubuntu-24.04").await;
    let odd = format!(
        "<SourcedItem><Source href=\"http://x{vm}\"/><InstantiationParams>{larger}</InstantiationParams></SourcedItem>"
    );
    let answer = c.admin.post(&at, &compose("left", &odd)).await;
    assert!(
        answer.status.is_client_error() && answer.text.contains("disks of the same size"),
        "{} {}",
        answer.status,
        answer.text
    );
    assert!(!c.admin.get("/api/query?type=vApp").await.must(200).text.contains("name=\"left\""));
    let source = vm.replace("vm-", "vapp-");
    let clone = format!(
        "<CloneVAppParams {VCLOUD} name=\"left\"><Source href=\"http://x{source}\"/><InstantiationParams>{guest}</InstantiationParams></CloneVAppParams>"
    );
    let answer = c.admin.post(&format!("{}/action/cloneVApp", c.vdc()), &clone).await.must(400);
    assert!(answer.text.contains("cloneVApp takes no InstantiationParams"), "{}", answer.text);

    // pyvcloud says of each machine what its disks are on
    let shown = c.admin.get(&vm).await.must(200).text;
    let profile = shown.split("<StorageProfile ").nth(1).unwrap().split("href=\"").nth(1).unwrap();
    let profile = &profile[..profile.find('"').unwrap()];
    let other = format!("{}{}", &profile[..profile.len() - 12], "000000000000");
    let source = shown.split("href=\"").find(|h| h.contains("/api/vApp/vapp-")).unwrap();
    let source = &source[..source.find('"').unwrap()];
    let clone = |profile: &str| {
        format!(
            "<CloneVAppParams {VCLOUD} name=\"again\"><Source href=\"{source}\"/><SourcedVmInstantiationParams><Source href=\"http://x{vm}\"/>\
             <StorageProfile href=\"{profile}\"/></SourcedVmInstantiationParams></CloneVAppParams>"
        )
    };
    let at = format!("{}/action/cloneVApp", c.vdc());
    let answer = c.admin.post(&at, &clone(&other)).await.must(400);
    assert!(answer.text.contains("stay on the storage policy that they have"), "{}", answer.text);
    c.act_made(&at, &clone(profile)).await;
}

#[tokio::test]
async fn a_disk_stays_at_its_place_and_a_new_one_goes_where_it_is_asked_for() {
    let c = Clients::set().await;
    let spec = "<VmSpecSection Modified=\"true\"><NumCpus>1</NumCpus><MemoryResourceMb><Configured>512</Configured></MemoryResourceMb><DiskSection>\
                <DiskSettings><SizeMb>1024</SizeMb><UnitNumber>4</UnitNumber><BusNumber>1</BusNumber><AdapterType>6</AdapterType></DiskSettings>\
                </DiskSection></VmSpecSection>";
    let body = format!("<CreateVmParams {VCLOUD} name=\"placed\"><CreateVm>{spec}</CreateVm></CreateVmParams>");
    let made = c.admin.post(&format!("{}/action/createVm", c.vdc()), &body).await.must(202);
    c.succeeded(made).await;
    let found = c.admin.get("/api/query?type=vm&filter=name==placed").await.must(200);
    let at = found.text.find("/api/vApp/vm-").expect("a VM");
    let vm = found.text[at..at + 13 + 36].to_owned();
    let now = c.admin.get(&vm).await.must(200);
    assert!(
        now.text.contains("<UnitNumber>4</UnitNumber>") && now.text.contains("<BusNumber>1</BusNumber>"),
        "{}",
        now.text
    );
    let section = part(&now, "VmSpecSection").replace("Modified=\"false\"", "Modified=\"true\"");
    let vm_body = |section: &str| format!("<Vm {VCLOUD} name=\"placed\">{section}</Vm>");
    for (from, to) in [
        ("<UnitNumber>4<", "<UnitNumber>5<"),
        ("<BusNumber>1<", "<BusNumber>0<"),
        ("<AdapterType>6<", "<AdapterType>4<"),
    ] {
        let answer = c.admin.post(&format!("{vm}/action/reconfigureVm"), &vm_body(&section.replace(from, to))).await;
        assert!(
            answer.status.is_client_error() && answer.text.contains("stays on adapter 6, bus 1, unit 4"),
            "{} {}",
            answer.status,
            answer.text
        );
    }
    c.act(&format!("{vm}/action/reconfigureVm"), &vm_body(&section)).await;
    let grown = section.replace("<SizeMb>1024<", "<SizeMb>2048<");
    c.act(&format!("{vm}/action/reconfigureVm"), &vm_body(&grown)).await;
    assert!(c.admin.get(&vm).await.must(200).text.contains("<SizeMb>2048</SizeMb>"));
    let twice = spec.replace("</DiskSettings>", "</DiskSettings><DiskSettings><SizeMb>1024</SizeMb><UnitNumber>4</UnitNumber><BusNumber>1</BusNumber><AdapterType>6</AdapterType></DiskSettings>");
    let body = format!("<CreateVmParams {VCLOUD} name=\"twice\"><CreateVm>{twice}</CreateVm></CreateVmParams>");
    let answer = c.admin.post(&format!("{}/action/createVm", c.vdc()), &body).await.must(400);
    assert!(answer.text.contains("taken by another disk"), "{}", answer.text);
}
