#!/usr/bin/env python3
"""The unmodified vcd command against a demo that runs. VCD names the command; else the one beside this Python is taken."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

import files
from steps import Suite, arguments, mark

A = arguments('http://localhost:8080', __doc__).parse_args()
RUN = mark()
VCD = os.environ.get('VCD') or os.path.join(os.path.dirname(sys.executable), 'vcd')
FOLDER = tempfile.mkdtemp(prefix='vcd-cli-')
# its profile, its logs
ENV = {**os.environ, 'HOME': FOLDER, 'PYTHONWARNINGS': 'ignore', 'LC_ALL': 'C.UTF-8'}
DONE = r'result: success'
suite = Suite('vcd-cli', A.timeout)

# What commands below name in braces.
NAMES = {of: f'cli{RUN}-{of}' for of in ('shop', 'room', 'copy', 'shelf', 'disk', 'net', 'user', 'role', 'org', 'vdc')}
NAMES.update(
    host=A.host, home=A.org, me=A.user, word=A.password, member=A.member, root=A.provider_user, rootword=A.provider_password,
    place=A.vdc, place2=A.other_vdc, wire=A.network, linux=A.catalog, image=A.template, folder=FOLDER)


def called(words, *options):
    done = subprocess.run(
        [VCD, '--no-colorized', *options, *words], cwd=FOLDER, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=A.timeout)
    return done.returncode, re.sub(r'\x1b\[[0-9;]*[A-Za-z]|\r', '', done.stdout)


def vcd(command, pattern='', fails=False, without=None):
    """A step: the command ends well (or, as it must, not), and what it says has a pattern, or has it not."""
    words = shlex.split(command.format(**NAMES))
    began = time.monotonic()
    try:
        code, said = called(words)
    except subprocess.TimeoutExpired:
        return suite.tell(label(command), A.timeout, 'no end')
    # it ends well even if the task that it waited for did not
    failed = code != 0 or re.search(r'result: (error|aborted|canceled)', said)
    wanted = pattern.format(**NAMES) if '{' in pattern else pattern
    unwanted = without and without.format(**NAMES)
    problem = None
    if bool(failed) != fails:
        problem = ('it was done: ' if fails else f'exit {code}: ') + said[-260:]
    elif not re.search(wanted, said, re.M):
        problem = f'no “{wanted}” in: {said[-240:]}'
    elif unwanted and re.search(unwanted, said, re.M):
        problem = f'“{unwanted}” in: {said[-240:]}'
    suite.tell(label(command), time.monotonic() - began, problem)
    return said if problem is None else ''


def label(command):
    return re.sub(r'\s+', ' ', re.sub(r'-p \{\w+\}|[{}]', '', command))[:58]


def asked(command, pick):
    """What later commands need to know; nothing if it can't be had, and then they fail."""
    try:
        return pick(json.loads(called(shlex.split(command.format(**NAMES)), '-j')[1]))
    except (ValueError, LookupError, TypeError, subprocess.SubprocessError):
        return 'unknown'


# --- signing in, what there is
vcd('version', 'vcd-cli')
vcd('login {host} {home} {me} -p not-it -i -w', 'invalid|nauthorized|401', fails=True)
vcd('login {host} {home} {me} -p {word} -i -w -v {place}', "vdc: '{place}'")
vcd('pwd', "using org: '{home}'")
vcd('org list', r'True +True +{home}')
vcd('org info {home}', '{place}')
vcd('org info nowhere', 'not found', fails=True)
vcd('vdc list', r'{place}')
vcd('vdc info {place}', r'is_enabled +True')
vcd('vdc use {place2}', "vdc: '{place2}'")
vcd('vdc use {place}', "vdc: '{place}'")
vcd('vdc acl list {place}', '')
vcd('vdc list-media {place}', '')
vcd('catalog list', '{linux}')
vcd('catalog list {linux}', '{image}')
vcd('catalog info {linux}', 'is_shared_to_everyone')
vcd('catalog info {linux} {image}', 'template-status')
vcd('network list', '{wire}')
vcd('profile info', '{home}')

# --- a catalog, and what is put into it
files.ova(f'{FOLDER}/box.ova')
files.iso(f'{FOLDER}/disc.iso')
vcd("catalog create {shelf} -d 'first'", DONE)
vcd("catalog update {shelf} -d 'second'", 'successful')
vcd('catalog info {shelf}', 'second')
vcd('catalog create {shelf}', 'Status code: 400', fails=True)
vcd('catalog upload {shelf} {folder}/box.ova -i box', r'size +[0-9]+')
vcd('catalog upload {shelf} {folder}/disc.iso -i disc', r'size +[0-9]+')
vcd('catalog list {shelf}', r'(?s)box.*disc|disc.*box')
vcd('catalog acl add {shelf} user:{member}:ReadOnly', 'added')
vcd('catalog acl share {shelf}', 'shared')
vcd('catalog acl list {shelf}', r'ReadOnly +{member}')
vcd('catalog acl unshare {shelf}', 'unshared')
vcd('catalog acl remove -y {shelf} user:{member}:ReadOnly', 'removed')

