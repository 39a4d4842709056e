"""Configurations of Terraform as counted steps: apply, plan, change, import, destroy."""
import json
import os
import re
import shutil
import subprocess
import tempfile

import files
from steps import Missing, Suite, arguments, check, mark, same

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'terraform')
ABOUT = '''The unmodified Terraform provider vmware/vcd against a demo that runs. https only: the provider takes no other addresses.
terraform/build.sh makes the programs.'''
parser = arguments('https://localhost:8443', ABOUT)
parser.add_argument('--terraform', help='the program')
parser.add_argument('--provider', help='the program of the provider')
parser.add_argument('--log', help='a directory for what Terraform says and for every request and answer')
parser.add_argument('only', nargs='*', help='configurations; all of them if none is named')
A = parser.parse_args()
RUN = mark()
FOLDER = tempfile.mkdtemp(prefix='terraform-')
suite = Suite('terraform', A.timeout * 4)


def programs():
    if A.terraform and A.provider:
        return A.terraform, A.provider
    made = subprocess.run([os.path.join(HERE, 'build.sh')], check=True, stdout=subprocess.PIPE, text=True)
    return made.stdout.split()


files.ova(f'{FOLDER}/box.ova')
files.iso(f'{FOLDER}/disc.iso')


def environment():
    """Terraform with this provider, no other settings of whoever runs it, and no network but the demo's."""
    terraform, provider = programs()
    os.makedirs(f'{FOLDER}/plugin')
    os.symlink(os.path.abspath(provider), f'{FOLDER}/plugin/terraform-provider-vcd')
    with open(f'{FOLDER}/terraformrc', 'w') as settings:
        settings.write(
            'disable_checkpoint = true\nprovider_installation {\n  dev_overrides {\n    "vmware/vcd" = "%s/plugin"\n  }\n}\n' % FOLDER)
    foreign = re.compile(r'^(TF_|VCD_|GOVCD_)|_proxy$', re.I)
    env = {k: v for k, v in os.environ.items() if not foreign.search(k)}
    return terraform, {**env, 'TF_CLI_CONFIG_FILE': f'{FOLDER}/terraformrc', 'TF_IN_AUTOMATION': '1', 'CHECKPOINT_DISABLE': '1'}


TERRAFORM, ENV = environment()


