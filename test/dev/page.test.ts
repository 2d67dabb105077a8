/** The dev provider's pages as a user sees them, in Chromium. */
import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { findViolations, follow, launchChromium } from '../kit/chromium.ts';
import { startDev } from '../kit/dev.ts';
import { poll, start } from '../kit/device.ts';

const [dev, browser] = await Promise.all([startDev(), launchChromium()]);

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

test('the list: plans an ending for the next sign-in, and shows what has happened', async () => {
  const page = await browser.newPage();
  await page.goto(dev.providerUrl);
  await follow(page, () => press(page, 'Plan no-code for the next sign-in'));
  expect(await page.getByText('Planned: no-code').count()).toBe(1);
  const { session, url } = await start(dev, 'dev', { device: 'Kitchen' });
  await page.goto(url);
  expect(await page.title()).toBe('Sign-in failed');
  expect(await (await poll(dev, session)).json()).toEqual({ error: 'missing_code' });
  await page.goto(dev.providerUrl);
  const latest = page.getByRole('row', { name: 'Kitchen no-code' });
  expect(await latest.innerText()).toContain('missing_code');
  await page.close();
});

test.each(['light', 'dark'] as const)(
  'the pages are accessible and fit a phone, each ending in one line, %s',
  async (colorScheme) => {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width: 360, height: 740 },
    });
    const page = await context.newPage();
    const { url } = await start(dev, 'dev');
    for (const address of [dev.providerUrl, url]) {
      await page.goto(address);
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      expect(isWider).toBe(false);
      const lines = await page.locator('.line').all();
      expect(lines.length).toBeGreaterThan(10);
      const heights = lines.map(async (line) => (await line.boundingBox())?.height);
      expect(Math.max(...(await Promise.all(heights)).map(Number))).toBeLessThan(50);
      expect(await findViolations(page)).toEqual([]);
    }
    await context.close();
  },
);
