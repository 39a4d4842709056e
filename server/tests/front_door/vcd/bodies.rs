//! What clients send: any words are kept as they were or refused in a document that can be read, and what they got and send back
//! unchanged changes nothing.
use super::{
    documents::Documents,
    hostile::{carried, text},
    roundtrip::{read_twice, values},
};
use rand::{SeedableRng, rngs::StdRng};
use server::vcd_routes;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use xml::Writer;

/// A body with somebody's words as `{text}`, or other ones as `{line}`, whoever may send it where, and where its words are found again.
struct Body {
    root: &'static str,
    provider: bool,
    send: &'static str,
    body: &'static str,
    back: &'static str,
}

const fn row(root: &'static str, send: &'static str, body: &'static str, back: &'static str) -> Body {
    Body { root, provider: false, send, body, back }
}

const fn provider(root: &'static str, send: &'static str, body: &'static str, back: &'static str) -> Body {
    Body { root, provider: true, send, body, back }
}

/// One of each type that is read. Those whose words are not found again are about nothing that could be kept: a name that is to be
/// found out about, an action, or something that this world has not got.
#[rustfmt::skip]
const BODIES: &[Body] = &[
    row("VApp", "PUT /api/vApp/vapp-{vapp}", "<VApp name=\"{line}\"><Description>{text}</Description></VApp>", "/api/vApp/vapp-{vapp}"),
    row("Vm", "POST /api/vApp/vm-{vm}/action/reconfigureVm", "<Vm name=\"{line}\"><Description>{text}</Description></Vm>", "/api/vApp/vm-{vm}"),
    row("Metadata", "POST /api/vApp/vm-{vm}/metadata", "<Metadata><MetadataEntry><Key>season</Key><TypedValue xsi:type=\"MetadataStringValue\"><Value>{text}</Value></TypedValue></MetadataEntry></Metadata>", "/api/vApp/vm-{vm}/metadata"),
    row("MetadataValue", "PUT /api/vApp/vapp-{vapp}/metadata/season", "<MetadataValue><TypedValue xsi:type=\"MetadataStringValue\"><Value>{text}</Value></TypedValue></MetadataValue>", "/api/vApp/vapp-{vapp}/metadata/season"),
    row("GuestCustomizationSection", "PUT /api/vApp/vm-{vm}/guestCustomizationSection", "<GuestCustomizationSection><Enabled>true</Enabled><CustomizationScript>{text}</CustomizationScript></GuestCustomizationSection>", "/api/vApp/vm-{vm}/guestCustomizationSection"),
    row("ProductSectionList", "PUT /api/vApp/vm-{vm}/productSections", "<ProductSectionList><ovf:ProductSection><ovf:Property ovf:key=\"k\" ovf:type=\"string\" ovf:value=\"\"><ovf:Value ovf:value=\"{text}\"/></ovf:Property></ovf:ProductSection></ProductSectionList>", "/api/vApp/vm-{vm}/productSections"),
    row("VirtualHardwareSection", "PUT /api/vApp/vm-{vm}/virtualHardwareSection", "<ovf:VirtualHardwareSection><vmw:ExtraConfig vmw:key=\"k\" vmw:value=\"{text}\"/></ovf:VirtualHardwareSection>", "/api/vApp/vm-{vm}/virtualHardwareSection"),
    row("Disk", "PUT /api/disk/{disk}", "<Disk name=\"{line}\" sizeMb=\"1024\"><Description>{text}</Description></Disk>", "/api/disk/{disk}"),
    row("OrgVdcNetwork", "PUT /api/network/{network}", "<OrgVdcNetwork name=\"{line}\"><Description>{text}</Description></OrgVdcNetwork>", "/api/network/{network}"),
    row("AdminCatalog", "PUT /api/admin/catalog/{own-catalog}", "<AdminCatalog name=\"own\"><Description>{text}</Description></AdminCatalog>", "/api/admin/catalog/{own-catalog}"),
    row("CatalogItem", "PUT /api/catalogItem/{own-template}", "<CatalogItem name=\"{line}\"><Description>{text}</Description></CatalogItem>", "/api/catalogItem/{own-template}"),
    row("VAppTemplate", "PUT /api/vAppTemplate/vappTemplate-{own-template}", "<VAppTemplate name=\"{line}\"><Description>{text}</Description></VAppTemplate>", "/api/vAppTemplate/vappTemplate-{own-template}"),
    row("Media", "PUT /api/media/{media}", "<Media name=\"{line}\"><Description>{text}</Description></Media>", "/api/media/{media}"),
    row("User", "PUT /api/admin/user/{other-user}", "<User name=\"another\"><FullName>{line}</FullName><Description>{text}</Description><IsEnabled>true</IsEnabled></User>", "/api/admin/user/{other-user}"),
    row("Role", "PUT /api/admin/role/{own-role}", "<Role name=\"{line}\"><Description>{text}</Description><RightReferences/></Role>", "/api/admin/role/{own-role}"),
    row("VmAffinityRule", "POST /api/vdc/{vdc}/vmAffinityRules", "<VmAffinityRule><Name>{line}</Name><IsEnabled>true</IsEnabled><Polarity>Affinity</Polarity><VmReferences/></VmAffinityRule>", ""),
    provider("AdminOrg", "PUT /api/admin/org/{org}", "<AdminOrg name=\"acme\"><Description>{text}</Description><FullName>{line}</FullName><IsEnabled>true</IsEnabled></AdminOrg>", "/api/org/{org}"),
    provider("AdminVdc", "PUT /api/admin/vdc/{vdc}", "<AdminVdc name=\"prod\"><Description>{text}</Description></AdminVdc>", "/api/admin/vdc/{vdc}"),
    provider("CreateVdcParams", "POST /api/admin/org/{org}/vdcsparams", "<CreateVdcParams name=\"{line}\"><Description>{text}</Description><AllocationModel>{line}</AllocationModel></CreateVdcParams>", ""),
    provider("AdminVdcStorageProfile", "PUT /api/admin/vdcStorageProfile/{profile}", "<AdminVdcStorageProfile name=\"{line}\"><Units>{text}</Units></AdminVdcStorageProfile>", ""),
    provider("UpdateVdcStorageProfiles", "POST /api/admin/vdc/{vdc}/vdcStorageProfiles", "<UpdateVdcStorageProfiles><AddStorageProfile><Units>{text}</Units></AddStorageProfile></UpdateVdcStorageProfiles>", ""),
    provider("VdcComputePolicyReferences", "PUT /api/admin/vdc/{vdc}/computePolicies", "<VdcComputePolicyReferences><VdcComputePolicyReference href=\"{line}\"/></VdcComputePolicyReferences>", ""),
    provider("OrgRights", "POST /api/admin/org/{org}/rights", "<OrgRights><RightReference name=\"{line}\"/></OrgRights>", ""),
    row("OrgGeneralSettings", "PUT /api/admin/org/{org}/settings/general", "<OrgGeneralSettings><StoredVmQuota>{line}</StoredVmQuota></OrgGeneralSettings>", ""),
    row("Group", "POST /api/admin/org/{org}/groups", "<Group name=\"{line}\"/>", ""),
    row("ComposeVAppParams", "POST /api/vdc/{vdc}/action/composeVApp", "<ComposeVAppParams name=\"{line}\"><Description>{text}</Description></ComposeVAppParams>", "/api/query?type=vApp&pageSize=128"),
    row("RecomposeVAppParams", "POST /api/vApp/vapp-{vapp}/action/recomposeVApp", "<RecomposeVAppParams name=\"{line}\"><Description>{text}</Description></RecomposeVAppParams>", "/api/vApp/vapp-{vapp}"),
    row("InstantiateVAppTemplateParams", "POST /api/vdc/{vdc}/action/instantiateVAppTemplate", "<InstantiateVAppTemplateParams name=\"{line}\"><Description>{text}</Description><Source href=\"{line}\"/></InstantiateVAppTemplateParams>", ""),
    row("InstantiateVmTemplateParams", "POST /api/vdc/{vdc}/action/instantiateVmFromTemplate", "<InstantiateVmTemplateParams name=\"{line}\"><Description>{text}</Description></InstantiateVmTemplateParams>", ""),
    row("CreateVmParams", "POST /api/vdc/{vdc}/action/createVm", "<CreateVmParams><Description>{text}</Description><CreateVm name=\"{line}\"/></CreateVmParams>", ""),
    row("CloneVAppParams", "POST /api/vdc/{vdc}/action/cloneVApp", "<CloneVAppParams name=\"{line}\"><Description>{text}</Description><Source href=\"{line}\"/></CloneVAppParams>", ""),
    row("CaptureVAppParams", "POST /api/catalog/{own-catalog}/action/captureVApp", "<CaptureVAppParams name=\"{line}\"><Description>{text}</Description><Source href=\"{line}\"/></CaptureVAppParams>", ""),
    row("UploadVAppTemplateParams", "POST /api/catalog/{own-catalog}/action/upload", "<UploadVAppTemplateParams name=\"{line}\"><Description>{text}</Description></UploadVAppTemplateParams>", "/api/query?type=vAppTemplate&pageSize=128"),
    row("DiskCreateParams", "POST /api/vdc/{vdc}/disk", "<DiskCreateParams><Disk name=\"{line}\" sizeMb=\"64\"><Description>{text}</Description></Disk></DiskCreateParams>", "/api/query?type=disk&pageSize=128"),
    row("DiskAttachOrDetachParams", "POST /api/vApp/vm-{vm}/disk/action/attach", "<DiskAttachOrDetachParams><Disk href=\"{line}\"/></DiskAttachOrDetachParams>", ""),
    row("MediaInsertOrEjectParams", "POST /api/vApp/vm-{vm}/media/action/insertMedia", "<MediaInsertOrEjectParams><Media href=\"{line}\"/></MediaInsertOrEjectParams>", ""),
    row("ControlAccessParams", "POST /api/vApp/vapp-{vapp}/action/controlAccess", "<ControlAccessParams><IsSharedToEveryone>true</IsSharedToEveryone><EveryoneAccessLevel>{line}</EveryoneAccessLevel></ControlAccessParams>", ""),
    row("Owner", "PUT /api/vApp/vapp-{vapp}/owner", "<Owner><User href=\"{line}\" name=\"{line}\"/></Owner>", ""),
    row("LeaseSettingsSection", "PUT /api/vApp/vapp-{vapp}/leaseSettingsSection", "<LeaseSettingsSection><StorageLeaseInSeconds>{line}</StorageLeaseInSeconds></LeaseSettingsSection>", ""),
    row("NetworkConfigSection", "PUT /api/vApp/vapp-{vapp}/networkConfigSection", "<NetworkConfigSection><NetworkConfig networkName=\"{line}\"><Description>{text}</Description><Configuration><IpScopes><IpScope><Gateway>10.9.0.1</Gateway><Netmask>255.255.255.0</Netmask></IpScope></IpScopes><FenceMode>isolated</FenceMode></Configuration></NetworkConfig></NetworkConfigSection>", "/api/vApp/vapp-{vapp}/networkConfigSection"),
    row("StartupSection", "PUT /api/vApp/vapp-{vapp}/startupSection", "<ovf:StartupSection><ovf:Item ovf:id=\"{line}\" ovf:order=\"1\"/></ovf:StartupSection>", ""),
    row("NetworkConnectionSection", "PUT /api/vApp/vm-{vm}/networkConnectionSection", "<NetworkConnectionSection><NetworkConnection network=\"{line}\"/></NetworkConnectionSection>", ""),
    row("OperatingSystemSection", "PUT /api/vApp/vm-{vm}/operatingSystemSection", "<ovf:OperatingSystemSection vmw:osType=\"{line}\"/>", ""),
    row("VmCapabilities", "PUT /api/vApp/vm-{vm}/vmCapabilities", "<VmCapabilities><CpuHotAddEnabled>{line}</CpuHotAddEnabled></VmCapabilities>", ""),
    row("BootOptions", "PUT /api/vApp/vm-{vm}/bootOptions", "<BootOptions><BootDelay>{line}</BootDelay></BootOptions>", ""),
    row("Item", "PUT /api/vApp/vm-{vm}/virtualHardwareSection/cpu", "<Item><rasd:VirtualQuantity>{line}</rasd:VirtualQuantity></Item>", ""),
    row("RasdItemsList", "PUT /api/vApp/vm-{vm}/virtualHardwareSection/networkCards", "<RasdItemsList><Item><rasd:Connection>{line}</rasd:Connection><rasd:ResourceType>10</rasd:ResourceType></Item></RasdItemsList>", ""),
    row("CreateSnapshotParams", "POST /api/vApp/vm-{vm}/action/createSnapshot", "<CreateSnapshotParams name=\"{line}\" memory=\"{line}\"><Description>{text}</Description></CreateSnapshotParams>", ""),
    row("DeployVAppParams", "POST /api/vApp/vapp-{vapp}/action/deploy", "<DeployVAppParams powerOn=\"{line}\"/>", ""),
    row("UndeployVAppParams", "POST /api/vApp/vapp-{vapp}/action/undeploy", "<UndeployVAppParams><UndeployPowerAction>{line}</UndeployPowerAction></UndeployVAppParams>", ""),
    row("EnableDownloadParams", "POST /api/vApp/vapp-{vapp}/action/enableDownload", "<EnableDownloadParams>{text}</EnableDownloadParams>", ""),
    row("PublishCatalogParams", "POST /api/admin/catalog/{own-catalog}/action/publish", "<PublishCatalogParams><IsPublished>{line}</IsPublished></PublishCatalogParams>", ""),
    row("PublishExternalCatalogParams", "POST /api/admin/catalog/{own-catalog}/action/publishToExternalOrganizations", "<PublishExternalCatalogParams><IsPublishedExternally>{line}</IsPublishedExternally></PublishExternalCatalogParams>", ""),
    row("Task", "PUT /api/task/{task}", "<Task status=\"{line}\"><Details>{text}</Details></Task>", ""),
];

