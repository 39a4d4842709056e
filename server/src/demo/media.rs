//! A catalog of acme's own, with what people bring into catalogs: two templates and a disc.

use axum::body::Bytes;
use domain::{Domain, bootstrap, catalog, upload};
use model::{Action, Actor, CatalogId, Result, catalog::CatalogSpec, template::ItemKind, upload::UploadSpec};

const CATALOG: &str = "acme-images";
const BLOCK: usize = 2048;
const DISK_BYTES: u64 = 10 << 30;

pub async fn run(d: &Domain) -> Result<()> {
    let operator = bootstrap::operator(d).await?;
    let made = d.store.made_by_operator(&[CATALOG.to_owned()]).await?;
    let Some(org) = d.store.org_id("acme").await? else { return Ok(()) };
    if d.area.is_none() || made.iter().any(|m| m.action == Action::CatalogCreate.key()) {
        return Ok(());
    }
    let spec = CatalogSpec {
        name: CATALOG.into(),
        description: "Acme's own choice.".into(),
        open: true,
        ..CatalogSpec::default()
    };
    let catalog = match catalog::create(d, &operator, org, spec).await {
        Ok(catalog) => catalog.id,
        other => return super::taken_is_fine(other),
    };
    let one = [("ubuntu-24.04", 1, 2048)];
    let asks = r#"<ProductSection><Info>What the machine is told</Info><Property ovf:key="motd" ovf:type="string" ovf:userConfigurable="true" ovf:value=""><Label>Message of the day</Label><Description>Shown to everybody who signs in.</Description></Property></ProductSection>"#;
    template(d, &operator, catalog, ("ubuntu-24.04", "Ubuntu 24.04 LTS, as Acme wants it."), &one, asks).await?;
    let two = [("web", 1, 1024), ("db", 2, 4096)];
    template(d, &operator, catalog, ("web-and-db", "A web server and its database."), &two, "").await?;
    let disc = empty_disc();
    let item = ("tools.iso", "Drivers and the guest agent.");
    item_of(d, &operator, catalog, item, ItemKind::Media, vec![("tools.iso".into(), disc)]).await
}

/// An OVF package with one disk for each of its machines, given by their names, processors and megabytes of memory.
async fn template(
    d: &Domain,
    operator: &Actor,
    catalog: CatalogId,
    item: (&str, &str),
    machines: &[(&str, u32, u32)],
    asks: &str,
) -> Result<()> {
    let disk = empty_disk();
    let mut files = vec![("descriptor.ovf".to_owned(), descriptor(item.0, machines, asks, disk.len()).into_bytes())];
    files.extend(machines.iter().map(|(name, ..)| (format!("{name}.qcow2"), disk.clone())));
    item_of(d, operator, catalog, item, ItemKind::Template, files).await
}

async fn item_of(
    d: &Domain,
    operator: &Actor,
    catalog: CatalogId,
    (name, description): (&str, &str),
    kind: ItemKind,
    files: Vec<(String, Vec<u8>)>,
) -> Result<()> {
    let spec = UploadSpec { name: name.into(), description: description.into(), kind, ..UploadSpec::default() };
    let id = upload::begin(d, operator, catalog, spec).await?;
    let link = upload::get(d, operator, id).await?.link;
    for (file, bytes) in files {
        let length = bytes.len() as u64;
        let bytes = futures::stream::iter([Ok::<_, model::Error>(Bytes::from(bytes))]);
        upload::send_whole(d, &link, &file, length, bytes).await?;
    }
    Ok(())
}

