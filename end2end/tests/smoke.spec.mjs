import { expect, test } from '@playwright/test';

test('the demo answers with a page', async ({ page }) => {
  const answer = await page.goto('/');
  expect(answer.status()).toBe(200);
  await expect(page).toHaveTitle(/SSVirt/);
});
