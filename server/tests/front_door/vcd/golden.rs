//! Documents as they are, one of each type, so that nobody changes one without seeing it. A file that is not there is written: delete
//! one to have it anew, and look at what differs.
use super::{Program, client::path};
use crate::stage::Stage;
use model::{Kind, metadata::Entry};
use std::{collections::BTreeMap, fs, path::PathBuf};

/// Ids, times and what else differs from run to run have a number of their own, in the order in which they come.
#[derive(Default)]
struct Plain {
    known: BTreeMap<String, String>,
}

impl Plain {
    fn of(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let found = [uuid(rest), time(rest), mac(rest), address(rest), ticket(rest), hex(rest, &out)];
            let found = found.into_iter().flatten().max();
            match found {
                Some(length) => {
                    let (word, after) = rest.split_at(length);
                    let count = self.known.len() + 1;
                    let kind = match word {
                        ticket if ticket.starts_with("cst-") => "TICKET".to_owned(),
                        time if time.contains('T') => "TIME".to_owned(),
                        _ => format!("ID{count}"),
                    };
                    out.push_str(self.known.entry(word.to_owned()).or_insert(kind));
                    rest = after;
                }
                None => {
                    out.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        out.replace("><", ">\n<").replace("},{", "},\n{")
    }
}

fn uuid(text: &str) -> Option<usize> {
    text.get(..36).filter(|t| uuid::Uuid::try_parse(t).is_ok()).map(|_| 36)
}

fn time(text: &str) -> Option<usize> {
    let form = |t: &str| {
        let b = t.as_bytes();
        b[4] == b'-' && b[7] == b'-' && b[10] == b'T' && b[13] == b':' && b[..4].iter().all(u8::is_ascii_digit)
    };
    text.get(..20).filter(|t| form(t)).map(|_| text.find('Z').map_or(20, |z| z + 1).min(40))
}

fn mac(text: &str) -> Option<usize> {
    let form = |t: &str| t.split(':').all(|o| o.len() == 2 && o.bytes().all(|b| b.is_ascii_hexdigit()));
    text.get(..17).filter(|t| t.matches(':').count() == 5 && form(t)).map(|_| 17)
}

/// What a simulated hub hands out.
fn address(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    text.starts_with("10.198.").then_some(length)
}

/// What opens a console.
fn ticket(text: &str) -> Option<usize> {
    text.starts_with("cst-").then_some(47)
}

/// The end of a name on a hub.
fn hex(text: &str, before: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    (before.ends_with('-') && digits == 12).then_some(12)
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/front_door/vcd/golden").join(name)
}

#[tokio::test]
async fn every_type_of_document_is_as_it_was() {
    let stage = Stage::set().await;
    stage.app.follow_changes();
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let program = Program::sign_in(&stage.app, "acme", &admin.name).await;
    let provider = Program::sign_in(&stage.app, "System", "administrator").await;
    let vapp = stage.deploy("web-and-db", "shop").await;
    let vm = stage.running(vapp).await.remove(0);
    let vdc = stage.acme.vdc("prod");
    let entry = Entry { key: "season".into(), value: "winter".into(), ..Entry::default() };
    domain::metadata::put(d, admin, Kind::Vapp, vapp.0, vec![entry]).await.unwrap();
    let form = model::network::NetworkForm {
        name: "backbone".into(),
        gateway: "192.168.7.1".into(),
        prefix: "24".into(),
        ranges: "192.168.7.10-192.168.7.20".into(),
        ..Default::default()
    };
    let network = domain::network::create(d, admin, vdc, form).await.unwrap().id;
    let template = stage.template("ubuntu-24.04").await.unwrap();
    let task = stage.app.db.text("select id::text from tasks where operation = 'vapp.create' limit 1").await;
    let template_doc = program.get(&format!("/api/vAppTemplate/vappTemplate-{}", template.id)).await.must(200);
    let at = template_doc.text.find("/api/vAppTemplate/vm-").unwrap();
    let template_vm = template_doc.text[at..at + 21 + 36].to_owned();
    let profile = {
        let doc = program.get(&format!("/api/vdc/{vdc}")).await.must(200);
        let at = doc.text.find("/api/vdcStorageProfile/").unwrap();
        doc.text[at..at + 23 + 36].to_owned()
    };
    let (org, user, role) = (stage.acme.id, stage.acme.admin(), admin.role);
    let v = format!("/api/vApp/vapp-{vapp}");
    let m = format!("/api/vApp/vm-{}", vm.id);
    let mut wanted: Vec<(&str, String)> = vec![
        ("versions.xml", "/api/versions".into()),
        ("session.xml", "/api/session".into()),
        ("org-list.xml", "/api/org".into()),
        ("org.xml", format!("/api/org/{org}")),
        ("admin-org.xml", format!("/api/admin/org/{org}")),
        ("vdc.xml", format!("/api/vdc/{vdc}")),
        ("admin-vdc.xml", format!("/api/admin/vdc/{vdc}")),
        ("storage-profile.xml", profile),
        ("catalog.xml", format!("/api/catalog/{}", template.catalog)),
        ("admin-catalog.xml", format!("/api/admin/catalog/{}", template.catalog)),
        ("catalog-item.xml", format!("/api/catalogItem/{}", template.id)),
        ("template.xml", format!("/api/vAppTemplate/vappTemplate-{}", template.id)),
        ("template-vm.xml", template_vm),
        ("vapp.xml", v.clone()),
        ("vm.xml", m.clone()),
        ("task.xml", format!("/api/task/{task}")),
        ("network.xml", format!("/api/network/{network}")),
        ("user.xml", format!("/api/admin/user/{user}")),
        ("role.xml", format!("/api/admin/role/{role}")),
        ("query-list.xml", "/api/query".into()),
        ("session.json", "/cloudapi/1.0.0/sessions/current".into()),
        ("user.json", format!("/cloudapi/1.0.0/users/{}", user.urn())),
        ("org.json", format!("/cloudapi/1.0.0/orgs/{}", org.urn())),
        ("network.json", format!("/cloudapi/1.0.0/orgVdcNetworks/{}", network.urn())),
    ];
    for (name, rest) in [
        ("lease.xml", "leaseSettingsSection"),
        ("network-config.xml", "networkConfigSection"),
        ("startup.xml", "startupSection"),
        ("metadata.xml", "metadata"),
        ("control-access.xml", "controlAccess"),
        ("owner.xml", "owner"),
    ] {
        wanted.push((name, format!("{v}/{rest}")));
    }
    for (name, rest) in [
        ("hardware.xml", "virtualHardwareSection"),
        ("cpu.xml", "virtualHardwareSection/cpu"),
        ("disks.xml", "virtualHardwareSection/disks"),
        ("network-connection.xml", "networkConnectionSection"),
        ("guest-customization.xml", "guestCustomizationSection"),
        ("product-sections.xml", "productSections"),
        ("operating-system.xml", "operatingSystemSection"),
        ("capabilities.xml", "vmCapabilities"),
        ("boot-options.xml", "bootOptions"),
        ("runtime-info.xml", "runtimeInfoSection"),
        ("snapshot.xml", "snapshotSection"),
    ] {
        wanted.push((name, format!("{m}/{rest}")));
    }
    // these are drawn, so they are asked for by POST
    wanted.push(("screen-ticket.xml", format!("{m}/screen/action/acquireTicket")));
    wanted.push(("mks-ticket.xml", format!("{m}/screen/action/acquireMksTicket")));
    let records =
        ["orgVdc", "catalog", "vAppTemplate", "vApp", "vm", "orgVdcNetwork", "user", "role", "orgVdcStorageProfile"];
    let records: Vec<(String, String)> = records
        .map(|kind| (format!("query-{kind}.xml"), format!("/api/query?type={kind}&format=records&pageSize=2")))
        .to_vec();
    wanted.extend(records.iter().map(|(name, path)| (name.as_str(), path.clone())));
    let of_provider = [
        ("vcloud.xml", "/api/admin".to_owned()),
        ("extension.xml", "/api/admin/extension".into()),
        ("error.xml", "/api/vApp/vapp-x".into()),
    ];

    let mut wrong = Vec::new();
    let asked = wanted.iter().map(|w| (&program, w)).chain(of_provider.iter().map(|w| (&provider, w)));
    for (by, (name, target)) in asked {
        let method = if name.ends_with("-ticket.xml") { "POST" } else { "GET" };
        let said = by.call(method, &path(target), "").await;
        if *name != "error.xml" {
            assert!(said.status.is_success(), "{name} {target}: {} {}", said.status, said.text);
        }
        let text = Plain::default().of(&said.text);
        if !file(name).exists() {
            fs::create_dir_all(file("")).unwrap();
            fs::write(file(name), &text).unwrap();
            wrong.push(format!("{name} was not there, and is written"));
            continue;
        }
        let before = fs::read_to_string(file(name)).unwrap_or_default();
        if let Some((a, b)) = before.lines().zip(text.lines()).find(|(a, b)| a != b) {
            wrong.push(format!("{name}:\n  was {a}\n  is  {b}"));
        } else if before.lines().count() != text.lines().count() {
            wrong.push(format!("{name}: was {} lines, is {}", before.lines().count(), text.lines().count()));
        }
    }
    assert!(wrong.is_empty(), "{}\nIf that is meant, delete the file and run the test once more.", wrong.join("\n"));
}
