#!/usr/bin/env python3
"""The unmodified Terraform provider vmware/vcd against a demo that runs: each configuration in terraform/ is applied, planned,
changed, imported and destroyed."""
from terraform_runner import A, Configuration, FOLDER, sign_in, suite, who


def app():
    c = Configuration('app')
    desk = 'vcd_vapp_vm.desk["{}"]'.format
    c.apply()
    c.expect('data.vcd_org.here', {'name': A.org, 'is_enabled': True, 'id': '~^urn:vcloud:org:'})
    c.expect('data.vcd_org_vdc.here', {'name': A.vdc, 'allocation_model': 'AllocationPool', 'enabled': True})
    c.expect('vcd_network_isolated_v2.lan', {'gateway': '10.44.0.1', 'dns_suffix': 'lan.example', 'static_ip_pool.#': 1})
    c.expect('vcd_vapp.office', {'description': 'an office', 'lease.0.runtime_lease_in_sec': 86400, 'metadata_entry.0.value': '3'})
    c.expect('vcd_vapp_network.inside', {'gateway': '10.45.0.1', 'description': 'here'})
    c.expect(desk('one'), {
        'status_text': 'POWERED_ON', 'memory': 1024, 'cpus': 1, 'network.0.ip': r'~^10\.44\.0\.(2\d|3\d|40)$',
        'network.0.mac': '~^[0-9a-f]{2}(:[0-9a-f]{2}){5}$', 'customization.0.initscript': '~echo first'})
    c.expect(desk('two'), {'status_text': 'POWERED_OFF', 'network.0.ip': '10.44.0.102', 'network.#': 1})
    c.expect('vcd_vm_affinity_rule.apart', {'polarity': 'Anti-Affinity', 'enabled': True, 'vm_ids.#': 2})
    c.expect('vcd_vapp_access_control.office', {'shared_with_everyone': False, 'shared_with.0.subject_name': A.member})
    c.clean()
    before = c.id_of(desk('one'))
    c.change()
    c.expect(desk('one'), {'id': before, 'memory': 2048, 'cpus': 2, 'guest_properties': '~on & bright', 'status_text': 'POWERED_ON'})
    c.expect(desk('two'), {'status_text': 'POWERED_ON', 'network.#': 2, 'network.1.ip': r'~^10\.45\.0\.', 'description': '~lamp'})
    c.expect('vcd_vapp.office', {'description': 'an office, moved', 'metadata_entry.#': 2, 'lease.0.runtime_lease_in_sec': 172800})
    c.expect('vcd_network_isolated_v2.lan', {'static_ip_pool.#': 2, 'description': '~more of it'})
    c.expect('vcd_vm_affinity_rule.apart', {'enabled': False, 'name': f'{c.prefix}-apart-b'})
    c.expect('vcd_vapp_access_control.office', {'shared_with_everyone': True, 'everyone_access_level': 'ReadOnly'})
    c.clean('a plan finds nothing to do after the changes')
    within = f'{A.org}.{A.vdc}'
    c.imported('vcd_network_isolated_v2.lan', f'{within}.{c.prefix}-lan')
    c.imported('vcd_vapp.office', f'{within}.{c.prefix}-office')
    c.imported(desk('one'), f'{within}.{c.prefix}-office.{c.prefix}-one')
    c.imported('vcd_vapp_network.inside', f'{within}.{c.prefix}-office.inside')
    c.imported('vcd_vm_affinity_rule.apart', f'{within}.{c.prefix}-apart-b')
    c.imported('vcd_vapp_access_control.office', f'{within}.{c.prefix}-office')
    c.destroy()


def machine():
    c = Configuration('machine')
    c.apply()
    c.expect('vcd_vm.tower', {
        'vm_type': 'vcd_vm', 'status_text': 'POWERED_OFF', 'cpus': 2, 'disk.#': 1, 'network.0.ip': r'~^\d+\.',
        'cpu_hot_add_enabled': True})
    c.expect('vcd_vm.bare', {'os_type': 'ubuntu64Guest', 'memory': 512, 'hardware_version': 'vmx-19'})
    c.expect('vcd_independent_disk.data', {'size_in_mb': 1024, 'is_attached': '~', 'storage_profile': 'standard'})
    c.expect('vcd_vm_internal_disk.scratch', {'size_in_mb': 2048, 'bus_type': 'paravirtual', 'storage_profile': 'standard'})
    c.clean()
    before = c.id_of('vcd_vm_internal_disk.scratch')
    c.change()
    c.expect('vcd_vm.tower', {'status_text': 'POWERED_ON', 'cpus': 4, 'description': 'a tall tower'})
    c.expect('vcd_vm.bare', {'memory': 768})
    c.expect('vcd_independent_disk.data', {'size_in_mb': 4096, 'description': 'grown', 'metadata_entry.0.value': 'longer'})
    c.expect('vcd_vm_internal_disk.scratch', {'id': before, 'size_in_mb': 3072})
    c.clean('a plan finds nothing to do after the changes')
    within = f'{A.org}.{A.vdc}'
    c.imported('vcd_independent_disk.data', lambda: f"{within}.{c.id_of('vcd_independent_disk.data')}")
    c.imported('vcd_vm.tower', f'{within}.{c.prefix}-tower')
    c.imported('vcd_vm_internal_disk.scratch', lambda: '.'.join(
        (within, c.resources()['vcd_vm.tower']['vapp_name'], f'{c.prefix}-tower', before)))
    c.destroy()


