/**
 * Every page in every language and look, in one browser: nothing is cut off on a small
 * screen or with large text, no word is broken that must not be, and axe-core finds
 * nothing wrong. WCAG 2.2, 1.4.4, 1.4.6, 1.4.10 and 2.5.5.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { contrast } from '../../src/pages/accent.ts';
import { LANGUAGES } from '../../src/pages/messages/catalogue.ts';
import { findViolations, launchChromium, showPage } from '../kit/chromium.ts';
import { BRANDED, LONGEST, renderEveryPage } from '../kit/pages.ts';

setDefaultTimeout(120_000);

const browser = await launchChromium();

/** The narrowest window of 1.4.10. */
const NARROW = { width: 320, height: 568 };
const narrow = await browser.newPage({ viewport: NARROW, reducedMotion: 'reduce' });

/** What reaches beyond the window, and words that are on two lines although one has room for them. */
function findFaults(page: Page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    const faults: string[] = [];
    for (const fontSize of ['100%', '200%']) {
      root.style.fontSize = fontSize;
      if (root.scrollWidth > root.clientWidth) faults.push(`${fontSize}: scrolls sideways`);
      for (const element of document.querySelectorAll('main *, footer *')) {
        const { left, right } = element.getBoundingClientRect();
        const isOutside = left < -0.5 || right > root.clientWidth + 0.5;
        const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
        if (isOutside || isCut) faults.push(`${fontSize}: ${element.outerHTML.slice(0, 80)}`);
      }
      for (const label of document.querySelectorAll<HTMLElement>('button, dt')) {
        const text = document.createRange();
        text.selectNodeContents(label);
        const lines = text.getClientRects().length;
        const words = label.innerText.split(' ').length;
        if (lines > words) faults.push(`${fontSize}: broken: ${label.innerText}`);
      }
      const choices = [...document.querySelectorAll('.choice button')].map((button) => {
        const { width, height } = button.getBoundingClientRect();
        const { fontSize, fontWeight, borderWidth } = getComputedStyle(button);
        return [width, height, fontSize, fontWeight, borderWidth].join();
      });
      if (new Set(choices).size > 1) faults.push(`${fontSize}: one choice is more legible`);
    }
    root.style.fontSize = '';
    const texts = [...document.querySelectorAll<HTMLElement>('body *')];
    const sizes = texts.map((text) => Number.parseFloat(getComputedStyle(text).fontSize));
    // Firefox also enlarges a text whose size is limited by the width of the window.
    texts.forEach(({ style }, index) => {
      style.fontSize = `${2 * (sizes[index] ?? 0)}px`;
    });
    for (const element of document.querySelectorAll('html, input'))
      if (element.scrollWidth > element.clientWidth) faults.push(`zoomed: ${element.tagName}`);
    for (const { style } of texts) style.fontSize = '';
    for (const target of document.querySelectorAll('button, input:not([type=hidden])')) {
      const { height, width } = target.getBoundingClientRect();
      // 2.5.5.
      if (Math.min(height, width) < 44) faults.push(`small: ${target.outerHTML}`);
    }
    for (const whole of document.querySelectorAll<HTMLElement>('.whole')) {
      const { height, width } = whole.getBoundingClientRect();
      const isBroken = height > 1.9 * Number.parseFloat(getComputedStyle(whole).fontSize);
      const room = whole.parentElement?.clientWidth ?? 0;
      if (isBroken && width < 0.75 * room) faults.push(`broken: ${whole.textContent}`);
    }
    return faults;
  });
}

test.each(LANGUAGES)(
  '%s: no page is cut off at 320 px, or with text at 200 %',
  async (language) => {
    const faults: Record<string, string[]> = {};
    for (const [look, branding] of Object.entries({ plain: {}, longest: LONGEST })) {
      for (const [name, html] of Object.entries(renderEveryPage(language, branding))) {
        await showPage(narrow, html, branding);
        const found = await findFaults(narrow);
        if (found.length > 0) faults[`${look} ${name}`] = found;
      }
    }
    expect(faults).toEqual({});
  },
);

