"""vApps and machines by pyvcloud: made, run, changed, copied, captured, deleted."""
import socket
import ssl

from pyvcloud.vcd.client import E, EntityType, MetadataDomain, MetadataVisibility, RelationType, find_link
from pyvcloud.vcd.exceptions import (
    AccessForbiddenException, BadRequestException, EntityNotFoundException, OperationNotSupportedException)
from pyvcloud.vcd.vapp import VApp
from pyvcloud.vcd.vdc import VDC
from pyvcloud.vcd.vm import VM

from steps import check, refused, same

OFF, ON, SUSPENDED = 8, 4, 3


def first_words(host, port, tls, path):
    """What a WebSocket at that address sends first; None if there is none."""
    with socket.create_connection((host, port), timeout=30) as plain:
        # the demo's certificate is nobody's
        end = ssl._create_unverified_context().wrap_socket(plain, server_hostname=host) if tls else plain
        end.sendall((f'GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
                     'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c29tZSBieXRlcyBvbmNlIQ==\r\n'
                     'Sec-WebSocket-Protocol: binary\r\n\r\n').encode())
        with end.makefile('rb') as read:
            if b' 101 ' not in read.readline():
                return None
            while read.readline().strip():
                pass
            kind, length = read.read(2)
            return read.read(length) if kind == 0x82 else None


