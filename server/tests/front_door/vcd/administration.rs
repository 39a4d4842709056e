//! Organizations and VDCs, made, changed and deleted by the provider's clients.
use super::{Program, Said, cloudapi::provider};
use crate::stage::Stage;
use std::time::Duration;

const NS: &str = "xmlns=\"http://www.vmware.com/vcloud/v1.5\"";

fn text<'a>(said: &'a Said, element: &str) -> &'a str {
    let (_, rest) = said.text.split_once(&format!("<{element}>")).unwrap_or_else(|| panic!("{element}: {}", said.text));
    &rest[..rest.find('<').unwrap()]
}

async fn succeeded(who: &Program, said: &Said) {
    let at = said.text.find("/api/task/").expect("a task");
    let href = said.text[at..at + 46].to_owned();
    for _ in 0..120 {
        match who.get(&href).await.must(200).attr("status").as_str() {
            "queued" | "running" => tokio::time::sleep(Duration::from_millis(50)).await,
            status => return assert_eq!(status, "success"),
        }
    }
    panic!("{href} does not end");
}

/// The addresses of the only provider VDC and of a storage policy.
async fn parts(who: &Program) -> (String, String) {
    let vdc = who.get("/api/query?type=providerVdc").await.must(200);
    let profile = who.get("/api/query?type=providerVdcStorageProfile").await.must(200);
    let href = |said: &Said, path: &str| {
        let at = said.text.find(path).unwrap_or_else(|| panic!("{}", said.text));
        said.text[at..at + path.len() + 36].to_owned()
    };
    (href(&vdc, "/api/admin/providervdc/"), href(&profile, "/api/admin/pvdcStorageProfile/"))
}

#[tokio::test]
async fn an_organization_and_its_vdc_are_found_again_as_they_were_made_and_go_with_all_in_them() {
    let stage = Stage::set().await;
    let root = provider(&stage.app).await;
    let body = format!(
        "<AdminOrg {NS} name=\"globex\"><Description>d</Description><FullName>Globex</FullName><IsEnabled>true</IsEnabled><Settings>\
         <OrgGeneralSettings><CanPublishCatalogs>true</CanPublishCatalogs><DeployedVMQuota>7</DeployedVMQuota></OrgGeneralSettings>\
         <VAppLeaseSettings><DeploymentLeaseSeconds>7200</DeploymentLeaseSeconds><StorageLeaseSeconds>0</StorageLeaseSeconds>\
         <PowerOffOnRuntimeLeaseExpiration>true</PowerOffOnRuntimeLeaseExpiration></VAppLeaseSettings></Settings></AdminOrg>"
    );
    let org = root.post("/api/admin/orgs", &body).await.must(201).attr("href");
    let found = root.get(&org).await.must(200);
    for (element, wanted) in [
        ("FullName", "Globex"),
        ("CanPublishCatalogs", "true"),
        ("DeployedVMQuota", "7"),
        ("StoredVmQuota", "0"),
        ("DeploymentLeaseSeconds", "7200"),
        ("PowerOffOnRuntimeLeaseExpiration", "true"),
        ("OrgLdapMode", "NONE"),
    ] {
        assert_eq!(text(&found, element), wanted);
    }
    // what is sent back as it was read changes nothing, not even the version
    let version = stage.app.db.text("select version::text from organizations where name = 'globex'").await;
    root.put(&org, &found.text).await.must(200);
    assert_eq!(stage.app.db.text("select version::text from organizations where name = 'globex'").await, version);

    let (pvdc, profile) = parts(&root).await;
    let vdc = |name: &str, cpu: &str| {
        format!(
            "<CreateVdcParams {NS} name=\"{name}\"><AllocationModel>AllocationVApp</AllocationModel><ComputeCapacity>\
             <Cpu><Units>MHz</Units><Allocated>0</Allocated><Limit>{cpu}</Limit></Cpu>\
             <Memory><Units>MB</Units><Allocated>0</Allocated><Limit>8192</Limit></Memory></ComputeCapacity>\
             <NetworkQuota>5</NetworkQuota><VmQuota>3</VmQuota><IsEnabled>true</IsEnabled><VdcStorageProfile><Enabled>true</Enabled>\
             <Units>MB</Units><Limit>10240</Limit><Default>true</Default><ProviderVdcStorageProfile href=\"{profile}\"/></VdcStorageProfile>\
             <ProviderVdcReference href=\"{pvdc}\"/></CreateVdcParams>"
        )
    };
    let params = format!("{org}/vdcsparams");
    let made = root.post(&params, &vdc("lab", "4000")).await.must(201);
    assert!(made.text.contains("<Tasks>"), "{}", made.text);
    succeeded(&root, &made).await;
    let href = made.attr("href");
    let found = root.get(&href).await.must(200);
    assert_eq!((text(&found, "NetworkQuota"), text(&found, "VmQuota")), ("5", "3"));
    assert!(found.text.contains("<Units>MHz</Units><Allocated>0</Allocated><Limit>4000</Limit>"), "{}", found.text);
    assert!(root.get(&org).await.must(200).text.contains("name=\"lab\""));
    let taken = root.post(&params, &vdc("lab", "4000")).await.must(400);
    assert!(taken.text.contains("DUPLICATE_NAME"), "{}", taken.text);
    root.post(&params, &vdc("other", "many")).await.must(400);
    let again = root.put(&href, &found.text.replace("<VmQuota>3<", "<VmQuota>5<")).await.must(202);
    succeeded(&root, &again).await;
    assert_eq!(text(&root.get(&href).await.must(200), "VmQuota"), "5");

    for _ in 0..2 {
        root.post(&format!("{href}/action/disable"), "").await.must(204);
    }
    assert_eq!(text(&root.get(&href).await.must(200), "IsEnabled"), "false");
    let refused = root.delete(&format!("{org}?force=False&recursive=False")).await.must(400);
    assert!(refused.text.contains("Disable it first"), "{}", refused.text);
    let gone = root.delete(&format!("{org}?force=True&recursive=True")).await.must(202);
    succeeded(&root, &gone).await;
    root.get(&org).await.must(403);
}

