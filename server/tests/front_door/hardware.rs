//! What templates and clients say of a machine besides its size: firmware, TPM, features, buses, cards, and when it starts.
use crate::{
    harness::qcow2,
    stage::Stage,
    uploads::{Desk, tar},
};
use domain::{catalog, item, vapp, vm};
use model::{
    Action, VappId,
    disk::Bus,
    hardware::{Firmware, Tpm},
    nic::Adapter,
    task::TaskStatus,
    template::ItemKind,
    upload::UploadSpec,
    vm::{Besides, BootOptions, Vm, VmState},
};
use serde_json::{Value, json};

/// Two machines: one as VMware's clients write it for a new Windows, and one that starts after it.
const OVF: &str = r#"<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData" xmlns:vmw="http://www.vmware.com/schema/ovf">
 <References><File ovf:href="disk1.qcow2" ovf:id="file1" ovf:size="1024"/></References>
 <DiskSection><Info/><Disk ovf:capacity="64" ovf:capacityAllocationUnits="byte * 2^20" ovf:diskId="d1" ovf:fileRef="file1"/>
  <Disk ovf:capacity="64" ovf:capacityAllocationUnits="byte * 2^20" ovf:diskId="d2"/></DiskSection>
 <NetworkSection><Info/><Network ovf:name="lan"/></NetworkSection>
 <VirtualSystemCollection ovf:id="shop"><Info/>
  <StartupSection><Info/><Item ovf:id="db" ovf:order="0" ovf:startDelay="2"/><Item ovf:id="web" ovf:order="1"/></StartupSection>
  <VirtualSystem ovf:id="db"><Info/><Name>db</Name><VirtualHardwareSection><Info/>
   <Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>4</rasd:VirtualQuantity><vmw:CoresPerSocket ovf:required="false">2</vmw:CoresPerSocket></Item>
   <Item><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>512</rasd:VirtualQuantity></Item>
   <Item><rasd:Address>0</rasd:Address><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>vmware.sata.ahci</rasd:ResourceSubType><rasd:ResourceType>20</rasd:ResourceType></Item>
   <Item><rasd:Address>1</rasd:Address><rasd:InstanceID>4</rasd:InstanceID><rasd:ResourceSubType>lsilogic</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType></Item>
   <Item><rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:HostResource>ovf:/disk/d1</rasd:HostResource><rasd:InstanceID>5</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
   <Item><rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:HostResource>ovf:/disk/d2</rasd:HostResource><rasd:InstanceID>6</rasd:InstanceID><rasd:Parent>4</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
   <Item><rasd:Connection>lan</rasd:Connection><rasd:InstanceID>7</rasd:InstanceID><rasd:ResourceSubType>E1000e</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType></Item>
   <Item ovf:required="false"><rasd:InstanceID>8</rasd:InstanceID><rasd:ResourceSubType>vmware.vtpm</rasd:ResourceSubType><rasd:ResourceType>1</rasd:ResourceType></Item>
   <vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
   <vmw:Config ovf:required="false" vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="true"/>
  </VirtualHardwareSection></VirtualSystem>
  <VirtualSystem ovf:id="web"><Info/><Name>web</Name><VirtualHardwareSection><Info/>
   <Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>
   <Item><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>256</rasd:VirtualQuantity></Item>
  </VirtualHardwareSection></VirtualSystem>
 </VirtualSystemCollection>
</Envelope>"#;

impl Stage {
    fn domain_of(&self, vm: &Vm) -> Value {
        self.object(vm).unwrap()["spec"]["template"]["spec"]["domain"].clone()
    }

    async fn off_again(&self, id: VappId) -> Vec<Vm> {
        vapp::power(&self.app.domain, &self.admin, id, Action::VappPowerOff).await.unwrap();
        self.until("stopped VMs", async || self.vms(id).await.iter().all(|v| v.state() == VmState::Stopped)).await;
        self.vms(id).await
    }
}

/// What the demo's Windows asks for.
fn is_windows(domain: &Value) {
    assert_eq!(domain["firmware"]["bootloader"], json!({"efi": {"secureBoot": true}}), "{domain}");
    assert!(domain["devices"]["tpm"].is_object(), "{domain}");
    assert!(domain["features"]["hyperv"]["vapic"].is_object(), "{domain}");
    assert_eq!(domain["features"]["smm"]["enabled"], true);
    assert_eq!(domain["devices"]["disks"][0]["disk"]["bus"], "sata");
    assert_eq!(domain["devices"]["interfaces"][0]["model"], "e1000e");
}

#[tokio::test]
async fn what_a_template_asks_of_hardware_reaches_its_vm_and_what_is_captured_from_that() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("windows-2022", "win").await;
    let one = stage.running(id).await.remove(0);
    is_windows(&stage.domain_of(&one));
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200).says("EFI with secure boot, TPM");
    let template = stage.template("windows-2022").await.unwrap();
    page.get(&format!("/tenant/acme/templates/{}", template.id)).await.must(200).says("EFI with secure boot, TPM");

    stage.off_again(id).await;
    let desk = Desk::open(&stage.app, admin, "acme").await;
    let spec = UploadSpec { name: "golden".into(), ..UploadSpec::default() };
    let captured = item::capture(d, admin, id, desk.catalog, spec).await.unwrap();
    let whole = async || stage.task_of(captured.0, Action::VappCapture).await.0 == TaskStatus::Success;
    stage.until("the capture", whole).await;
    let again = stage.deploy("golden", "again").await;
    is_windows(&stage.domain_of(&stage.running(again).await[0]));
}

