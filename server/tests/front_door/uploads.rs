//! Uploads: sent in parts, gone on with after anything, checked, made versions of items, and brought to hubs that need them.
use crate::{
    harness::{Answer, Client, TestApp, iso, qcow2},
    stage::Stage,
};
use axum::body::{Body, Bytes};
use domain::{catalog, item, upload, vapp};
use futures::stream;
use model::{
    Action, Actor, CatalogId, TemplateId, UploadId,
    catalog::CatalogSpec,
    event::News,
    task::TaskStatus,
    template::ItemKind,
    upload::{Upload, UploadSpec, UploadState},
};
use ring::digest::{SHA256, digest};
use std::time::Duration;

const VOLUMES: (&str, &str) = ("cdi.kubevirt.io", "datavolumes");

/// Two machines, the first with a disk of its own and an empty one.
const OVF: &str = r#"<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData">
 <References><File ovf:href="disk1.qcow2" ovf:id="file1" ovf:size="1024"/></References>
 <DiskSection><Info/><Disk ovf:capacity="64" ovf:capacityAllocationUnits="byte * 2^20" ovf:diskId="d1" ovf:fileRef="file1"/>
  <Disk ovf:capacity="1" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="d2"/></DiskSection>
 <VirtualSystemCollection ovf:id="shop"><Info/><Name>Shop</Name>
  <VirtualSystem ovf:id="db"><Info/><Name>db</Name><VirtualHardwareSection><Info/>
   <Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity></Item>
   <Item><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>512</rasd:VirtualQuantity></Item>
   <Item><rasd:HostResource>ovf:/disk/d1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:ResourceType>17</rasd:ResourceType></Item>
   <Item><rasd:AddressOnParent>1</rasd:AddressOnParent><rasd:HostResource>ovf:/disk/d2</rasd:HostResource><rasd:InstanceID>5</rasd:InstanceID><rasd:ResourceType>17</rasd:ResourceType></Item>
  </VirtualHardwareSection></VirtualSystem>
  <VirtualSystem ovf:id="web"><Info/><Name>web</Name><VirtualHardwareSection><Info/>
   <Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>
   <Item><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>256</rasd:VirtualQuantity></Item>
  </VirtualHardwareSection></VirtualSystem>
 </VirtualSystemCollection>
</Envelope>"#;

