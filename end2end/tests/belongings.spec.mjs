// Everything a VM has, in one story: from an uploaded OVA, with two NICs, one on a network of its own, and a second disk, shared, snapshot
// and revert, a lease that runs out, captured, deleted; and nothing is left of it on any hub.
import { expect, test } from '@playwright/test';
import { claims, machine, mentions } from '../hub.mjs';
import { ova } from '../ova.mjs';
import { becomes, choose, comes, fresh, menu, says, signIn, watch } from '../portal.mjs';

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('an uploaded VM with NICs, disks and snapshots is shared, leased and captured, and goes without a trace', async ({ page, browser, baseURL }) => {
      test.setTimeout(300_000);
      const bad = watch(page);
      const name = fresh('box');
      const seen = locator => comes(page, javaScriptEnabled, locator);
      await signIn(page, 'acme', 'acme-admin');

      const catalog = await test.step('a catalog of its own', async () => {
        await page.goto('/tenant/acme/catalogs/new');
        await page.getByLabel('Name', { exact: true }).fill(`${name}-images`);
        await page.getByRole('button', { name: 'Create catalog' }).click();
        await expect(page.getByRole('heading', { level: 1, name: `${name}-images` })).toBeVisible();
        return page.url();
      });

      const item = await test.step('an OVA is uploaded', async () => {
        await page.goto(`${catalog}/upload`);
        await page.getByLabel('Name', { exact: true }).fill(name);
        await page.getByRole('button', { name: 'Go on' }).click();
        await expect(page.getByText('Choose the file now.')).toBeVisible();
        if (javaScriptEnabled) await expect(page.locator('html')).toHaveAttribute('data-awake', '');
        await page.getByLabel('File', { exact: true }).setInputFiles({ name: `${name}.ova`, mimeType: 'application/x-tar', buffer: ova(name) });
        await page.getByRole('button', { name: 'Upload', exact: true }).click();
        await seen(page.getByText('It is there.'));
        await page.getByRole('link', { name: `Go to ${name}` }).click();
        await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
        return page.url();
      });

      const network = await test.step('a network of its own', async () => {
        await page.goto('/tenant/acme/networks/new');
        await page.getByLabel('Name', { exact: true }).fill(`${name}-net`);
        await choose(page.getByLabel('VDC', { exact: true }), 'acme-prod');
        await page.getByLabel('Gateway').fill('192.168.77.1');
        await page.getByLabel('Prefix').fill('24');
        await page.getByLabel(/^Pool/).fill('192.168.77.100-192.168.77.120');
        await page.getByRole('button', { name: 'Create network' }).click();
        await expect(page.getByRole('heading', { level: 1, name: `${name}-net` })).toBeVisible();
        return page.url();
      });

      const vapp = await test.step('deployed with two NICs', async () => {
        await page.goto(item);
        await page.getByRole('link', { name: 'Deploy', exact: true }).first().click();
        await page.getByLabel('Name', { exact: true }).fill(name);
        await choose(page.getByLabel('VDC'), 'acme-prod');
        const networks = page.getByLabel('Network', { exact: true });
        await choose(networks.nth(0), "The VDC's own network");
        await choose(networks.nth(1), `${name}-net`);
        await page.getByRole('button', { name: 'Deploy' }).click();
        await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
        await seen(says(page, 'Running'));
        return page.url();
      });

      const vm = await test.step('with an address of the network, and a second disk', async () => {
        await page.getByRole('rowheader', { name, exact: true }).getByRole('link').first().click();
        await seen(says(page, 'Running'));
        await seen(page.getByText(/192\.168\.77\.1\d\d/).first());
        await page.locator('a[href$="/disks/add"]').click();
        await page.getByLabel(/^Name/).fill('data');
        await page.getByLabel('Size').fill('1');
        await page.getByRole('button', { name: 'Add disk' }).click();
        const ready = page.getByRole('table', { name: 'Disks' }).getByRole('row').filter({ hasText: 'Ready' });
        await becomes(page, javaScriptEnabled, timeout => expect(ready).toHaveCount(2, { timeout }));
        return page.url();
      });
      const ids = [vapp, vm, network].map(url => new URL(url).pathname.split('/').pop());
      const there = await mentions(...ids, name);
      for (const kind of [/^virtualmachines /, /^(cluster)?userdefinednetworks /, /^network-attachment-definitions /])
        expect(there).toEqual(expect.arrayContaining([expect.stringMatching(kind)]));

      await test.step('a colleague sees it while it is shared, and no longer', async () => {
        const other = await (await browser.newContext({ baseURL, javaScriptEnabled, ignoreHTTPSErrors: true })).newPage();
        await signIn(other, 'acme', 'acme-user');
        // asked for beside the page: an open one goes away by itself when it is not shared any more
        const there = async () => (await other.request.get(vapp)).status();
        expect(await there()).toBe(404);
        await page.goto(`${vapp}/sharing`);
        await page.getByLabel(/^User/).fill('acme-user');
        await page.getByRole('button', { name: 'Save' }).click();
        await expect(page.getByText(`The sharing of ${name} is saved.`)).toBeVisible();
        expect(await there()).toBe(200);
        await other.goto(vapp);
        await expect(other.getByRole('heading', { level: 1, name })).toBeVisible();
        // to look at, and no more
        await expect(other.locator('main').getByRole('button', { name: /Power|Shut/ })).toHaveCount(0);
        await page.goto(`${vapp}/sharing`);
        await page.getByLabel('acme-user').selectOption({ label: 'Not any more' });
        await page.getByRole('button', { name: 'Save' }).click();
        await expect(page.getByText('With nobody.')).toBeVisible();
        expect(await there()).toBe(404);
        await other.context().close();
      });

      await test.step('a snapshot, a change, and back', async () => {
        await page.goto(vm);
        await page.locator('a[href$="/snapshots/new"]').click();
        await page.getByLabel('Name', { exact: true }).fill('before');
        await page.getByRole('button', { name: 'Take snapshot' }).click();
        const snapshot = page.getByRole('table', { name: 'Snapshots' }).getByRole('row').filter({ hasText: 'before' });
        await seen(snapshot.getByText('Ready'));
        await expect(snapshot.getByText('the VM stems from it')).toBeVisible();
        await menu(page, 'Power', 'Power off');
        await seen(says(page, 'Stopped'));
        const before = claims(await machine(ids[1]));
        await menu(page, 'More actions', 'Resize');
        await page.getByLabel('CPU').fill('2');
        await page.getByRole('button', { name: 'Resize' }).click();
        await seen(page.locator('dd', { hasText: /^2 vCPU$/ }));
        await menu(page, 'Actions for before', 'Revert to it');
        await page.getByRole('button', { name: 'Revert' }).click();
        await expect(page.getByText(`${name} is being brought back.`)).toBeVisible();
        await page.goto(`/tenant/acme/tasks?q=${name}`);
        await seen(page.getByRole('row').filter({ hasText: 'Reverted' }).getByText('Done'));
        // its disks are those of the snapshot; its size is a wish, and stays
        const after = claims(await machine(ids[1]));
        expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
        for (const [volume, claim] of Object.entries(after)) {
          expect(claim).toMatch(/^restore-/);
          expect(claim).not.toBe(before[volume]);
        }
        await page.goto(vm);
        await expect(snapshot.getByText('the VM stems from it')).toBeVisible();
        await expect(page.locator('dd', { hasText: /^2 vCPU$/ })).toBeVisible();
      });

      await test.step('a lease runs out', async () => {
        await page.goto(vapp);
        await page.getByRole('button', { name: 'Power on' }).first().click();
        await seen(says(page, 'Running'));
        await page.locator('dt:text-is("Runs until") + dd').getByRole('link', { name: 'Change' }).click();
        await page.getByLabel('Run at most').fill('2 seconds');
        await page.getByRole('button', { name: 'Save' }).click();
        await expect(page.getByText(`The lease of ${name} is saved.`)).toBeVisible();
        await seen(says(page, 'Suspended'));
        await expect(page.locator('dt:text-is("Kept until")')).toBeVisible();
        await menu(page, 'Power', 'Discard suspended state');
        await seen(says(page, 'Stopped'));
      });

      const copy = await test.step('captured as a template', async () => {
        await menu(page, 'More actions', 'Capture');
        await page.getByLabel('Name', { exact: true }).fill(`${name}-copy`);
        await choose(page.getByLabel('Catalog'), `${name}-images`);
        await page.getByRole('button', { name: 'Capture' }).click();
        await expect(page.getByRole('heading', { level: 1, name: `${name}-copy` })).toBeVisible();
        const address = page.url();
        await page.goto(`/tenant/acme/tasks?q=${name}`);
        await seen(page.getByRole('row').filter({ hasText: /Captur/ }).getByText('Done'));
        return address;
      });

      await test.step('deleted, all of it', async () => {
        for (const address of [vapp, copy, item, catalog, network]) {
          await page.goto(`${address}/delete`);
          if (address === network) await page.getByRole('textbox', { name: /^Type/ }).fill(`${name}-net`);
          await page.getByRole('button', { name: /^Delete/ }).click();
          await expect(page.getByText(new RegExp(`${name}\\S* is (being )?deleted\\.`))).toBeVisible();
          await expect(async () => expect((await page.goto(address)).status()).toBe(404)).toPass({ timeout: 60_000 });
        }
      });

      await test.step('and nothing is left on a hub', () =>
        expect(async () => expect(await mentions(...ids, name)).toEqual([])).toPass({ timeout: 60_000 }));
      // a page that is gone is a failed load to the browser
      if (javaScriptEnabled) expect(bad.filter(line => !line.includes('404'))).toEqual([]);
    });
  });
}
