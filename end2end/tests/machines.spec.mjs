// A machine's life in a browser: deployed, powered, resized, deleted; and what is done to it on its hub by hand.
import { expect, test } from '@playwright/test';
import { machine } from '../hub.mjs';
import { choose, comes, fresh, live, menu, says, signIn, watch } from '../portal.mjs';

// From the catalog's list to the page of the one VM.
async function deploy(page, javaScriptEnabled, name) {
  await page.goto('/tenant/acme/catalogs');
  await page.getByRole('link', { name: 'linux', exact: true }).click();
  await page.getByRole('link', { name: 'Deploy ubuntu-24.04', exact: true }).click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await choose(page.getByLabel('VDC'), 'acme-dev');
  await page.getByRole('button', { name: 'Deploy' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  await comes(page, javaScriptEnabled, says(page, 'Running'));
  await page.getByRole('rowheader', { name, exact: true }).getByRole('link').first().click();
  await comes(page, javaScriptEnabled, says(page, 'Running'));
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('a VM is deployed, powered, resized and deleted', async ({ page }) => {
      test.setTimeout(240_000);
      const bad = watch(page);
      const name = fresh('box');
      await signIn(page, 'acme', 'acme-admin');
      await deploy(page, javaScriptEnabled, name);

      await menu(page, 'Power', 'Power off');
      await comes(page, javaScriptEnabled, says(page, 'Stopped'));
      await menu(page, 'More actions', 'Resize');
      await page.getByLabel('CPU').fill('2');
      await page.getByRole('button', { name: 'Resize' }).click();
      await expect(page.getByText(`are asked for ${name}`)).toBeVisible();
      await comes(page, javaScriptEnabled, page.locator('dd', { hasText: /^2 vCPU$/ }));
      await page.getByRole('button', { name: 'Power on' }).first().click();
      await comes(page, javaScriptEnabled, says(page, 'Running'));

      const address = page.url();
      await menu(page, 'More actions', 'Delete');
      await page.getByRole('button', { name: `Delete ${name}` }).click();
      await expect(page.getByText(`VM ${name} is being deleted`)).toBeVisible();
      await expect(async () => expect((await page.goto(address)).status()).toBe(404)).toPass({ timeout: 60_000 });
      // a page that is gone is a failed load to the browser
      if (javaScriptEnabled) expect(bad.filter(line => !line.includes('404'))).toEqual([]);
    });
  });
}

test('what is done on the hub by hand shows on the page, and is named', async ({ page }) => {
  test.setTimeout(240_000);
  const name = fresh('hand');
  await signIn(page, 'acme', 'acme-admin');
  await deploy(page, true, name);
  await live(page);
  const vm = await machine(new URL(page.url()).pathname.split('/').pop());
  const sockets = count => vm.patch({ spec: { template: { spec: { domain: { cpu: { sockets: count } } } } } });
  const named = page.locator('.note', { hasText: 'Its size was changed on its hub by hand.' });
  // how long it takes is told and not judged: other tests keep this machine busy
  const took = [];
  for (let i = 0; i < 3; i++) {
    const began = Date.now();
    await sockets(3);
    await expect(named).toBeVisible({ timeout: 30_000 });
    took.push(Date.now() - began);
    await sockets(1);
    await expect(named).toHaveCount(0, { timeout: 30_000 });
  }
  console.log(`by hand on the hub, seen on the page after ${took.join(', ')} ms`);

  await vm.remove();
  await expect(says(page, 'Missing')).toBeVisible({ timeout: 30_000 });
  await expect(page.locator('.note', { hasText: 'It was deleted on its hub by hand.' })).toBeVisible();
  await menu(page, 'More actions', 'Delete');
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(page.getByText(`VM ${name} is being deleted`)).toBeVisible();
});
