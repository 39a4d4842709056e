// A demo of its own that is killed in the middle of a deployment, and started again: what was asked for is done, once.
import { expect, test } from '@playwright/test';
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mentionsAt } from '../hub.mjs';
import { choose, comes, says, signIn } from '../portal.mjs';

const dir = mkdtempSync(join(tmpdir(), 'ssvirt-killed-'));
let server;

function free() {
  return new Promise(done => {
    const taken = createServer().listen(0, '127.0.0.1', () => {
      const { port } = taken.address();
      taken.close(() => done(port));
    });
  });
}

// Steps of a boot take long enough for a kill to come between them.
async function start([http, https]) {
  const log = openSync(join(dir, 'log'), 'a');
  const args = ['demo', '--http', `127.0.0.1:${http}`, '--https', `127.0.0.1:${https}`, '--data-dir', join(dir, 'data'), '--sim-delay', '500'];
  const { DATABASE_URL, ...env } = process.env;
  server = spawn(process.env.SSVIRT ?? 'target/debug/ssvirt', args, { stdio: ['ignore', log, log], env });
  closeSync(log);
  const answers = () => fetch(`http://127.0.0.1:${http}/readyz`).then(answer => answer.status, () => 0);
  await expect.poll(answers, { timeout: 120_000 }).toBe(200);
}

async function end(signal) {
  const over = new Promise(done => { server.once('exit', done); });
  server.kill(signal);
  await over;
}

test.afterAll(async () => {
  if (server?.exitCode === null && server.signalCode === null) await end('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
});

test('a deployment goes on after the server was killed, and makes each VM once', async ({ browser }) => {
  test.setTimeout(300_000);
  const ports = [await free(), await free()];
  await start(ports);
  const page = await (await browser.newContext({ baseURL: `http://127.0.0.1:${ports[0]}` })).newPage();
  await signIn(page, 'acme', 'acme-admin');
  await page.goto('/tenant/acme/catalogs');
  await page.getByRole('link', { name: 'linux', exact: true }).click();
  await page.getByRole('link', { name: 'Deploy web-and-db', exact: true }).click();
  await page.getByLabel('Name', { exact: true }).fill('shop');
  await choose(page.getByLabel('VDC'), 'acme-dev');
  await page.getByRole('button', { name: 'Deploy' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'shop' })).toBeVisible();
  const address = page.url();
  const id = new URL(address).pathname.split('/').pop();
  const machines = async () => (await mentionsAt(join(dir, 'data', 'hubs'), id)).filter(one => one.startsWith('virtualmachines '));
  // its work has begun, and is not over
  await expect.poll(async () => (await machines()).length, { timeout: 60_000, intervals: [50] }).toBeGreaterThan(0);
  await end('SIGKILL');

  await start(ports);
  await page.goto(address);
  await comes(page, true, says(page, 'Running'));
  expect(await machines()).toHaveLength(2);
  await page.goto('/tenant/acme/tasks');
  await expect(page.getByRole('row', { name: /shop/ }).first()).toContainText('Done');
});
