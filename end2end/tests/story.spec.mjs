// From an empty installation's point of view: the provider makes a tenant, its administrator makes a user and a VDC.
import { expect, test } from '@playwright/test';
import { fresh, newOrganization, password, signIn, watch } from '../portal.mjs';

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('a provider makes an organization, and its administrator a user and a VDC', async ({ page, browser, baseURL }) => {
      const bad = watch(page);
      const org = fresh('org');
      await signIn(page, 'System', 'administrator');
      await newOrganization(page, org);
      await expect(page.getByText(`${org} is made`)).toBeVisible();

      const context = await browser.newContext({ baseURL, javaScriptEnabled, ignoreHTTPSErrors: true });
      const admin = await context.newPage();
      const alsoBad = watch(admin);
      await signIn(admin, org, `${org}-admin`);
      await expect(admin).toHaveURL(new RegExp(`/tenant/${org}$`));

      await admin.goto(`/tenant/${org}/users/new`);
      await admin.getByLabel('User name').fill('first-user');
      await admin.getByLabel('Role').selectOption({ label: 'vApp Author' });
      await admin.getByLabel('Password', { exact: true }).fill(password);
      await admin.getByRole('button', { name: 'Create user' }).click();
      await expect(admin.getByRole('heading', { level: 1, name: 'first-user' })).toBeVisible();

      await admin.goto(`/tenant/${org}/vdcs/new`);
      await admin.getByLabel('Name', { exact: true }).fill('first-vdc');
      await admin.getByLabel(/^CPU/).fill('16');
      await admin.getByRole('button', { name: 'Create VDC' }).click();
      await expect(admin.getByRole('heading', { level: 1, name: 'first-vdc' })).toBeVisible();
      await expect(admin.getByText('0 of 16 vCPU').first()).toBeVisible();

      // the new user can come in, and sees what a vApp Author sees
      const other = await (await browser.newContext({ baseURL, javaScriptEnabled, ignoreHTTPSErrors: true })).newPage();
      await signIn(other, org, 'first-user');
      await expect(other.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Users' })).toHaveCount(0);
      // without JavaScript the browser complains that it may not run what it loaded
      if (javaScriptEnabled) expect([...bad, ...alsoBad]).toEqual([]);
    });

    test('a form that is refused comes back with errors beside the fields and everything typed', async ({ page }) => {
      await signIn(page, 'System', 'administrator');
      await page.goto('/provider/organizations/new');
      await page.getByLabel('Name', { exact: true }).fill('acme');
      await page.getByLabel('Description').fill('Two\nlines');
      await page.getByLabel('User name').fill('someone');
      await page.getByLabel('Password').fill('too short');
      await page.getByLabel(/^CPU/).fill('many');
      const [answer] = await Promise.all([
        page.waitForResponse(r => r.request().method() === 'POST'),
        page.getByRole('button', { name: 'Create organization' }).click(),
      ]);
      expect(answer.status()).toBe(422);
      await expect(page.getByRole('alert')).toContainText('Nothing you typed is lost');
      await expect(page.getByLabel(/^CPU/)).toHaveAttribute('aria-invalid', 'true');
      await expect(page.getByLabel(/^CPU/)).toHaveValue('many');
      await expect(page.getByLabel('Description')).toHaveValue('Two\nlines');
      await expect(page.getByLabel('Password')).toHaveValue('');
      // a name that is taken is said beside the name
      await page.getByLabel(/^CPU/).fill('8');
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Create organization' }).click();
      await expect(page.getByText('Another organization has that name').first()).toBeVisible();
      await expect(page.getByLabel('Name', { exact: true })).toHaveValue('acme');
    });

    test('lists are searched, sorted and paged by links', async ({ page }) => {
      await signIn(page, 'System', 'administrator');
      await page.goto('/provider/users?limit=3');
      await expect(page.getByRole('row')).toHaveCount(4);
      await page.getByRole('link', { name: 'Next' }).click();
      await expect(page).toHaveURL(/cursor=/);
      await page.getByRole('link', { name: 'Back' }).click();
      await page.getByRole('columnheader', { name: 'Name' }).getByRole('link').click();
      await expect(page.getByRole('columnheader', { name: 'Name' })).toHaveAttribute('aria-sort', 'descending');
      await page.getByRole('searchbox').fill('globex-admin');
      await page.getByRole('searchbox').press('Enter');
      await expect(page.getByRole('row')).toHaveCount(2);
      await expect(page).toHaveURL(/q=globex-admin/);
    });
  });
}
