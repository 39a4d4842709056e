//! Every route of the VCD API, tried by strangers, other tenants and lesser roles, with foreign, missing and malformed ids, in
//! addresses and in bodies. The routes come from the router; one whose ids the table does not know fails.
use super::Program;
use crate::matrix::world::World;
use model::Kind;
use server::vcd_routes;
use std::collections::BTreeSet;
use vcd::RouteInfo;

/// What the `{id}` of an address is. None: nothing of an organization, so the same for everybody.
#[rustfmt::skip]
const IDS: &[(&str, Option<Kind>)] = &[
    ("/api/org/{org}/catalog/{id}",                  Some(Kind::Catalog)),
    ("/api/org/{id}",                                Some(Kind::Org)),
    ("/api/tasksList/{id}",                          Some(Kind::Org)),
    ("/api/task/{id}",                               Some(Kind::Task)),
    ("/api/vdc/{id}",                                Some(Kind::Vdc)),
    ("/api/vdcStorageProfile/{id}",                  None),
    ("/api/catalog/{id}",                            Some(Kind::Catalog)),
    ("/api/catalogItem/{id}",                        Some(Kind::Template)),
    ("/api/vAppTemplate/vappTemplate-{id}",          Some(Kind::Template)),
    ("/api/vAppTemplate/vm-{id}",                    None),
    ("/api/media/{id}",                              Some(Kind::Template)),
    ("/api/vApp/vapp-{id}",                          Some(Kind::Vapp)),
    ("/api/vApp/vm-{id}",                            Some(Kind::Vm)),
    ("/api/disk/{id}",                               Some(Kind::Disk)),
    ("/api/network/{id}",                            Some(Kind::Network)),
    ("/api/vmAffinityRule/{id}",                     Some(Kind::AffinityRule)),
    ("/api/entity/{id}",                             None),
    ("/api/admin/org/{id}",                          Some(Kind::Org)),
    ("/api/admin/vdc/{id}",                          Some(Kind::Vdc)),
    ("/api/admin/vdcStorageProfile/{id}",            None),
    ("/api/admin/catalog/{id}",                      Some(Kind::Catalog)),
    ("/api/admin/network/{id}",                      Some(Kind::Network)),
    ("/api/admin/user/{id}",                         Some(Kind::User)),
    ("/api/admin/group/{id}",                        None),
    ("/api/admin/role/{id}",                         Some(Kind::Role)),
    ("/api/admin/right/{id}",                        None),
    ("/api/admin/providervdc/{id}",                  None),
    ("/api/admin/networkPool/{id}",                  None),
    ("/api/admin/pvdcStorageProfile/{id}",           None),
    ("/api/admin/extension/",                        None),
    ("/cloudapi/1.0.0/sessions/{id}",                None),
    ("/cloudapi/1.0.0/tokens/{id}",                  None),
    ("/cloudapi/1.0.0/orgs/{id}",                    Some(Kind::Org)),
    ("/cloudapi/1.0.0/users/{id}",                   Some(Kind::User)),
    ("/cloudapi/1.0.0/roles/{id}",                   Some(Kind::Role)),
    ("/cloudapi/1.0.0/globalRoles/{id}",             None),
    ("/cloudapi/1.0.0/rights/{id}",                  None),
    ("/cloudapi/1.0.0/rightsCategories/{id}",        None),
    ("/cloudapi/1.0.0/rightsBundles/{id}",           None),
    ("/cloudapi/1.0.0/vdcs/{id}",                    Some(Kind::Vdc)),
    ("/cloudapi/2.0.0/vdcs/{id}",                    Some(Kind::Vdc)),
    ("/cloudapi/1.0.0/vdcComputePolicies/{id}",      None),
    ("/cloudapi/2.0.0/vdcComputePolicies/{id}",      None),
    ("/cloudapi/1.0.0/orgVdcStoragePolicies/{id}",   None),
    ("/cloudapi/1.0.0/pvdcStoragePolicies/{id}",     None),
    ("/cloudapi/1.0.0/orgVdcNetworks/{id}",          Some(Kind::Network)),
    ("/cloudapi/1.0.0/catalogs/{id}",                Some(Kind::Catalog)),
    ("/cloudapi/1.0.0/vapps/{id}",                   Some(Kind::Vapp)),
    ("/cloudapi/1.0.0/vms/{id}",                     Some(Kind::Vm)),
    ("/cloudapi/1.0.0/securityTags/vm/{id}",         Some(Kind::Vm)),
    ("/cloudapi/1.0.0/auditTrail/{id}",              None),
    ("/cloudapi/1.0.0/tasks/{id}",                   Some(Kind::Task)),
    ("/cloudapi/1.0.0/applicationPortProfiles/{id}",       None),
    ("/cloudapi/1.0.0/edgeGateways/{id}",                  None),
    ("/cloudapi/1.0.0/externalNetworks/{id}",              None),
    ("/cloudapi/1.0.0/firewallGroups/{id}",                None),
    ("/cloudapi/1.0.0/ipSpaceUplinks/{id}",                None),
    ("/cloudapi/1.0.0/ipSpaces/{id}",                      None),
    ("/cloudapi/1.0.0/logicalVmGroups/{id}",               None),
    ("/cloudapi/1.0.0/networkContextProfiles/{id}",        None),
    ("/cloudapi/1.0.0/networkPools/{id}",                  None),
    ("/cloudapi/1.0.0/segmentProfileTemplates/{id}",       None),
    ("/cloudapi/1.0.0/ssl/certificateLibrary/{id}",        None),
    ("/cloudapi/1.0.0/vdcGroups/{id}",                     None),
    ("/cloudapi/1.0.0/vgpuProfiles/{id}",                  None),
    ("/cloudapi/1.0.0/virtualCenters/{id}",                None),
    ("/oauth/tenant/{org}",                          None),
];

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
    ("/disk", "<DiskCreateParams><Disk name=\"smuggled\" sizeMb=\"64\"/></DiskCreateParams>"),
    ("action/upload", "<UploadVAppTemplateParams name=\"smuggled\"/>"),
    ("action/captureVApp", "<CaptureVAppParams name=\"smuggled\"><Source href=\"http://h/api/vApp/vapp-{other}\"/></CaptureVAppParams>"),
    ("/vApp/vapp-{id}", "<VApp name=\"renamed\"/>"),
    ("/vApp/vm-{id}", "<Vm name=\"renamed\"/>"),
    ("/disk/{id}", "<Disk name=\"renamed\" sizeMb=\"9999\"/>"),
    ("/admin/catalog/{id}", "<AdminCatalog name=\"renamed\"/>"),
    ("/admin/user/{id}", "<User name=\"renamed\"><FullName>x</FullName></User>"),
    ("/admin/role/{id}", "<Role name=\"renamed\"><RightReferences/></Role>"),
];

