// The panel at the foot of pages: closed at first, one language at a time, by mouse and by keyboard, with and without scripts.
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { signIn } from '../portal.mjs';

for (const javaScriptEnabled of [true, false]) {
  test(`a form says what it would do as code, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async ({ browser }) => {
    const context = await browser.newContext({ javaScriptEnabled });
    const page = await context.newPage();
    await signIn(page, 'acme', 'acme-admin');
    await page.goto('/tenant/acme/vapps/new');
    const pane = language => page.locator(`.code-pane[data-lang="${language}"]`);
    await expect(pane('curl')).toBeHidden();
    await page.getByText('This form as code', { exact: true }).click();
    await expect(pane('curl')).toContainText('composeVApp');
    await expect(pane('terraform')).toBeHidden();
    await page.getByRole('radio', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect(pane('terraform')).toContainText('resource "vcd_vapp" "my_vapp"');
    await expect(pane('curl')).toBeHidden();
    await pane('terraform').getByText('Sign in first').click();
    await expect(pane('terraform')).toContainText(/provider "vcd"|https alone/);
    if (javaScriptEnabled) {
      const found = await new AxeBuilder({ page }).include('#as-code').analyze();
      expect(found.violations.map(v => `${v.id}: ${v.nodes[0].html}`)).toEqual([]);
    }
    await context.close();
  });
}