pub(crate) fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![];
    for (name, bytes) in entries {
        let mut block = [0; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        block[156] = b'0';
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(block);
        out.extend(*bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

pub(crate) fn shop() -> Vec<u8> {
    tar(&[("shop.ovf", OVF.as_bytes()), ("disk1.qcow2", &qcow2(64))])
}

fn sum(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// Somebody with a catalog of their own.
pub(crate) struct Desk<'a> {
    app: &'a TestApp,
    actor: Actor,
    browser: Client,
    pub(crate) catalog: CatalogId,
}

impl Desk<'_> {
    pub(crate) async fn open<'a>(app: &'a TestApp, actor: &Actor, org: &str) -> Desk<'a> {
        let spec = CatalogSpec { name: "own".into(), ..CatalogSpec::default() };
        let catalog = catalog::create(&app.domain, actor, actor.org, spec).await.unwrap().id;
        Desk { app, actor: actor.clone(), browser: app.sign_in(org, &actor.name).await, catalog }
    }

    pub(crate) async fn begin(&self, name: &str, kind: ItemKind) -> UploadId {
        let spec = UploadSpec { name: name.into(), kind, ..UploadSpec::default() };
        upload::begin(&self.app.domain, &self.actor, self.catalog, spec).await.unwrap()
    }

    pub(crate) async fn get(&self, id: UploadId) -> Upload {
        upload::get(&self.app.domain, &self.actor, id).await.unwrap()
    }

    /// A part by the transfer link, as clients send it.
    async fn put(&self, link: &str, file: &str, range: &str, body: impl Into<Body>) -> Answer {
        let request = self.browser.request("PUT", &format!("/transfer/{link}/{file}")).header("content-range", range);
        self.browser.send(request.body(body.into()).unwrap()).await
    }

    /// All of it in parts of so many bytes.
    async fn send(&self, id: UploadId, file: &str, bytes: &[u8], each: usize) {
        let link = self.get(id).await.link;
        for (n, part) in bytes.chunks(each).enumerate() {
            let start = n * each;
            let range = format!("bytes {start}-{}/{}", start + part.len() - 1, bytes.len());
            self.put(&link, file, &range, part.to_vec()).await.must(200);
        }
    }

    async fn ended(&self, id: UploadId) -> Upload {
        for _ in 0..400 {
            let upload = self.get(id).await;
            if !matches!(upload.state, UploadState::Open | UploadState::Checking) {
                return upload;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the upload does not end: {:?}", self.get(id).await);
    }

    pub(crate) async fn uploaded(&self, name: &str, kind: ItemKind, file: &str, bytes: &[u8]) -> TemplateId {
        let id = self.begin(name, kind).await;
        self.send(id, file, bytes, 1000).await;
        let upload = self.ended(id).await;
        assert_eq!((upload.state, upload.problem.as_str()), (UploadState::Done, ""));
        upload.template
    }
}

#[tokio::test]
async fn an_ova_sent_in_parts_becomes_a_template_and_runs_on_a_hub_that_got_its_image_once() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let template = desk.uploaded("shop", ItemKind::Template, "shop.ova", &shop()).await;
    assert_eq!(stage.task_of(template.0, Action::TemplateUpload).await, (TaskStatus::Success, String::new()));
    let read = catalog::template(&stage.app.domain, &stage.admin, template).await.unwrap();
    let sizes: Vec<_> = read.vms.iter().map(|v| (v.name.as_str(), v.cpus, v.memory_mb, v.disks.len())).collect();
    assert_eq!(sizes, [("db", 2, 512, 2), ("web", 1, 256, 0)]);

    let first = stage.deploy("shop", "one").await;
    stage.running(first).await;
    let images = || {
        let all = stage.hubs.hub("one").objects(VOLUMES.0, VOLUMES.1);
        all.into_iter().filter(|o| !o["metadata"]["labels"]["ssvirt.io/image-id"].is_null()).collect::<Vec<_>>()
    };
    assert_eq!(images().len(), 1);
    let note = images()[0]["metadata"]["annotations"]["hubsim.ssvirt.io/uploaded"].as_str().unwrap().to_owned();
    assert_eq!(note, format!("1024 {}", sum(&qcow2(64))), "the very bytes of the disk arrived");
    assert_eq!(stage.task_of(template.0, Action::ImageBring).await.0, TaskStatus::Success);

    // a second one takes the image that is there
    let uid = images()[0]["metadata"]["uid"].clone();
    let second = stage.deploy("shop", "two").await;
    stage.running(second).await;
    assert_eq!((images().len(), &images()[0]["metadata"]["uid"]), (1, &uid));

    // the item goes, its VMs stay, and nothing is left of the image
    item::delete(&stage.app.domain, &stage.admin, template).await.unwrap();
    stage.until("the image's end", async || images().is_empty()).await;
    assert!(stage.vms(second).await.iter().all(|v| v.made));
    assert!(stage.app.domain.store.area_used().await.unwrap() > 0);
    stage
        .until("the file's end", async || {
            upload::clean(&stage.app.domain).await.unwrap();
            stage.app.domain.store.area_used().await.unwrap() == 0
        })
        .await;
}

#[tokio::test]
async fn what_an_ova_asks_for_is_given_when_it_is_deployed_and_read_by_its_guest() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let desk = Desk::open(&stage.app, admin, "acme").await;
    let whole = r#"<ProductSection ovf:class="shop"><Info/><Property ovf:key="url" ovf:type="string" ovf:userConfigurable="true"/>
      <Property ovf:key="edition" ovf:type="string" ovf:value="small"/></ProductSection><Name>Shop</Name>"#;
    let own = r#"<ProductSection><Info/><Property ovf:key="port" ovf:type="uint16" ovf:value="80" ovf:userConfigurable="true"/>
      <Property ovf:key="secret" ovf:type="string" ovf:password="true" ovf:userConfigurable="true"/></ProductSection><Name>db</Name>"#;
    let ovf = OVF.replacen("<Name>Shop</Name>", whole, 1).replacen("<Name>db</Name>", own, 1);
    let bytes = tar(&[("shop.ovf", ovf.as_bytes()), ("disk1.qcow2", &qcow2(64))]);
    let template = desk.uploaded("shop", ItemKind::Template, "shop.ova", &bytes).await;
    let given = |port: &str| {
        let of = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let properties = [
            (String::new(), of(&[("shop.url", "https://shop.example/?a=1&b=2")])),
            ("db".to_owned(), of(&[("port", port), ("secret", "hunter2")])),
        ];
        vapp::Deploy { name: "shop".into(), properties: properties.into(), ..vapp::Deploy::default() }
    };
    let wrong = vapp::deploy(d, admin, stage.acme.vdc("prod"), template, given("http")).await.err().unwrap();
    assert_eq!(wrong.fields()[0].message, "port takes a whole number from 0 to 65535.");
    let id = vapp::deploy(d, admin, stage.acme.vdc("prod"), template, given("8080")).await.unwrap().vapp;
    stage.until("objects", async || stage.vms(id).await.iter().all(|v| v.made)).await;
    let environment = |name: &str| {
        let all = stage.hubs.hub("one").objects("", "secrets");
        let of = |s: &&std::sync::Arc<serde_json::Value>| {
            s["metadata"]["name"].as_str().is_some_and(|n| n.starts_with(name) && n.ends_with("-cloudinit"))
        };
        let text = all.iter().find(of).and_then(|s| s["data"]["ovf-env.xml"].as_str().map(str::to_owned)).unwrap();
        String::from_utf8(base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text).unwrap()).unwrap()
    };
    let (db, web) = (environment("db"), environment("web"));
    for (key, value) in [("shop.url", "https://shop.example/?a=1&amp;b=2"), ("shop.edition", "small")] {
        let line = format!("oe:key=\"{key}\" oe:value=\"{value}\"");
        assert!(db.contains(&line) && web.contains(&line), "{line}");
    }
    assert!(db.contains("oe:value=\"8080\"") && db.contains("oe:value=\"hunter2\""), "{db}");
    assert!(!web.contains("hunter2"), "what is asked of one is told to that one");
    let page = desk.browser.get(&format!("/tenant/acme/templates/{template}/deploy")).await.must(200);
    assert_eq!(page.field("property0.port").as_deref(), Some("80"));
    assert_eq!(page.field("property.shop.url").as_deref(), Some(""));
    page.says("shop.edition the template says it small");
}

