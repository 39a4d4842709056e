//! The life of vApps and VMs as clients drive it: by links, tasks and documents.
use super::{Program, Said};
use crate::stage::Stage;
use std::time::Duration;

pub(super) struct Clients {
    pub(super) stage: Stage,
    pub(super) admin: Program,
}

impl Clients {
    pub(super) async fn set() -> Clients {
        let stage = Stage::set().await;
        stage.app.follow_changes();
        let admin = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
        Clients { stage, admin }
    }

    pub(super) fn vdc(&self) -> String {
        format!("/api/vdc/{}", self.stage.acme.vdc("prod"))
    }

    /// As clients wait: the task's address is asked until it has ended.
    pub(super) async fn ended(&self, said: &Said) -> Said {
        let at = said.text.find("/api/task/").expect("a task");
        let href = format!("/api/task/{}", &said.text[at + 10..at + 46]);
        for _ in 0..120 {
            let task = self.admin.get(&href).await.must(200);
            match task.attr("status").as_str() {
                "queued" | "running" => tokio::time::sleep(Duration::from_millis(50)).await,
                _ => return task,
            }
        }
        panic!("{href} does not end");
    }

    pub(super) async fn succeeded(&self, said: Said) -> Said {
        let task = self.ended(&said).await;
        assert_eq!(task.attr("status"), "success", "{}", task.text);
        said
    }

    /// The address of the template in the shared catalog.
    pub(super) async fn template(&self, name: &str) -> String {
        let found =
            self.admin.get(&format!("/api/query?type=vAppTemplate&format=records&filter=name=={name}")).await.must(200);
        assert_eq!(found.attr("total"), "1", "{}", found.text);
        let record = &found.text[found.text.find("<VAppTemplateRecord").expect("a record")..];
        let at = record.find("href=\"").unwrap() + 6;
        record[at..at + record[at..].find('"').unwrap()].to_owned()
    }

    pub(super) async fn instantiate(&self, name: &str, template: &str) -> String {
        let source = self.template(template).await;
        let body = format!(
            "<InstantiateVAppTemplateParams xmlns=\"http://www.vmware.com/vcloud/v1.5\" name=\"{name}\" deploy=\"true\" powerOn=\"true\">\
             <Description>made by a test</Description><InstantiationParams/><Source href=\"{source}\"/>\
             <AllEULAsAccepted>true</AllEULAsAccepted></InstantiateVAppTemplateParams>"
        );
        let made = self.admin.post(&format!("{}/action/instantiateVAppTemplate", self.vdc()), &body).await.must(201);
        assert!(made.text.contains("<Tasks>"), "{}", made.text);
        let made = self.succeeded(made).await;
        made.attr("href")
    }

    /// The same where the answer is what is made.
    pub(super) async fn act_made(&self, href: &str, body: &str) -> Said {
        let said = self.admin.post(href, body).await.must(201);
        self.succeeded(said).await
    }

    pub(super) async fn act(&self, href: &str, body: &str) -> Said {
        let said = self.admin.post(href, body).await.must(202);
        self.succeeded(said).await
    }
}

fn status(said: &Said) -> String {
    said.attr("status")
}

