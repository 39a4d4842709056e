// Every page in every theme: axe finds nothing, the console is silent. SHOTS=dir also takes pictures of all of them.
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { signIn, watch } from '../portal.mjs';

// the pages of one visitor wait for nothing of another's
test.describe.configure({ mode: 'parallel' });
// what is found is said in words; a film of every page would take longer than looking at it
test.use({ trace: 'off' });

const first = list => `${list} >`; // the first row's own page; of a page that is one itself: its first row's
const pages = {
  'System/administrator': [
    '/provider', '/provider/organizations', first('/provider/organizations'), '/provider/organizations/new', first('/provider/organizations') + '/edit',
    first('/provider/organizations') + '/delete', '/provider/vdcs', first('/provider/vdcs'), '/provider/vdcs/new', first('/provider/vdcs') + '/edit',
    first('/provider/vdcs') + '/delete', '/provider/users', first('/provider/users'), '/provider/users/new', first('/provider/users') + '/edit',
    first('/provider/users') + '/password', first('/provider/users') + '/delete', '/provider/roles', first('/provider/roles'), '/provider/roles/new',
    '/provider/vapps', first('/provider/vapps'), '/provider/vapps/new', '/provider/vms', first('/provider/vms'), first('/provider/vms') + '/resize',
    '/provider/catalogs', first('/provider/catalogs'), '/provider/catalogs/new', first('/provider/catalogs') + '/edit',
    '/provider/hubs', first('/provider/hubs'), '/provider/hubs/new', first('/provider/hubs') + '/edit', first('/provider/hubs') + '/kubeconfig',
    first('/provider/hubs') + '/delete', '/provider/work',
    '/provider/networks', first('/provider/networks'), '/provider/disks', first('/provider/disks'), '/provider/storage', first('/provider/storage'),
    '/provider/storage/new', first('/provider/storage') + '/edit', first('/provider/vdcs') + '/storage',
    '/provider/tasks', first('/provider/tasks'), '/provider/events', '/provider/audit', '/provider/users?q=nobody-has-this-name', '/profile', '/provider/nothing-here',
  ],
  'acme/acme-admin': [
    '/tenant/acme', '/tenant/acme/organization', '/tenant/acme/organization/edit', '/tenant/acme/vdcs', first('/tenant/acme/vdcs'), '/tenant/acme/vdcs/new',
    first('/tenant/acme/vdcs') + '/edit', '/tenant/acme/users', first('/tenant/acme/users'), '/tenant/acme/users/new', '/tenant/acme/roles',
    '/tenant/acme/roles/new', '/tenant/acme/vapps', first('/tenant/acme/vapps'), '/tenant/acme/vapps/new', first('/tenant/acme/vapps') + '/edit',
    first('/tenant/acme/vapps') + '/add', first('/tenant/acme/vapps') + '/delete', '/tenant/acme/vms', first('/tenant/acme/vms'),
    first('/tenant/acme/vms') + '/edit', first('/tenant/acme/vms') + '/resize', first('/tenant/acme/vms') + '/delete', '/tenant/acme/vms?q=nothing-has-this-name',
    '/tenant/acme/catalogs', first('/tenant/acme/catalogs'), '/tenant/acme/catalogs/new', first('/tenant/acme/catalogs >'),
    first('/tenant/acme/catalogs >') + '/deploy', first('/tenant/acme/catalogs') + '/upload', '/tenant/acme/networks', first('/tenant/acme/networks'),
    '/tenant/acme/networks/new', first('/tenant/acme/networks') + '/edit', first('/tenant/acme/networks') + '/delete', '/tenant/acme/disks',
    first('/tenant/acme/disks'), '/tenant/acme/disks/new', first('/tenant/acme/disks') + '/edit', first('/tenant/acme/disks') + '/delete',
    first('/tenant/acme/vapps') + '/networks/add', first('/tenant/acme/vapps') + '/capture', first('/tenant/acme/vms') + '/nics',
    first('/tenant/acme/vms') + '/disks/add', first('/tenant/acme/vms') + '/disks/attach', first('/tenant/acme/vms') + '/snapshots/new',
    '/tenant/acme/tasks', '/tenant/acme/events', '/tenant/acme/audit', '/tenant/globex',
  ],
  'acme/acme-console': ['/tenant/acme', '/tenant/acme/vms', '/tenant/acme/vdcs', '/tenant/acme/tasks', '/profile'],
};

// On a wide screen each page is looked at in every theme; what does not depend on colours is looked at once, and on a phone.
const themes = {
  light: { colorScheme: 'light', contrast: 'no-preference' },
  dark: { colorScheme: 'dark', contrast: 'no-preference' },
  contrast: { colorScheme: 'light', contrast: 'more' },
  'contrast-dark': { colorScheme: 'dark', contrast: 'more' },
};
const screens = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const colours = ['color-contrast', 'link-in-text-block'];

async function objections(page, address, screen, shot) {
  const found = [];
  for (const [theme, media] of Object.entries(themes)) {
    if (screen === 'phone' && theme !== 'light') continue;
    await page.emulateMedia(media);
    // the old way: without a blank page of its own for the report, for there are no frames to collect from
    const axe = new AxeBuilder({ page }).setLegacyMode();
    const { violations } = await (theme === 'light' ? axe : axe.withRules(colours)).analyze();
    found.push(...violations.map(v => `${address} ${theme}: ${v.id} ${v.nodes.map(n => n.target).join(' ')}`));
    if (process.env.SHOTS && shot) await page.screenshot({ path: `${process.env.SHOTS}/${shot}.${screen}-${theme}.png`, fullPage: screen === 'phone' });
  }
  return found;
}

for (const [screen, viewport] of Object.entries(screens)) {
  for (const [visitor, list] of Object.entries(pages)) {
    test(`${visitor}'s pages, ${screen}: nothing to object to in any theme`, async ({ browser, baseURL }) => {
      test.setTimeout(900_000);
      // nothing moves: a colour is never measured half-way
      const context = await browser.newContext({ baseURL, viewport, reducedMotion: 'reduce' });
      const page = await context.newPage();
      const bad = watch(page);
      await signIn(page, ...visitor.split('/'));
      const found = [];
      for (const address of list) {
        // the browser itself writes a line about an answer of 403 or 404; here they are meant
        const expected = /nothing-here|globex|console/.test(`${visitor}${address}`);
        await open(page, address);
        const shot = `${visitor}${address}`.replace(/[^a-z0-9-]+/gi, '_');
        found.push(...(await objections(page, address, screen, shot)));
        const said = bad.splice(0).filter(line => !(expected && /status of 40[34]/.test(line)));
        found.push(...said.map(line => `${address}: ${line}`));
      }
      expect(found).toEqual([]);
      await context.close();
    });
  }
}

async function open(page, address) {
  const [list, ...rest] = address.split(' >');
  await page.goto(list);
  for (const more of rest) {
    const href = await page.getByRole('rowheader').getByRole('link').first().getAttribute('href');
    await page.goto(href.split('?')[0] + more);
  }
}

test('the sign-in page and a page for nobody, in each theme', async ({ browser, baseURL }) => {
  for (const [screen, viewport] of Object.entries(screens)) {
    // nothing moves here either
    const page = await (await browser.newContext({ baseURL, viewport, reducedMotion: 'reduce' })).newPage();
    const bad = watch(page);
    for (const address of ['/sign-in', '/nothing-here']) {
      await page.goto(address);
      expect(await objections(page, address, screen, address.replace('/', 'nobody-'))).toEqual([]);
    }
    expect(bad.filter(line => !/status of 404/.test(line))).toEqual([]);
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