#[tokio::test]
async fn a_part_that_breaks_off_is_kept_and_the_upload_goes_on_from_there_on_another_replica() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let desk = Desk::open(&app, &app.actor(acme.admin()).await, "acme").await;
    let bytes = shop();
    let id = desk.begin("shop", ItemKind::Template).await;
    let link = desk.get(id).await.link;
    let total = bytes.len();
    let broken = stream::iter([Ok(Bytes::from(bytes[..700].to_vec())), Err(std::io::Error::other("reset"))]);
    let answer = desk.put(&link, "shop.ova", &format!("bytes 0-1999/{total}"), Body::from_stream(broken)).await;
    answer.must(400).says("700 bytes of it are kept");
    // from the wrong place: it is said where to go on
    let other = app.replica().await;
    let elsewhere =
        Desk { app: &other, browser: other.sign_in("acme", &desk.actor.name).await, actor: desk.actor.clone(), ..desk };
    let answer = elsewhere
        .put(&link, "shop.ova", &format!("bytes 2000-2999/{total}"), bytes[2000..3000].to_vec())
        .await
        .must(416);
    assert_eq!(answer.header("upload-offset"), "700");
    let rest = bytes[700..].to_vec();
    elsewhere.put(&link, "shop.ova", &format!("bytes 700-{}/{total}", total - 1), rest).await.must(200);
    assert_eq!(elsewhere.get(id).await.state, UploadState::Checking);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_by_name() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let desk = Desk::open(&app, &app.actor(acme.admin()).await, "acme").await;
    let id = desk.begin("shop", ItemKind::Template).await;
    let link = desk.get(id).await.link;
    let small = || vec![0; 10];
    desk.put("nobody-knows-this-link", "a.ova", "bytes 0-9/100", small()).await.must(404);
    desk.put(&link, "..%2Fa.ova", "bytes 0-9/100", small()).await.must(400);
    desk.put(&link, "a.ova", "bytes 9-0/100", small()).await.must(400);
    desk.put(&link, "a.ova", &format!("bytes 0-9/{}", TestApp::AREA + 1), small())
        .await
        .must(507)
        .says("There is no room for a.ova");
    desk.put(&link, "a.ova", "bytes 0-9/100", vec![0; 20]).await.must(400);
    desk.put(&link, "a.ova", "bytes 0-9/100", small()).await.must(200);
    // another length, another file
    desk.put(&link, "a.ova", "bytes 10-19/200", small()).await.must(400);
    desk.put(&link, "b.ova", "bytes 0-9/100", small()).await.must(400);
    // cancelled: the link is of no use, and the room is free again
    upload::cancel(&app.domain, &desk.actor, id).await.unwrap();
    desk.put(&link, "a.ova", "bytes 10-19/100", small()).await.must(409);
    assert_eq!(upload::clean(&app.domain).await.unwrap(), 1);
    assert_eq!(app.domain.store.area_used().await.unwrap(), 0);
    // abandoned: the same after some days
    let late = desk.begin("late", ItemKind::Template).await;
    let link = desk.get(late).await.link;
    desk.put(&link, "a.ova", "bytes 0-9/100", small()).await.must(200);
    app.clock.advance(time::Duration::days(3));
    desk.put(&link, "a.ova", "bytes 10-19/100", small()).await.must(404);
    assert_eq!(upload::clean(&app.domain).await.unwrap(), 1);
    assert_eq!(desk.get(late).await.state, UploadState::Failed);
}