/// A text as it stands in a body.
fn written(text: &str) -> String {
    let mut w = Writer::default();
    w.text("t", text);
    let text = w.into_string();
    text.strip_prefix("<t>").and_then(|t| t.strip_suffix("</t>")).unwrap_or_default().to_owned()
}

/// As people's words are kept: without white space around them, and with lines that end in one way.
fn kept(text: &str) -> String {
    text.trim().replace("\r\n", "\n")
}

#[tokio::test]
async fn any_words_in_a_body_are_kept_as_they_were_or_refused() {
    let mut world = Documents::set().await;
    world.more().await;
    let mut rng = StdRng::seed_from_u64(666);
    let (mut wrong, mut taken) = (BTreeSet::new(), BTreeMap::new());
    let plain = ["Kunden & Söhne <GmbH>", "\"quoted\" 'words' ]]>", "été — 東京 \u{1f600}"];
    for round in 0..6 {
        for b in BODIES {
            let program = world.by(b.provider);
            // names are taken once, so each has one of its own
            let (line, words) = match round {
                0..3 => {
                    (format!("{} {}", plain[round], b.root), format!("first {}\n  second\t{}", plain[round], plain[2]))
                }
                3 => (text(&mut rng, 1, 128), text(&mut rng, 1, 500)),
                _ => (
                    text(&mut rng, 1, 100).replace(char::is_control, "-"),
                    text(&mut rng, 1, 500).replace(char::is_control, "\n"),
                ),
            };
            let (method, target) = b.send.split_once(' ').unwrap();
            let target = world.filled(target);
            let body = b.body.replace("{line}", &written(&line)).replace("{text}", &written(&words));
            let said = program.call(method, &target, &body).await;
            let what = format!("{} with {line:?} and {words:?}: {} {}", b.root, said.status, said.text);
            if said.status.is_server_error() {
                wrong.insert(what);
                continue;
            }
            if !said.text.is_empty()
                && let Err(why) = read_twice(b.root, &said.text)
            {
                wrong.insert(why);
            }
            if said.status.is_success() && !b.back.is_empty() {
                let there = program.get(&world.filled(b.back)).await;
                let mut found = BTreeSet::new();
                values(&read_twice(b.back, &there.text).unwrap(), &mut found);
                let records = b.back.contains("/query");
                for (words, _) in [(&line, "{line}"), (&words, "{text}")]
                    .iter()
                    .filter(|(_, mark)| b.body.contains(mark) && !(records && *mark == "{text}"))
                {
                    let words = carried(words);
                    if ![words.as_str(), words.trim(), &kept(&words)].iter().any(|w| found.contains(*w)) {
                        wrong.insert(format!("{what}: {words:?} is not found again at {}", b.back));
                    }
                }
                *taken.entry(b.root).or_insert(0) += 1;
            }
            // what XML can't carry never comes as far
            let control = b.body.replace("{line}", "a\u{1}b").replace("{text}", "a\u{1}b");
            let said = program.call(method, &target, &control).await;
            if said.status != 400 || !said.text.contains("control characters") {
                wrong.insert(format!("{} with a control character: {} {}", b.root, said.status, said.text));
            }
        }
    }
    for b in BODIES.iter().filter(|b| !b.back.is_empty() && !taken.contains_key(b.root)) {
        wrong.insert(format!("{} was never taken", b.root));
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, into),
            false => into.push(path),
        }
    }
}

