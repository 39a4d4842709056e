// Everything a VM has, in one story: from an uploaded OVA, with two NICs and a second disk, snapshot and revert, captured, deleted;
// and nothing is left of it on any hub.
import { expect, test } from '@playwright/test';
import { labelled } from '../hub.mjs';
import { ova } from '../ova.mjs';
import { fresh, signIn, watch } from '../portal.mjs';

const says = (page, word) => page.locator('.says b', { hasText: word });
const soon = { timeout: 60_000 };

async function menu(page, label, line) {
  await page.locator(`main summary:text-is("${label}"), main summary[aria-label="${label}"]`).click();
  await page.locator('details[open] .item', { hasText: new RegExp(`^\\s*${line}`) }).click();
}

const choose = async (field, text) => field.selectOption(await field.locator('option', { hasText: text }).first().getAttribute('value'));

test('an uploaded VM with NICs, disks and snapshots comes, changes, and goes without a trace', async ({ page }) => {
  test.setTimeout(400_000);
  const bad = watch(page);
  const name = fresh('box');
  await signIn(page, 'acme', 'acme-admin');

  await test.step('upload an OVA', async () => {
    await page.goto('/tenant/acme/catalogs');
    await page.getByRole('link', { name: 'acme-images', exact: true }).click();
    await page.getByRole('link', { name: 'Upload' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('button', { name: 'Go on' }).click();
    await expect(page.locator('html')).toHaveAttribute('data-awake', '');
    await page.getByLabel('File').setInputFiles({ name: `${name}.ova`, mimeType: 'application/x-tar', buffer: ova(name) });
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('link', { name: `Go to ${name}` }).click(soon);
  });

  await test.step('deploy it with two NICs', async () => {
    await page.getByRole('link', { name: 'Deploy', exact: true }).first().click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await choose(page.getByLabel('VDC'), 'acme-prod');
    const nets = page.getByLabel('Network', { exact: true });
    await choose(nets.nth(0), "The VDC's own network");
    await choose(nets.nth(1), 'acme-net-2');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
    await expect(says(page, 'Running')).toBeVisible(soon);
    await page.getByRole('rowheader', { name, exact: true }).getByRole('link').first().click();
    await expect(says(page, 'Running')).toBeVisible(soon);
    await expect(page.getByText(/192\.168\.20\.1\d\d/).first()).toBeVisible(soon);
  });
  const id = new URL(page.url()).pathname.split('/').pop();
  const disks = page.getByRole('table', { name: /disks/i });

  await test.step('a second disk', async () => {
    await page.locator('a[href$="/disks/add"]').click();
    await page.getByLabel('Size').fill('1');
    await page.getByRole('button', { name: 'Add disk' }).click();
    await expect(disks.getByRole('row').filter({ hasText: 'Ready' })).toHaveCount(2, soon);
  });

  await test.step('a snapshot, a change, and back', async () => {
    await page.locator('a[href$="/snapshots/new"]').click();
    await page.getByLabel('Name', { exact: true }).fill('before');
    await page.getByRole('button', { name: 'Take snapshot' }).click();
    const row = page.getByRole('row').filter({ hasText: 'before' });
    await expect(row.getByText('Ready')).toBeVisible(soon);
    await menu(page, 'Power', 'Power off');
    await expect(says(page, 'Stopped')).toBeVisible(soon);
    await menu(page, 'Actions for before', 'Revert to it');
    await page.getByRole('button', { name: 'Revert' }).click();
    await expect(page.getByText(/is being reverted|Revert/).first()).toBeVisible();
    await page.goto('/tenant/acme/tasks');
    await expect(page.getByRole('row').filter({ hasText: name }).filter({ hasText: /Revert/i }).getByText('Done')).toBeVisible(soon);
  });

  await test.step('capture the vApp', async () => {
    await page.goto(`/tenant/acme/vapps?q=${name}`);
    await page.getByRole('rowheader', { name }).getByRole('link').first().click();
    await menu(page, 'More actions', 'Capture');
    await page.getByLabel('Name', { exact: true }).fill(`${name}-copy`);
    await choose(page.getByLabel('Catalog'), 'acme-images');
    await page.getByRole('button', { name: 'Capture' }).click();
    await expect(page.getByText(`${name}-copy`).first()).toBeVisible(soon);
    await page.goto(`/tenant/acme/tasks`);
    await expect(page.getByRole('row').filter({ hasText: `${name}-copy` }).getByText('Done').first()).toBeVisible(soon);
  });

  await test.step('delete all of it', async () => {
    await page.goto(`/tenant/acme/vapps?q=${name}`);
    await page.getByRole('rowheader', { name }).getByRole('link').first().click();
    await menu(page, 'More actions', 'Delete');
    await page.getByRole('button', { name: /^Delete/ }).click();
    for (const item of [`${name}-copy`, name]) {
      await page.goto(`/tenant/acme/catalogs`);
      await page.getByRole('link', { name: 'acme-images', exact: true }).click();
      await page.getByRole('rowheader', { name: item, exact: true }).getByRole('link').first().click();
      await menu(page, 'Actions', 'Delete');
      await page.getByRole('button', { name: /^Delete/ }).click();
      await expect(page.getByText(item, { exact: true })).toHaveCount(0, soon);
    }
  });

  await test.step('and nothing is left on a hub', async () => {
    for (const kind of ['/apis/kubevirt.io/v1/virtualmachines', '/apis/cdi.kubevirt.io/v1beta1/datavolumes', '/api/v1/persistentvolumeclaims',
      '/api/v1/secrets', '/apis/snapshot.kubevirt.io/v1beta1/virtualmachinesnapshots']) {
      await expect(async () => expect(await labelled(kind, `ssvirt.io/vm-id=${id}`), kind).toEqual([])).toPass(soon);
    }
    await expect(async () => {
      const images = await labelled('/apis/cdi.kubevirt.io/v1beta1/datavolumes', 'ssvirt.io/image-id');
      expect(images.filter(image => image.includes(name))).toEqual([]);
    }).toPass(soon);
  });
  expect(bad.filter(line => !line.includes('404'))).toEqual([]);
});
