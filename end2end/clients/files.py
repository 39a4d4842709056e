"""What is uploaded: an OVA of one VM with a small disk, and a disc image."""
import io
import struct
import tarfile

OVF = '''<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData">
 <References><File ovf:href="system.qcow2" ovf:id="image" ovf:size="{size}"/></References>
 <DiskSection><Info>Disks</Info>
  <Disk ovf:diskId="system" ovf:fileRef="image" ovf:capacity="{megabytes}" ovf:capacityAllocationUnits="byte * 2^20"/>
 </DiskSection>
 <VirtualSystem ovf:id="{name}"><Info>A machine</Info><Name>{name}</Name>
  <OperatingSystemSection ovf:id="101"><Info>Guest</Info><Description>Other Linux (64-bit)</Description></OperatingSystemSection>
  <VirtualHardwareSection><Info>Hardware</Info>
   {items}
  </VirtualHardwareSection>
 </VirtualSystem>
</Envelope>
'''


def item(number, kind, **more):
    inner = {'InstanceID': number, 'ResourceType': kind, **more}
    return '<Item>%s</Item>' % ''.join(f'<rasd:{k}>{v}</rasd:{k}>' for k, v in sorted(inner.items()))


def qcow2(megabytes):
    """A disk image without a single cluster in use."""
    fields = struct.pack('>4sIQIIQIIQ', b'QFI\xfb', 3, 0, 0, 16, megabytes << 20, 0, 1, 512)
    return fields.ljust(1024, b'\0')


def ova(path, name='box', megabytes=64):
    disk = qcow2(megabytes)
    items = [
        item(1, 3, VirtualQuantity=1, ElementName='CPU'),
        item(2, 4, VirtualQuantity=512, ElementName='Memory', AllocationUnits='byte * 2^20'),
        item(3, 17, ElementName='Disk', HostResource='ovf:/disk/system'),
        item(4, 10, ElementName='Card'),
    ]
    text = OVF.format(name=name, size=len(disk), megabytes=megabytes, items='\n   '.join(items)).encode()
    with tarfile.open(path, 'w', format=tarfile.USTAR_FORMAT) as archive:
        for file, content in ((f'{name}.ovf', text), ('system.qcow2', disk)):
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def iso(path, label='SUITE', sectors=48):
    """A volume descriptor and nothing else: as much of ISO 9660 as tells a disc from something else."""
    both = struct.pack('<I', sectors) + struct.pack('>I', sectors)
    volume = b'\x01CD001\x01\0'.ljust(40) + label.encode().ljust(32) + bytes(8) + both
    end = b'\xffCD001\x01'
    with open(path, 'wb') as file:
        file.write(bytes(16 * 2048) + volume.ljust(2048, b'\0') + end.ljust(2048, b'\0') + bytes((sectors - 18) * 2048))