#[tokio::test]
async fn a_vapp_is_made_powered_and_deleted_by_its_links() {
    let c = Clients::set().await;
    let href = c.instantiate("shop", "web-and-db").await;
    let vapp = c.admin.get(&href).await.must(200);
    assert_eq!(status(&vapp), "4", "{}", vapp.text);
    assert_eq!(vapp.text.matches("<Vm ").count(), 2);
    assert!(vapp.link("power:powerOn", "").is_none(), "it runs");
    assert!(vapp.link("remove", "").is_none(), "what runs is not deleted");
    c.admin.delete(&href).await.must(400);

    c.act(&vapp.link("power:suspend", "").unwrap(), "").await;
    assert_eq!(status(&c.admin.get(&href).await), "3");
    c.act(&vapp.link("power:suspend", "").unwrap().replace("suspend", "powerOn"), "").await;
    let undeploy = "<UndeployVAppParams xmlns=\"http://www.vmware.com/vcloud/v1.5\"><UndeployPowerAction>powerOff</UndeployPowerAction></UndeployVAppParams>";
    c.act(&vapp.link("undeploy", "undeploy").unwrap(), undeploy).await;
    let vapp = c.admin.get(&href).await.must(200);
    assert_eq!((status(&vapp), vapp.attr("deployed")), ("8".into(), "false".into()));
    let said = c.admin.post(&format!("{href}/action/undeploy"), undeploy).await.must(400);
    assert!(said.text.contains("could not be executed since vApp shop is not running"), "{}", said.text);

    let said = c.admin.delete(&vapp.link("remove", "").unwrap()).await.must(202);
    c.succeeded(said).await;
    let gone = c.admin.get(&href).await.must(403);
    assert!(gone.text.contains("ACCESS_TO_RESOURCE_IS_FORBIDDEN"), "{}", gone.text);
}

#[tokio::test]
async fn a_name_that_is_taken_and_a_body_of_another_kind_are_refused() {
    let c = Clients::set().await;
    let body = "<ComposeVAppParams xmlns=\"http://www.vmware.com/vcloud/v1.5\" name=\"once\"/>";
    let compose = format!("{}/action/composeVApp", c.vdc());
    let made = c.admin.post(&compose, body).await.must(201);
    assert!(made.text.contains("operationName=\"vdcComposeVapp\""), "{}", made.text);
    assert_eq!(status(&made), "1", "an empty vApp is resolved");
    let again = c.admin.post(&compose, body).await.must(400);
    assert!(again.text.contains("DUPLICATE_NAME"), "{}", again.text);
    for bad in
        ["<Bogus/>", "", "<ComposeVAppParams", "<!DOCTYPE a><ComposeVAppParams name=\"x\"/>", "<ComposeVAppParams/>"]
    {
        let said = c.admin.post(&compose, bad).await.must(400);
        assert!(said.text.contains("<Error "), "{bad}: {}", said.text);
    }
}