#[tokio::test]
async fn what_an_ovf_says_of_hardware_and_of_starting_reaches_its_vms() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let bytes = tar(&[("shop.ovf", OVF.as_bytes()), ("disk1.qcow2", &qcow2(64))]);
    let template = desk.uploaded("shop", ItemKind::Template, "shop.ova", &bytes).await;
    let read = catalog::template(&stage.app.domain, &stage.admin, template).await.unwrap();
    let db = &read.vms[0];
    assert_eq!((db.hardware.firmware, db.hardware.tpm), (Firmware::Secure, Tpm::Persistent));
    assert_eq!(db.disks.iter().map(|d| d.bus).collect::<Vec<_>>(), [Bus::Sata, Bus::Scsi]);
    assert_eq!((db.nics[0].adapter, db.hardware.cores_per_socket), (Adapter::E1000e, 2));
    let starts: Vec<_> = read.vms.iter().map(|v| (v.start_order, v.start_delay_s)).collect();
    assert_eq!(starts, [(0, 2), (1, 0)]);

    let id = stage.deploy("shop", "shop").await;
    let vms = stage.running(id).await;
    let domain = stage.domain_of(&vms[0]);
    assert_eq!(domain["cpu"], json!({"sockets": 2, "cores": 2, "threads": 1}));
    assert_eq!(domain["firmware"]["bootloader"]["efi"]["secureBoot"], true);
    assert_eq!(domain["devices"]["tpm"], json!({"persistent": true}));
    let buses: Vec<_> = domain["devices"]["disks"].as_array().unwrap().iter().map(|d| &d["disk"]["bus"]).collect();
    assert_eq!(buses[..2], ["sata", "scsi"]);
    assert_eq!(domain["devices"]["interfaces"][0]["model"], "e1000e");
    let apart = vms[1].since.unwrap() - vms[0].since.unwrap();
    assert!(apart.whole_seconds() >= 2, "web waits for db: {apart}");
}

#[tokio::test]
async fn what_a_client_sets_of_firmware_and_cores_is_what_its_hub_has_at_the_next_start() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "one").await;
    stage.running(id).await;
    let one = stage.off_again(id).await.remove(0);
    vm::resize(d, admin, one.id, 4, 2048).await.unwrap();
    let boot = BootOptions { secure: true, ..BootOptions::default() };
    let said = Besides { firmware: "efi".into(), cores_per_socket: Some(2), boot, ..Besides::default() };
    vm::keep(d, admin, one.id, said.clone()).await.unwrap();
    let secure = async || stage.domain_of(&one)["firmware"]["bootloader"]["efi"]["secureBoot"] == true;
    stage.until("secure boot", secure).await;
    let domain = stage.domain_of(&one);
    assert_eq!(domain["features"]["smm"]["enabled"], true);
    assert_eq!(domain["cpu"], json!({"sockets": 2, "cores": 2, "threads": 1}));
    assert_eq!(stage.vm(one.id).await.outside, "", "nobody did that by hand");
    // back, and what hubs have nothing like is told to none
    vm::keep(d, admin, one.id, Besides { firmware: "bios".into(), ..said.clone() }).await.unwrap();
    stage.until("BIOS", async || stage.domain_of(&one)["firmware"]["bootloader"] == json!({"bios": {}})).await;
    let before = stage.vm(one.id).await.generation;
    let besides = Besides { firmware: "bios".into(), hardware_version: "vmx-19".into(), ..said };
    vm::keep(d, admin, one.id, besides).await.unwrap();
    assert_eq!(stage.vm(one.id).await.generation, before);
    vapp::power(d, admin, id, Action::VappPowerOn).await.unwrap();
    stage.running(id).await;
}

#[tokio::test]
async fn the_order_in_which_vms_start_is_the_templates_and_is_changed_on_a_page() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let shown = |vms: &[Vm]| vms.iter().map(|v| (v.name.clone(), v.start_order, v.start_delay_s)).collect::<Vec<_>>();
    assert_eq!(shown(&vms), [("db".to_owned(), 0, 0), ("web".to_owned(), 1, 0)]);
    assert!(vms[0].since <= vms[1].since);
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let at = format!("/tenant/acme/vapps/{id}");
    page.get(&at).await.must(200).says("Starting order");
    let form = format!("{at}/start-order");
    let field = |kind: &str, vm: &Vm| format!("{kind}-{}", vm.id);
    let (order, wait) = (field("order", &vms[0]), field("wait", &vms[1]));
    let back = page.fill(&form, &[(&order, "2"), (&wait, "soon")]).await.must(422).says("From 0 to 3600 seconds.");
    assert_eq!((back.field(&order).as_deref(), back.field(&wait).as_deref()), (Some("2"), Some("soon")));
    page.fill(&form, &[(&order, "2"), (&wait, "30")]).await.must(303);
    assert_eq!(shown(&stage.vms(id).await), [("web".to_owned(), 1, 30), ("db".to_owned(), 2, 0)]);
    page.get(&at).await.must(200).says("1, then 30 s");
}