# --- a vApp that runs
vcd('vapp create {shop} -c {linux} -t {image} -v face -o face -n {wire} -i pool -m 1024 -u 1 -a -d "a shop"', DONE)
vcd('vapp create {shop} -c {linux} -t {image} -a', 'Status code: 400', fails=True)
vcd('vapp list', r'{shop}.*POWERED_ON')
vcd('vapp list {shop}', r'{shop} .*face.*POWERED_ON')
vcd('vapp info {shop}', r'(?s)Powered on.*face|face.*Powered on')
vcd('vapp use {shop}', "vApp: '{shop}'")
vcd('vm info {shop} face', r'memory-MB +1024')
vcd('vm list-nics {shop} face', r'{wire}')
vcd('vapp delete -y {shop}', 'Status code: 4|result: error', fails=True)
for verb in ('suspend', 'power-on', 'reset -y', 'reboot -y', 'shutdown -y', 'power-on', 'power-off -y'):
    vcd(f'vapp {verb} {{shop}}', DONE)
vcd('vapp info {shop}', 'Powered off')
vcd('vapp power-on {shop}', DONE)
for verb in ('power-off', 'power-on', 'reset', 'suspend', 'discard-suspend', 'power-on', 'reboot', 'shutdown', 'power-on'):
    vcd(f'vm {verb} {{shop}} face', DONE)
vcd('vapp undeploy -y {shop} --action powerOff', DONE)

# --- changed
vcd('vm update {shop} face --cpu 2 --cores 1 --memory 1536', DONE)
vcd('vm info {shop} face', r'memory-MB +1536')
vcd('vm update-general-setting {shop} face --d "the face" --cn visage', DONE)
vcd('vm general-setting {shop} face', 'visage')
vcd('vm update-gc-section {shop} face --enable --customization-script "echo hello"', DONE)
vcd('vm list-gc-section {shop} face', 'echo hello')
vcd('vm update-vm-capabilities {shop} face --enable-memory-hot-add --enable-cpu-hot-add', DONE)
vcd('vm list-vm-capabilities {shop} face', r'CpuHotAddEnabled +(1|[Tt]rue)')
vcd('vm list-virtual-hardware-section {shop} face --is-include-cpu True --is-include-disk True', r'(?i)cpu')
vcd('vm list-os-section {shop} face', '.')
vcd('vm list-boot-options {shop} face', '')
vcd('vapp update-lease {shop} 7200 172800', DONE)
vcd('vapp show-lease {shop}', r'StorageLeaseInSeconds +172800')
vcd('vapp update {shop} -n {shop} -d "another text"', DONE)
vcd('vapp info {shop}', 'another text')
for of in ('vm {} {{shop}} face', 'vapp {} {{shop}}'):
    for verb in ('create-snapshot', 'revert-to-snapshot', 'remove-snapshot'):
        vcd(of.format(verb), DONE)
vcd('vm set-metadata {shop} face --domain GENERAL --visibility READWRITE --value-type MetadataStringValue --key floor --value two', DONE)
vcd('vm list-metadata {shop} face', r'floor +two')
vcd('vm remove-metadata {shop} face --domain GENERAL --key floor', DONE)
vcd('vm list-metadata {shop} face', without='floor')
vcd('vapp acl add {shop} user:{member}:Change', 'added')
vcd('vapp acl share {shop}', 'shared')
vcd('vapp acl list {shop}', r'(?s){member}')
vcd('vapp acl unshare {shop}', 'unshared')
vcd('vapp change-owner {shop} {member}', '')
vcd('vapp info {shop}', '{member}')
vcd('vapp change-owner {shop} {me}', '')

# --- disks, discs and networks
vcd('disk create {disk} 1073741824 -d "of the suite"', DONE)
vcd('disk create {disk} lots', fails=True)
vcd('disk update {disk} -s 2147483648', DONE)
vcd('disk info {disk}', r'size_bytes +2147483648')
vcd('vapp attach {shop} face {disk}', DONE)
vcd('disk list', r'{disk}.*face')
vcd('disk delete -y {disk}', 'Error|error', fails=True)
vcd('vapp detach {shop} face {disk}', DONE)
vcd('disk delete -y {disk}', DONE)
vcd('disk list', without='{disk}')
vcd('vapp add-disk {shop} face 1024', DONE)
NAMES['disc'] = asked('search media -f name==disc', lambda found: found[0]['id'])
vcd('vm insert-cd {shop} face --media-id {disc}', DONE)
vcd('vm eject-cd {shop} face --media-id {disc}', DONE)
vcd('network isolated create {net} -g 10.88.0.1 -n 255.255.255.0 --ip-range-start 10.88.0.10 --ip-range-end 10.88.0.50', DONE)
vcd('network isolated list', '{net}')
vcd('network list', r'INDEPENDENT +{net}')
vcd('vapp connect {shop} {net}', DONE)
vcd('vm add-nic {shop} face --adapter-type VMXNET3 --network {net} --ip-address-mode POOL --connect', DONE)
vcd('vm list-nics {shop} face', r'10\.88\.0\.')
NAMES['card'] = asked('vm list-nics {shop} face', lambda all_: next(n['index'] for n in all_ if n['network'] == NAMES['net']))
vcd('vm delete-nic {shop} face --index {card}', DONE)
vcd('vapp disconnect -y {shop} {net}', DONE)
vcd('vapp network create {shop} inside --subnet 10.89.0.1/24 --ip-range 10.89.0.10-10.89.0.20', DONE)
vcd('vapp network list {shop}', 'inside')
vcd('vapp network delete {shop} inside', DONE)
vcd('network isolated delete -y {net}', DONE)
vcd('network list', without='{net}')

