//! Archives and descriptors made by hand, so that they can be wrong in every way.
#![allow(dead_code, reason = "each test takes what it needs")]

pub(crate) const OVF: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
 xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData"
 xmlns:vmw="http://www.vmware.com/schema/ovf">
 <References><File ovf:href="disk1.vmdk" ovf:id="file1" ovf:size="1536"/></References>
 <DiskSection><Info>disks</Info>
  <Disk ovf:capacity="4" ovf:capacityAllocationUnits="byte * 2^20" ovf:diskId="vmdisk1" ovf:fileRef="file1"
   ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
  <Disk ovf:capacity="2" ovf:capacityAllocationUnits="GigaBytes" ovf:diskId="empty"/>
 </DiskSection>
 <NetworkSection><Info>networks</Info><Network ovf:name="VM Network"><Description>n</Description></Network></NetworkSection>
 <vmw:StorageSection ovf:required="false"><Info>x</Info></vmw:StorageSection>
 <VirtualSystemCollection ovf:id="shop"><Info>two</Info><Name>The shop</Name>
  <ProductSection ovf:class="com.shop"><Info/><Property ovf:key="host" ovf:type="string" ovf:value="shop.example" ovf:userConfigurable="true"><Label>Host</Label></Property></ProductSection>
  <StartupSection><Info/><Item ovf:id="web" ovf:order="2" ovf:startDelay="30"/></StartupSection>
  <VirtualSystem ovf:id="db"><Info>a vm</Info><Name>Data</Name>
   <OperatingSystemSection ovf:id="94" vmw:osType="ubuntu64Guest"><Info>os</Info><Description>Ubuntu Linux (64-bit)</Description></OperatingSystemSection>
   <VirtualHardwareSection><Info>hw</Info>
    <System><vssd:ElementName>Virtual Hardware Family</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID></System>
    <Item><rasd:AllocationUnits>hertz * 10^6</rasd:AllocationUnits><rasd:ElementName>2 virtual CPUs</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity></Item>
    <Item><rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ElementName>256MB of memory</rasd:ElementName><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>256</rasd:VirtualQuantity></Item>
    <Item><rasd:Address>0</rasd:Address><rasd:ElementName>SATA Controller 0</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>vmware.sata.ahci</rasd:ResourceSubType><rasd:ResourceType>20</rasd:ResourceType></Item>
    <Item><rasd:AddressOnParent>1</rasd:AddressOnParent><rasd:ElementName>Hard disk 2</rasd:ElementName><rasd:HostResource>ovf:/disk/empty</rasd:HostResource><rasd:InstanceID>5</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
    <Item><rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:ElementName>Hard disk 1</rasd:ElementName><rasd:HostResource>ovf:/disk/vmdisk1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
    <Item><rasd:AutomaticAllocation>true</rasd:AutomaticAllocation><rasd:Connection>VM Network</rasd:Connection><rasd:ElementName>Network adapter 1</rasd:ElementName><rasd:InstanceID>6</rasd:InstanceID><rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType></Item>
    <Item ovf:required="false"><rasd:ElementName>CD/DVD drive</rasd:ElementName><rasd:InstanceID>7</rasd:InstanceID><rasd:ResourceType>15</rasd:ResourceType></Item>
    <Item ovf:required="false"><rasd:ElementName>Video card</rasd:ElementName><rasd:InstanceID>8</rasd:InstanceID><rasd:ResourceType>24</rasd:ResourceType></Item>
    <vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
   </VirtualHardwareSection>
  </VirtualSystem>
  <VirtualSystem ovf:id="web"><Info>a vm</Info>
   <VirtualHardwareSection><Info>hw</Info>
    <Item><rasd:ElementName>cpu</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>
    <Item><rasd:ElementName>memory</rasd:ElementName><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>512</rasd:VirtualQuantity></Item>
   </VirtualHardwareSection>
  </VirtualSystem>
 </VirtualSystemCollection>
</Envelope>
"#;

/// A disk of 4 MiB that says so, and no more.
pub(crate) fn vmdk() -> Vec<u8> {
    let mut out = vec![0; 1536];
    out[..4].copy_from_slice(b"KDMV");
    out[4..8].copy_from_slice(&3u32.to_le_bytes());
    out[12..20].copy_from_slice(&(8192u64).to_le_bytes());
    out[28..36].copy_from_slice(&1u64.to_le_bytes());
    out[36..44].copy_from_slice(&2u64.to_le_bytes());
    let text = b"# Disk DescriptorFile\nversion=1\nparentCID=ffffffff\ncreateType=\"streamOptimized\"\n";
    out[512..512 + text.len()].copy_from_slice(text);
    out
}

pub(crate) fn qcow2(size: u64) -> Vec<u8> {
    let mut out = vec![0; 1024];
    out[..4].copy_from_slice(b"QFI\xfb");
    out[4..8].copy_from_slice(&3u32.to_be_bytes());
    out[20..24].copy_from_slice(&16u32.to_be_bytes());
    out[24..32].copy_from_slice(&size.to_be_bytes());
    out[36..40].copy_from_slice(&1u32.to_be_bytes());
    out[40..48].copy_from_slice(&512u64.to_be_bytes());
    out
}

pub(crate) fn iso(blocks: u32) -> Vec<u8> {
    let mut out = vec![0; 20 * 2048];
    out[0x8001..0x8006].copy_from_slice(b"CD001");
    out[0x8050..0x8054].copy_from_slice(&blocks.to_le_bytes());
    out
}

/// One header of a tar, with its sum.
pub(crate) fn header(name: &str, size: &str, kind: u8) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    block[100..107].copy_from_slice(b"0000644");
    block[124..124 + size.len()].copy_from_slice(size.as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    seal(&mut block);
    block
}

pub(crate) fn seal(block: &mut [u8; 512]) {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

pub(crate) fn entry(out: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    out.extend(header(name, &format!("{:011o}", bytes.len()), b'0'));
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(512), 0);
}

pub(crate) fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![];
    entries.iter().for_each(|(name, bytes)| entry(&mut out, name, bytes));
    end(out)
}

pub(crate) fn end(mut out: Vec<u8>) -> Vec<u8> {
    out.resize(out.len() + 1024, 0);
    out
}

pub(crate) fn good() -> Vec<u8> {
    tar(&[("shop.ovf", OVF.as_bytes()), ("disk1.vmdk", &vmdk())])
}

pub(crate) fn hashes(bytes: &[u8]) -> ovf::Hashes {
    let mut hasher = ovf::Hasher::new(true);
    hasher.update(bytes);
    hasher.finish()
}
