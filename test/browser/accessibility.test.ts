/** Every page for everybody: what axe-core can see, in light, in dark and from right to left. WCAG 2.2. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { findViolations } from './support/axe.ts';
import { EVERY_PAGE } from './support/every-page.ts';
import { openPhone, type PhoneOptions } from './support/phone.ts';
import { setStage } from './support/stage.ts';

setDefaultTimeout(60_000);

const stage = await setStage({ APP_NAME: 'Plezy' });
afterAll(stage.stop);

const WAYS: Record<string, PhoneOptions> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  Arabic: { colorScheme: 'light', locale: 'ar' },
};

for (const [way, options] of Object.entries(WAYS)) {
  test.each(Object.entries(EVERY_PAGE))(
    `browser: ${way}: %s: axe-core finds nothing wrong`,
    async (_, goTo) => {
      const { page, close } = await openPhone(stage.browser, { ...options, bypassCSP: true });
      await goTo(stage, page);
      const direction = await page.locator('html').getAttribute('dir');
      expect(direction).toBe(way === 'Arabic' ? 'rtl' : 'ltr');
      expect(await findViolations(page)).toEqual([]);
      await close();
    },
  );
}