fn kind_of(path: &str) -> Result<Option<Kind>, String> {
    if !path.contains('{') {
        return Ok(None);
    }
    let known = IDS.iter().filter(|(prefix, _)| path.starts_with(prefix)).max_by_key(|(prefix, _)| prefix.len());
    known.map(|(_, kind)| *kind).ok_or_else(|| format!("{path} has no line in IDS"))
}

fn body_of(route: &RouteInfo, other: &str) -> String {
    if matches!(route.method.as_str(), "GET" | "DELETE") {
        return String::new();
    }
    if route.path.starts_with("/cloudapi") {
        return "{\"name\":\"renamed\",\"tags\":[\"x\"]}".into();
    }
    let found = BODIES.iter().filter(|(end, _)| route.path.ends_with(end)).max_by_key(|(end, _)| end.len());
    found.map(|(_, body)| body.replace("{other}", other)).unwrap_or_default()
}

fn filled(path: &str, id: &str) -> String {
    let mut out = path.replace("{id}", id);
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
    for route in routes(&world) {
        if let Err(why) = kind_of(route.path) {
            wrong.insert(why);
        }
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
            let Ok(Some(kind)) = kind_of(route.path) else { continue };
            let foreign = world.foreign(kind).await;
            let mut said = Vec::new();
            for id in [foreign.as_str(), MISSING] {
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
            if route.path.starts_with("/cloudapi") {
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

#[tokio::test]
async fn ids_of_others_in_bodies_are_not_found_either() {
    let world = World::new().await;
    let untouched = world.zebra_rows().await;
    let program = Program::sign_in(&world.app, "acme", "an-admin").await;
    let vdc = world.acme.vdc("prod");
    let cases = [
        ("action/instantiateVAppTemplate", Kind::Template, format!("/api/vdc/{vdc}/action/instantiateVAppTemplate")),
        ("action/cloneVApp", Kind::Vapp, format!("/api/vdc/{vdc}/action/cloneVApp")),
        (
            "disk/action/attach",
            Kind::Disk,
            format!("/api/vApp/vm-{}/disk/action/attach", world.own(Kind::Vm, "", false).await),
        ),
        (
            "action/insertMedia",
            Kind::Template,
            format!("/api/vApp/vm-{}/media/action/insertMedia", world.own(Kind::Vm, "", false).await),
        ),
        (
            "action/captureVApp",
            Kind::Vapp,
            format!("/api/catalog/{}/action/captureVApp", world.own(Kind::Catalog, "", false).await),
        ),
        ("/owner", Kind::User, format!("/api/vApp/vapp-{}/owner", world.own(Kind::Vapp, "", false).await)),
    ];
    for (end, kind, path) in cases {
        let body = BODIES.iter().find(|(e, _)| *e == end).map(|(_, b)| *b).unwrap();
        let method = if end == "/owner" { "PUT" } else { "POST" };
        let mut said = Vec::new();
        for id in [world.foreign(kind).await.as_str(), MISSING] {
            let one = program.call(method, &path, &body.replace("{other}", id)).await;
            assert!(one.status.is_client_error(), "{path}: {} {}", one.status, one.text);
            said.push((one.status, one.text.replace(id, "ID")));
        }
        assert_eq!(said[0], said[1], "{path}");
    }
    assert_eq!(world.zebra_rows().await, untouched);
}

#[tokio::test]
async fn lesser_roles_change_nothing_that_is_not_theirs() {
    let world = World::new().await;
    let program = Program::sign_in(&world.app, "acme", "a-console").await;
    let mut wrong = Vec::new();
    for route in routes(&world).into_iter().filter(|r| !r.open && r.method != "GET" && !r.path.contains("session")) {
        let Ok(Some(kind)) = kind_of(route.path) else { continue };
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