def library():
    c = Configuration('library')
    c.apply()
    c.expect('vcd_catalog.shelf', {'owner_name': A.user, 'metadata_entry.0.value': 'a', 'number_of_media': '~'})
    c.expect('vcd_catalog_vapp_template.box', {'name': 'box', 'vm_names.0': 'box', 'metadata_entry.0.value': 'on'})
    c.expect('vcd_catalog_media.disc', {'is_iso': True, 'owner_name': A.user, 'size': '~.'})
    c.expect('vcd_catalog_access_control.shelf', {'shared_with.0.access_level': 'ReadOnly'})
    c.expect('vcd_vapp_vm.reader', {'memory': 512, 'status_text': 'POWERED_OFF'})
    c.clean()
    c.change()
    c.expect('vcd_catalog.shelf', {'name': f'{c.prefix}-shelf-b', 'metadata_entry.0.value': 'b'})
    c.expect('vcd_catalog_vapp_template.box', {'name': 'box-b', 'description': 'a box, opened', 'metadata_entry.0.value': 'off'})
    c.expect('vcd_catalog_vapp_template.captured[0]', {'name': 'captured', 'vm_names.0': 'reader'})
    c.expect('vcd_catalog_access_control.shelf', {'shared_with.0.access_level': 'FullControl'})
    c.clean('a plan finds nothing to do after the changes')
    c.imported('vcd_catalog.shelf', f'{A.org}.{c.prefix}-shelf-b')
    c.imported('vcd_catalog_vapp_template.box', f'{A.org}.{c.prefix}-shelf-b.box-b')
    c.imported('vcd_catalog_media.disc', f'{A.org}.{c.prefix}-shelf-b.disc')
    c.imported('vcd_catalog_access_control.shelf', f'{A.org}.{c.prefix}-shelf-b')
    c.destroy()


def people():
    c = Configuration('people')
    user = f'{c.prefix}-helper'
    c.apply()
    c.expect('vcd_role.helper', {'rights.#': 3, 'read_only': False})
    c.expect('vcd_org_user.helper', {'role': f'{c.prefix}-helper', 'deployed_vm_quota': 5, 'telephone': '12345', 'enabled': True})
    c.clean()
    sign_in('people: the new user signs in', who(A.org, user, 'First-helper-1'))
    sign_in('people: a token signs in', who(A.org, token_file=f'{FOLDER}/token.json'))
    c.change()
    c.expect('vcd_role.helper', {'name': f'{c.prefix}-helper-b', 'rights.#': 4})
    c.expect('vcd_org_user.helper', {'role': f'{c.prefix}-helper-b', 'full_name': 'Hella Helper', 'deployed_vm_quota': 7})
    c.clean('a plan finds nothing to do after the changes')
    sign_in('people: the changed password signs in', who(A.org, user, 'Second-helper-2'))
    sign_in('people: the old password is refused', who(A.org, user, 'First-helper-1'), refused=True)
    c.imported('vcd_role.helper', f'{A.org}.{c.prefix}-helper-b')
    c.imported('vcd_org_user.helper', f'{A.org}.{user}')
    c.destroy()
    sign_in('people: without its owner the user is refused', who(A.org, user, 'Second-helper-2'), refused=True)


def provider():
    c = Configuration('provider', who('System', A.provider_user, A.provider_password))
    company = f'{c.prefix}-company'
    c.apply()
    c.expect('vcd_org.company', {'full_name': 'Company', 'vapp_lease.0.maximum_runtime_lease_in_sec': 86400, 'is_enabled': True})
    c.expect('vcd_org_vdc.works', {'vm_quota': 10, 'compute_capacity.0.cpu.0.allocated': 4000, 'storage_profile.0.limit': 102400})
    c.expect('vcd_vm_sizing_policy.medium', {'cpu.0.count': '2', 'memory.0.size_in_mb': '1536'})
    c.expect('vcd_vm.machine', {'cpus': 2, 'memory': 1536})
    c.clean()
    sign_in('provider: somebody of the new organization signs in', who(company, f'{c.prefix}-worker', 'Work-at-it-1'))
    c.change()
    c.expect('vcd_org.company', {'full_name': 'Company & Sons', 'vapp_lease.0.maximum_runtime_lease_in_sec': 172800})
    c.expect('vcd_org_vdc.works', {'vm_quota': 20, 'compute_capacity.0.cpu.0.allocated': 8000, 'storage_profile.0.limit': 204800})
    c.expect('vcd_vm_sizing_policy.medium', {'description': 'not so small'})
    c.expect('vcd_vm.machine', {'status_text': 'POWERED_ON'})
    c.clean('a plan finds nothing to do after the changes')
    c.imported('vcd_org.company', company)
    c.imported('vcd_org_vdc.works', f'{company}.{c.prefix}-works')
    c.imported('vcd_vm_sizing_policy.medium', f'{c.prefix}-medium')
    c.imported('vcd_vm.machine', f'{company}.{c.prefix}-works.{c.prefix}-machine')
    c.destroy()


ALL = {f.__name__: f for f in (app, machine, library, people, provider)}
for name in A.only or ALL:
    ALL[name]()
suite.end()