fn descriptor(name: &str, machines: &[(&str, u32, u32)], asks: &str, disk_bytes: usize) -> String {
    let each = |form: &dyn Fn(&str) -> String| machines.iter().map(|(vm, ..)| form(vm)).collect::<String>();
    let files = each(&|vm| format!(r#"<File ovf:href="{vm}.qcow2" ovf:id="{vm}-file" ovf:size="{disk_bytes}"/>"#));
    let disks = each(&|vm| {
        format!(
            r#"<Disk ovf:capacity="{DISK_BYTES}" ovf:diskId="{vm}-disk" ovf:fileRef="{vm}-file" ovf:format="http://www.gnome.org/~markmc/qcow-image-format.html"/>"#
        )
    });
    let systems: String = machines.iter().map(|machine| system(machine, asks)).collect();
    // the last one first: others ask it for what they show
    let order = |(i, (vm, ..)): (usize, &(&str, u32, u32))| {
        format!(r#"<Item ovf:id="{vm}" ovf:order="{}" ovf:startDelay="0"/>"#, machines.len() - 1 - i)
    };
    let order: String = machines.iter().enumerate().map(order).collect();
    let order = format!("<StartupSection><Info>When each starts</Info>{order}</StartupSection>");
    let systems = match machines.len() {
        1 => systems,
        _ => format!(
            r#"<VirtualSystemCollection ovf:id="{name}"><Info>The whole of it</Info><Name>{name}</Name>{order}{systems}</VirtualSystemCollection>"#
        ),
    };
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
 xmlns:vmw="http://www.vmware.com/schema/ovf">
<References>{files}</References><DiskSection><Info>Disks</Info>{disks}</DiskSection>
<NetworkSection><Info>Networks</Info><Network ovf:name="network"><Description/></Network></NetworkSection>{systems}
</Envelope>"#
    )
}

fn system((name, cpus, memory_mb): &(&str, u32, u32), asks: &str) -> String {
    let item = |fields: &str| format!("<Item>{fields}</Item>");
    let hardware = [
        item(&format!("<rasd:ElementName>CPUs</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>{cpus}</rasd:VirtualQuantity>")),
        item(&format!("<rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ElementName>Memory</rasd:ElementName><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>{memory_mb}</rasd:VirtualQuantity>")),
        item("<rasd:Address>0</rasd:Address><rasd:ElementName>SCSI Controller 0</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType>"),
        item(&format!("<rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:ElementName>Hard disk 1</rasd:ElementName><rasd:HostResource>ovf:/disk/{name}-disk</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType>")),
        item("<rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:AutomaticAllocation>true</rasd:AutomaticAllocation><rasd:Connection>network</rasd:Connection><rasd:ElementName>Network adapter 1</rasd:ElementName><rasd:InstanceID>5</rasd:InstanceID><rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType>"),
    ]
    .concat();
    format!(
        r#"<VirtualSystem ovf:id="{name}"><Info>A machine</Info><Name>{name}</Name><OperatingSystemSection ovf:id="94" vmw:osType="ubuntu64Guest"><Info>System</Info><Description>Ubuntu Linux (64-bit)</Description></OperatingSystemSection><VirtualHardwareSection><Info>Hardware</Info>{hardware}</VirtualHardwareSection>{asks}</VirtualSystem>"#
    )
}

/// A qcow2 disk with its header, and nothing on it.
fn empty_disk() -> Vec<u8> {
    let mut disk = vec![0; 1024];
    disk[..4].copy_from_slice(b"QFI\xfb");
    disk[4..8].copy_from_slice(&3u32.to_be_bytes());
    disk[20..24].copy_from_slice(&16u32.to_be_bytes());
    disk[24..32].copy_from_slice(&DISK_BYTES.to_be_bytes());
    disk[36..40].copy_from_slice(&1u32.to_be_bytes());
    disk[40..48].copy_from_slice(&512u64.to_be_bytes());
    disk
}

/// An ISO 9660 image with its descriptor, and nothing on it.
fn empty_disc() -> Vec<u8> {
    let blocks: u32 = 24;
    let mut disc = vec![0; blocks as usize * BLOCK];
    let descriptor = &mut disc[16 * BLOCK..17 * BLOCK];
    descriptor[..7].copy_from_slice(b"\x01CD001\x01");
    descriptor[40..72].copy_from_slice(b"TOOLS                           ");
    descriptor[80..84].copy_from_slice(&blocks.to_le_bytes());
    disc[17 * BLOCK..17 * BLOCK + 7].copy_from_slice(b"\xffCD001\x01");
    disc
}
