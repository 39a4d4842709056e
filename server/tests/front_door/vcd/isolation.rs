//! Every route of the VCD API, tried by strangers, other tenants and lesser roles, with foreign, missing and malformed ids, in
//! addresses and in bodies. The routes come from the router; one whose ids the table does not know fails.
use super::Program;
use crate::matrix::world::World;
use model::Kind;
use server::vcd_routes;
use std::collections::BTreeSet;
use vcd::RouteInfo;

/// Every address that is served: its path, whose the `{id}` in it is (`-`: nothing of an organization, so the same for everybody), and its
/// methods. One that is not here fails.
const ROWS: &str = include_str!("isolation_rows.txt");

/// Bodies that would be taken, by the end of an address: without them nobody would come as far as the id.
#[rustfmt::skip]
const BODIES: &[(&str, &str)] = &[
    ("action/instantiateVAppTemplate", "<InstantiateVAppTemplateParams name=\"x\"><Source href=\"http://h/api/vAppTemplate/vappTemplate-{other}\"/></InstantiateVAppTemplateParams>"),
    ("action/composeVApp", "<ComposeVAppParams name=\"smuggled\"/>"),
    ("action/cloneVApp", "<CloneVAppParams name=\"x\"><Source href=\"http://h/api/vApp/vapp-{other}\"/></CloneVAppParams>"),
    ("action/recomposeVApp", "<RecomposeVAppParams name=\"renamed\"/>"),
    ("/vms", "<RecomposeVAppParams name=\"renamed\"/>"),
    ("action/reconfigureVm", "<Vm name=\"renamed\"/>"),
    ("/controlAccess", "<ControlAccessParams><IsSharedToEveryone>true</IsSharedToEveryone><EveryoneAccessLevel>FullControl</EveryoneAccessLevel></ControlAccessParams>"),
    ("/owner", "<Owner><User href=\"http://h/api/admin/user/{other}\"/></Owner>"),
    ("/metadata", "<Metadata><MetadataEntry><Key>k</Key><TypedValue xsi:type=\"MetadataStringValue\"><Value>v</Value></TypedValue></MetadataEntry></Metadata>"),
    ("/metadata/{domain}/{key}", "<MetadataValue><TypedValue xsi:type=\"MetadataStringValue\"><Value>v</Value></TypedValue></MetadataValue>"),
    ("/groups", "<Group name=\"x\"/>"),
    ("/metadata/{key}", "<MetadataValue><TypedValue xsi:type=\"MetadataStringValue\"><Value>v</Value></TypedValue></MetadataValue>"),
    ("/leaseSettingsSection", "<LeaseSettingsSection><StorageLeaseInSeconds>99999</StorageLeaseInSeconds></LeaseSettingsSection>"),
    ("/networkConfigSection", "<NetworkConfigSection/>"),
    ("/startupSection", "<ovf:StartupSection/>"),
    ("/productSections", "<ProductSectionList/>"),
    ("/networkConnectionSection", "<NetworkConnectionSection/>"),
    ("/guestCustomizationSection", "<GuestCustomizationSection><Enabled>false</Enabled></GuestCustomizationSection>"),
    ("/virtualHardwareSection/cpu", "<Item><rasd:VirtualQuantity>7</rasd:VirtualQuantity></Item>"),
    ("/virtualHardwareSection/memory", "<Item><rasd:VirtualQuantity>7777</rasd:VirtualQuantity></Item>"),
    ("/virtualHardwareSection/disks", "<RasdItemsList/>"),
    ("/virtualHardwareSection/networkCards", "<RasdItemsList/>"),
    ("/virtualHardwareSection", "<ovf:VirtualHardwareSection/>"),
    ("/vmCapabilities", "<VmCapabilities><CpuHotAddEnabled>true</CpuHotAddEnabled></VmCapabilities>"),
    ("/bootOptions", "<BootOptions><BootDelay>5</BootDelay></BootOptions>"),
    ("/operatingSystemSection", "<ovf:OperatingSystemSection vmw:osType=\"ubuntu64Guest\"/>"),
    ("disk/action/attach", "<DiskAttachOrDetachParams><Disk href=\"http://h/api/disk/{other}\"/></DiskAttachOrDetachParams>"),
    ("disk/action/detach", "<DiskAttachOrDetachParams><Disk href=\"http://h/api/disk/{other}\"/></DiskAttachOrDetachParams>"),
    ("action/insertMedia", "<MediaInsertOrEjectParams><Media href=\"http://h/api/media/{other}\"/></MediaInsertOrEjectParams>"),
    ("action/ejectMedia", "<MediaInsertOrEjectParams><Media href=\"http://h/api/media/{other}\"/></MediaInsertOrEjectParams>"),
    ("/catalogs", "<AdminCatalog name=\"smuggled\"/>"),
    ("/disk", "<DiskCreateParams><Disk name=\"smuggled\" sizeMb=\"64\"><StorageProfile name=\"standard\"/></Disk></DiskCreateParams>"),
    ("action/upload", "<UploadVAppTemplateParams name=\"smuggled\"/>"),
    ("action/captureVApp", "<CaptureVAppParams name=\"smuggled\"><Source href=\"http://h/api/vApp/vapp-{other}\"/></CaptureVAppParams>"),
    ("/vApp/vapp-{id}", "<VApp name=\"renamed\"/>"),
    ("/vApp/vm-{id}", "<Vm name=\"renamed\"/>"),
    ("/disk/{id}", "<Disk name=\"renamed\" sizeMb=\"9999\"/>"),
    ("/admin/catalog/{id}", "<AdminCatalog name=\"renamed\"/>"),
    ("/admin/user/{id}", "<User name=\"renamed\"><FullName>x</FullName></User>"),
    ("/admin/vdc/{id}", "<AdminVdc name=\"renamed\"/>"),
    ("/admin/org/{id}", "<AdminOrg name=\"renamed\"><FullName>x</FullName><IsEnabled>true</IsEnabled></AdminOrg>"),
    ("/network/{id}", "<OrgVdcNetwork name=\"renamed\"/>"),
    ("/catalogItem/{id}", "<CatalogItem name=\"renamed\"/>"),
    ("/vAppTemplate/vappTemplate-{id}", "<VAppTemplate name=\"renamed\"/>"),
    ("/media/{id}", "<Media name=\"renamed\"/>"),
    ("/task/{id}", "<Task status=\"aborted\"/>"),
    ("/vmAffinityRules", "<VmAffinityRule><Name>smuggled</Name><IsEnabled>true</IsEnabled><Polarity>Affinity</Polarity><VmReferences/></VmAffinityRule>"),
    ("/vmAffinityRule/{id}", "<VmAffinityRule><Name>renamed</Name><IsEnabled>true</IsEnabled><Polarity>Affinity</Polarity><VmReferences/></VmAffinityRule>"),
    ("action/createVm", "<CreateVmParams name=\"smuggled\"><CreateVm><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection></CreateVm></CreateVmParams>"),
    ("action/instantiateVmFromTemplate", "<InstantiateVmTemplateParams name=\"x\"><SourcedVmTemplateItem><Source href=\"http://h/api/vAppTemplate/vm-{other}\"/></SourcedVmTemplateItem></InstantiateVmTemplateParams>"),
    ("action/controlAccess", "<ControlAccessParams><IsSharedToEveryone>true</IsSharedToEveryone><EveryoneAccessLevel>FullControl</EveryoneAccessLevel></ControlAccessParams>"),
    ("/catalogItems", "<CatalogItem name=\"x\"/>"),
    ("action/publish", "<PublishCatalogParams><IsPublished>true</IsPublished></PublishCatalogParams>"),
    ("action/publishToExternalOrganizations", "<PublishExternalCatalogParams/>"),
    ("/action/bootOptions", "<BootOptions><BootDelay>5</BootDelay></BootOptions>"),
    ("/users", "<User name=\"smuggled\"><Password>a long password 12</Password><IsEnabled>true</IsEnabled><Role href=\"http://h/api/admin/role/{other}\"/></User>"),
    ("/roles", "<Role name=\"smuggled\"><RightReferences/></Role>"),
    ("/rights", "<OrgRights/>"),
    ("/settings/general", "<OrgGeneralSettings/>"),
    ("/settings/ldap", "<OrgLdapSettings><OrgLdapMode>NONE</OrgLdapMode></OrgLdapSettings>"),
    ("/settings/vAppLeaseSettings", "<VAppLeaseSettings/>"),
    ("/settings/vAppTemplateLeaseSettings", "<VAppTemplateLeaseSettings/>"),
    ("/vdcsparams", "<CreateVdcParams name=\"smuggled\"/>"),
    ("/computePolicies", "<VdcComputePolicyReferences/>"),
    ("/vdcStorageProfiles", "<UpdateVdcStorageProfiles/>"),
    ("/vdcStorageProfile/{id}", "<AdminVdcStorageProfile name=\"x\"/>"),
    ("/admin/vdc/{id}/networks", "<OrgVdcNetwork name=\"smuggled\"><Configuration><IpScopes><IpScope><Gateway>10.1.1.1</Gateway><Netmask>255.255.255.0</Netmask></IpScope></IpScopes><FenceMode>isolated</FenceMode></Configuration></OrgVdcNetwork>"),
    ("/admin/role/{id}", "<Role name=\"renamed\"><RightReferences/></Role>"),
];

