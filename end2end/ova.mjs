// A small OVA of one VM, made on the spot: a descriptor and an empty qcow2 disk of 64 MB. It has one NIC.
const descriptor = (name, size) => `<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData">
 <References><File ovf:href="disk1.qcow2" ovf:id="file1" ovf:size="${size}"/></References>
 <DiskSection><Info/><Disk ovf:capacity="64" ovf:capacityAllocationUnits="byte * 2^20" ovf:diskId="d1" ovf:fileRef="file1"/></DiskSection>
 <VirtualSystem ovf:id="${name}"><Info/><Name>${name}</Name><VirtualHardwareSection><Info/>
  <Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>
  <Item><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>512</rasd:VirtualQuantity></Item>
  <Item><rasd:HostResource>ovf:/disk/d1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:ResourceType>17</rasd:ResourceType></Item>
  <Item><rasd:InstanceID>5</rasd:InstanceID><rasd:ResourceType>10</rasd:ResourceType></Item>
 </VirtualHardwareSection></VirtualSystem>
</Envelope>`;

function qcow2(megabytes) {
  const out = Buffer.alloc(1024);
  out.write('QFI\xfb\0\0\0\x03', 'latin1');
  out.writeUInt32BE(16, 20);
  out.writeBigUInt64BE(BigInt(megabytes) << 20n, 24);
  out.writeUInt32BE(1, 36);
  out.writeBigUInt64BE(512n, 40);
  return out;
}

function entry(name, bytes) {
  const block = Buffer.alloc(512);
  block.write(name);
  block.write(bytes.length.toString(8).padStart(11, '0'), 124);
  block.write('0', 156);
  block.write('ustar\0' + '00', 257);
  block.write('        ', 148);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([block, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

export function ova(name) {
  const disk = qcow2(64);
  const text = Buffer.from(descriptor(name, disk.length));
  return Buffer.concat([entry(`${name}.ovf`, text), entry('disk1.qcow2', disk), Buffer.alloc(1024)]);
}