#[tokio::test]
async fn hostile_files_fail_with_their_reason_and_leave_nothing() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let cases: [(&str, ItemKind, &str, Vec<u8>, &str); 5] = [
        ("links", ItemKind::Template, "a.ova", tar(&[("../a.ovf", b"x")]), "plain file name"),
        ("missing", ItemKind::Template, "b.ova", tar(&[("shop.ovf", OVF.as_bytes())]), "it is not there"),
        ("packed", ItemKind::Template, "c.qcow2", [b"\x1f\x8b".as_slice(), &[0; 1022]].concat(), "packed with gzip"),
        ("disc", ItemKind::Template, "d.iso", iso(), "Upload it as media"),
        ("disk", ItemKind::Media, "e.qcow2", qcow2(64), "media are ISO images"),
    ];
    for (name, kind, file, bytes, why) in cases {
        let id = desk.begin(name, kind).await;
        desk.send(id, file, &bytes, 1 << 16).await;
        let upload = desk.ended(id).await;
        assert_eq!(upload.state, UploadState::Failed, "{name}");
        assert!(upload.problem.contains(why), "{name}: {}", upload.problem);
        let (status, message) = stage.task_of(upload.template.0, Action::TemplateUpload).await;
        assert!(status == TaskStatus::Error && message.contains(why), "{name}: {message}");
        // nothing can be made from it
        let ask = vapp::Deploy { name: name.into(), ..vapp::Deploy::default() };
        let deployed =
            vapp::deploy(&stage.app.domain, &stage.admin, stage.acme.vdc("prod"), upload.template, ask).await;
        assert!(matches!(deployed, Err(model::Error::NotNow(_))), "{name}");
    }
    // somebody is asked to look, until what failed is deleted
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    admin.get("/tenant/acme").await.must(200).says_not("Nothing waits for you.");
    stage.app.db.execute("update templates set deleted_at = now() where source = ''").await;
    admin.get("/tenant/acme").await.must(200).says("Nothing waits for you.");
    upload::clean(&stage.app.domain).await.unwrap();
    assert_eq!(stage.app.domain.store.area_used().await.unwrap(), 0);
}

