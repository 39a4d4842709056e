#!/usr/bin/env python3
"""What the portal's pages print as code, run as it is printed: pages are fetched from a demo as a browser would, the code is taken out
of them and handed to a shell with curl, to vcd-cli and to Terraform. What makes something is run by each of the three in turn, under a
name of its own; what is of an object is run on what the others made."""
import html
import http.cookiejar
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import files
from steps import Missing, Suite, arguments, check, mark

parser = arguments('https://localhost:8443', __doc__)
parser.add_argument('--without-terraform', action='store_true')
A = parser.parse_args()
RUN = mark()
FOLDER = tempfile.mkdtemp(prefix='as-code-')
VCD = os.path.dirname(os.environ.get('VCD') or os.path.join(os.path.dirname(sys.executable), 'vcd'))
TOOLS = ['curl', 'vcd-cli', 'terraform']
NEW_PASSWORD = 'New "pass" word-1'
suite = Suite('as-code', A.timeout * 3)

files.ova(f'{FOLDER}/my-image.ova')
files.iso(f'{FOLDER}/my-image.iso')
# the demo's certificate is nobody's, and what is printed does not say that it does not matter
with open(f'{FOLDER}/.curlrc', 'w') as settings:
    settings.write('insecure\nnoproxy = "*"\n')


# --- the portal, as a browser sees it

class Browser:
    def __init__(self, org, user, password):
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        self.open = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
        self.password = password
        self.post('/sign-in', {'org': org, 'user': user, 'password': password})

    def request(self, path, data=None):
        request = urllib.request.Request(A.host + path, data, {'Origin': A.host})
        try:
            with self.open(request, timeout=60) as answer:
                return answer.geturl(), answer.read().decode()
        except urllib.error.HTTPError as e:
            # a form that comes back
            check(e.code in (409, 422), f'{path}: {e.code}')
            return A.host + path, e.read().decode()

    def get(self, path):
        return self.request(path)[1]

    def post(self, path, fields):
        return self.request(path, urllib.parse.urlencode(fields, doseq=True).encode())

    def find(self, listed, name):
        """The address of a thing in a list, by its name."""
        page = self.get(f'{listed}?q={urllib.parse.quote(name)}')
        found = re.search(r'href="(%s/[^"?]+)"[^>]*>(?:<[^>]*>)*%s<' % (re.escape(listed), re.escape(html.escape(name, quote=False))), page)
        check(found, f'{name} is not at {listed}')
        return found[1]


def code(page, tool, what='data-code'):
    """None where the page says that the tool can't do it."""
    found = re.search(r'<pre[^>]* %s="%s"[^>]*>(.*?)</pre>' % (what, tool), page, re.S)
    return found and html.unescape(found[1].replace('<!>', ''))


def panel(page):
    check('id="as-code"' in page, 'the page has no panel')
    return page


# --- the tools

