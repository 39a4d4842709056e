//! What clients ask for in one request comes about as a whole, or nothing of it does.
use super::{Program, Said, cloudapi::provider, flow::Clients};
use crate::{
    harness::{TestApp, iso},
    uploads::{Desk, shop},
};
use model::{role::Predefined, template::ItemKind};

const VCLOUD: &str = "xmlns=\"http://www.vmware.com/vcloud/v1.5\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\"";

#[tokio::test]
async fn a_user_who_can_not_be_as_asked_for_is_not_made_and_a_disabled_one_never_signs_in() {
    type Body<'a> = &'a dyn Fn(&str, &str, bool) -> String;
    let app = TestApp::start().await;
    let chief = provider(&app).await;
    let org = app.org("newco").make().await.id;
    let role = Predefined::OrganizationAdministrator.id();
    // one that nobody has made an administrator yet
    app.db.execute(&format!("update users set deleted_at = now() where org_id = '{org}'")).await;
    let long = "x".repeat(3000);
    let xml = |name: &str, words: &str, enabled: bool| {
        format!(
            "<User {VCLOUD} name=\"{name}\"><Description>{words}</Description><IsEnabled>{enabled}</IsEnabled>\
             <Role href=\"http://h/api/admin/role/{role}\"/><Password>a long password 12</Password></User>"
        )
    };
    let json = |name: &str, words: &str, enabled: bool| {
        format!(
            "{{\"username\":\"{name}\",\"password\":\"a long password 12\",\"description\":\"{words}\",\"enabled\":{enabled},\
             \"orgEntityRef\":{{\"id\":\"{}\"}},\"roleEntityRefs\":[{{\"id\":\"{}\"}}]}}",
            org.urn(),
            role.urn()
        )
    };
    let door = format!("/api/admin/org/{org}/users");
    let bodies: [(&str, Body<'_>); 2] = [(&door, &xml), ("/cloudapi/1.0.0/users", &json)];
    for (n, (at, body)) in bodies.iter().enumerate() {
        let (first, second) = (format!("first-{n}"), format!("second-{n}"));
        chief.post(at, &body(&first, "none yet", false)).await.must(201);
        Program::stranger(&app).basic("newco", &first, "a long password 12").await.must(401);
        let kept = format!("users where name = '{first}' and not enabled and besides->>'description' = 'none yet'");
        assert_eq!(app.db.count(&kept).await, 1, "{at}");

        let refused = chief.post(at, &body(&second, &long, true)).await.must(400);
        assert!(refused.text.contains("2,000") || refused.text.contains("2000"), "{}", refused.text);
        assert_eq!(app.db.count(&format!("users where name = '{second}'")).await, 0, "{at}");
        chief.post(at, &body(&second, "short", true)).await.must(201);
        Program::stranger(&app).basic("newco", &second, "a long password 12").await.must(200);
        app.db.execute(&format!("update users set deleted_at = now() where org_id = '{org}'")).await;
    }
}

/// The address of its first machine.
fn vm_of(vapp: &Said) -> String {
    let at = vapp.text.find("/api/vApp/vm-").unwrap_or_else(|| panic!("no VM in {}", vapp.text));
    vapp.text[at..at + 13 + 36].to_owned()
}

fn media(verb: &str, disc: impl std::fmt::Display) -> (String, String) {
    let body = format!(
        "<MediaInsertOrEjectParams {VCLOUD}><Media href=\"http://x/api/media/{disc}\"/></MediaInsertOrEjectParams>"
    );
    (format!("/media/action/{verb}Media"), body)
}

#[tokio::test]
async fn a_catalog_goes_with_all_its_items_or_stays_with_all_of_them() {
    let c = Clients::set().await;
    let vm = vm_of(&c.admin.get(&c.instantiate("one", "ubuntu-24.04").await).await.must(200));
    let desk = Desk::open(&c.stage.app, &c.stage.admin, "acme").await;
    desk.uploaded("a-template", ItemKind::Template, "shop.ova", &shop()).await;
    let disc = desk.uploaded("tools", ItemKind::Media, "tools.iso", &iso()).await;
    desk.uploaded("zebra", ItemKind::Template, "shop.ova", &shop()).await;
    let (insert, body) = media("insert", disc);
    c.act(&format!("{vm}{insert}"), &body).await;

    let at = format!("/api/admin/catalog/{}", desk.catalog);
    let refused = c.admin.delete(&format!("{at}?recursive=true&force=true")).await.must(400);
    assert!(refused.text.contains("tools") && refused.text.contains("ubuntu-24.04"), "{}", refused.text);
    let whole = c.admin.get(&at).await.must(200);
    assert_eq!(whole.text.matches("<CatalogItem ").count(), 3, "{}", whole.text);

    let (eject, body) = media("eject", disc);
    c.act(&format!("{vm}{eject}"), &body).await;
    // the disc is in use until the VM starts anew
    c.act(&format!("{vm}/action/undeploy"), "").await;
    c.stage
        .until("the disc to be out", async || {
            c.stage.app.db.count("disks where media_id is not null and gone_at is null").await == 0
        })
        .await;
    let gone = c.admin.delete(&format!("{at}?recursive=true&force=true")).await.must(202);
    c.succeeded(gone).await;
    c.admin.get(&at).await.must(403);
    assert_eq!(c.stage.app.db.count("audit where action = 'template.delete'").await, 3);
}

#[tokio::test]
async fn an_organization_whose_disc_is_in_a_vm_of_another_keeps_everything() {
    let c = Clients::set().await;
    let chief = provider(&c.stage.app).await;
    let beta = c.stage.app.org("beta").vdc("lab").make().await;
    let other = c.stage.app.actor(beta.admin()).await;
    let desk = Desk::open(&c.stage.app, &other, "beta").await;
    let disc = desk.uploaded("tools", ItemKind::Media, "tools.iso", &iso()).await;
    let share = format!("<PublishCatalogParams {VCLOUD}><IsPublished>true</IsPublished></PublishCatalogParams>");
    chief.post(&format!("/api/admin/catalog/{}/action/publish", desk.catalog), &share).await.must(204);
    let vm = vm_of(&c.admin.get(&c.instantiate("one", "ubuntu-24.04").await).await.must(200));
    let (insert, body) = media("insert", disc);
    c.act(&format!("{vm}{insert}"), &body).await;

    let refused = chief.delete(&format!("/api/admin/org/{}?recursive=true&force=true", beta.id)).await.must(400);
    assert!(refused.text.contains("tools") && refused.text.contains("another organization"), "{}", refused.text);
    assert_eq!(c.stage.app.db.count("organizations where name = 'beta' and enabled").await, 1);
    chief.get(&format!("/api/vdc/{}", beta.vdc("lab"))).await.must(200);
    chief.get(&format!("/api/catalog/{}", desk.catalog)).await.must(200);
}

/// An isolated network of the vApp's own, as clients describe it.
fn network(name: &str, range: &str) -> String {
    format!(
        "<NetworkConfig networkName=\"{name}\"><Configuration><IpScopes><IpScope><IsInherited>false</IsInherited><Gateway>10.9.0.1</Gateway>\
         <Netmask>255.255.255.0</Netmask><IpRanges><IpRange>{range}</IpRange></IpRanges></IpScope></IpScopes>\
         <FenceMode>isolated</FenceMode></Configuration></NetworkConfig>"
    )
}

const RANGE: &str = "<StartAddress>10.9.0.10</StartAddress><EndAddress>10.9.0.20</EndAddress>";

fn networks(of: &str) -> String {
    format!("<InstantiationParams><NetworkConfigSection><ovf:Info/>{of}</NetworkConfigSection></InstantiationParams>")
}

fn card(network: &str) -> String {
    format!(
        "<NetworkConnectionSection><ovf:Info/><PrimaryNetworkConnectionIndex>0</PrimaryNetworkConnectionIndex><NetworkConnection network=\"{network}\">\
         <NetworkConnectionIndex>0</NetworkConnectionIndex><IsConnected>true</IsConnected><IpAddressAllocationMode>POOL</IpAddressAllocationMode>\
         </NetworkConnection></NetworkConnectionSection>"
    )
}

#[tokio::test]
async fn a_network_of_the_vapps_own_and_a_card_on_it_are_made_in_one_request() {
    let c = Clients::set().await;
    let template = c.template("ubuntu-24.04").await;
    let inside = c.admin.get(&template).await.must(200);
    let at = inside.text.find("/api/vAppTemplate/vm-").unwrap();
    let source = format!("http://x{}", &inside.text[at..at + 21 + 36]);
    let machine = |name: &str, network: &str| {
        format!(
            "<SourcedItem><Source href=\"{source}\" name=\"{name}\"/><VmGeneralParams><Name>{name}</Name></VmGeneralParams>\
             <InstantiationParams>{}</InstantiationParams></SourcedItem>",
            card(network)
        )
    };
    let spec = "<VmSpecSection Modified=\"true\"><NumCpus>1</NumCpus><MemoryResourceMb><Configured>512</Configured></MemoryResourceMb></VmSpecSection>";
    let blank = |name: &str, network: &str| format!("<CreateItem name=\"{name}\">{}{spec}</CreateItem>", card(network));
    let on = async |href: &str, wanted: &[(&str, &str)]| {
        let vapp = c.admin.get(href).await.must(200);
        for (name, network) in wanted {
            let one = vapp.text.split("<Vm ").find(|m| m.contains(&format!("name=\"{name}\""))).expect("a machine");
            assert!(one.contains(&format!("<NetworkConnection network=\"{network}\"")), "{one}");
            assert!(one.contains("<IpAddress>10.9.0.1"), "{one}");
        }
        for (_, network) in wanted {
            assert!(vapp.text.contains(&format!("<NetworkConfig networkName=\"{network}\"")), "{}", vapp.text);
        }
    };

    let instantiate = format!("{}/action/instantiateVAppTemplate", c.vdc());
    let body = |name: &str, range: &str| {
        format!(
            "<InstantiateVAppTemplateParams {VCLOUD} name=\"{name}\" deploy=\"true\" powerOn=\"true\">{}<Source href=\"{template}\"/>{}</InstantiateVAppTemplateParams>",
            networks(&network("inner", range)),
            machine("one", "inner")
        )
    };
    let made = c.act_made(&instantiate, &body("instantiated", RANGE)).await;
    on(&made.attr("href"), &[("one", "inner")]).await;

    let compose = format!("{}/action/composeVApp", c.vdc());
    let body_of = |name: &str, range: &str| {
        format!(
            "<ComposeVAppParams {VCLOUD} name=\"{name}\">{}{}{}</ComposeVAppParams>",
            networks(&network("inner", range)),
            machine("one", "inner"),
            blank("two", "inner")
        )
    };
    let made = c.act_made(&compose, &body_of("composed", RANGE)).await;
    let href = made.attr("href");
    on(&href, &[("one", "inner"), ("two", "inner")]).await;

    let recompose = |range: &str| {
        format!(
            "<RecomposeVAppParams {VCLOUD}>{}{}{}</RecomposeVAppParams>",
            networks(&network("second", range)),
            machine("three", "second"),
            blank("four", "inner")
        )
    };
    c.act(&format!("{href}/action/recomposeVApp"), &recompose(RANGE)).await;
    on(&href, &[("one", "inner"), ("three", "second"), ("four", "inner")]).await;

    // what can't be is no vApp and no network
    let odd = "<StartAddress>192.168.1.1</StartAddress><EndAddress>192.168.1.9</EndAddress>";
    c.admin.post(&instantiate, &body("left", odd)).await.must(400);
    c.admin.post(&compose, &body_of("left", odd)).await.must(400);
    assert_eq!(c.stage.app.db.count("vapps where name = 'left'").await, 0);
    let (vms, networks) = (c.stage.app.db.count("vms").await, c.stage.app.db.count("networks").await);
    c.admin.post(&format!("{href}/action/recomposeVApp"), &recompose(odd)).await.must(400);
    // a network that is good, and a machine that is not
    let taken = recompose(RANGE).replace("second", "third").replace("<NumCpus>1<", "<NumCpus>100000<");
    let said = c.admin.post(&format!("{href}/action/recomposeVApp"), &taken).await;
    assert!(said.status.is_client_error(), "{} {}", said.status, said.text);
    assert_eq!((c.stage.app.db.count("vms").await, c.stage.app.db.count("networks").await), (vms, networks));
}
