/** What every page is to a person, whatever it says: safe, quiet, legible, and on one screen. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { measure } from './support/appearance.ts';
import { EVERY_PAGE, type Way } from './support/every-page.ts';
import { openPhone } from './support/phone.ts';
import type { RelayPage } from './support/relay-page.ts';
import { takeScreenshot } from './support/screenshots.ts';
import { setStage } from './support/stage.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

/** The smallest phone that is still about, the first iPhone SE. */
const SMALLEST = { width: 320, height: 568 };
/** A window of 1280 × 800 whose content is zoomed to 200 %. WCAG 2.2, 1.4.4. */
const ZOOMED = { width: 640, height: 400 };
/** Says all that the page says which it stands for, and where it should be open instead. */
const LONGER_PAGES = ['confirm-in-app'];
/** WCAG 2.2, 1.4.6: better than must be. */
const LEAST_CONTRAST = 7;
/** WCAG 2.2, 2.5.5. */
const LEAST_TARGET_PX = 44;

for (const [name, goTo] of Object.entries(EVERY_PAGE)) {
  describe(`browser: page ${name}`, () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await visitPage(goTo);
    });

    test('no script, nothing from elsewhere, nothing its policy forbids', async () => {
      const { page, requested, complaints, read } = visit;
      const here = page.url();
      expect(requested.slice(requested.lastIndexOf(here))).toEqual([here]);
      // Chromium calls every status from 400 a failed load; that is no complaint about the page.
      const isStatus = (text: string) => read.status >= 400 && text.includes(String(read.status));
      expect(complaints.filter((text) => !isStatus(text))).toEqual([]);
      expect(await page.locator('script').count()).toBe(0);
      expect(await page.locator('[src], [href], [style]').count()).toBe(0);
      expect(await page.content()).not.toMatch(/\son\w+=/);
    });

    test('has a language, a title, one heading, and may be zoomed', async () => {
      const { page, read } = visit;
      expect(await page.locator('html').getAttribute('lang')).toMatch(/^[a-z]{2}/);
      const texts = [read.title, read.heading, read.message];
      expect(texts.filter((text) => text.trim() === '')).toEqual([]);
      expect(await page.getByRole('heading').count()).toBe(1);
      expect(await page.getByRole('main').count()).toBe(1);
      const viewport = await page.locator('meta[name=viewport]').getAttribute('content');
      expect(viewport).toContain('width=device-width');
      expect(viewport).not.toMatch(/user-scalable|maximum-scale/);
    });

    test('legible in light and in dark', async () => {
      const { page } = visit;
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        await takeScreenshot(page, `${name}-${colorScheme}`);
        const { pageLuminance, leastContrast, leastTargetPx } = await measure(page);
        expect(leastContrast).toBeGreaterThanOrEqual(LEAST_CONTRAST);
        expect(leastTargetPx).toBeGreaterThanOrEqual(LEAST_TARGET_PX);
        if (colorScheme === 'light') expect(pageLuminance).toBeGreaterThan(0.8);
        else expect(pageLuminance).toBeLessThan(0.05);
      }
    });

    test('one screen at 320 px, and no scrolling to the side when enlarged', async () => {
      const { page } = visit;
      await page.setViewportSize(ZOOMED);
      await takeScreenshot(page, `${name}-zoom-200`);
      expect(await measure(page)).toMatchObject({ overflowX: 0 });

      await page.setViewportSize(SMALLEST);
      await takeScreenshot(page, `${name}-320px`);
      const isOneScreen = !LONGER_PAGES.includes(name);
      expect(await measure(page)).toMatchObject({
        overflowX: 0,
        ...(isOneScreen && { overflowY: 0 }),
      });

      await enlargeText(page);
      await takeScreenshot(page, `${name}-320px-text-200`);
      expect(await measure(page)).toMatchObject({ overflowX: 0 });
    });
  });
}

interface Visit {
  readonly page: Page;
  readonly read: RelayPage;
  readonly complaints: readonly string[];
  /** Every address the browser asked for, on the way there too. */
  readonly requested: readonly string[];
}

async function visitPage(goTo: Way): Promise<Visit> {
  const { page, complaints } = await openPhone(stage.browser);
  const requested: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  return { page, complaints, requested, read: await goTo(stage, page) };
}

/** What a person does who has set a larger text in the browser. */
async function enlargeText(page: Page): Promise<void> {
  await page.evaluate(() => {
    document.documentElement.style.fontSize = '200%';
  });
}
