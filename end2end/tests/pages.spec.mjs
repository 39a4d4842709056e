// Every page in every theme: axe finds nothing, the console is silent. SHOTS=dir also takes pictures, wide and phone.
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { signIn, watch } from '../portal.mjs';

const first = list => `${list} >`; // the first row's own page
const pages = {
  'System/administrator': [
    '/provider', '/provider/organizations', first('/provider/organizations'), '/provider/organizations/new', first('/provider/organizations') + '/edit',
    first('/provider/organizations') + '/delete', '/provider/vdcs', first('/provider/vdcs'), '/provider/vdcs/new', first('/provider/vdcs') + '/edit',
    first('/provider/vdcs') + '/delete', '/provider/users', first('/provider/users'), '/provider/users/new', first('/provider/users') + '/edit',
    first('/provider/users') + '/password', first('/provider/users') + '/delete', '/provider/roles', first('/provider/roles'), '/provider/roles/new',
    '/provider/tasks', first('/provider/tasks'), '/provider/events', '/provider/audit', '/provider/users?q=nobody-has-this-name', '/profile', '/provider/nothing-here',
  ],
  'acme/acme-admin': [
    '/tenant/acme', '/tenant/acme/organization', '/tenant/acme/organization/edit', '/tenant/acme/vdcs', first('/tenant/acme/vdcs'), '/tenant/acme/vdcs/new',
    first('/tenant/acme/vdcs') + '/edit', '/tenant/acme/users', first('/tenant/acme/users'), '/tenant/acme/users/new', '/tenant/acme/roles',
    '/tenant/acme/roles/new', '/tenant/acme/tasks', '/tenant/acme/events', '/tenant/acme/audit', '/tenant/globex',
  ],
  'acme/acme-console': ['/tenant/acme', '/tenant/acme/vdcs', '/tenant/acme/tasks', '/profile'],
};

const themes = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  contrast: { contrast: 'more' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
};

for (const [theme, options] of Object.entries(themes)) {
  for (const [visitor, list] of Object.entries(pages)) {
    test(`${visitor}'s pages, ${theme}: nothing to object to`, async ({ browser, baseURL }) => {
      test.setTimeout(240_000);
      const context = await browser.newContext({ baseURL, viewport: { width: 1440, height: 900 }, ...options });
      const page = await context.newPage();
      const bad = watch(page);
      await signIn(page, ...visitor.split('/'));
      const found = [];
      for (const address of list) {
        // the browser itself writes a line about an answer of 403 or 404; here they are meant
        const expected = /nothing-here|globex|console/.test(`${visitor}${address}`);
        await open(page, address);
        const { violations } = await new AxeBuilder({ page }).analyze();
        found.push(...violations.map(v => `${address}: ${v.id} ${v.nodes.map(n => n.target).join(' ')}`));
        const said = bad.splice(0).filter(line => !(expected && /status of 40[34]/.test(line)));
        found.push(...said.map(line => `${address}: ${line}`));
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${visitor.replace('/', '-')}${address.replace(/[^a-z0-9-]+/gi, '_')}.${theme}.png`, fullPage: true });
      }
      expect(found).toEqual([]);
      await context.close();
    });
  }
}

async function open(page, address) {
  const [list, rest] = address.split(' >');
  if (rest === undefined) return page.goto(list);
  await page.goto(list);
  const href = await page.getByRole('rowheader').getByRole('link').first().getAttribute('href');
  await page.goto(href.split('?')[0] + rest);
}

test('the sign-in page, in each theme', async ({ browser, baseURL }) => {
  for (const [theme, options] of Object.entries(themes)) {
    const page = await (await browser.newContext({ baseURL, ...options })).newPage();
    const bad = watch(page);
    await page.goto('/sign-in');
    expect((await new AxeBuilder({ page }).analyze()).violations.map(v => `${theme}: ${v.id}`)).toEqual([]);
    expect(bad).toEqual([]);
  }
});

test('the chosen theme is kept', async ({ page }) => {
  await signIn(page, 'acme', 'acme-user');
  for (const theme of ['Dark', 'High contrast', 'Light', 'System']) {
    await page.locator('details.me > summary').click();
    await page.getByRole('button', { name: theme }).click();
    const word = { Dark: 'dark', 'High contrast': 'contrast', Light: 'light' }[theme];
    if (word) await expect(page.locator('html')).toHaveAttribute('data-theme', word);
    else await expect(page.locator('html')).not.toHaveAttribute('data-theme');
  }
});

test('the keyboard reaches the content first, and menus close with Escape', async ({ page }) => {
  await signIn(page, 'System', 'administrator');
  await page.goto('/provider/organizations');
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('main')).toBeFocused();
  await expect(page.locator('html')).toHaveAttribute('data-awake', '');
  const menu = page.locator('details.me');
  await menu.locator('summary').press('Enter');
  await expect(menu).toHaveAttribute('open', '');
  await page.keyboard.press('Escape');
  await expect(menu).not.toHaveAttribute('open');
});
