// Each predefined role signs in and sees what its rights allow.
import { expect, test } from '@playwright/test';
import { signIn, watch } from '../portal.mjs';

const visitors = [
  ['System', 'administrator', '/provider', ['Organizations', 'VDCs', 'Users', 'Roles', 'Audit'], []],
  ['acme', 'acme-admin', '/tenant/acme', ['Organization', 'VDCs', 'Users', 'Roles', 'Audit'], ['Organizations']],
  ['acme', 'acme-author', '/tenant/acme', ['VDCs', 'Tasks', 'Events'], ['Users', 'Roles', 'Audit']],
  ['acme', 'acme-user', '/tenant/acme', ['VDCs', 'Tasks'], ['Users', 'Roles', 'Audit']],
  ['acme', 'acme-console', '/tenant/acme', ['Tasks'], ['VDCs', 'Users', 'Roles', 'Audit']],
  ['globex', 'globex-admin', '/tenant/globex', ['Users'], ['Organizations']],
];

for (const [org, user, home, sees, not] of visitors) {
  test(`${user} comes in and sees what the role allows`, async ({ page }) => {
    const bad = watch(page);
    await signIn(page, org, user);
    await expect(page).toHaveURL(new RegExp(`${home}$`));
    const nav = page.getByRole('navigation', { name: 'Main' });
    for (const label of sees) await expect(nav.getByRole('link', { name: label, exact: true })).toBeVisible();
    for (const label of not) await expect(nav.getByRole('link', { name: label, exact: true })).toHaveCount(0);
    expect(bad).toEqual([]);
  });
}

test('the address of another tenant is answered like one that is not there', async ({ page }) => {
  await signIn(page, 'acme', 'acme-admin');
  const foreign = await page.goto('/tenant/globex/users');
  const foreignText = await page.locator('main').innerText();
  const missing = await page.goto('/tenant/no-such-org/users');
  const missingText = await page.locator('main').innerText();
  expect([foreign.status(), missing.status()]).toEqual([404, 404]);
  expect(foreignText.replace('globex', 'X')).toBe(missingText.replace('no-such-org', 'X'));
});

test('a page that takes a right one has not got names it', async ({ page }) => {
  await signIn(page, 'acme', 'acme-user');
  const answer = await page.goto('/tenant/acme/audit');
  expect(answer.status()).toBe(403);
  await expect(page.locator('main')).toContainText('Audit Trail: View');
});

test('signing out ends the session on the server too', async ({ page, context }) => {
  await signIn(page, 'acme', 'acme-admin');
  const cookies = await context.cookies();
  await page.locator('details.me > summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page).toHaveURL(/sign-in/);
  await context.addCookies(cookies);
  await page.goto('/tenant/acme');
  await expect(page).toHaveURL(/sign-in/);
});

test('the credentials work over https, with a cookie only this host can set', async ({ browser }) => {
  test.skip(!process.env.BASE_URL_HTTPS, 'no https address was given');
  const context = await browser.newContext({ baseURL: process.env.BASE_URL_HTTPS, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await signIn(page, 'acme', 'acme-admin');
  const cookie = (await context.cookies()).find(c => c.name === '__Host-session');
  expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Lax', path: '/' });
});