# --- composed, copied, captured
vcd('vapp create {room} -d "a room"', DONE)
vcd('vapp add-vm {room} {image} {image} -c {linux} -t guest -n {wire} -i pool --accept-all-eulas', DONE)
vcd('vapp add-vm {room} {shop} face -t twin --accept-all-eulas', DONE)
vcd('vapp add-vm-scratch {room} -vm bare -cn bare -os ubuntu64Guest -m 512', DONE)
vcd('vapp list {room}', r'(?s)bare')
vcd('vapp update-startup-section {room} twin --o 2', DONE)
vcd('vapp show-startup-section {room}', r'twin')
vcd('vm copy {room} bare --target-vapp-name {shop} --target-vm-name barer', DONE)
vcd('vapp delete -y {shop} barer', DONE)
vcd('vm delete {room} bare', DONE)
vcd('vapp power-off -y {room}', DONE)
vcd('vapp copy {room} -n {copy} -d "a copy" -v {place}', DONE)
vcd('vapp delete -y -f {copy}', DONE)
vcd('vapp capture {shop} {shelf} captured', DONE)
vcd('catalog list {shelf}', 'captured')
vcd('vapp create {copy} -c {shelf} -t captured -a', DONE)
for one in ('copy', 'room', 'shop'):
    vcd(f'vapp delete -y -f {{{one}}}', DONE)
vcd('vapp list', without='{shop}|{room}|{copy}')
for one in ('box', 'disc', 'captured'):
    vcd(f'catalog delete -y {{shelf}} {one}', 'Item deleted')
vcd('catalog delete -y {shelf}', 'Catalog deleted')

# --- people
vcd('right list', '^ *name')
NAMES['right'] = asked('right list', lambda found: found[0]['name'])
vcd("right info '{right}'", '{right}')
vcd('role list', 'vApp Author')
vcd("role list-rights 'vApp User'", '^ *name')
vcd("role create {role} 'one right' '{right}'", '{role}')
vcd("role clone 'vApp User' {role}-b", '{role}-b')
vcd('role delete -y {role}', 'successfully deleted')
vcd('role delete -y {role}-b', 'successfully deleted')
vcd("user create {user} Suite-pass-1 'vApp User' -E -f 'Su Ite'", 'successfully created')
vcd("user create {user} Suite-pass-1 'vApp User' -E", 'Status code: 4', fails=True)
vcd('user list', '{user}')
vcd('user update {user} --disable', '')
vcd('user delete -y {user}', 'successfully deleted')

# --- questions and tasks
vcd('search', 'orgVdcNetwork')
vcd('search vm', 'name')
vcd('search vapp -f name==nobody', 'not found')
vcd('search catalogitem -f catalogName=={linux}', '{image}')
for kind in ('orgvdc', 'catalog', 'vapptemplate', 'disk', 'orgvdcnetwork', 'user', 'role', 'orgvdcstorageprofile'):
    vcd(f'search {kind}', 'name')
NAMES['task'] = asked('search task', lambda found: next(t['id'] for t in found if t['status'].lower() == 'success'))
vcd('task list SUCCESS', '{task}')
vcd('task info {task}', 'operationName')
vcd('task wait {task}', DONE)
vcd('info task {task}', '<Task')
vcd('logout', 'logged out')
vcd('pwd', 'login again', fails=True)

# --- the provider
vcd('login {host} System {root} -p {rootword} -i -w', "org: 'System'")
vcd('org list', '{home}')
vcd('system info', 'name')
vcd('pvdc list', '^ *name')
NAMES['pool'] = asked('pvdc list', lambda found: found[0]['name'])
NAMES['storage'] = asked('search providervdcstorageprofile', lambda found: found[0]['name'])
vcd('pvdc info {pool}', 'storage_profiles')
vcd("org create {org} 'Suite & Co' -e", 'successfully created')
vcd('org use {org}', "org: '{org}'")
vcd('vdc create {vdc} -p {pool} -s {storage} -a AllocationPool --cpu-allocated 2000 --cpu-limit 2000', DONE)
vcd('vdc list', '{vdc}')
vcd('vdc disable {vdc}', '')
vcd('vdc info {vdc}', r'is_enabled +False')
vcd('vdc delete -y {vdc}', DONE)
vcd('org update {org} --disable', 'successfully updated')
vcd('org use System', 'now using')
vcd('org delete -y {org}', DONE)
vcd('org list', without='{org}')
vcd('user list -o {home}', '{me}')
vcd('role list -o {home}', 'vApp Author')
vcd('search adminorgvdc', '{place}')
vcd('logout', 'logged out')

suite.end()
