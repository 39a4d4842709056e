// Single sign-on by a real OpenID Connect provider, all the way through a browser.
import { spawnSync } from 'node:child_process';
import { expect, test } from '@playwright/test';
import { client, start } from '../op.mjs';
import { fresh, newOrganization, signIn, watch } from '../portal.mjs';

const { BASE_URL, DEMO_DATABASE_URL, DEMO_SECRET, SSVIRT } = process.env;
test.skip(!DEMO_DATABASE_URL || !DEMO_SECRET || !SSVIRT, 'only the demo that make test starts can be told of a provider');

// One organization whose users sign in by the provider; the tests follow one another.
test.describe.configure({ mode: 'serial' });
const org = fresh('sso');
let op;

function idp(...args) {
  const env = { DATABASE_URL: DEMO_DATABASE_URL, SSVIRT_SECRET: DEMO_SECRET };
  const { status, stdout, stderr } = spawnSync(SSVIRT, ['idp', ...args], { env, input: `${client.secret}\n`, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

const set = (...groups) => idp('set', '--org', org, '--issuer', op.issuer, '--client-id', client.id, '--client-secret-stdin',
  '--scopes', 'openid profile email groups', ...groups.flatMap(group => ['--group', group]));

test.beforeAll(async ({ browser }) => {
  op = await start([new URL(BASE_URL).origin]);
  const page = await browser.newPage();
  await signIn(page, 'System', 'administrator');
  await newOrganization(page, org);
  await page.close();
  const { status, said } = set('tenant-admins=Organization Administrator', 'staff=vApp User');
  expect(status, said).toBe(0);
});
test.afterAll(() => op?.stop());

// From our door to the provider's.
async function toProvider(page) {
  // the provider's page asks for a font from elsewhere; tests stay on this machine
  await page.route(/^https:\/\/fonts\./, route => route.fulfill({ contentType: 'text/css', body: '' }));
  await page.goto('/sign-in');
  await page.getByLabel('Organization').fill(org);
  await page.getByRole('button', { name: 'Sign in with SSO' }).click();
  await expect(page).toHaveURL(new RegExp(`^${op.issuer}/`));
}

// What the provider asks: who one is, and whether we may know.
async function throughProvider(page, login) {
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('anything');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

async function comeIn(page, login) {
  await toProvider(page);
  await throughProvider(page, login);
}

const home = new RegExp(`/tenant/${org}$`);
const said = page => page.locator('main form .note');

test('somebody comes in by the provider, with the role of their group', async ({ page }) => {
  const bad = watch(page);
  await comeIn(page, 'alice');
  await expect(page).toHaveURL(home);
  await page.goto(`/tenant/${org}/users`);
  await expect(page.getByRole('rowheader', { name: 'alice' })).toBeVisible();
  await page.goto('/profile');
  await expect(page.locator('main')).toContainText('alice@example.org');
  expect((await page.goto('/provider/organizations')).status(), 'cloud-admins are nothing in a tenant').toBe(404);
  expect(bad.filter(line => !line.includes('404'))).toEqual([]);
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });
  test('somebody comes in by the provider', async ({ page }) => {
    await comeIn(page, 'bob');
    await expect(page).toHaveURL(home);
    expect((await page.goto(`/tenant/${org}/vdcs`)).status()).toBe(200);
    expect((await page.goto(`/tenant/${org}/users`)).status()).toBe(403);
  });
});

test('the page that was asked for comes after it', async ({ page }) => {
  await page.goto(`/tenant/${org}/vdcs?q=prod`);
  await page.getByRole('button', { name: 'Sign in with SSO' }).click();
  await throughProvider(page, 'bob');
  await expect(page).toHaveURL(new RegExp(`/tenant/${org}/vdcs\\?q=prod$`));
});

test('who has no group with a role is told so', async ({ page }) => {
  await comeIn(page, 'carol');
  await expect(said(page)).toContainText(`none of your groups has a role in ${org}`);
  await page.goto(`/tenant/${org}`);
  await expect(page).toHaveURL(/sign-in/);
});

test('no group makes a system administrator of a tenant', async ({ page }) => {
  const refused = set('cloud-admins=System Administrator');
  expect(refused.status).toBe(1);
  expect(refused.said).toContain(`${org} has no role “System Administrator”`);
  await comeIn(page, 'mallory');
  await expect(said(page)).toContainText('none of your groups');
});

test('who cancels at the provider comes back to the door', async ({ page }) => {
  await toProvider(page);
  await page.getByRole('link', { name: 'Cancel' }).click();
  await expect(said(page)).toContainText('cancelled at the identity provider');
  await expect(page.getByLabel('Organization')).toHaveValue(org);
});

test('a way back is good once, and in its own browser', async ({ page, browser, baseURL }) => {
  let back;
  page.on('request', request => { if (request.url().includes('/sign-in/sso/callback?')) back ??= request.url(); });
  await comeIn(page, 'bob');
  await expect(page).toHaveURL(home);

  const stranger = await (await browser.newContext({ baseURL })).newPage();
  expect((await stranger.goto(back)).status()).toBe(401);
  await expect(said(stranger)).toContainText('not begun in this browser');
  expect((await page.goto(back)).status()).toBe(401);
  await page.goto('/');
  await expect(page, 'and the session goes on').toHaveURL(home);
});

test('nobody becomes a local user by having the same name', async ({ page }) => {
  await comeIn(page, `${org}-admin`);
  await expect(page).toHaveURL(home);
  await page.goto('/profile');
  await expect(page.locator('main')).toContainText(`${org}-admin-2`);
  expect((await page.goto(`/tenant/${org}/users`)).status()).toBe(403);
});

test('a disabled user stays out', async ({ page, browser, baseURL }) => {
  await comeIn(page, 'dave');
  await expect(page).toHaveURL(home);
  const admin = await (await browser.newContext({ baseURL })).newPage();
  await signIn(admin, org, `${org}-admin`);
  await admin.goto(`/tenant/${org}/users?q=dave`);
  await admin.getByRole('link', { name: 'dave' }).first().click();
  await admin.getByText('Actions', { exact: true }).click();
  await admin.getByRole('button', { name: /^Disable/ }).click();
  await expect(admin.getByText('Disabled').first()).toBeVisible();
  await expect(page, 'the session has ended, and the page says so by itself').toHaveURL(/sign-in/);
  await page.getByRole('button', { name: 'Sign in with SSO' }).click();
  await expect(said(page)).toContainText('Your user dave');
});

test('without a provider the organization is like one that never had any', async ({ page }) => {
  expect(idp('remove', '--org', org).status).toBe(0);
  for (const name of [org, 'no-such-org']) {
    expect((await page.goto(`/sign-in/sso?org=${name}`)).status()).toBe(401);
    await expect(said(page)).toHaveText('This organization has no single sign-on; use a local account.');
  }
});