def machines(suite, kept, a, name, done):
    step = suite.step

    def vapp(of='shop'):
        kept.vdc.reload()
        return VApp(kept.client, resource=kept.vdc.get_vapp(name(of)))

    def vm(of=None, within='shop'):
        all_ = vapp(within).get_all_vms()
        one = all_[0] if of is None else next(v for v in all_ if v.get('name') == of)
        return VM(kept.client, href=one.get('href'))

    def state(of, wanted):
        of.reload()
        same(int(of.get_resource().get('status')), wanted, 'status')

    def power(of, verbs):
        """Each verb and the state after it."""
        for verb, after in verbs:
            thing = of()
            done(getattr(thing, verb)())
            state(thing, after)

    def attached(disk):
        found = kept.client.get_linked_resource(
            kept.client.get_resource(disk.get('href')), RelationType.DOWN, EntityType.VMS.value)
        return list(getattr(found, 'VmReference', []))

    def disks():
        items = vm().get_resource()['{http://schemas.dmtf.org/ovf/envelope/1}VirtualHardwareSection']
        rasd = '{http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData}'
        return [i for i in items.iterchildren() if str(getattr(i, rasd + 'ResourceType', '')) == '17']

    @step('vApp: from a template, on a network, switched on')
    def _():
        made = kept.vdc.instantiate_vapp(
            name('shop'), a.catalog, a.template, description='a shop', network=a.network, ip_allocation_mode='pool',
            deploy=True, power_on=True, accept_all_eulas=True, vm_name=name('front'), hostname='front', memory=1024, cpu=1)
        same(made.get('name'), name('shop'))
        done(made)
        state(vapp(), ON)

    @step('VM: its name, size, card and address')
    def _():
        one = vm()
        same(one.get_resource().get('name'), name('front'))
        same((one.get_cpus()['num_cpus'], one.get_memory()), (1, 1024), 'CPUs and memory')
        card = one.list_nics()[0]
        same((card['network'], card['ip_address_mode'], card['primary']), (a.network, 'POOL', True))
        check(card['ip_address'].count('.') == 3, card)
        return card['ip_address']

    @step('VM: a picture of its screen, and tickets that open its console once')
    def _():
        one = vm()
        links = {str(link.get('rel')) for link in one.get_resource().Link}
        check({'screen:thumbnail', 'screen:acquireTicket', 'screen:acquireMksTicket'} <= links, links)
        # pyvcloud takes every answer for a text, so its session is asked alone
        picture = kept.client._session.get(one.href + '/screen', verify=False)
        same((picture.status_code, picture.headers['Content-Type'], picture.content[:4]), (200, 'image/png', b'\x89PNG'))
        said = one.list_screen_ticket()['ScreenTicket']
        check(said.startswith('mks://') and '?ticket=cst-' in said, 'no screen ticket')
        mks = one.list_mks_ticket()
        tls = one.href.startswith('https')
        console = lambda: first_words(str(mks['Host']), int(mks['Port']), tls, f"/console/{mks['Ticket']}")
        same(console(), b'RFB 003.008\n', 'what the console says first')
        check(console() is None, 'a ticket opened two consoles')
        return f"{mks['Host']}:{mks['Port']}"

    @step('vApp: what it can do is what it says')
    def _():
        shop = vapp()
        check(find_link(shop.get_resource(), RelationType.POWER_ON, None, False) is None, 'power:powerOn while it is on')
        refused(OperationNotSupportedException, shop.power_on)
        refused(BadRequestException, lambda: done(kept.vdc.delete_vapp(name('shop'))))

    @step('vApp: every power action')
    def _():
        power(vapp, [('power_reset', ON), ('reboot', ON), ('suspend_vapp', SUSPENDED), ('power_on', ON), ('shutdown', OFF),
                     ('power_on', ON), ('power_off', OFF), ('deploy', ON)])

    @step('VM: every power action')
    def _():
        power(vm, [('power_off', OFF), ('power_on', ON), ('power_reset', ON), ('reboot', ON), ('suspend', SUSPENDED),
                   ('power_on', ON), ('shutdown', OFF)])

    @step('vApp: what a suspended one remembers is thrown away')
    def _():
        power(vapp, [('power_on', ON), ('suspend_vapp', SUSPENDED), ('discard_suspended_state_vapp', OFF)])

    @step('vApp: undeploy')
    def _():
        done(vapp().deploy(power_on=True))
        done(vapp().undeploy('powerOff'))
        same(vapp().get_resource().get('deployed'), 'false', 'deployed')

    @step('VM: CPUs and memory')
    def _():
        done(vm().modify_cpu(2, 1))
        done(vm().modify_memory(2048))
        same((vm().get_cpus()['num_cpus'], vm().get_memory()), (2, 2048))

    @step('VM: name, description, computer name')
    def _():
        done(vm().update_general_setting(name=name('face'), description='the face', computer_name='face'))
        told = vm().general_setting_detail()
        same((told['Name'], told['Computer Name']), (name('face'), 'face'))

    @step('VM: guest customization and its script')
    def _():
        done(vm().update_guest_customization_section(enabled=True, customization_script='#!/bin/sh\necho hello\n'))
        told = vm().list_gc_section()
        check('echo hello' in str(told['CustomizationScript']), told)

    @step('VM: what is hot-plugged, boot options, operating system')
    def _():
        done(vm().update_vm_capabilities_section(memory_hot_add_enabled=True, cpu_hot_add_enabled=True))
        told = vm().list_vm_capabilities()
        same([str(v).lower() for v in told.values()], ['true', 'true'])
        check(vm().list_os_section(), 'no operating system')
        check(vm().list_boot_options() is not None, 'no boot options')

    @step('VM: hardware by section, runtime info, product sections')
    def _():
        found = vm().list_virtual_hardware_section(is_disk=True, is_media=True, is_networkCards=True)
        check(len(found) > 3, found)
        vm().list_run_time_info()
        vm().list_product_sections()

    @step('VM: a snapshot, back to it, without it')
    def _():
        done(vm().snapshot_create(memory=False, quiesce=False, name='before'))
        done(vm().snapshot_revert_to_current())
        done(vm().snapshot_remove_all())

    @step('vApp: a snapshot, back to it, without it')
    def _():
        done(vapp().create_snapshot())
        done(vapp().snapshot_revert_to_current())
        done(vapp().snapshot_remove())

    @step('VM: an independent disk comes and goes')
    def _():
        href = kept.disk.get('href')
        done(vapp().attach_disk_to_vm(href, name('face')))
        check(name('face') in [v.get('name') for v in attached(kept.disk)], 'not attached')
        done(vapp().detach_disk_from_vm(href, name('face')))

    @step('VM: another disk of its own')
    def _():
        before = len(disks())
        done(vapp().add_disk_to_vm(name('face'), 1024))
        same(len(disks()), before + 1, 'the number of disks')

    @step('VM: a disc is inserted and ejected')
    def _():
        done(vm().insert_cd_from_catalog(kept.disc))
        check(any('mediaCdElementName' in i for i in vm().list_virtual_hardware_section(is_media=True)), 'no disc in the list')
        done(vm().eject_cd(kept.disc))

    @step('vApp: a network of the VDC; a card on it; without both')
    def _():
        done(vapp().connect_org_vdc_network(kept.network))
        check(kept.network in [n.get('{http://schemas.dmtf.org/ovf/envelope/1}name') for n in vapp().get_all_networks()], 'not there')
        done(vm().add_nic('VMXNET3', False, True, kept.network, 'POOL', None))
        card = next(n for n in vm().list_nics() if n['network'] == kept.network)
        check(card['ip_address'].startswith('10.77.0.'), card)
        done(vm().update_nic(kept.network, card['index'], is_connected=True, ip_address_mode='MANUAL', ip_address='10.77.0.99',
                             adapter_type='VMXNET3'))
        done(vm().delete_nic(card['index']))
        done(vapp().disconnect_org_vdc_network(kept.network))

    @step('vApp: a network of its own')
    def _():
        done(vapp().create_vapp_network('inside', '10.78.0.1/24', 'within', '10.78.0.2', ip_ranges=['10.78.0.10-10.78.0.20']))
        check('inside' in [n['name'] for n in vapp().get_vapp_network_list()], 'not there')
        done(vapp().delete_vapp_network('inside'))

    @step('metadata: of the vApp, of the VM, typed')
    def _():
        where = (MetadataDomain.GENERAL.value, MetadataVisibility.READ_WRITE.value)
        for of in (vapp, vm):
            done(of().set_metadata(*where, 'colour', 'green'))
            done(of().set_multiple_metadata({'size': 'large', 'shape': 'round'}))
            done(of().remove_metadata('shape'))
            left = {e.Key.text: e.TypedValue.Value.text for e in of().get_metadata().MetadataEntry}
            same(left, {'colour': 'green', 'size': 'large'})

    @step('vApp: leases, name and description')
    def _():
        done(vapp().set_lease(7200, 172800))
        told = vapp().get_lease()
        same((int(told['DeploymentLeaseInSeconds']), int(told['StorageLeaseInSeconds'])), (7200, 172800))
        done(vapp().edit_name_and_description(name('shop'), 'another text'))
        same(vapp().get_resource().Description.text, 'another text')

    @step('vApp: shared to one, to everybody, another owner')
    def _():
        vapp().add_access_settings([{'name': a.member, 'type': 'user', 'access_level': 'Change'}])
        vapp().share_with_org_members('ReadOnly')
        told = vapp().get_access_settings()
        same((told.IsSharedToEveryone.text, told.AccessSettings.AccessSetting.AccessLevel.text), ('true', 'Change'))
        vapp().unshare_from_org_members()
        vapp().remove_access_settings(remove_all=True)
        vapp().change_owner(kept.org.get_user(a.member).get('href'))
        same(vapp().get_resource().Owner.User.get('name'), a.member)
        vapp().change_owner(kept.org.get_user(a.user).get('href'))

    @step('vApp: an empty one, a VM of a template and one from nothing')
    def _():
        done(kept.vdc.create_vapp(name('room'), 'a room', accept_all_eulas=True))
        # on the network of the first one, and so on its hub: disks can't travel
        done(vapp('room').connect_org_vdc_network(a.network))
        template = kept.client.get_resource(kept.org.get_catalog_item(a.catalog, a.template).Entity.get('href'))
        source = VApp(kept.client, resource=template).get_all_vms()[0].get('name')
        done(vapp('room').add_vms(
            [{'vapp': template, 'source_vm_name': source, 'target_vm_name': 'guest', 'hostname': 'guest',
              'network': a.network, 'ip_allocation_mode': 'pool'}], False, False, True))
        done(vapp('room').add_vm_from_scratch({
            'vm_name': 'bare', 'comp_name': 'bare', 'os_type': 'ubuntu64Guest', 'description': 'from nothing'}, False, False))
        same(sorted(v.get('name') for v in vapp('room').get_all_vms()), ['bare', 'guest'])

    @step('vApp: the order of its start')
    def _():
        room = vapp('room')
        done(room.update_startup_section('guest', order=2, start_delay=5))
        guest = next(i for i in vapp('room').get_startup_section() if i['Id'] == 'guest')
        same((guest['order'], guest['startDelay']), ('2', '5'))

    @step('VM: copied into another vApp, moved, deleted')
    def _():
        done(vm('guest', 'room').copy_to(name('room'), name('shop'), 'copy'))
        check('copy' in [v.get('name') for v in vapp().get_all_vms()], 'not copied')
        done(vm('copy').move_to(name('shop'), name('room'), 'moved'))
        check('copy' not in [v.get('name') for v in vapp().get_all_vms()], 'it is still there')
        check('moved' in [v.get('name') for v in vapp('room').get_all_vms()], 'not moved')
        done(vapp('room').delete_vms(['moved']))
        done(vm('bare', 'room').delete())
        same([v.get('name') for v in vapp('room').get_all_vms()], ['guest'])

    @step('vApp: copied, and captured into a catalog')
    def _():
        done(vapp('room').copy_to(kept.vdc.href, name('room-b'), 'a copy'))
        catalog = kept.org.get_catalog(kept.catalog)
        done(kept.org.capture_vapp(catalog, vapp('room').get_resource().get('href'), 'captured', 'of a room'))
        check('captured' in [i['name'] for i in kept.org.list_catalog_items(kept.catalog)], 'not there')

    @step('vApp: moved to another VDC')
    def _():
        other = VDC(kept.client, resource=kept.org.get_vdc(a.other_vdc))
        done(vapp('room-b').move_to(other.href))
        other.reload()
        other.get_vapp(name('room-b'))
        done(other.delete_vapp(name('room-b'), force=True))

    @step('a body that is none is refused with a reason')
    def _():
        href = find_link(kept.vdc.get_resource(), RelationType.ADD, EntityType.COMPOSE_VAPP_PARAMS.value).href
        error = refused(BadRequestException, lambda: kept.client.post_resource(
            href, E.Nonsense(), EntityType.COMPOSE_VAPP_PARAMS.value))
        check(error.vcd_error.get('message'), 'no message')

    @step('vApp: deleted, and then there is nothing')
    def _():
        href = vapp().href
        done(vapp().deploy(power_on=True))
        done(kept.vdc.delete_vapp(name('shop'), force=True))
        done(kept.vdc.delete_vapp(name('room'), force=True))
        kept.vdc.reload()
        refused(EntityNotFoundException, lambda: kept.vdc.get_vapp(name('shop')))
        refused(AccessForbiddenException, lambda: kept.client.get_resource(href))
