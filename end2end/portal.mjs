// What the browser tests share: signing in, watching for errors, waiting until the islands are at work.
import { expect } from '@playwright/test';

export const password = 'ssvirt-demo';

// Everything a page must not say: script errors, failed loads, refusals by the policy.
export function watch(page) {
  const bad = [];
  page.on('pageerror', error => bad.push(`exception: ${error}`));
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) bad.push(`${message.type()}: ${message.text()}`);
  });
  page.on('requestfailed', request => {
    const why = request.failure()?.errorText;
    // a stream that ends with its page, and a refresh that a navigation overtook
    if (why !== 'net::ERR_ABORTED') bad.push(`failed: ${request.url()} ${why}`);
  });
  return bad;
}

export async function signIn(page, org, user, secret = password) {
  await page.goto('/sign-in');
  await page.getByLabel('Organization').fill(org);
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill(secret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page).not.toHaveURL(/sign-in/);
}

// All islands are at work and the page hears of changes.
export async function live(page) {
  await expect(page.locator('html')).toHaveAttribute('data-awake', '');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
}

// A name that no other test and no earlier run has used.
export const fresh = prefix => `${prefix}-${Date.now().toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`;

// Fills the form for a new organization with its first administrator.
export async function newOrganization(page, name, admin = `${name}-admin`) {
  await page.goto('/provider/organizations/new');
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('User name').fill(admin);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create organization' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
}

// What comes by itself with JavaScript comes with a reload without. `expected` is an expectation that waits for so long.
export async function becomes(page, javaScriptEnabled, expected) {
  if (javaScriptEnabled) return expected(60_000);
  return expect(async () => {
    await page.reload();
    await expected(500);
  }).toPass({ timeout: 60_000 });
}

export const comes = (page, javaScriptEnabled, locator) =>
  becomes(page, javaScriptEnabled, timeout => expect(locator).toBeVisible({ timeout }));

// The word at the head of a machine's or a vApp's page.
export const says = (page, word) => page.locator('.says b', { hasText: word });

// A line of a menu, by how it begins.
export async function menu(page, label, line) {
  await page.locator(`main summary:text-is("${label}"), main summary[aria-label="${label}"]`).click();
  await page.locator('details[open] .item', { hasText: new RegExp(`^\\s*${line}`) }).click();
}

// An option by a part of its words.
export const choose = async (field, text) =>
  field.selectOption(await field.locator('option', { hasText: text }).first().getAttribute('value'));
