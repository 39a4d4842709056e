// A colleague's open page hears of it when something is shared with them, and when that is taken away.
import { expect, test } from '@playwright/test';
import { choose, fresh, live, signIn, watch } from '../portal.mjs';

test('what is shared appears on a colleague\'s open page, and goes from it, without a reload', async ({ page, browser, baseURL }) => {
  test.setTimeout(120_000);
  const name = fresh('shared');
  await signIn(page, 'acme', 'acme-admin');
  await page.goto('/tenant/acme/vapps/new');
  await page.getByLabel('Name', { exact: true }).fill(name);
  await choose(page.getByLabel('VDC'), 'acme-dev');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  const vapp = page.url();

  const other = await (await browser.newContext({ baseURL, ignoreHTTPSErrors: true })).newPage();
  const bad = watch(other);
  await signIn(other, 'acme', 'acme-user');
  await other.goto(`/tenant/acme/vapps?q=${name}`);
  await live(other);
  await other.evaluate(() => { window.notReloaded = true; });
  const line = other.getByRole('rowheader', { name, exact: true });
  await expect(line).toHaveCount(0);

  const share = async (label, value) => {
    await page.goto(`${vapp}/sharing`);
    await (label === 'User' ? page.getByLabel(/^User/).fill(value) : page.getByLabel(label).selectOption({ label: value }));
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText(`The sharing of ${name} is saved.`)).toBeVisible();
  };
  await share('User', 'acme-user');
  await expect(line).toBeVisible({ timeout: 30_000 });
  await share('acme-user', 'Not any more');
  await expect(line).toHaveCount(0, { timeout: 30_000 });
  await share('Everyone in the organization', 'Read only');
  await expect(line).toBeVisible({ timeout: 30_000 });

  await page.goto(`${vapp}/delete`);
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(line).toHaveCount(0, { timeout: 30_000 });
  expect(await other.evaluate(() => window.notReloaded)).toBe(true);
  expect(bad).toEqual([]);
});