#[test]
fn every_type_of_body_is_tried_with_any_words() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/vcd/src"), &mut files);
    let mut read = BTreeSet::new();
    for file in files {
        let code = fs::read_to_string(file).unwrap();
        for asked in ["ask.xml(\"", "ask.xml_or_nothing(\""] {
            read.extend(code.split(asked).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
        for several in code.split("ask.xml_of(").skip(1) {
            let roots = several.split(")?").next().unwrap().split("(\"").skip(1);
            read.extend(roots.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    assert!(read.len() > 40, "the types of bodies are not found where they are read: {read:?}");
    let tried: BTreeSet<String> = BODIES.iter().map(|b| b.root.to_owned()).collect();
    assert_eq!(read.difference(&tried).collect::<Vec<_>>(), Vec::<&String>::new(), "bodies without a row");
}

/// Where a document is sent to by POST.
const POSTED: &[(&str, &str)] = &[
    ("/api/vApp/vm-{id}", "/api/vApp/vm-{id}/action/reconfigureVm"),
    ("/api/vApp/vm-{id}/bootOptions", "/api/vApp/vm-{id}/action/bootOptions"),
    ("/api/vApp/vapp-{id}/controlAccess", "/api/vApp/vapp-{id}/action/controlAccess"),
    ("/api/catalog/{id}/controlAccess", "/api/catalog/{id}/action/controlAccess"),
    ("/api/admin/catalog/{id}/controlAccess", "/api/admin/catalog/{id}/action/controlAccess"),
    ("/api/org/{org}/catalog/{id}/controlAccess", "/api/org/{org}/catalog/{id}/action/controlAccess"),
    ("/api/vApp/vapp-{id}/metadata", "/api/vApp/vapp-{id}/metadata"),
    ("/api/vApp/vm-{id}/metadata", "/api/vApp/vm-{id}/metadata"),
];

/// Without the latest task, which a disc shows also after its end.
fn lasting(document: &str) -> String {
    match (document.find("<Tasks>"), document.find("</Tasks>")) {
        (Some(from), Some(to)) if document.contains("<Media ") && !document.contains("status=\"running\"") => {
            format!("{}{}", &document[..from], &document[to..])
        }
        _ => document.to_owned(),
    }
}

/// What is not taken as it was given: what has ended is no longer told how far it is.
const NOT_TAKEN: &[&str] = &["/api/task/{id}"];

#[tokio::test]
async fn what_is_sent_back_unchanged_changes_nothing() {
    let mut world = Documents::set().await;
    world.more().await;
    let db = &world.stage.app.db;
    // things with words worth keeping
    for b in BODIES.iter().filter(|b| !b.back.is_empty() && b.send.starts_with("PUT") || b.root == "Metadata") {
        let (method, target) = b.send.split_once(' ').unwrap();
        let body = b
            .body
            .replace("{line}", &format!("A &amp; B &lt;{}&gt; &quot;d&quot;", b.root))
            .replace("{text}", "one &amp; two&#10;&lt;three&gt;");
        let said = world.by(b.provider).call(method, &world.filled(target), &body).await;
        assert!(said.status.is_success(), "{}: {} {}", b.root, said.status, said.text);
    }
    world.stage.until("rest", async || db.count("tasks where status in ('queued', 'running')").await == 0).await;
    let routes = vcd_routes(&world.stage.app.state);
    let gets: BTreeSet<&str> = routes.iter().filter(|r| r.method == "GET").map(|r| r.path).collect();
    let put = routes.iter().filter(|r| r.method == "PUT" && r.path.starts_with("/api/") && gets.contains(r.path));
    let put = put.map(|r| ("PUT", r.path, r.path));
    let all = put.chain(POSTED.iter().map(|(from, to)| ("POST", *from, *to)));
    let (mut wrong, mut tried) = (BTreeSet::new(), 0);
    for (method, from, to) in all.filter(|(_, from, _)| !NOT_TAKEN.contains(from)) {
        if from.contains("/metadata/{") {
            let body = "<MetadataValue><TypedValue xsi:type=\"MetadataStringValue\"><Value> a &amp; b </Value></TypedValue></MetadataValue>";
            let said = world.by(true).put(&world.at(from), body).await;
            assert!(said.status.is_success(), "{from}: {} {}", said.status, said.text);
        }
        let own = world.by(false).get(&world.at(from)).await;
        let mut provider = own.status == 403;
        let mut before = if provider { world.by(true).get(&world.at(from)).await } else { own };
        let mut said = world.by(provider).call(method, &world.at(to), &before.text).await;
        if said.status == 403 && !provider {
            provider = true;
            before = world.by(true).get(&world.at(from)).await;
            said = world.by(true).call(method, &world.at(to), &before.text).await;
        }
        let after = world.by(provider).get(&world.at(from)).await;
        tried += 1;
        if !said.status.is_success() {
            wrong.insert(format!("{method} {to}: {} {}\n{}", said.status, said.text, before.text));
        } else if lasting(&before.text) != lasting(&after.text) {
            let differs = before.text.split("><").zip(after.text.split("><")).find(|(a, b)| a != b);
            wrong.insert(format!("{method} {to}: {differs:?}"));
        }
    }
    assert!(tried > 60, "only {tried} were sent back");
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}