class Configuration:
    def __init__(self, name, login=None):
        self.name, self.folder = name, tempfile.mkdtemp(prefix=f'{name}-', dir=FOLDER)
        self.prefix = f'tf{RUN}-{name}'
        self.broken = None
        shutil.copy(f'{HERE}/common.tf', self.folder)
        shutil.copy(f'{HERE}/{name}/main.tf', self.folder)
        self.values = {
            'host': A.host, 'org': A.org, 'vdc': A.vdc, 'network': A.network, 'catalog_org': A.catalog_org, 'catalog': A.catalog,
            'template': A.template, 'pair': A.pair, 'member': A.member, 'files': FOLDER, 'prefix': self.prefix,
            'login': login or who(A.org, A.user, A.password)}

    # --- Terraform itself

    def run(self, *words, may=(0,)):
        with open(f'{self.folder}/terraform.tfvars.json', 'w') as file:
            json.dump(self.values, file)
        env = dict(ENV)
        if A.log:
            os.makedirs(A.log, exist_ok=True)
            env.update(VCD_API_LOGGING='true', VCD_API_LOGGING_FILE=os.path.abspath(f'{A.log}/{self.name}-api.log'))
        done = subprocess.run(
            [TERRAFORM, *words], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if A.log and words[0] != 'show':
            with open(f'{A.log}/{self.name}.log', 'a') as log:
                log.write(f'== terraform {" ".join(words)}: {done.returncode}\n{done.stdout}\n')
        if done.returncode not in may:
            raise RuntimeError(reason(done.stdout))
        return done

    def resources(self, of='state'):
        shown = json.loads(self.run('show', '-json', *([] if of == 'state' else [of])).stdout)
        found = shown.get('values', {}).get('root_module', {}).get('resources', [])
        return {r['address']: r['values'] for r in found}

    # --- the steps

    def step(self, label):
        def run(function):
            def guarded():
                if self.broken:
                    raise Missing(self.broken)
                return function()
            return suite.step(f'{self.name}: {label}')(guarded)
        return run

    def apply(self, label='apply'):
        @self.step(label)
        def _():
            try:
                self.run('apply', '-auto-approve', '-no-color')
            except RuntimeError:
                self.broken = f'“{label}” failed'
                raise

    def change(self):
        self.values['later'] = True
        self.apply('apply the changes')

    def clean(self, label='a plan finds nothing to do'):
        @self.step(label)
        def _():
            done = self.run('plan', '-no-color', '-detailed-exitcode', may=(0, 2))
            check(done.returncode == 0, wishes(done.stdout))

    def expect(self, address, wanted):
        """What the server answered about a resource or data source: values by path. "~…" is a pattern."""
        @self.step(f'{address}: ' + ', '.join(wanted))
        def _():
            found = self.resources().get(address)
            check(found is not None, 'it is not in the state')
            for path, want in wanted.items():
                got = value(found, path)
                if isinstance(want, str) and want.startswith('~'):
                    check(re.search(want[1:], str(got)), f'{path} is {got!r}, not like {want[1:]}')
                else:
                    same(got, want, path)

    def imported(self, address, number):
        """Forgotten and found again: then nothing is made anew, and after at most one more apply there is nothing to do."""
        @self.step(f'import {address}')
        def _():
            known = number() if callable(number) else number
            self.run('state', 'rm', address)
            self.run('import', '-no-color', address, known)
            plan = self.run('plan', '-no-color', '-detailed-exitcode', '-out=after', may=(0, 2))
            if plan.returncode == 2:
                changes = json.loads(self.run('show', '-json', 'after').stdout)['resource_changes']
                gone = [c['address'] for c in changes if 'delete' in c['change']['actions']]
                check(not gone, f'it would replace {gone}: {wishes(plan.stdout)}')
                self.run('apply', '-no-color', 'after')
                plan = self.run('plan', '-no-color', '-detailed-exitcode', may=(0, 2))
            check(plan.returncode == 0, wishes(plan.stdout))

    def destroy(self):
        """Even after failures, so that nothing is left."""
        @suite.step(f'{self.name}: destroy')
        def _():
            check(any(not a.startswith('data.') for a in self.resources()), 'there is nothing to destroy')
            self.run('destroy', '-auto-approve', '-no-color')
            left = [a for a in self.resources() if not a.startswith('data.')]
            check(not left, f'left: {left}')

    def id_of(self, address):
        return self.resources().get(address, {}).get('id', 'unknown')


def who(org, user='', password='', token_file=''):
    return {'org': org, 'user': user, 'password': password, 'token_file': token_file}


def sign_in(label, login, refused=False):
    @suite.step(label)
    def _():
        asked = Configuration('login', login)
        asked.values['org'] = login['org']
        try:
            asked.run('apply', '-auto-approve', '-no-color')
        except RuntimeError as e:
            check(refused and re.search(r'40[013]|nauthori[sz]ed|invalid_grant', str(e)), e)
            return
        check(not refused, 'it was let in')


def reason(said):
    """The first error, without the frame around it."""
    lines = [re.sub(r'^[│╷╵ ]+', '', line) for line in said.splitlines()]
    first = next((i for i, line in enumerate(lines) if re.match(r'Error|panic', line)), max(0, len(lines) - 5))
    return ' '.join(filter(None, lines[first:first + 8]))


def wishes(plan):
    found = [line.strip() for line in plan.splitlines() if re.match(r'\s+(# .* (will|must) be|[-+~/]+ \w+ +[={])', line)]
    return ' '.join(found) or reason(plan)


def value(of, path):
    for part in path.split('.'):
        if part == '#':
            return len(of or [])
        of = of[int(part)] if isinstance(of, list) else of[part]
    return of