#[tokio::test]
async fn a_machine_is_changed_by_its_sections_and_reads_back_what_was_set() {
    let c = Clients::set().await;
    let href = c.instantiate("one", "ubuntu-24.04").await;
    c.act(&format!("{href}/action/undeploy"), "").await;
    let vapp = c.admin.get(&href).await.must(200);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    let vm = vapp.text[at..at + 13 + 36].to_owned();

    let item = c.admin.get(&format!("{vm}/virtualHardwareSection/memory")).await.must(200).text;
    let before = item[item.find("<rasd:VirtualQuantity>").unwrap()..].to_owned();
    let number = &before[22..before.find("</").unwrap()];
    let more: i64 = number.parse::<i64>().unwrap() + 128;
    let body = item.replace(&format!("<rasd:VirtualQuantity>{number}<"), &format!("<rasd:VirtualQuantity>{more}<"));
    let said = c.admin.put(&format!("{vm}/virtualHardwareSection/memory"), &body).await.must(202);
    c.succeeded(said).await;
    let body = "<Vm xmlns=\"http://www.vmware.com/vcloud/v1.5\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\" name=\"renamed\"><Description>new</Description>\
        <VmSpecSection Modified=\"true\"><ovf:Info/><NumCpus>2</NumCpus><NumCoresPerSocket>2</NumCoresPerSocket></VmSpecSection></Vm>";
    c.act(&format!("{vm}/action/reconfigureVm"), body).await;
    let said = c.admin.get(&vm).await.must(200);
    assert!(said.text.contains(&format!("<MemoryResourceMb><Configured>{more}<")), "{}", said.text);
    assert!(said.text.contains("<NumCpus>2<") && said.text.contains("<NumCoresPerSocket>2<"), "{}", said.text);
    assert_eq!(said.attr("name"), "renamed");

    // what can't be understood changes nothing of the rest
    let nobodys = "urn:vcloud:vdcComputePolicy:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92";
    for (part, code) in [
        (format!("<ComputePolicy><VmSizingPolicy href=\"http://x/cloudapi/2.0.0/vdcComputePolicies/{nobodys}\" id=\"{nobodys}\"/></ComputePolicy>"), 403),
        ("<NetworkConnectionSection><NetworkConnection network=\"nowhere\"><NetworkConnectionIndex>0</NetworkConnectionIndex>\
          <IpAddressAllocationMode>POOL</IpAddressAllocationMode></NetworkConnection></NetworkConnectionSection>".to_owned(), 400),
        ("<GuestCustomizationSection><JoinDomainEnabled>true</JoinDomainEnabled></GuestCustomizationSection>".to_owned(), 400),
    ] {
        let body = format!(
            "<Vm xmlns=\"http://www.vmware.com/vcloud/v1.5\" name=\"half\"><VmSpecSection><NumCpus>4</NumCpus></VmSpecSection>{part}</Vm>"
        );
        c.admin.post(&format!("{vm}/action/reconfigureVm"), &body).await.must(code);
        assert_eq!(c.admin.get(&vm).await.must(200).attr("name"), "renamed", "{part}");
    }

    // a whole document that comes back unchanged changes nothing
    let whole = said.text.clone();
    c.act(&format!("{vm}/action/reconfigureVm"), &whole).await;
    let section = "<GuestCustomizationSection xmlns=\"http://www.vmware.com/vcloud/v1.5\"><Enabled>true</Enabled>\
        <AdminPasswordEnabled>true</AdminPasswordEnabled><AdminPassword>let me in 1</AdminPassword>\
        <CustomizationScript>#!/bin/sh&#10;echo a &amp; b&#10;</CustomizationScript><ComputerName>web-1</ComputerName></GuestCustomizationSection>";
    let said = c.admin.put(&format!("{vm}/guestCustomizationSection/"), section).await.must(202);
    c.succeeded(said).await;
    let said = c.admin.get(&format!("{vm}/guestCustomizationSection/")).await.must(200);
    assert!(
        said.text.contains("<ComputerName>web-1<") && said.text.contains("<AdminPassword>let me in 1<"),
        "{}",
        said.text
    );
    assert!(said.text.contains("echo a &amp; b&#10;"), "{}", said.text);

    let disks = "<Vm xmlns=\"http://www.vmware.com/vcloud/v1.5\" name=\"renamed\"><VmSpecSection Modified=\"true\"><DiskSection>{}\
        <DiskSettings><SizeMb>1280</SizeMb><UnitNumber>1</UnitNumber><BusNumber>0</BusNumber><AdapterType>6</AdapterType></DiskSettings></DiskSection></VmSpecSection></Vm>";
    let now = c.admin.get(&vm).await.must(200).text;
    let settings = &now[now.find("<DiskSettings>").unwrap()..now.find("</DiskSection>").unwrap()];
    c.act(&format!("{vm}/action/reconfigureVm"), &disks.replace("{}", settings)).await;
    let now = c.admin.get(&vm).await.must(200).text;
    assert!(now.contains("<DiskId>16001</DiskId><SizeMb>1280</SizeMb><UnitNumber>1</UnitNumber><BusNumber>0</BusNumber><AdapterType>6<"), "{now}");

    for action in ["createSnapshot", "revertToCurrentSnapshot", "removeAllSnapshots"] {
        c.act(&format!("{href}/action/{action}"), "").await;
    }
}

#[tokio::test]
async fn a_character_that_can_not_be_kept_is_refused_and_no_error_of_ours() {
    let c = Clients::set().await;
    let body = r#"{"tag": "a\u0000b", "entities": []}"#;
    let said = c.admin.put("/cloudapi/1.0.0/securityTags/tag", body).await.must(400);
    assert!(said.text.contains("U+0000"), "{}", said.text);
}

