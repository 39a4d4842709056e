// Browser tests. `make test` starts a demo of its own and passes its addresses; to try against one that runs already:
//   BASE_URL=http://localhost:8080 npx playwright test -c end2end
import { existsSync, readFileSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

// scripts/setup.sh leaves the path of the browser it found.
const found = new URL('../target/setup/chromium', import.meta.url);
const chromium = process.env.CHROMIUM || (existsSync(found) ? readFileSync(found, 'utf8').trim() : undefined);
const root = process.getuid?.() === 0;

export default defineConfig({
  testDir: './tests',
  outputDir: './results',
  // the longest story takes half of it on a free machine of two cores
  timeout: 60_000,
  // a slow machine is no failure: five seconds were not enough for a page to wake beside another browser
  expect: { timeout: 20_000 },
  forbidOnly: !!process.env.CI,
  workers: 2,
  reporter: process.env.E2E_REPORT ? [['list'], ['json', { outputFile: process.env.E2E_REPORT }]] : [['list']],
  use: {
    baseURL: process.env.BASE_URL ?? 'http://localhost:8080',
    ignoreHTTPSErrors: true,
    trace: 'retain-on-failure',
    // what is not there by then does not come: said at once, and not after a long story's time
    actionTimeout: 20_000,
    launchOptions: {
      executablePath: chromium,
      args: [
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
        // Chromium's sandbox refuses to run as root.
        ...(root ? ['--no-sandbox'] : []),
      ],
    },
  },
});