#[tokio::test]
async fn an_item_has_versions_and_shows_the_newest_that_is_left() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let d = &stage.app.domain;
    let before = catalog::get(d, &stage.admin, desk.catalog).await.unwrap().contents;
    let template = desk.uploaded("box", ItemKind::Template, "box.qcow2", &qcow2(64)).await;
    let second = upload::begin_version(d, &stage.admin, template, "larger".into(), String::new()).await.unwrap();
    // one at a time
    assert!(upload::begin_version(d, &stage.admin, template, String::new(), String::new()).await.is_err());
    desk.send(second, "box.qcow2", &qcow2(128), 5000).await;
    assert_eq!(desk.ended(second).await.state, UploadState::Done);
    let versions = item::versions(d, &stage.admin, template).await.unwrap();
    let shown: Vec<_> = versions.iter().map(|v| (v.number, v.note.as_str(), v.vms[0].disks[0].size_mb)).collect();
    assert_eq!(shown, [(2, "larger", 128), (1, "", 64)]);
    let size = async || catalog::template(d, &stage.admin, template).await.unwrap().storage_mb();
    assert_eq!(size().await, Some(128));
    // an earlier one can be told
    let ask = vapp::Deploy { name: "old".into(), version: Some(1), ..vapp::Deploy::default() };
    let old = vapp::deploy(d, &stage.admin, stage.acme.vdc("prod"), template, ask).await.unwrap().vapp;
    assert_eq!(stage.vms(old).await[0].disks[0].size_mb, 64);
    item::delete_version(d, &stage.admin, template, 2).await.unwrap();
    assert_eq!(size().await, Some(64));
    assert!(item::delete_version(d, &stage.admin, template, 2).await.is_err());
    assert!(catalog::get(d, &stage.admin, desk.catalog).await.unwrap().contents > before + 2);
    item::delete(d, &stage.admin, template).await.unwrap();
    for (action, times) in [(Action::TemplateUpload, 2), (Action::VersionDelete, 1), (Action::TemplateDelete, 1)] {
        let (db, key) = (&stage.app.db, action.key());
        assert_eq!(db.count(&format!("audit where action = '{key}' and result = 'done'")).await, times, "{key}");
        assert_eq!(db.count(&format!("events where kind = '{key}'")).await, times, "{key}");
    }
}

#[tokio::test]
async fn a_descriptor_and_its_disks_can_be_sent_one_by_one_as_vcds_clients_do() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let id = desk.begin("loose", ItemKind::Template).await;
    desk.send(id, "descriptor.ovf", OVF.as_bytes(), 10 << 20).await;
    // what else is to come is known now
    let names: Vec<_> = desk.get(id).await.files.iter().map(|f| (f.name.clone(), f.size)).collect();
    assert_eq!(names[1], ("disk1.qcow2".to_owned(), 1024));
    assert_eq!(desk.get(id).await.state, UploadState::Open);
    desk.send(id, "disk1.qcow2", &qcow2(64), 100).await;
    let upload = desk.ended(id).await;
    assert_eq!((upload.state, upload.problem.as_str()), (UploadState::Done, ""));
}

#[tokio::test]
async fn a_form_without_any_script_sends_a_disc() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let form = async |id: UploadId, back: &str| {
        let link = desk.get(id).await.link;
        let mut body = b"--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"linux.iso\"\r\nContent-Type: application/octet-stream\r\n\r\n".to_vec();
        body.extend(iso());
        body.extend(b"\r\n--xyz--\r\n");
        let request = desk
            .browser
            .request("POST", &format!("/transfer/{link}?back={back}"))
            .header("content-type", "multipart/form-data; boundary=xyz")
            .header("content-length", body.len());
        desk.browser.send(request.body(Body::from(body)).unwrap()).await.must(303).location().to_owned()
    };
    // nobody is led to another site
    for (name, back) in [("one", "//evil.example"), ("two", "/%5Cevil.example"), ("three", "https://evil.example")] {
        assert_eq!(form(desk.begin(name, ItemKind::Media).await, back).await, "/", "{back}");
    }
    let id = desk.begin("installer", ItemKind::Media).await;
    let back = format!("/tenant/acme/uploads/{id}");
    assert_eq!(form(id, &back).await, back);
    let upload = desk.ended(id).await;
    assert_eq!((upload.state, upload.problem.as_str()), (UploadState::Done, ""));
    assert_eq!(item::versions(&stage.app.domain, &stage.admin, upload.template).await.unwrap()[0].size, 40960);
}

