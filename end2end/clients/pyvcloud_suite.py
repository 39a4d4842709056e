#!/usr/bin/env python3
"""The unmodified pyvcloud SDK against a demo that runs: everything an organization's administrator does, then the provider."""
import os
import tempfile
import warnings

import requests
from pyvcloud.vcd.client import BasicLoginCredentials, Client, QueryResultFormat, TaskStatus
from pyvcloud.vcd.exceptions import AccessForbiddenException, BadRequestException, EntityNotFoundException, UnauthorizedException
from pyvcloud.vcd.org import Org
from pyvcloud.vcd.system import System
from pyvcloud.vcd.task import Task
from pyvcloud.vcd.utils import vdc_to_dict
from pyvcloud.vcd.vapp import VApp
from pyvcloud.vcd.vdc import VDC

import files
from pyvcloud_machines import machines
from steps import Kept, Suite, arguments, check, mark, refused, same

A = arguments('http://localhost:8080', __doc__).parse_args()
RUN = mark()
FOLDER = tempfile.mkdtemp(prefix='pyvcloud-')
os.chdir(FOLDER)  # the SDK logs into the current directory
suite, kept = Suite('pyvcloud', A.timeout), Kept()
step = suite.step
warnings.simplefilter('ignore')
requests.packages.urllib3.disable_warnings()


def name(of):
    return f'py{RUN}-{of}'


def connected(user=A.user, org=A.org, password=A.password):
    log = os.path.join(FOLDER, 'requests.log')
    client = Client(A.host, verify_ssl_certs=False, log_file=log, log_requests=True, log_bodies=True)
    client.set_credentials(BasicLoginCredentials(user, org, password))
    return client


def done(task, client=None):
    """A task, or a thing with its tasks, that has ended well."""
    task = task.Tasks.Task[0] if hasattr(task, 'Tasks') else task
    ended = (client or kept.client).get_task_monitor().wait_for_status(task, poll_frequency=0.5)
    same(ended.get('status'), 'success', 'the task')
    return ended


# --- signing in, what there is

@step('versions: none is newer than the clients')
def _():
    found = Client(A.host, verify_ssl_certs=False).get_supported_versions_list()
    check('36.0' in found and all(float(v) < 40 for v in found), found)
    return f'{found[0]} to {found[-1]}'


@step('a wrong password is refused')
def _():
    refused(UnauthorizedException, lambda: connected(password=A.password + '!'))


@step('somebody of an organization is nobody at the provider')
def _():
    refused((UnauthorizedException, AccessForbiddenException), lambda: connected(org='System'))


@step('sign in')
def _():
    kept.client = connected()
    kept.org = Org(kept.client, resource=kept.client.get_org())
    same(kept.org.get_name(), A.org, 'the organization')
    return f'as {A.user}, API {kept.client.get_api_version()}'


@step('a session goes on by its token')
def _():
    other = Client(A.host, verify_ssl_certs=False)
    other.rehydrate_from_token(kept.client.get_access_token(), True)
    same(other.get_org().get('name'), A.org)


@step('VDCs: list, get, one that is not there')
def _():
    check(A.vdc in [v['name'] for v in kept.org.list_vdcs()], 'not in the list')
    kept.vdc = VDC(kept.client, resource=kept.org.get_vdc(A.vdc))
    shown = vdc_to_dict(kept.vdc.get_resource())
    same(shown['is_enabled'], True, 'is_enabled')
    check(kept.org.get_vdc(name('none')) is None, 'found')
    return f"{len(kept.vdc.get_storage_profiles())} storage profiles"


@step('VDC: a storage profile by name, the default one')
def _():
    first = kept.vdc.get_storage_profiles()[0]
    same(kept.vdc.get_storage_profile(first.get('name')).get('href'), first.get('href'))
    return kept.vdc.get_default_storage_profile().get('name')


@step('queries: every type that is listed answers in every format')
def _():
    formats = (QueryResultFormat.RECORDS, QueryResultFormat.ID_RECORDS, QueryResultFormat.REFERENCES)
    types = sorted({link.get('name') for link in kept.client.get_query_list().Link})
    for kind in types:
        for form in formats:
            list(kept.client.get_typed_query(kind, form, page_size=5).execute())
    return f'{len(types)} types'


@step('queries: pages, sort, a filter of two')
def _():
    def asked(**how):
        return list(kept.client.get_typed_query('catalogItem', QueryResultFormat.RECORDS, **how).execute())
    up, down = (asked(page_size=2, **{way: 'name'}) for way in ('sort_asc', 'sort_desc'))
    same([r.get('name') for r in up], [r.get('name') for r in down][::-1])
    one = asked(qfilter=f'name=={A.template};catalogName=={A.catalog}')
    same(len(one), 1, 'the number found')


# --- catalogs