test.each([
  ['light', 'light', 'en', {}],
  ['dark', 'dark', 'en', {}],
  ['branded and dark', 'dark', 'de', BRANDED],
  ['right to left', 'light', 'ar', BRANDED],
] as const)(
  '%s: axe-core finds nothing wrong on any page',
  async (_, colorScheme, language, branding) => {
    const context = await browser.newContext({ colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    const violations: Record<string, string[]> = {};
    // An operator's own colour needs 4.5:1 only (docs/user-pages.md).
    const leastContrast = branding === BRANDED ? undefined : 7;
    for (const [name, html] of Object.entries(renderEveryPage(language, branding))) {
      await showPage(page, html, branding);
      const found = await findViolations(page, leastContrast);
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const isDark = Number(/\d+/.exec(background)?.[0]) < 64;
      if (isDark !== (colorScheme === 'dark')) found.push(background);
      if (found.length > 0) violations[name] = found;
    }
    expect(violations).toEqual({});
    await context.close();
  },
);

/** The faintest colours on the light card and on the dark one. */
const FAINT = ['#ffffff', '#16181d'];

test.each(['light', 'dark'] as const)(
  '%s: any accent has a visible button and a visible focus (1.4.11)',
  async (colorScheme) => {
    const page = await browser.newPage({ colorScheme, reducedMotion: 'reduce' });
    for (const colour of [...FAINT, '#f97316', '#777777']) {
      const branding = { accent: { light: colour, dark: colour } };
      await showPage(page, renderEveryPage('en', branding)['code-form'] ?? '', branding);
      await page.getByRole('textbox').focus();
      const [card = '', fill = '', border = '', text = '', focus = ''] = await page.evaluate(() => {
        const styleOf = (selector: string) =>
          getComputedStyle(document.querySelector(selector) ?? document.body);
        const button = styleOf('button');
        const { backgroundColor: card } = styleOf('main');
        const { outlineColor: focus } = styleOf('input');
        return [card, button.backgroundColor, button.borderTopColor, button.color, focus];
      });
      const contrastOf = (one: string, other: string) => contrast(toHex(one), toHex(other));
      const seen = Math.max(contrastOf(fill, card), contrastOf(border, card));
      expect(seen).toBeGreaterThanOrEqual(3);
      expect(contrastOf(text, fill)).toBeGreaterThanOrEqual(4.5);
      expect(contrastOf(focus, card)).toBeGreaterThanOrEqual(3);
    }
    await page.close();
  },
);

/** From what a browser writes: `rgb(255, 255, 255)`, and `rgba` only if one can see through it. */
function toHex(colour: string): string {
  if (!colour.startsWith('rgb(')) throw new Error(`${colour} is not opaque`);
  return Bun.color(colour, 'hex') ?? '';
}

/** These say more than has room on the smallest screen, after what the user needs first. */
const LONGER_PAGES = [
  'confirm-in-app',
  'home',
  'link-invalid',
  'other-browser',
  'not-exchanged-refused',
];

test('every page has one heading and the width of the device, and is one screen', async () => {
  for (const [name, html] of Object.entries(renderEveryPage('en', { appName: 'Plezy' }))) {
    await showPage(narrow, html, {});
    expect([name, await narrow.getByRole('heading').count()]).toEqual([name, 1]);
    expect(html).toContain('content="width=device-width, initial-scale=1"');
    const over = await narrow.evaluate(() => document.documentElement.scrollHeight - innerHeight);
    if (!LONGER_PAGES.includes(name)) expect([name, over]).toEqual([name, 0]);
  }
});

test.each([
  ['reduce', false],
  ['no-preference', true],
] as const)('prefers-reduced-motion %s: something moves: %p', async (reducedMotion, isMoving) => {
  const page = await browser.newPage({ reducedMotion });
  // Stopped at their beginning, because what has ended is not among the animations.
  const stopped = '<style>*{animation-play-state:paused!important}</style>';
  await showPage(page, `${renderEveryPage('en')['signed-in']}${stopped}`, {});
  expect(await page.evaluate(() => document.getAnimations().length > 0)).toBe(isMoving);
  await page.close();
});