#[tokio::test]
async fn the_pages_lead_from_a_catalog_to_a_template_and_its_versions() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let browser = &desk.browser;
    let catalog = format!("/tenant/acme/catalogs/{}", desk.catalog);
    let upload_form = browser.get(&catalog).await.must(200).link("Upload").unwrap();
    browser.fill(&upload_form, &[("name", ""), ("kind", "template")]).await.must(422).says("A name is needed");
    let begun = browser.fill(&upload_form, &[("name", "box"), ("kind", "template")]).await;
    let page = browser.follow(begun).await.says("Waiting for the file");
    assert!(page.body.contains("multipart/form-data"));
    let id: UploadId = page.asked.rsplit('/').next().unwrap().parse().unwrap();
    // another one of that name
    browser
        .fill(&upload_form, &[("name", "Box"), ("kind", "template")])
        .await
        .must(409)
        .says("Another template of this catalog");
    let template = format!("/tenant/acme/templates/{}", desk.get(id).await.template);
    browser.get(&template).await.must(200).says("nothing is in it yet").says("Waiting for the file");

    desk.send(id, "box.qcow2", &qcow2(64), 400).await;
    desk.ended(id).await;
    browser.get(page.asked.trim_start_matches("GET ")).await.must(200).says("It is there.");
    let shown = browser.get(&template).await.must(200).says("1 · newest").says("none yet").says("Deploy");
    assert!(shown.link("Upload a new version…").is_some());
    let ask = browser.fill(&format!("{template}/upload"), &[("note", "A second one.")]).await;
    let second: UploadId = browser.follow(ask).await.asked.rsplit('/').next().unwrap().parse().unwrap();
    let cancel = format!("/tenant/acme/uploads/{second}/cancel");
    browser.fill(&cancel, &[]).await.must(303);
    browser.get(&format!("/tenant/acme/uploads/{second}")).await.must(200).says("It was cancelled.");
    browser.fill(&format!("{template}/versions/delete?number=1"), &[]).await.must(303);
    browser.get(&template).await.must(200).says("No version yet");
    browser.fill(&format!("{template}/delete"), &[]).await.must(303);
    browser.get(&template).await.must(404);
}

#[tokio::test]
async fn a_stopped_vapp_is_captured_and_deployed_again_where_its_disks_are() {
    let stage = Stage::on(&["one", "two"]).await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let d = &stage.app.domain;
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let hub = vms[0].hub.clone().unwrap();
    let page = format!("/tenant/acme/vapps/{id}/capture");
    desk.browser.get(&page).await.must(200).says("Not all its VMs are stopped");
    vapp::power(d, &stage.admin, id, Action::VappPowerOff).await.unwrap();
    let stopped = async || stage.vms(id).await.iter().all(|v| v.state() == model::vm::VmState::Stopped);
    stage.until("stopped VMs", stopped).await;

    let catalog = desk.catalog.to_string();
    stage.app.follow_changes();
    let mut changes = d.store.changes();
    let done = desk.browser.fill(&page, &[("name", "golden"), ("catalog", &catalog)]).await.must(303);
    let template: TemplateId = done.location().rsplit('/').next().unwrap().parse().unwrap();
    // open pages are told of its end, and need not ask
    let told = async {
        while stage.task_of(template.0, Action::VappCapture).await.0 != TaskStatus::Success {
            while !matches!(changes.recv().await.unwrap(), News::One(change) if change.id == Some(template.0)) {}
        }
    };
    tokio::time::timeout(Duration::from_secs(30), told).await.expect("nobody was told that the copies are there");
    let read = catalog::template(d, &stage.admin, template).await.unwrap();
    assert_eq!((read.vms.len(), vms.len()), (2, 2));
    assert!(read.vms.iter().flat_map(|v| &v.disks).all(|d| d.image.starts_with("image/")));

    // on the hub where it was captured, with disks that are copies of the copies
    let again = stage.deploy("golden", "again").await;
    let made = stage.running(again).await;
    assert!(made.iter().all(|v| v.hub.as_ref() == Some(&hub)), "{made:?}");
    item::delete(d, &stage.admin, template).await.unwrap();
    let left = || {
        let all = stage.hubs.hub(&hub.0).objects(VOLUMES.0, VOLUMES.1);
        all.iter().filter(|o| !o["metadata"]["labels"]["ssvirt.io/image-id"].is_null()).count()
    };
    stage.until("the end of the copies", async || left() == 0).await;
    assert!(made.iter().all(|v| v.made));
}

