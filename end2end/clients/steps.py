"""Counted steps: a line for each, and how many passed and failed in the last line. What a suite is run with: the demo's names."""
import argparse
import os
import signal
import sys
import time


# they would go before what clients are told: that the demo's certificate is nobody's
for bundle in ('REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'):
    os.environ.pop(bundle, None)


class Missing(Exception):
    """A step before this one failed and did not leave what is needed."""


class Kept:
    """What steps leave for those that follow: kept.vapp = …"""

    def __getattr__(self, name):
        raise Missing(f'an earlier step left no {name}')


class Suite:
    def __init__(self, name, timeout=120):
        self.name, self.timeout = name, timeout
        self.passed = self.failed = 0

    def step(self, label):
        """Runs the decorated function at once and tells how it went; what it returns is told along."""

        def run(function):
            signal.signal(signal.SIGALRM, self._late)
            signal.alarm(self.timeout)
            began, error, said = time.monotonic(), None, None
            try:
                said = function()
            except KeyboardInterrupt:
                raise
            except BaseException as e:  # pyvcloud ends the program in some of its failures
                error = f'{type(e).__name__}: {words(e)}'
            finally:
                signal.alarm(0)
            self.tell(label, time.monotonic() - began, error, said)
            return function

        return run

    def tell(self, label, seconds, error=None, said=None):
        if error is None:
            self.passed += 1
        else:
            self.failed += 1
        rest = error if error is not None else said
        text = ' '.join(str(rest).split())[:300] if rest is not None else ''
        print(f"{'PASS' if error is None else 'FAIL'} {self.name:<9} {label:<58} {seconds:5.1f} s  {text}".rstrip(), flush=True)

    def _late(self, *_):
        raise TimeoutError(f'no end within {self.timeout} s')

    def end(self):
        print(f'{self.passed} passed, {self.failed} failed')
        sys.exit(0 if self.passed and not self.failed else 1)


def words(error):
    try:
        return str(error)
    except Exception:  # some of pyvcloud's errors can't be shown
        return f"HTTP {getattr(error, 'status_code', '?')}"


def check(true, otherwise):
    if not true:
        raise AssertionError(otherwise)


def same(found, wanted, what=''):
    check(found == wanted, f'{what} is {found!r} instead of {wanted!r}'.strip())


def refused(kinds, function):
    """The error that was to come; anything else is a failure."""
    try:
        function()
    except kinds as e:
        return e
    names = ' or '.join(k.__name__ for k in kinds) if isinstance(kinds, tuple) else kinds.__name__
    raise AssertionError(f'no {names}: it was done')


def mark():
    """Makes the names of a run its own."""
    return f'{int(time.time() * 10) % 16**5:05x}'


def arguments(host, about):
    p = argparse.ArgumentParser(description=about)
    for name, default in {
        'host': host,
        'org': 'acme',
        'user': 'acme-admin',
        'password': 'ssvirt-demo',
        'member': 'acme-author',
        'provider-user': 'administrator',
        'provider-password': 'ssvirt-demo',
        'vdc': 'acme-prod',
        'other-vdc': 'acme-dev',
        'network': 'acme-net',
        'catalog-org': 'System',
        'catalog': 'linux',
        'template': 'ubuntu-24.04',
        'pair': 'web-and-db',
    }.items():
        p.add_argument(f'--{name}', default=default, help=f'({default})')
    p.add_argument('--timeout', type=int, default=120, help='seconds for a step')
    return p