#[tokio::test]
async fn a_vdc_goes_with_what_runs_in_it_only_when_that_is_said() {
    let stage = Stage::set().await;
    let shop = stage.deploy("web-and-db", "shop").await;
    stage.running(shop).await;
    let root = provider(&stage.app).await;
    let href = format!("/api/vdc/{}", stage.acme.vdc("prod"));
    let why = root.delete(&href).await.must(400);
    assert!(why.text.contains("VMs. Delete them first"), "{}", why.text);
    let why = root.delete(&format!("{href}?recursive=true")).await.must(400);
    assert!(why.text.contains("shop is running"), "{}", why.text);
    let gone = root.delete(&format!("{href}?recursive=true&force=true")).await.must(202);
    succeeded(&root, &gone).await;
    root.get(&href).await.must(403);
}

#[tokio::test]
async fn a_vdc_that_takes_long_to_empty_is_answered_in_time_and_goes_when_it_is_asked_for_again() {
    let stage = Stage::set().await;
    let shop = stage.deploy("rhel-9", "shop").await;
    stage.running(shop).await;
    let root = provider(&stage.app).await;
    let href = format!("/api/vdc/{}?recursive=true&force=true", stage.acme.vdc("prod"));
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, true);
    let begun = std::time::Instant::now();
    let why = root.delete(&href).await.must(400);
    assert!(begun.elapsed().as_secs() < 28, "{:?}", begun.elapsed());
    assert!(
        why.text.contains("shop is still being deleted, and its task goes on. Ask for the same again"),
        "{}",
        why.text
    );
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, false);
    stage.until("its end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
    let gone = root.delete(&href).await.must(202);
    succeeded(&root, &gone).await;
}

#[tokio::test]
async fn an_administrator_of_a_tenant_sees_the_settings_and_changes_what_is_the_organizations_own() {
    let stage = Stage::set().await;
    let admin = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
    let org = format!("/api/admin/org/{}", stage.admin.org);
    let lease = format!("{org}/settings/vAppLeaseSettings");
    let found = admin.get(&lease).await.must(200);
    let changed = found.text.replace("<StorageLeaseSeconds>0<", "<StorageLeaseSeconds>864000<");
    assert_eq!(text(&admin.put(&lease, &changed).await.must(200), "StorageLeaseSeconds"), "864000");
    let general = admin.get(&format!("{org}/settings/general")).await.must(200);
    let more = general.text.replace("<CanSubscribe>false<", "<CanSubscribe>true<");
    admin.put(&format!("{org}/settings/general"), &more).await.must(403);
    admin.post(&format!("{org}/action/disable"), "").await.must(403);
    admin.delete(&format!("{org}?force=true&recursive=true")).await.must(403);
    admin.post("/api/admin/orgs", &format!("<AdminOrg {NS} name=\"mine\"/>")).await.must(403);
    // every organization has every right that is for tenants
    let rights = admin.get(&format!("{org}/rights")).await.must(200);
    assert!(rights.text.contains("name=\"vApp: Copy\""), "{}", rights.text);
    let root = provider(&stage.app).await;
    root.put(&format!("{org}/rights"), &rights.text).await.must(200);
    let refused = root.put(&format!("{org}/rights"), &format!("<OrgRights {NS}/>")).await.must(400);
    assert!(refused.text.contains("Take it from roles instead"), "{}", refused.text);
}