#[tokio::test]
async fn a_file_is_held_against_the_sum_that_was_given_with_its_form() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let (page, disc) = (format!("/tenant/acme/catalogs/{}/upload", desk.catalog), iso());
    let form = |name: &'static str, sum: &str| {
        vec![("name", name.to_owned()), ("kind", "media".into()), ("sha256", sum.to_owned())]
    };
    let begun = async |name: &'static str, sum: &str| {
        let form = form(name, sum);
        let form: Vec<(&str, &str)> = form.iter().map(|(k, v)| (*k, v.as_str())).collect();
        desk.browser.fill(&page, &form).await
    };
    let odd = begun("disc", "4711").await.must(422);
    assert!(odd.error_of("sha256").unwrap().contains("64 digits"), "{:?}", odd.error_of("sha256"));
    assert_eq!(odd.field("sha256").as_deref(), Some("4711"));

    let upload_of = |answer: &Answer| -> UploadId { answer.location().rsplit('/').next().unwrap().parse().unwrap() };
    // as sha256sum prints it
    let good = begun("disc", &format!("{}  disc.iso", sum(&disc).to_uppercase())).await.must(303);
    let id = upload_of(&good);
    desk.send(id, "disc.iso", &disc, 1000).await;
    let upload = desk.ended(id).await;
    assert_eq!((upload.state, upload.problem.as_str()), (UploadState::Done, ""));
    let shown = desk.browser.get(&format!("/tenant/acme/templates/{}", upload.template)).await.must(200);
    shown.says(&format!("SHA-256 {}", sum(&disc)));

    let bad = begun("other", &sum(b"something else")).await.must(303);
    let id = upload_of(&bad);
    desk.send(id, "disc.iso", &disc, 1000).await;
    let upload = desk.ended(id).await;
    assert!(
        upload.state == UploadState::Failed && upload.problem.contains("SHA-256 is not what was promised"),
        "{upload:?}"
    );
    let refused = desk.browser.get(&format!("/tenant/acme/uploads/{id}")).await.must(200);
    // its item takes the right one
    let another = format!("/tenant/acme/templates/{}/upload", upload.template);
    assert!(refused.body.contains(&another), "no way to another file");
    refused.says("It was refused.").says("SHA-256 is not").says("Upload another file");
    let id = upload_of(&desk.browser.fill(&another, &[("sha256", &sum(&disc))]).await.must(303));
    desk.send(id, "disc.iso", &disc, 1000).await;
    assert_eq!(desk.ended(id).await.state, UploadState::Done);
}

#[tokio::test]
async fn what_is_being_deployed_keeps_what_it_is_made_of_though_its_template_is_deleted() {
    for placed in [false, true] {
        let stage = Stage::set().await;
        let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
        let desk = Desk::open(&stage.app, admin, "acme").await;
        let template = desk.uploaded("box", ItemKind::Template, "box.qcow2", &qcow2(64)).await;
        stage.hubs.kill_controller();
        let (first, second) = (stage.deploy("box", "mail").await, stage.deploy("box", "never").await);
        if placed {
            db.execute("update vapps set hub_id = 'one'").await;
            db.execute("update vms set hub_id = 'one'").await;
            let image = db.text("select id::text from images").await.parse().unwrap();
            d.store.image_want(image, &"one".into(), stage.vms(first).await[0].id).await.unwrap().unwrap();
        }
        item::delete(d, admin, template).await.unwrap();
        db.execute("update upload_files set held_until = now() - interval '1 hour'").await;
        upload::clean(d).await.unwrap();
        assert!(d.store.area_used().await.unwrap() > 0, "its file is still needed");

        stage.hubs.start_controller(&stage.app);
        vapp::delete(d, admin, second).await.unwrap();
        stage.running(first).await;
        let of_template =
            |o: &std::sync::Arc<serde_json::Value>| !o["metadata"]["labels"]["ssvirt.io/image-id"].is_null();
        let there = || stage.hubs.hub("one").objects(VOLUMES.0, VOLUMES.1).iter().any(of_template);
        stage.until("the image's end", async || !there() && db.count("hub_images").await == 0).await;
        upload::clean(d).await.unwrap();
        assert_eq!(d.store.area_used().await.unwrap(), 0, "and then it goes");
        assert!(stage.vms(first).await[0].made);
    }
}

#[tokio::test]
async fn nothing_is_begun_of_a_version_that_is_deleted_in_that_moment() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let template = desk.uploaded("box", ItemKind::Template, "box.qcow2", &qcow2(64)).await;
    // after whoever deploys it has read the template
    stage.app.db.execute("update item_versions set deleted_at = now()").await;
    let ask = vapp::Deploy { name: "late".into(), ..vapp::Deploy::default() };
    let (d, prod) = (&stage.app.domain, stage.acme.vdc("prod"));
    let refused = vapp::deploy(d, &stage.admin, prod, template, ask).await.err().unwrap();
    assert!(refused.to_string().contains("was deleted meanwhile"), "{refused}");
    assert_eq!(stage.app.db.count("vapps").await, 0);
}