def ran(words, env, folder=FOLDER, may=(0,)):
    done = subprocess.run(
        words, cwd=folder, env={**clean(), 'HOME': FOLDER, 'LC_ALL': 'C.UTF-8', **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=A.timeout * 3)
    said = re.sub(r'\x1b\[[0-9;]*[A-Za-z]|\r', '', done.stdout)
    if done.returncode not in may:
        raise RuntimeError(f'exit {done.returncode}: {reason(said)}')
    return said


def clean():
    foreign = re.compile(r'^(TF_|VCD_|GOVCD_|CURL_)|_proxy$', re.I)
    return {k: v for k, v in os.environ.items() if not foreign.search(k)}


def reason(said):
    lines = [re.sub(r'^[│╷╵ ]+', '', line) for line in said.splitlines()]
    first = next((i for i, line in enumerate(lines) if re.match(r'Error|panic', line)), max(0, len(lines) - 6))
    return ' '.join(filter(None, lines[first:first + 8]))[-400:]


def secrets(browser):
    return {'SSVIRT_PASSWORD': browser.password, 'NEW_PASSWORD': NEW_PASSWORD}


def run_curl(browser, page, script, waits=True):
    said = ran(['sh', '-c', f"set -eu\n{code(page, 'curl', 'data-sign-in')}\n{script}"], secrets(browser))
    task = re.search(r'/api/task/([0-9a-f-]{36})', said)
    if task and waits:
        wait = (f"set -eu\n{code(page, 'curl', 'data-sign-in')}\n"
                f"for i in $(seq 60); do curl -sS -H \"Authorization: Bearer $SSVIRT_TOKEN\" -H 'Accept: application/*+xml;version=39.0' "
                f"{A.host}/api/task/{task[1]} >task; grep -qE 'status=\"(queued|preRunning|running)\"' task || break; sleep 1; done; cat task")
        ended = ran(['sh', '-c', wait], secrets(browser))
        # what is refused to be looked at belongs to somebody else's session
        check('status="success"' in ended or '<Error' in ended, ended[:300])
    return said


def run_vcd(browser, page, script):
    env = {**secrets(browser), 'PATH': f'{VCD}:{os.environ["PATH"]}', 'PYTHONWARNINGS': 'ignore'}
    said = ran(['sh', '-c', f"set -eu\n{code(page, 'vcd-cli', 'data-sign-in')}\n{script}"], env)
    # it ends well even if the task that it waited for did not
    check(not re.search(r'result: (error|aborted|canceled)', said), said[-300:])
    return said


class Terraform:
    """One directory a page: what is printed, and nothing else."""

    def __init__(self, browser, page, script):
        self.folder = tempfile.mkdtemp(prefix='tf-', dir=FOLDER)
        for name in ('my-image.ova', 'my-image.iso'):
            shutil.copy(f'{FOLDER}/{name}', self.folder)
        with open(f'{self.folder}/sign-in.tf', 'w') as file:
            file.write(code(page, 'terraform', 'data-sign-in') + '\n')
        with open(f'{self.folder}/main.tf', 'w') as file:
            file.write(script + '\n')
        self.env = {
            **TERRAFORM_ENV, 'TF_VAR_vcd_password': browser.password, 'TF_VAR_new_password': NEW_PASSWORD,
            'VCD_ALLOW_UNVERIFIED_SSL': 'true'}

    def run(self, *words, may=(0,)):
        return ran([TERRAFORM, *words], self.env, self.folder, may)

    def formatted(self):
        said = self.run('fmt', '-check', '-diff', 'main.tf', 'sign-in.tf', may=(0, 3))
        check(not said.strip(), f'terraform fmt would change it: {said[:300]}')

    def plan(self):
        self.run('plan', '-no-color', '-out=plan')
        return json.loads(self.run('show', '-json', 'plan'))['resource_changes'] if self.has_resources() else []

    def has_resources(self):
        return 'resource "' in open(f'{self.folder}/main.tf').read()

    def apply(self):
        self.run('apply', '-auto-approve', '-no-color')

    def destroy(self):
        self.run('destroy', '-auto-approve', '-no-color')


def programs():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'terraform', 'build.sh')
    if A.without_terraform or not A.host.startswith('https:'):
        return None, {}
    if subprocess.run([here, '--there'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        return None, {}
    terraform, provider = subprocess.run([here], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    os.makedirs(f'{FOLDER}/plugin')
    os.symlink(os.path.abspath(provider), f'{FOLDER}/plugin/terraform-provider-vcd')
    with open(f'{FOLDER}/terraformrc', 'w') as file:
        file.write('disable_checkpoint = true\nprovider_installation {\n  dev_overrides {\n    "vmware/vcd" = "%s/plugin"\n  }\n}\n' % FOLDER)
    return terraform, {'TF_CLI_CONFIG_FILE': f'{FOLDER}/terraformrc', 'TF_IN_AUTOMATION': '1', 'CHECKPOINT_DISABLE': '1'}


TERRAFORM, TERRAFORM_ENV = programs()
if not TERRAFORM:
    TOOLS.remove('terraform')
    print('Terraform is not there or there is no https: its code is not run', flush=True)

CUSTOMER, PROVIDER = Browser(A.org, A.user, A.password), Browser('System', A.provider_user, A.provider_password)
kept = {}


def makes(key, what, browser, path, without=(), **typed):
    """A form's page, once for each tool. Names that stand for what is not typed get an ending of their own, so that nobody's name is taken:
    what curl makes as my-vapp is called my-vapp-KEYc-RUN afterwards. What is typed comes back with the form, which lacks a name. What
    Terraform made is planned once more and destroyed; the rest stays."""
    for tool in TOOLS:
        @suite.step(f'{what}: {tool}')
        def _():
            at = path() if callable(path) else path
            fields = {field: value() if callable(value) else value for field, value in typed.items()}
            page = panel(browser.post(at, fields)[1] if fields else browser.get(at))
            script = code(page, tool)
            if tool in without:
                check(script is None, 'it prints something')
                return 'says that there is none'
            check(script, 'it prints nothing')
            script = re.sub(r'\bmy-(?!image)[a-z]+\b(?!-\w+-%s)' % RUN, lambda m: called(m[0], key, tool), script)
            if tool == 'curl':
                run_curl(browser, page, script)
            elif tool == 'vcd-cli':
                run_vcd(browser, page, script)
            else:
                t = Terraform(browser, page, script)
                t.formatted()
                try:
                    t.apply()
                    left = [c['address'] for c in t.plan() if c['change']['actions'] != ['no-op'] and c['mode'] == 'managed']
                    check(not left, f'a second plan would change {left}')
                finally:
                    # an organization's last administrator goes with it, and not before
                    t.run('state', 'rm', 'vcd_org_user.my_admin', may=(0, 1))
                    t.destroy()


def called(name, key, tool='curl'):
    return f'{name}-{key}{tool[0]}-{RUN}'


def shows(what, browser, path, without=(), says=None):
    """An object's page: what is printed finds the object, which says its id, or what is given."""
    for tool in TOOLS:
        @suite.step(f'{what}: {tool}')
        def _():
            at = path() if callable(path) else path
            page = panel(browser.get(at))
            script = code(page, tool)
            if tool in without:
                check(script is None, 'it prints something')
                return 'says that there is none'
            check(script, 'it prints nothing')
            thing = says or (re.findall(r'[0-9a-f]{8}-[0-9a-f-]{27}', at) or [''])[-1]
            if tool == 'curl':
                # what has only begun does not end by being looked at
                said = run_curl(browser, page, script, waits=not says)
                check(thing in said, f'{thing} is not in {said[:200]}')
            elif tool == 'vcd-cli':
                run_vcd(browser, page, script)
            else:
                t = Terraform(browser, page, script)
                t.formatted()
                changes = [c for c in t.plan() if c['mode'] == 'managed']
                bad = [(c['address'], c['change']['actions']) for c in changes if set(c['change']['actions']) & {'delete', 'create'}]
                check(not bad, f'a plan would {bad}')
                check(not changes or all('importing' in c['change'] for c in changes), 'nothing would be imported')
                altered = sorted({key for c in changes for key in differing(c['change'])} - HARMLESS)
                check(not altered, f'an import would change {altered}')
                return f'imports {len(changes)}'


# What the provider keeps for itself: the server is not asked for it.
HARMLESS = {'upload_piece_size', 'upload_any_file', 'delete_force', 'delete_recursive', 'power_on', 'reboot_vapp_on_removal', 'accept_all_eulas'}


def differing(change):
    before, after = change['before'] or {}, change['after'] or {}
    return [key for key in after if before.get(key) != after[key] and not (change.get('after_unknown') or {}).get(key)]


def once(label):
    return suite.step(label)


tenant, system = f'/tenant/{A.org}', '/provider'


@once('the places there are')
def _():
    kept['vdc'] = CUSTOMER.find(f'{tenant}/vdcs', A.vdc).rsplit('/', 1)[1]
    kept['catalog'] = CUSTOMER.find(f'{tenant}/catalogs', A.catalog)
    page = CUSTOMER.get(kept['catalog'])
    for name, template in (('image', A.template), ('pair', A.pair)):
        kept[name] = re.search(r'href="(%s/templates/[^"/]+)"[^>]*>(?:<[^>]*>)*%s<' % (tenant, re.escape(template)), page)[1]


def at(key, rest=''):
    return lambda: kept[key] + rest if key in kept else (_ for _ in ()).throw(Missing(f'there is no {key}'))


def keep(key, browser, listed, name):
    @once(f'where {name} is')
    def _():
        kept[key] = browser.find(listed, name)


# --- a tenant makes
here = lambda what: lambda: f"{tenant}/{what}/new?vdc={kept['vdc']}"
odd = 'it\'s "$HOME" `id` ${x} %{y} <&> \\ é'
makes('e', 'an empty vApp', CUSTOMER, here('vapps'), description=odd, vdc=at('vdc'))
keep('empty', CUSTOMER, f'{tenant}/vapps', called('my-vapp', 'e'))
makes('a', 'a VM in a vApp', CUSTOMER, at('empty', '/add'))
makes('d', 'a template deployed', CUSTOMER, lambda: f"{kept['image']}/deploy?vdc={kept['vdc']}")
makes('t', 'a template deployed as typed', CUSTOMER, at('image', '/deploy'), vdc=at('vdc'), description=odd, vm=A.template, cpus='1', memory='1.5', disk='')
makes('p', 'a template of two VMs', CUSTOMER, lambda: f"{kept['pair']}/deploy?vdc={kept['vdc']}")
makes('k', 'a disk', CUSTOMER, here('disks'), description=odd, size='2', bus='scsi', vdc=at('vdc'))
makes('n', 'a network', CUSTOMER, here('networks'), vdc=at('vdc'), gateway='10.77.0.1', prefix='24', ranges='10.77.0.10-10.77.0.20', dns1='10.77.0.2', dns_suffix='x.example', description=odd)
makes('l', 'a network with DHCP', CUSTOMER, here('networks'), vdc=at('vdc'), gateway='10.78.0.1', prefix='24', dhcp='on')
makes('c', 'a catalog', CUSTOMER, f'{tenant}/catalogs/new')
keep('shelf', CUSTOMER, f'{tenant}/catalogs', called('my-catalog', 'c'))
makes('u', 'an uploaded template', CUSTOMER, at('shelf', '/upload'))
makes('m', 'uploaded media', CUSTOMER, at('shelf', '/upload'), kind='media')
makes('u', 'a user', CUSTOMER, f'{tenant}/users/new')
makes('r', 'a role', CUSTOMER, f'{tenant}/roles/new', rights=['Organization: View', 'vApp: Copy'])
makes('v', 'a VDC', CUSTOMER, f'{tenant}/vdcs/new', without=('vcd-cli', 'terraform'))
makes('f', 'an affinity rule', CUSTOMER, lambda: f"{tenant}/vdcs/{kept['vdc']}/affinity", without=('vcd-cli',))

# --- and has
keep('vapp', CUSTOMER, f'{tenant}/vapps', called('my-vapp', 'd'))
keep('vm', CUSTOMER, f'{tenant}/vms', called('my-vapp', 'd'))
keep('disk', CUSTOMER, f'{tenant}/disks', called('my-disk', 'k'))
keep('network', CUSTOMER, f'{tenant}/networks', called('my-network', 'n'))
keep('user', CUSTOMER, f'{tenant}/users', called('my-user', 'u'))
keep('role', CUSTOMER, f'{tenant}/roles', called('my-role', 'r'))


@once('where what was uploaded is')
def _():
    page = CUSTOMER.get(kept['shelf'])
    for key, name in (('template', called('my-template', 'u')), ('media', called('my-media', 'm'))):
        kept[key] = re.search(r'href="(%s/templates/[^"/]+)"[^>]*>(?:<[^>]*>)*%s<' % (tenant, re.escape(name)), page)[1]
    kept['task'] = re.search(r'href="(%s/tasks/[^"?]+)"' % tenant, CUSTOMER.get(f'{tenant}/tasks'))[1]


@once('where the affinity rule is, and an upload that has only begun')
def _():
    page = CUSTOMER.get(f"{tenant}/vdcs/{kept['vdc']}")
    row = page[page.index(called('my-rule', 'f')):]
    kept['rule'] = re.search(r'href="(%s/affinity/[^"]+/edit)"' % tenant, row)[1]
    at, _ = CUSTOMER.post(kept['shelf'] + '/upload', {'name': f'begun-{RUN}', 'kind': 'media'})
    kept['upload'] = at.removeprefix(A.host).split('?')[0]


shows('its vApp', CUSTOMER, at('vapp'))
shows('its VM', CUSTOMER, at('vm'))
makes('s', 'a snapshot', CUSTOMER, at('vm', '/snapshots/new'), without=('terraform',))
shows('its vApp of two VMs', CUSTOMER, lambda: CUSTOMER.find(f'{tenant}/vapps', called('my-vapp', 'p')))


@once('a vApp with a name that has to be quoted')
def _():
    typed = {'name': f"it's v1.{RUN}", 'description': odd, 'vdc': kept['vdc'], 'vm': A.template, 'cpus': 'many'}
    page = panel(CUSTOMER.post(kept['image'] + '/deploy', typed)[1])
    run_curl(CUSTOMER, page, code(page, 'curl'))
    kept['quoted'] = CUSTOMER.find(f'{tenant}/vapps', typed['name'])


shows('a vApp with a name that has to be quoted', CUSTOMER, at('quoted'))


@once('a VM without a vApp')
def _():
    page = CUSTOMER.get(f"{kept['image']}/deploy?vdc={kept['vdc']}")
    source = re.search(r'href="([^"]*/vAppTemplate/vm-[^"]*)"', code(page, 'curl'))[1]
    body = ('<InstantiateVmTemplateParams xmlns="http://www.vmware.com/vcloud/v1.5" name="alone-%s" powerOn="false"><SourcedVmTemplateItem>'
            '<Source href="%s"/></SourcedVmTemplateItem><AllEULAsAccepted>true</AllEULAsAccepted></InstantiateVmTemplateParams>' % (RUN, source))
    run_curl(CUSTOMER, page, (
        "curl -sS --fail-with-body -X POST -H \"Authorization: Bearer $SSVIRT_TOKEN\" -H 'Accept: application/*+xml;version=39.0' "
        "-H 'Content-Type: application/vnd.vmware.vcloud.instantiateVmTemplateParams+xml' "
        f"{A.host}/api/vdc/{kept['vdc']}/action/instantiateVmFromTemplate --data-binary '{body}'"))
    kept['alone'] = CUSTOMER.find(f'{tenant}/vms', f'alone-{RUN}')


shows('a VM without a vApp', CUSTOMER, at('alone'))
shows('its disk', CUSTOMER, at('disk'))
shows('its network', CUSTOMER, at('network'))
shows('its catalog', CUSTOMER, at('shelf'))
shows('its template', CUSTOMER, at('template'))
shows('its media', CUSTOMER, at('media'))
shows('a catalog of the provider', CUSTOMER, at('catalog'))
shows('a template of the provider', CUSTOMER, at('image'))
shows('its user', CUSTOMER, at('user'))
shows('its role', CUSTOMER, at('role'))
shows('a predefined role', CUSTOMER, lambda: CUSTOMER.find(f'{tenant}/roles', 'vApp User'))
shows('its VDC', CUSTOMER, lambda: f"{tenant}/vdcs/{kept['vdc']}")
shows('the organization itself', CUSTOMER, f'{tenant}/organization')
shows('a task', CUSTOMER, at('task'), without=('terraform',))
shows('its affinity rule', CUSTOMER, at('rule'), without=('vcd-cli',))
shows('an upload that has begun', CUSTOMER, at('upload'), without=('vcd-cli', 'terraform'), says=f'begun-{RUN}')


@once('the vApp is powered off')
def _():
    CUSTOMER.post(kept['vapp'] + '/power-off', {})
    for _ in range(120):
        if 'Stopped' in CUSTOMER.get(kept['vapp']):
            return
        time.sleep(0.5)
    raise TimeoutError('it is not')


makes('y', 'a copy of a vApp', CUSTOMER, at('vapp', '/copy'), name='', vdc=at('vdc'))
makes('z', 'a copy of a VM', CUSTOMER, at('vm', '/copy'), name='', vapp=lambda: kept['vapp'].rsplit('/', 1)[1])
makes('q', 'a captured vApp', CUSTOMER, at('vapp', '/capture'), name='', catalog=lambda: kept['shelf'].rsplit('/', 1)[1])

# --- the provider makes
of_org = lambda what: lambda: f"{system}/{what}/new?org={kept['own'].rsplit('/', 1)[1]}"
makes('o', 'an organization', PROVIDER, f'{system}/organizations/new', description=odd, runtime_lease='2 hours')
keep('own', PROVIDER, f'{system}/organizations', called('my-org', 'o'))
makes('w', 'a VDC of a tenant', PROVIDER, of_org('vdcs'))
makes('x', 'a VDC with limits', PROVIDER, of_org('vdcs'), org=lambda: kept['own'].rsplit('/', 1)[1], allocation_model='AllocationPool', cpu_limit='4', memory_limit='8', vm_limit='5')
makes('g', 'a user of a tenant', PROVIDER, of_org('users'))
makes('h', 'a role of a tenant', PROVIDER, of_org('roles'))
makes('i', 'a catalog of a tenant', PROVIDER, of_org('catalogs'))
makes('j', 'a sizing policy', PROVIDER, f'{system}/sizing/new', without=('vcd-cli',))
makes('k', 'a storage policy', PROVIDER, f'{system}/storage/new', without=TOOLS)
makes('k', 'a hub', PROVIDER, f'{system}/hubs/new', without=TOOLS)

# --- and sees
shows('an organization', PROVIDER, lambda: PROVIDER.find(f'{system}/organizations', called('my-org', 'o')))
shows('a VDC', PROVIDER, lambda: PROVIDER.find(f'{system}/vdcs', called('my-vdc', 'w')))
shows('a VDC with limits', PROVIDER, lambda: PROVIDER.find(f'{system}/vdcs', called('my-vdc', 'x')))
shows('a sizing policy', PROVIDER, lambda: PROVIDER.find(f'{system}/sizing', called('my-size', 'j')), without=('vcd-cli',))
shows('a storage policy', PROVIDER, lambda: PROVIDER.find(f'{system}/storage', 'standard'))
for key, what, listed in (('vapp', 'a vApp of a tenant', 'vapps'), ('vm', 'a VM of a tenant', 'vms'), ('disk', 'a disk of a tenant', 'disks'),
                          ('network', 'a network of a tenant', 'networks'), ('shelf', 'a catalog of a tenant', 'catalogs'),
                          ('user', 'a user of a tenant', 'users'), ('role', 'a role of a tenant', 'roles')):
    shows(what, PROVIDER, lambda key=key: at(key)().replace(tenant, system))


@once('what took of the quota is deleted')
def _():
    """So that another run finds room: the suite is run over http and over https."""
    def left(what):
        return set(re.findall(r'href="(%s/%s/[0-9a-f-]{36})"' % (tenant, what), CUSTOMER.get(f'{tenant}/{what}?q={RUN}')))

    asked = set()
    for _ in range(400):
        there = left('vapps')
        if not there:
            break
        for vapp in there - asked:
            CUSTOMER.post(vapp + '/delete', {})
        asked |= there
        time.sleep(0.5)
    check(not left('vapps'), 'vApps are left')
    for vdc in left('vdcs'):
        CUSTOMER.post(vdc + '/delete', {'name': called('my-vdc', 'v')})
    check(not left('vdcs'), 'VDCs are left')


suite.end()