@step('catalogs: what is shared to the organization is there')
def _():
    check(A.catalog in [c['name'] for c in kept.org.list_catalogs()], 'not in the list')
    items = kept.org.list_catalog_items(A.catalog)
    check(A.template in [i['name'] for i in items], items)


@step('catalog: create, change, not twice')
def _():
    made = kept.org.create_catalog(name('shelf'), 'first')
    done(made)
    same(kept.org.update_catalog(name('shelf'), name('shelf'), 'second').Description.text, 'second')
    refused(BadRequestException, lambda: kept.org.create_catalog(name('shelf'), ''))
    kept.catalog = name('shelf')


@step('catalog: an OVA is uploaded')
def _():
    path = os.path.join(FOLDER, 'box.ova')
    files.ova(path)
    kept.org.upload_ovf(kept.catalog, path, 'box')
    item = kept.org.get_catalog_item(kept.catalog, 'box')
    while True:
        template = kept.client.get_resource(item.Entity.get('href'))
        if template.get('status') == '8':
            break
        check(template.get('status') == '0', f"status {template.get('status')}")
    same(len(VApp(kept.client, resource=template).get_all_vms()), 1, 'the number of VMs')


@step('catalog: a disc is uploaded')
def _():
    path = os.path.join(FOLDER, 'disc.iso')
    files.iso(path)
    same(kept.org.upload_media(kept.catalog, path, 'disc'), os.path.getsize(path), 'what was sent')
    kept.disc = kept.org.get_catalog_item(kept.catalog, 'disc').Entity.get('id').split(':')[-1]


@step('catalog item: metadata')
def _():
    done(kept.org.set_metadata_on_catalog_item(kept.catalog, 'box', 'origin', 'suite'))
    entries = kept.org.get_all_metadata_from_catalog_item(kept.catalog, 'box').MetadataEntry
    same([e.Key.text for e in entries], ['origin'])
    done(kept.org.remove_metadata_from_catalog_item(kept.catalog, 'box', 'origin'))


@step('catalog: shared to one user and to everybody, and no more')
def _():
    access = [{'name': A.member, 'type': 'user', 'access_level': 'FullControl'}]
    kept.org.add_catalog_access_settings(kept.catalog, access)
    kept.org.share_catalog_with_org_members(kept.catalog)
    got = kept.org.get_catalog_access_settings(kept.catalog)
    same((got.IsSharedToEveryone.text, got.EveryoneAccessLevel.text), ('true', 'ReadOnly'))
    same(got.AccessSettings.AccessSetting.Subject.get('name'), A.member)
    kept.org.unshare_catalog_with_org_members(kept.catalog)
    kept.org.remove_catalog_access_settings(kept.catalog, remove_all=True)


@step('catalog: another owner')
def _():
    role = kept.org.get_role_record('Catalog Author')
    kept.org.create_user(name('keeper'), 'Suite-pass-1', role.get('href'), is_enabled=True)
    kept.org.change_catalog_owner(kept.catalog, name('keeper'))
    same(kept.org.get_catalog(kept.catalog, True).Owner.User.get('name'), name('keeper'))
    kept.org.change_catalog_owner(kept.catalog, A.user)
    kept.org.delete_user(name('keeper'))


# --- disks, networks

@step('disk: create, grow, rename, list')
def _():
    done(kept.vdc.create_disk(name('disk'), 1 << 30, 'SCSI', 'VirtualSCSI', 'first'))
    kept.vdc.reload()
    done(kept.vdc.update_disk(name('disk'), new_name=name('disk-b'), new_size=2 << 30, new_description='second'))
    kept.vdc.reload()
    kept.disk = kept.vdc.get_disk(name('disk-b'))
    same((kept.disk.get('sizeMb'), kept.disk.Description.text), ('2048', 'second'))


@step('disk: another owner')
def _():
    user = kept.org.get_user(A.member)
    kept.vdc.change_disk_owner(user.get('href'), name('disk-b'))
    kept.vdc.reload()
    same(kept.vdc.get_disk(name('disk-b')).Owner.User.get('name'), A.member)


@step('network: an isolated one, listed as such')
def _():
    done(kept.vdc.create_isolated_vdc_network(
        name('net'), '10.77.0.1/24', 'of the suite', '10.77.0.2', ip_range_start='10.77.0.10', ip_range_end='10.77.0.30'))
    same([n.get('name') for n in kept.vdc.list_orgvdc_isolated_networks() if n.get('name') == name('net')], [name('net')])
    same(len(kept.vdc.list_orgvdc_routed_networks()), 0, 'the number of routed networks')
    kept.network = name('net')


machines(suite, kept, A, name, done)


@step('disk and network: delete')
def _():
    kept.vdc.reload()
    done(kept.vdc.delete_disk(name('disk-b')))
    kept.vdc.reload()
    done(kept.vdc.delete_isolated_orgvdc_network(kept.network))
    refused(EntityNotFoundException, lambda: kept.vdc.get_isolated_orgvdc_network(kept.network))