#[tokio::test]
async fn a_vm_whose_medium_can_not_be_inserted_is_not_made() {
    let c = Clients::set().await;
    let medium = "http://x/api/media/0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92";
    let body = format!(
        "<CreateVmParams name=\"half\"><CreateVm name=\"half\"><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection></CreateVm>\
         <Media href=\"{medium}\"/></CreateVmParams>"
    );
    c.admin.post(&format!("{}/action/createVm", c.vdc()), &body).await.must(403);
    let left = c.stage.app.db.count("vms where name = 'half' and deleted_at is null").await;
    assert_eq!((left, c.stage.app.db.count("vapps where deleted_at is null").await), (0, 0));
}

#[tokio::test]
async fn machines_are_added_to_a_vapp_and_taken_out_by_recomposing_it() {
    let c = Clients::set().await;
    let compose = format!("{}/action/composeVApp", c.vdc());
    let made = c.admin.post(&compose, "<ComposeVAppParams name=\"parts\"/>").await.must(201);
    let href = made.attr("href");
    let template = c.admin.get(&c.template("ubuntu-24.04").await).await.must(200);
    let at = template.text.find("/api/vAppTemplate/vm-").unwrap();
    let source = &template.text[at..at + 21 + 36];
    let body = format!(
        "<RecomposeVAppParams name=\"parts\" deploy=\"false\" powerOn=\"false\"><SourcedItem><Source href=\"http://x{source}\" name=\"added\"/>\
         </SourcedItem><AllEULAsAccepted>true</AllEULAsAccepted></RecomposeVAppParams>"
    );
    c.act(&format!("{href}/action/recomposeVApp"), &body).await;
    let vapp = c.admin.get(&href).await.must(200);
    assert!(vapp.text.contains("<Vm name=\"added\" status=\"8\""), "{}", vapp.text);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    let vm = &vapp.text[at..at + 13 + 36];
    let body = format!("<RecomposeVAppParams><DeleteItem href=\"http://x{vm}\"/></RecomposeVAppParams>");
    c.act(&format!("{href}/action/recomposeVApp"), &body).await;
    assert!(!c.admin.get(&href).await.must(200).text.contains("<Vm "));

    // a machine alone brings a vApp of its own, which goes with it
    let body = format!(
        "<InstantiateVmTemplateParams name=\"alone\" powerOn=\"false\"><SourcedVmTemplateItem><Source href=\"http://x{source}\"/>\
         </SourcedVmTemplateItem><AllEULAsAccepted>true</AllEULAsAccepted></InstantiateVmTemplateParams>"
    );
    let said = c.admin.post(&format!("{}/action/instantiateVmFromTemplate", c.vdc()), &body).await.must(202);
    let task = c.ended(&said).await;
    assert_eq!(task.attr("status"), "success", "{}", task.text);
    let at = task.text.find("<Owner href=\"").unwrap() + 13;
    let hidden = task.text[at..at + task.text[at..].find('"').unwrap()].to_owned();
    let vapp = c.admin.get(&hidden).await.must(200);
    assert!(vapp.text.contains("<autoNature>true<"), "{}", vapp.text);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    let said = c.admin.delete(&vapp.text[at..at + 13 + 36]).await.must(202);
    c.succeeded(said).await;
    c.admin.get(&hidden).await.must(403);
}