/// The same in JSON.
#[rustfmt::skip]
const JSON: &[(&str, &str)] = &[
    ("", r#"{"name":"renamed","tags":["x"]}"#),
    ("/rights", r#"{"values":[]}"#),
    ("/orgVdcNetworks/{id}", r#"{"name":"renamed","networkType":"ISOLATED","subnets":{"values":[{"gateway":"10.1.1.1","prefixLength":24,"ipRanges":{"values":[]}}]}}"#),
    ("/dhcp", r#"{"enabled":true,"mode":"NETWORK"}"#),
    ("/users/{id}", r#"{"username":"renamed","roleEntityRefs":[{"name":"vApp User"}]}"#),
    ("/networkProfile", "{}"),
];

/// What the `{id}` of an address is; None: nothing of an organization.
fn whose(path: &str) -> Result<Option<&'static str>, String> {
    let line = ROWS.lines().find(|line| line.split(' ').next() == Some(path));
    let whose = line.and_then(|line| line.split(' ').nth(1)).ok_or_else(|| format!("{path} has no line"))?;
    Ok(Some(whose).filter(|w| *w != "-"))
}

/// None: it is a thing within another one, and has no kind of its own.
fn kind_of(whose: &str) -> Option<Kind> {
    match whose {
        "template" => Some(Kind::Template),
        "rule" => Some(Kind::AffinityRule),
        "size" => Some(Kind::SizingPolicy),
        "audit" | "entity" => None,
        other => Kind::parse(other),
    }
}

/// The id behind the first of these words.
fn after(text: &str, words: &str) -> String {
    let at = text.find(words).unwrap_or_else(|| panic!("no {words} in {text}")) + words.len();
    text[at..at + 36].to_owned()
}

/// One of the other organization.
async fn foreign(world: &World, whose: &str) -> String {
    let provider = async || Program::sign_in(&world.app, "System", "administrator").await;
    match whose {
        "profile" => {
            let vdc = provider().await.get(&format!("/api/vdc/{}", world.foreign(Kind::Vdc).await)).await.must(200);
            after(&vdc.text, "/api/vdcStorageProfile/")
        }
        "template-vm" => {
            let at = format!("/api/vAppTemplate/vappTemplate-{}", world.foreign(Kind::Template).await);
            after(&provider().await.get(&at).await.must(200).text, "/api/vAppTemplate/vm-")
        }
        "entity" => format!("urn:vcloud:vapp:{}", world.foreign(Kind::Vapp).await),
        "token" => {
            let name = world.app.actor(world.zebra.admin()).await.name;
            let other = Program::sign_in(&world.app, "zebra", &name).await;
            let made = other.post("/oauth/tenant/zebra/register", r#"{"client_name":"script"}"#).await.must(200);
            made.json()["client_id"].as_str().unwrap().to_owned()
        }
        "audit" => {
            world.app.db.text(&format!("select id::text from audit where org_id = '{}' limit 1", world.zebra.id)).await
        }
        other => world.foreign(kind_of(other).unwrap_or_else(|| panic!("{other} is nothing that is known"))).await,
    }
}

fn missing(whose: &str) -> String {
    if whose == "entity" { format!("urn:vcloud:vapp:{MISSING}") } else { MISSING.to_owned() }
}

fn body_of(route: &RouteInfo, other: &str) -> String {
    if matches!(route.method.as_str(), "GET" | "DELETE") {
        return String::new();
    }
    let bodies = if route.path.starts_with("/cloudapi") { JSON } else { BODIES };
    let found = bodies.iter().filter(|(end, _)| route.path.ends_with(end)).max_by_key(|(end, _)| end.len());
    found.map(|(_, body)| body.replace("{other}", other)).unwrap_or_default()
}

fn filled(path: &str, id: &str) -> String {
    let mut out = path.replace("{id}", id).replace("{domain}", "GENERAL");
    while let (Some(a), Some(b)) = (out.find('{'), out.find('}')) {
        out.replace_range(a..=b, "x");
    }
    out
}

fn routes(world: &World) -> Vec<RouteInfo> {
    vcd_routes(&world.app.state)
}

const MISSING: &str = "01900000-0000-7000-8000-0000deadbeef";
const MALFORMED: [&str; 4] = ["not-an-id", "urn:vcloud:bogus:1", "%2e%2e", "01900000-0000-7000-8000-0000DEADBEEF0"];

#[tokio::test]
async fn every_route_is_known_here_and_no_stranger_gets_in() {
    let world = World::new().await;
    let mut wrong: BTreeSet<String> = BTreeSet::new();
    let (nobody, liar) = (Program::stranger(&world.app), Program::stranger(&world.app));
    let rows: BTreeSet<String> = ROWS
        .lines()
        .flat_map(|line| {
            let mut words = line.split(' ');
            let path = words.next().unwrap_or_default();
            words.skip(1).map(move |method| format!("{method} {path}"))
        })
        .collect();
    let served: BTreeSet<String> = routes(&world).iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    wrong.extend(served.difference(&rows).map(|route| format!("{route} has no row in isolation_rows.txt")));
    wrong.extend(rows.difference(&served).map(|route| format!("{route} is not served any more")));
    for route in routes(&world) {
        if route.open {
            continue;
        }
        let path = filled(route.path, MISSING);
        let said = nobody.call(route.method.as_str(), &path, &body_of(&route, MISSING)).await;
        if said.status != 401 {
            wrong.insert(format!("{} {}: a stranger got {}", route.method, route.path, said.status));
        }
        let said = liar.send(route.method.as_str(), &path, "", &[("authorization", "Bearer a.b.c")]).await;
        if said.status != 401 {
            wrong.insert(format!("{} {}: a made-up token got {}", route.method, route.path, said.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn what_is_another_tenants_is_answered_like_what_is_not_there() {
    let world = World::new().await;
    let untouched = world.zebra_rows().await;
    let mut wrong = Vec::new();
    for user in ["an-admin", "a-user", "a-console"] {
        let program = Program::sign_in(&world.app, "acme", user).await;
        for route in routes(&world).into_iter().filter(|r| !r.open && r.path.contains("{id}")) {
            let Ok(Some(whose)) = whose(route.path) else { continue };
            let (foreign, missing) = (foreign(&world, whose).await, missing(whose));
            let mut said = Vec::new();
            for id in [foreign.as_str(), missing.as_str()] {
                let body = body_of(&route, id);
                let one = program.call(route.method.as_str(), &filled(route.path, id), &body).await;
                if one.status.is_success() || one.status.is_server_error() {
                    wrong
                        .push(format!("{user} {} {} with {id}: {} {}", route.method, route.path, one.status, one.text));
                }
                if one.text.to_lowercase().contains("zebra") {
                    wrong.push(format!("{user} {} {} shows what is another's: {}", route.method, route.path, one.text));
                }
                said.push((one.status, one.text.replace(id, "ID")));
            }
            if said[0] != said[1] {
                wrong.push(format!("{user} {} {}: {said:?}", route.method, route.path));
            }
            // the same as a URN
            if route.path.starts_with("/cloudapi")
                && let Some(kind) = kind_of(whose)
            {
                let urn = format!("urn:vcloud:{}:{foreign}", kind.key());
                let one =
                    program.call(route.method.as_str(), &filled(route.path, &urn), &body_of(&route, MISSING)).await;
                if one.status.is_success() || one.status.is_server_error() {
                    wrong.push(format!(
                        "{user} {} {} with its URN: {} {}",
                        route.method, route.path, one.status, one.text
                    ));
                }
            }
        }
    }
    if world.zebra_rows().await != untouched {
        wrong.push("something of another organization was changed".into());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn malformed_ids_and_bodies_are_the_clients_mistakes() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    for (org, user) in [("System", "administrator"), ("acme", "an-admin")] {
        let program = Program::sign_in(&world.app, org, user).await;
        for route in routes(&world).into_iter().filter(|r| !r.path.contains("session")) {
            let mut tries: Vec<(String, String)> = Vec::new();
            if route.path.contains("{id}") {
                tries.extend(MALFORMED.map(|id| (filled(route.path, id), body_of(&route, MISSING))));
            }
            if !matches!(route.method.as_str(), "GET" | "DELETE") {
                let path = filled(route.path, MISSING);
                for body in ["", "<", "<Bogus/>", "{", "[]", "null", "{\"name\": 5}", "<!DOCTYPE x><x/>", "\u{0}"] {
                    tries.push((path.clone(), body.to_owned()));
                }
            }
            for (path, body) in tries {
                let said = program.call(route.method.as_str(), &path, &body).await;
                let json = path.starts_with("/cloudapi") || path.starts_with("/oauth");
                let readable = match json {
                    true => serde_json::from_str::<serde_json::Value>(&said.text).is_ok(),
                    false => said.text.contains("<Error "),
                };
                if said.status.is_server_error() || (said.status.is_client_error() && !readable) {
                    wrong.push(format!("{user} {} {path} with {body:?}: {} {}", route.method, said.status, said.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ids of others in bodies: where they are sent, whose `{other}` is, and the body.
#[rustfmt::skip]
const IN_BODIES: &[(&str, &str, &str)] = &[
    ("POST /api/vdc/{vdc}/action/instantiateVAppTemplate", "template", "<InstantiateVAppTemplateParams name=\"x\"><Source href=\"http://h/api/vAppTemplate/vappTemplate-{other}\"/></InstantiateVAppTemplateParams>"),
    ("POST /api/vdc/{vdc}/action/instantiateVmFromTemplate", "template-vm", "<InstantiateVmTemplateParams name=\"x\"><SourcedVmTemplateItem><Source href=\"http://h/api/vAppTemplate/vm-{other}\"/></SourcedVmTemplateItem></InstantiateVmTemplateParams>"),
    ("POST /api/vdc/{vdc}/action/cloneVApp", "vapp", "<CloneVAppParams name=\"x\"><Source href=\"http://h/api/vApp/vapp-{other}\"/></CloneVAppParams>"),
    ("POST /api/vdc/{vdc}/action/composeVApp", "vm", "<ComposeVAppParams name=\"x\"><SourcedItem><Source href=\"http://h/api/vApp/vm-{other}\"/></SourcedItem></ComposeVAppParams>"),
    ("POST /api/vdc/{vdc}/action/composeVApp", "template-vm", "<ComposeVAppParams name=\"x\"><SourcedItem><Source href=\"http://h/api/vAppTemplate/vm-{other}\"/></SourcedItem></ComposeVAppParams>"),
    ("POST /api/vdc/{vdc}/action/createVm", "template", "<CreateVmParams name=\"x\"><CreateVm><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection></CreateVm><Media href=\"http://h/api/media/{other}\"/></CreateVmParams>"),
    ("POST /api/vdc/{vdc}/action/createVm", "profile", "<CreateVmParams name=\"x\"><CreateVm><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection><StorageProfile href=\"http://h/api/vdcStorageProfile/{other}\"/></CreateVm></CreateVmParams>"),
    ("POST /api/vdc/{vdc}/disk", "profile", "<DiskCreateParams><Disk name=\"x\" sizeMb=\"64\"><StorageProfile href=\"http://h/api/vdcStorageProfile/{other}\"/></Disk></DiskCreateParams>"),
    ("POST /api/vdc/{vdc}/vmAffinityRules", "vm", "<VmAffinityRule><Name>x</Name><IsEnabled>true</IsEnabled><Polarity>Affinity</Polarity><VmReferences><VmReference href=\"http://h/api/vApp/vm-{other}\"/></VmReferences></VmAffinityRule>"),
    ("POST /api/vApp/vapp-{vapp}/action/recomposeVApp", "vm", "<RecomposeVAppParams><SourcedItem><Source href=\"http://h/api/vApp/vm-{other}\"/></SourcedItem></RecomposeVAppParams>"),
    ("POST /api/vApp/vapp-{vapp}/action/recomposeVApp", "vm", "<RecomposeVAppParams><DeleteItem href=\"http://h/api/vApp/vm-{other}\"/></RecomposeVAppParams>"),
    ("POST /api/vApp/vapp-{vapp}/action/controlAccess", "user", "<ControlAccessParams><IsSharedToEveryone>false</IsSharedToEveryone><AccessSettings><AccessSetting><Subject href=\"http://h/api/admin/user/{other}\"/><AccessLevel>Change</AccessLevel></AccessSetting></AccessSettings></ControlAccessParams>"),
    ("PUT /api/vApp/vapp-{vapp}/owner", "user", "<Owner><User href=\"http://h/api/admin/user/{other}\"/></Owner>"),
    ("PUT /api/vApp/vapp-{vapp}/networkConfigSection", "network", "<NetworkConfigSection><NetworkConfig networkName=\"x\"><Configuration><ParentNetwork href=\"http://h/api/network/{other}\"/><FenceMode>bridged</FenceMode></Configuration></NetworkConfig></NetworkConfigSection>"),
    ("POST /api/vApp/vm-{vm}/disk/action/attach", "disk", "<DiskAttachOrDetachParams><Disk href=\"http://h/api/disk/{other}\"/></DiskAttachOrDetachParams>"),
    ("POST /api/vApp/vm-{vm}/media/action/insertMedia", "template", "<MediaInsertOrEjectParams><Media href=\"http://h/api/media/{other}\"/></MediaInsertOrEjectParams>"),
    ("POST /api/catalog/{catalog}/action/captureVApp", "vapp", "<CaptureVAppParams name=\"x\"><Source href=\"http://h/api/vApp/vapp-{other}\"/></CaptureVAppParams>"),
    ("POST /api/admin/org/{org}/users", "role", "<User name=\"x\"><Password>a long password 12</Password><IsEnabled>true</IsEnabled><Role href=\"http://h/api/admin/role/{other}\"/></User>"),
    ("POST /cloudapi/1.0.0/users", "role", r#"{"username":"x","password":"a long password 12","roleEntityRefs":[{"id":"urn:vcloud:role:{other}"}]}"#),
    ("POST /cloudapi/1.0.0/orgVdcNetworks", "vdc", r#"{"name":"x","networkType":"ISOLATED","ownerRef":{"id":"urn:vcloud:vdc:{other}"},"subnets":{"values":[{"gateway":"10.1.1.1","prefixLength":24,"ipRanges":{"values":[]}}]}}"#),
    ("PUT /cloudapi/1.0.0/securityTags/tag", "vm", r#"{"tag":"x","entities":["urn:vcloud:vm:{other}"]}"#),
    ("POST /api/vdc/{vdc}/action/createVm", "size", "<CreateVmParams name=\"x\"><CreateVm><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection><ComputePolicy><VmSizingPolicy href=\"http://h/cloudapi/1.0.0/vdcComputePolicies/urn:vcloud:vdcComputePolicy:{other}\"/></ComputePolicy></CreateVm></CreateVmParams>"),
    ("POST /api/vApp/vm-{vm}/action/reconfigureVm", "size", "<Vm name=\"x\"><ComputePolicy><VmSizingPolicy href=\"http://h/cloudapi/1.0.0/vdcComputePolicies/urn:vcloud:vdcComputePolicy:{other}\"/></ComputePolicy></Vm>"),
    ("PUT /api/admin/vdc/{vdc}", "size", "<AdminVdc name=\"prod\"><DefaultComputePolicy href=\"http://h/cloudapi/1.0.0/vdcComputePolicies/urn:vcloud:vdcComputePolicy:{other}\"/></AdminVdc>"),
    ("POST /api/vApp/vapp-{vapp}/action/recomposeVApp", "template", "<RecomposeVAppParams><CreateItem name=\"x\"><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection><Media href=\"http://h/api/media/{other}\"/></CreateItem></RecomposeVAppParams>"),
    ("POST /api/catalog/{catalog}/action/captureVApp", "template", "<CaptureVAppParams name=\"x\"><Source href=\"http://h/api/vApp/vapp-{own vapp}\"/><TargetCatalogItem href=\"http://h/api/catalogItem/{other}\"/></CaptureVAppParams>"),
    ("POST /api/org/{org}/catalog/{catalog}/action/controlAccess", "user", "<ControlAccessParams><IsSharedToEveryone>false</IsSharedToEveryone><AccessSettings><AccessSetting><Subject href=\"http://h/api/admin/user/{other}\"/><AccessLevel>Change</AccessLevel></AccessSetting></AccessSettings></ControlAccessParams>"),
    ("POST /oauth/tenant/acme/token", "token", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&client_id={other}&assertion={token}"),
];

/// Writes that come to nobody's id: they are refused to everybody by name.
const REFUSED: &[&str] = &["POST /api/admin/org/{id}/groups"];

#[tokio::test]
async fn every_body_is_good_enough_to_come_as_far_as_the_id() {
    let world = World::new().await;
    let provider = Program::sign_in(&world.app, "System", "administrator").await;
    let mut wrong = Vec::new();
    for route in routes(&world).into_iter().filter(|r| !r.open && !matches!(r.method.as_str(), "GET" | "DELETE")) {
        let Ok(Some(whose)) = whose(route.path) else { continue };
        let id = missing(whose);
        let said = provider.call(route.method.as_str(), &filled(route.path, &id), &body_of(&route, &id)).await;
        let name = format!("{} {}", route.method, route.path);
        if (said.status == 403) == REFUSED.contains(&name.as_str()) {
            wrong.push(format!("{name}: {} {}", said.status, said.text.split("message=").nth(1).unwrap_or(&said.text)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn ids_of_others_in_bodies_are_not_found_either() {
    let world = World::new().await;
    let mut others = Vec::new();
    for (_, whose, _) in IN_BODIES {
        others.push(foreign(&world, whose).await);
    }
    let untouched = world.zebra_rows().await;
    let program = Program::sign_in(&world.app, "acme", "an-admin").await;
    for ((send, whose, body), foreign) in IN_BODIES.iter().zip(others) {
        let (method, path) = send.split_once(' ').unwrap();
        let mut path = path.to_owned();
        // one's own, and new each time
        while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
            let kind = kind_of(&path[from + 1..to]).unwrap();
            path.replace_range(from..=to, &world.own(kind, "", false).await);
        }
        let body = body.replace("{token}", &program.token);
        let body = match body.contains("{own vapp}") {
            true => body.replace("{own vapp}", &world.own(Kind::Vapp, "", false).await),
            false => body,
        };
        let missing = missing(whose);
        let mut said = Vec::new();
        for id in [foreign.as_str(), missing.as_str()] {
            let one = program.call(method, &path, &body.replace("{other}", id)).await;
            assert!(one.status.is_client_error(), "{send}: {} {}", one.status, one.text);
            said.push((one.status, one.text.replace(id, "ID")));
        }
        assert_eq!(said[0], said[1], "{send}");
    }
    assert_eq!(world.zebra_rows().await, untouched);
}

#[tokio::test]
async fn lesser_roles_change_nothing_that_is_not_theirs() {
    let world = World::new().await;
    let program = Program::sign_in(&world.app, "acme", "a-console").await;
    let mut wrong = Vec::new();
    for route in routes(&world).into_iter().filter(|r| !r.open && r.method != "GET" && !r.path.contains("session")) {
        let Ok(Some(kind)) = whose(route.path).map(|w| w.and_then(kind_of)) else { continue };
        // one's own profile and tasks are anybody's to change
        if matches!(kind, Kind::Task | Kind::User) {
            continue;
        }
        let id = world.own(kind, "", false).await;
        let said = program.call(route.method.as_str(), &filled(route.path, &id), &body_of(&route, &id)).await;
        if said.status.is_success() || said.status.is_server_error() {
            wrong.push(format!("{} {}: {} {}", route.method, route.path, said.status, said.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