@step('catalog: delete with what is in it')
def _():
    for item in [i['name'] for i in kept.org.list_catalog_items(kept.catalog)]:
        kept.org.delete_catalog_item(kept.catalog, item)
    kept.org.delete_catalog(kept.catalog)
    refused(EntityNotFoundException, lambda: kept.org.get_catalog(kept.catalog))


# --- people

@step('rights and roles: lists, one of each')
def _():
    roles = [r['name'] for r in kept.org.list_roles()]
    check('vApp Author' in roles and 'Organization Administrator' in roles, roles)
    kept.right = kept.org.list_rights_of_org()[0]['name']
    same(kept.org.get_right_resource(kept.right).get('name'), kept.right)
    return f'{len(roles)} roles'


@step('role: create, delete')
def _():
    made = kept.org.create_role(name('role'), 'one right', [kept.right])
    same(made.get('name'), name('role'))
    kept.org.delete_role(name('role'))
    refused(EntityNotFoundException, lambda: kept.org.get_role_record(name('role')))


@step('user: create, sign in, change, delete')
def _():
    role = kept.org.get_role_record('vApp User')
    kept.org.create_user(name('user'), 'Suite-pass-1', role.get('href'), 'Su Ite', email='su@ite.test', is_enabled=True)
    connected(name('user'), password='Suite-pass-1').logout()
    kept.org.update_user(name('user'), is_enabled=True, role_name='vApp Author', password='Suite-pass-2')
    same(kept.org.get_user(name('user')).Role.get('name'), 'vApp Author')
    connected(name('user'), password='Suite-pass-2').logout()
    refused(UnauthorizedException, lambda: connected(name('user'), password='Suite-pass-1'))
    kept.org.delete_user(name('user'))
    refused(EntityNotFoundException, lambda: kept.org.get_user(name('user')))


@step('tasks: those that ended well')
def _():
    found = list(Task(kept.client).list_tasks([TaskStatus.SUCCESS.value]))
    check(len(found) > 10 and all(t.get('status') == 'success' for t in found), len(found))


@step('a stranger sees nothing of it')
def _():
    href = kept.vdc.href
    other = connected('globex-admin', 'globex')
    error = refused(AccessForbiddenException, lambda: other.get_resource(href))
    check(error.vcd_error is not None, 'no Error in the answer')
    other.logout()


# --- the provider

@step('provider: sign in, organizations, provider VDCs, storage, pools')
def _():
    kept.root = connected(A.provider_user, 'System', A.provider_password)
    check(kept.root.is_sysadmin(), 'not the provider')
    names = [o.get('name') for o in kept.root.get_org_list()]
    check(A.org in names and 'System' in names, names)
    kept.system = System(kept.root, admin_resource=kept.root.get_admin())
    kept.pvdc = kept.system.list_provider_vdcs()[0].get('name')
    kept.profile = kept.system.list_provider_vdc_storage_profiles()[0].get('name')
    kept.system.list_network_pools()
    return f'{kept.pvdc}, {kept.profile}'


@step("provider: a tenant's VDC as its administrator sees it")
def _():
    org = Org(kept.root, resource=kept.root.get_org_by_name(A.org))
    vdc = VDC(kept.root, resource=org.get_vdc(A.vdc))
    same(vdc.get_resource_admin().get('name'), A.vdc)


@step('provider: an organization and a VDC in it, switched off, deleted')
def _():
    kept.system.create_org(name('org'), 'Suite & Co', True)
    org = Org(kept.root, resource=kept.root.get_org_by_name(name('org')))
    storage = [{'name': kept.profile, 'enabled': True, 'units': 'MB', 'limit': 10240, 'default': True}]
    done(org.create_org_vdc(
        name('vdc'), kept.pvdc, 'of the suite', 'AllocationPool', cpu_allocated=4000, cpu_limit=4000, mem_allocated=8192,
        mem_limit=8192, vm_quota=5, storage_profiles=storage), kept.root)
    org.reload()
    vdc = VDC(kept.root, resource=org.get_vdc(name('vdc')))
    check(vdc.get_resource().IsEnabled.text == 'true', 'it is off')
    vdc.enable_vdc(False)
    vdc.reload()
    same(vdc.get_resource().IsEnabled.text, 'false', 'IsEnabled')
    done(vdc.delete_vdc(), kept.root)
    org.update_org(is_enabled=False)
    done(kept.system.delete_org(name('org'), True, True), kept.root)
    check(name('org') not in [o.get('name') for o in kept.root.get_org_list()], 'still there')


@step('sign out: the token ends')
def _():
    kept.root.logout()
    token = kept.client.get_access_token()
    kept.client.logout()
    refused(UnauthorizedException, lambda: Client(A.host, verify_ssl_certs=False).rehydrate_from_token(token, True))


suite.end()
