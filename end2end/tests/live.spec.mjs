// What one browser does, another sees without a reload; and two editors don't overwrite each other unknowingly.
import { expect, test } from '@playwright/test';
import { fresh, live, newOrganization, signIn, watch } from '../portal.mjs';

async function two(browser, baseURL) {
  const pages = [];
  for (let i = 0; i < 2; i++) pages.push(await (await browser.newContext({ baseURL, ignoreHTTPSErrors: true })).newPage());
  return pages;
}

test('a change made elsewhere appears without a reload', async ({ browser, baseURL }) => {
  const [one, other] = await two(browser, baseURL);
  const bad = watch(one);
  await signIn(one, 'System', 'administrator');
  await one.goto('/provider/organizations?sort=-created');
  await live(one);
  await one.evaluate(() => { window.notReloaded = true; });
  await signIn(other, 'System', 'administrator');
  const org = fresh('live');
  await newOrganization(other, org);
  await expect(one.getByRole('rowheader', { name: org })).toBeVisible();
  expect(await one.evaluate(() => window.notReloaded)).toBe(true);
  expect(bad).toEqual([]);
});

test('a tenant does not hear of another one, and what is typed in a search stays', async ({ browser, baseURL }) => {
  const [tenant, provider] = await two(browser, baseURL);
  await signIn(tenant, 'globex', 'globex-admin');
  await tenant.goto('/tenant/globex/users');
  await live(tenant);
  let refreshes = 0;
  tenant.on('request', r => { if (r.headers()['x-refresh']) refreshes++; });
  // its own machines may still be coming up
  await expect(async () => {
    refreshes = 0;
    await tenant.waitForTimeout(2000);
    expect(refreshes).toBe(0);
  }).toPass({ timeout: 60_000 });
  await tenant.getByRole('searchbox').fill('half a na');
  await signIn(provider, 'System', 'administrator');
  await newOrganization(provider, fresh('quiet'));
  await tenant.waitForTimeout(1500);
  expect(refreshes).toBe(0);
  await expect(tenant.getByRole('searchbox')).toHaveValue('half a na');
});

test('two people who edit at once get a clear conflict with both values', async ({ browser, baseURL }) => {
  const [one, other] = await two(browser, baseURL);
  const org = fresh('edit');
  await signIn(one, 'System', 'administrator');
  await newOrganization(one, org);
  const edit = `${new URL(one.url()).pathname}/edit`;
  await signIn(other, 'System', 'administrator');
  for (const page of [one, other]) await page.goto(edit);
  await one.getByLabel('Description').fill('from one');
  await one.getByRole('button', { name: 'Save' }).click();
  await expect(one.getByText('is saved')).toBeVisible();
  await other.getByLabel('Description').fill('from the other');
  await other.getByRole('button', { name: 'Save' }).click();
  await expect(other.getByRole('alert')).toContainText('from one');
  await expect(other.getByRole('alert')).toContainText('from the other');
  await expect(other.getByLabel('Description')).toHaveValue('from the other');
  await other.getByRole('button', { name: 'Save' }).click();
  await expect(other.getByText('from the other', { exact: true })).toBeVisible();
});

test('a user who is disabled is out at once', async ({ browser, baseURL }) => {
  const [admin, user] = await two(browser, baseURL);
  const name = fresh('leaver');
  await signIn(admin, 'acme', 'acme-admin');
  await admin.goto('/tenant/acme/users/new');
  await admin.getByLabel('User name').fill(name);
  await admin.getByLabel('Role').selectOption({ label: 'vApp User' });
  await admin.getByLabel('Password', { exact: true }).fill('ssvirt-demo');
  await admin.getByRole('button', { name: 'Create user' }).click();
  await expect(admin.getByRole('heading', { level: 1, name })).toBeVisible();
  await signIn(user, 'acme', name);
  await live(user);
  await admin.goto(admin.url());
  await admin.getByText('Actions', { exact: true }).click();
  await admin.getByRole('button', { name: /^Disable/ }).click();
  await expect(user).toHaveURL(/sign-in/);
});

test('a form sent after the session ended is kept over the sign-in', async ({ page, context }) => {
  await signIn(page, 'acme', 'acme-admin');
  await page.goto('/tenant/acme/vdcs/new');
  const name = fresh('kept');
  await page.getByLabel('Name', { exact: true }).fill(name);
  await context.clearCookies();
  await page.getByRole('button', { name: 'Create VDC' }).click();
  await expect(page.getByText('Your session ended')).toBeVisible();
  await page.getByLabel('Organization').fill('acme');
  await page.getByLabel('User name').fill('acme-admin');
  await page.getByLabel('Password').fill('ssvirt-demo');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByText(name)).toBeVisible();
  await page.getByRole('button', { name: 'Send it now' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
});