#[tokio::test]
async fn what_is_moved_has_the_name_the_words_and_the_power_that_are_asked_for_with_it() {
    let c = Clients::set().await;
    let first = c.instantiate("office", "ubuntu-24.04").await;
    c.act(&format!("{first}/action/undeploy"), "").await;
    let compose = format!("{}/action/composeVApp", c.vdc());
    let second = c.admin.post(&compose, "<ComposeVAppParams name=\"second\"/>").await.must(201).attr("href");
    let vapp = c.admin.get(&first).await.must(200);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    let vm = vapp.text[at..at + 13 + 36].to_owned();
    // within its VDC it is the same machine
    let body = format!(
        "<RecomposeVAppParams powerOn=\"true\"><SourcedItem sourceDelete=\"true\"><Source href=\"http://x{vm}\" name=\"office\"/>\
         <VmGeneralParams><Name>moved</Name><Description>in another room</Description></VmGeneralParams>\
         <InstantiationParams><NetworkConnectionSection/></InstantiationParams></SourcedItem></RecomposeVAppParams>"
    );
    c.act(&format!("{second}/action/recomposeVApp"), &body).await;
    let now = c.admin.get(&vm).await.must(200).text;
    assert!(now.contains("name=\"moved\"") && now.contains("<Description>in another room<"), "{now}");
    assert!(now.contains("status=\"4\"") && !now.contains("<NetworkConnection "), "{now}");
    assert!(!c.admin.get(&first).await.must(200).text.contains("<Vm "), "it is not in both");

    // a whole vApp into another VDC
    c.act(&format!("{second}/action/undeploy"), "").await;
    let dev = c.stage.app.vdc(c.stage.acme.id, "dev").await;
    let body = format!(
        "<CloneVAppParams name=\"third\" powerOn=\"true\"><Description>far away</Description><Source href=\"{second}\"/>\
         <IsSourceDelete>true</IsSourceDelete></CloneVAppParams>"
    );
    let made = c.admin.post(&format!("/api/vdc/{dev}/action/cloneVApp"), &body).await.must(201);
    let third = made.attr("href");
    c.succeeded(made).await;
    let now = c.admin.get(&third).await.must(200).text;
    assert!(
        now.contains("name=\"third\"") && now.contains("<Description>far away<") && now.contains("status=\"4\""),
        "{now}"
    );
    c.admin.get(&second).await.must(403);

    // and a machine of it back again, into a vApp of the first VDC
    c.act(&format!("{third}/action/undeploy"), "").await;
    let at = now.find("/api/vApp/vm-").unwrap();
    let vm = &now[at..at + 13 + 36];
    let body = format!(
        "<RecomposeVAppParams><SourcedItem sourceDelete=\"true\"><Source href=\"http://x{vm}\"/>\
         <VmGeneralParams><Name>back</Name></VmGeneralParams></SourcedItem></RecomposeVAppParams>"
    );
    c.act(&format!("{first}/action/recomposeVApp"), &body).await;
    let now = c.admin.get(&first).await.must(200).text;
    assert!(now.contains("<Vm name=\"back\""), "{now}");
    c.admin.get(vm).await.must(403);
}

#[tokio::test]
async fn a_copy_of_a_machine_is_called_as_its_source_is_given_a_name() {
    let c = Clients::set().await;
    let href = c.instantiate("office", "ubuntu-24.04").await;
    c.act(&format!("{href}/action/undeploy"), "").await;
    let vapp = c.admin.get(&href).await.must(200);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    let vm = &vapp.text[at..at + 13 + 36];
    let body = format!(
        "<RecomposeVAppParams><SourcedItem><Source href=\"http://x{vm}\" name=\"twin\"/></SourcedItem></RecomposeVAppParams>"
    );
    c.act(&format!("{href}/action/recomposeVApp"), &body).await;
    let vapp = c.admin.get(&href).await.must(200);
    assert!(vapp.text.contains("<Vm name=\"twin\""), "{}", vapp.text);
}

#[tokio::test]
async fn a_template_that_asks_for_something_is_refused_by_name_and_leads_to_the_portal() {
    let c = Clients::set().await;
    c.stage.until("the template", async || c.stage.template("guestbook").await.is_some()).await;
    let source = c.template("guestbook").await;
    let body = format!(
        "<InstantiateVAppTemplateParams xmlns=\"http://www.vmware.com/vcloud/v1.5\" name=\"guests\"><Source href=\"{source}\"/></InstantiateVAppTemplateParams>"
    );
    let refused = c.admin.post(&format!("{}/action/instantiateVAppTemplate", c.vdc()), &body).await.must(400);
    assert!(
        refused.text.contains("asks for Title, and VCD") && refused.text.contains("in the portal"),
        "{}",
        refused.text
    );
}
