// A machine's console in a browser: the screen comes, keys and pasted text go, it ends with the session, and can be taken over.
import { expect, test } from '@playwright/test';
import { signIn, watch } from '../portal.mjs';

const state = page => page.locator('.badge[role=status]');

// Of a machine that runs, from its page.
async function open(page) {
  await page.goto('/tenant/acme/vms');
  await page.getByRole('row').filter({ hasText: 'Running' }).first().getByRole('rowheader').getByRole('link').first().click();
  await page.getByRole('link', { name: 'Console' }).click();
  await expect(state(page)).toContainText(/^\s*Connected/);
  await expect(page.locator('canvas')).toBeVisible();
}

// Everything that is drawn.
const drawn = page => page.locator('canvas').evaluate(canvas => canvas.toDataURL());

test('the screen comes, keys and pasted text go, and a closed one is opened again', async ({ page }) => {
  const bad = watch(page);
  await signIn(page, 'acme', 'acme-admin');
  await open(page);
  // a picture, and not only its background
  await expect.poll(async () => (await drawn(page)).length).toBeGreaterThan(3000);
  let before = await drawn(page);
  await page.keyboard.press('q');
  await expect.poll(() => drawn(page)).not.toBe(before);

  // the keyboard comes back to the page, and a text is typed
  await page.keyboard.press('Control+Alt+Home');
  await expect(page.getByRole('link', { name: /^Back to/ })).toBeFocused();
  await page.getByRole('button', { name: 'Paste' }).click();
  await page.getByLabel('Paste as typing').fill('uname -a\nZ');
  await expect(page.getByText('2 lines, 10 characters.')).toBeVisible();
  before = await drawn(page);
  await page.getByRole('button', { name: 'Type it' }).click();
  await expect(page.getByLabel('Paste as typing')).toHaveValue('');
  await expect.poll(() => drawn(page)).not.toBe(before);
  before = await drawn(page);
  await page.getByRole('button', { name: 'Ctrl-Alt-Del' }).click();
  await expect.poll(() => drawn(page)).not.toBe(before);

  // somebody else opens it: this one says so, and can have it back
  const second = await page.context().newPage();
  await second.goto(page.url());
  await expect(second.getByRole('heading', { name: 'You have this console open elsewhere' })).toBeVisible();
  await second.getByRole('button', { name: 'Take over' }).click();
  await expect(state(second)).toContainText(/^\s*Connected/);
  await expect(state(page)).toContainText('Not connected');
  await expect(page.getByText('somebody else opened its console')).toBeVisible();
  await second.close();
  await page.getByRole('button', { name: 'Connect again' }).click();
  await expect(state(page)).toContainText(/^\s*Connected/);
  expect(bad).toEqual([]);
});

test('it ends with its session', async ({ page }) => {
  await signIn(page, 'acme', 'acme-admin');
  await open(page);
  const other = await page.context().newPage();
  await other.goto('/tenant/acme');
  await other.evaluate(() => fetch('/sign-out', { method: 'POST', body: new URLSearchParams() }));
  await expect(page.getByText('Your session has ended.')).toBeVisible({ timeout: 20_000 });
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('the page says what is needed', async ({ page }) => {
    await signIn(page, 'acme', 'acme-admin');
    await page.goto('/tenant/acme/vms');
    await page.getByRole('row').filter({ hasText: 'Running' }).first().getByRole('rowheader').getByRole('link').first().click();
    await page.getByRole('link', { name: 'Console' }).click();
    await expect(page.getByRole('heading', { name: 'This page needs JavaScript' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Ctrl-Alt-Del' })).toBeHidden();
  });
});
