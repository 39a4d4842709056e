// A lease in a browser: set to some seconds, and seen to run out.
import { expect, test } from '@playwright/test';
import { fresh, signIn, watch } from '../portal.mjs';

test('a lease runs out under the eyes of its owner', async ({ page }) => {
  test.setTimeout(180_000);
  const bad = watch(page);
  const name = fresh('leased');
  const says = (word) => page.locator('.says b', { hasText: word });
  await signIn(page, 'acme', 'acme-admin');
  await page.goto('/tenant/acme/catalogs');
  await page.getByRole('link', { name: 'linux', exact: true }).click();
  await page.getByRole('link', { name: 'Deploy ubuntu-24.04', exact: true }).click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  const dev = await page.getByLabel('VDC').locator('option', { hasText: 'acme-dev' }).getAttribute('value');
  await page.getByLabel('VDC').selectOption(dev);
  await page.getByRole('button', { name: 'Deploy' }).click();
  await expect(says('Running')).toBeVisible({ timeout: 60_000 });
  const address = page.url();

  await page.locator('dt:text-is("Runs until") + dd').getByRole('link', { name: 'Change' }).click();
  await page.getByLabel('Run at most').fill('soon');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('A number with days, hours, minutes or seconds').first()).toBeVisible();
  await page.getByLabel('Run at most').fill('12 seconds');
  await page.getByLabel('Keep stopped').fill('20 days');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText(`The lease of ${name} is saved.`)).toBeVisible();
  // told ahead, and then stopped, without anybody pressing anything
  await expect(page.getByText('Its run-time lease ends')).toBeVisible({ timeout: 30_000 });
  await expect(says('Suspended')).toBeVisible({ timeout: 60_000 });
  await expect(page.locator('dt:text-is("Kept until") + dd')).toContainText('in 20 days');

  await page.goto(`${address}/delete`);
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(page.getByText(`vApp ${name} is being deleted.`)).toBeVisible();
  expect(bad.filter(line => !line.includes('422'))).toEqual([]);
});
