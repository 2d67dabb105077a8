/** The television of the dev relay (demo/tv.html), by its remote control, in Chromium. */
import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'acorn';
import type { BrowserContext, Page } from 'playwright-core';
import { findViolations, launchChromium } from '../kit/chromium.ts';
import { startDev } from '../kit/dev.ts';
import { REMOVE_NEWER } from '../kit/old-engine.ts';
import { readPng, scan } from '../kit/qr.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { createGate, pollUntil } from '../kit/wait.ts';

/** Two rows of the menu. */
const SERVICES = ['dev', 'mal', 'anilist', 'spotify', 'a-service-with-a-long-name'];

const [dev, browser] = await Promise.all([
  startDev({ args: ['--service', SERVICES.join()] }),
  launchChromium(),
]);

let contexts: BrowserContext[] = [];
const complaints: string[] = [];
afterEach(async () => {
  await Promise.all(contexts.map((context) => context.close()));
  contexts = [];
  await dev.askProvider('/next', { method: 'DELETE' });
  expect(complaints.splice(0)).toEqual([]);
});

async function openPage(size: { width: number; height: number }): Promise<Page> {
  const context = await browser.newContext({ viewport: size });
  contexts.push(context);
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(String(error)));
  return page;
}

const openScreen = () => openPage({ width: 1_920, height: 1_080 });

/** With nothing newer than ES5, at its menu. */
async function openTv(): Promise<Page> {
  const tv = await openScreen();
  await tv.addInitScript(REMOVE_NEWER);
  await tv.goto(`${dev.providerUrl}/tv`);
  await untilShown(tv, 'Sign in');
  return tv;
}

/** The one heading that is on the screen. */
const headingOf = (tv: Page) => tv.locator('h1:visible').textContent();

const untilShown = (tv: Page, heading: string) =>
  tv.locator('h1:visible').getByText(heading, { exact: true }).waitFor();

/** Chromium has handled a key by the time that `press` resolves. */
const focused = (tv: Page) => tv.locator('.card:focus').textContent();

async function press(tv: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await tv.keyboard.press(key);
}

/** Starts the sign-in at the service that has the focus. Returns its link. */
async function select(tv: Page): Promise<string> {
  await press(tv, 'Enter');
  await tv.locator('#link').waitFor();
  return linkOf(tv);
}

/** What a phone reads of the screen, if anything. */
async function scanScreen(tv: Page): Promise<string | undefined> {
  const text = scan(readPng(await tv.locator('#qr').screenshot()));
  // Capitals before the path need fewer bits.
  return text?.replace(/^[^/]+..[^/]+/, (origin) => origin.toLowerCase());
}

/** The picture comes later than the screen. */
const untilScanned = (tv: Page, link: string) =>
  pollUntil(`the QR code is that of ${link}`, async () => (await scanScreen(tv)) === link);

const linkOf = async (tv: Page) => (await tv.locator('#qr').getAttribute('href')) ?? '';

const isCancelled = async (link: string) => (await fetch(link)).status === 404;

/** The user, with the link on the phone: as far as the provider's page. */
async function openLink(link: string): Promise<Page> {
  const phone = await openPage({ width: 390, height: 844 });
  await phone.goto(link);
  expect(await phone.getByText('Demo TV').count()).toBeGreaterThan(0);
  await phone.getByRole('button', { name: 'Continue' }).click();
  return phone;
}

const signIn = (phone: Page) => phone.getByRole('button', { name: 'Sign in' }).click();

test('the own script of the page is ES5, and its style no newer than Chromium 38', () => {
  const html = readFileSync(`${ROOT}demo/tv.html`, 'utf8');
  const [, script = ''] = /<script>(.*?)<\/script>/s.exec(html) ?? [];
  expect(script).toContain('SignInRelay.createSession(');
  parse(script, { ecmaVersion: 5 });
  const [, style = ''] = /<style>(.*)<\/style>/s.exec(html) ?? [];
  expect(style).not.toMatch(/\bgrid\b|\bgap:|\binset:|var\(|min\(|max\(|clamp\(|:is\(|:focus-/);
});

test('a whole sign-in: menu, QR code, "continue on your phone", success', async () => {
  const tv = await openTv();
  expect(await focused(tv)).toBe('DDev');
  await press(tv, 'ArrowRight');
  const link = await select(tv);
  expect(await headingOf(tv)).toBe('MyAnimeList');
  expect(await tv.locator('#time').textContent()).toMatch(/^Expires in (10:00|9:\d\d)$/);
  const code = (await tv.locator('#code').textContent()) ?? '';
  expect(link).toEndWith(`/L/${code}`);
  expect(await tv.locator('#address').textContent()).toBe(`${dev.relayUrl}/link`);
  await untilScanned(tv, link);

  const phone = await openLink(link);
  await untilShown(tv, 'Continue on your phone');
  // The hint may be wrong, so the code can be had again.
  await press(tv, 'Enter');
  await tv.locator('#code').waitFor();
  await signIn(phone);
  await untilShown(tv, 'You’re signed in');
  await press(tv, 'Escape');
  expect(await focused(tv)).toBe('MMyAnimeList✓ Signed in');
});

test('in forced colours, which hide backgrounds, the focus has an outline', async () => {
  const tv = await openScreen();
  await tv.emulateMedia({ forcedColors: 'active' });
  await tv.goto(`${dev.providerUrl}/tv`);
  const outline = await tv.locator('.card:focus').evaluate((card) => {
    const { outlineStyle, outlineColor } = getComputedStyle(card);
    return `${outlineStyle} ${outlineColor}`;
  });
  expect(outline).toMatch(/^solid (?!.* 0\)$)/);
});

test('the arrows move between the services and stop at the edges', async () => {
  const tv = await openTv();
  const steps = [
    ...['ArrowLeft', 'ArrowUp'].map((key) => [key, 'DDev']),
    ['ArrowRight', 'MMyAnimeList'],
    ...['ArrowRight', 'ArrowRight'].map((key) => [key, 'AAniList']),
    // The second row is shorter.
    ...['ArrowDown', 'ArrowRight', 'ArrowDown'].map((key) => [key, 'AA-service-with-a-long-name']),
    ['ArrowLeft', 'SSpotify'],
    ['ArrowUp', 'DDev'],
    ['Escape', 'DDev'],
  ];
  for (const [key = '', card = ''] of steps) {
    await press(tv, key);
    expect([key, await focused(tv)]).toEqual([key, card]);
  }
});

test('Back cancels the sign-in and its link: on webOS, on Tizen, and by two keys', async () => {
  const tv = await openTv();
  await press(tv, 'ArrowDown');
  const session = await tv.context().newCDPSession(tv);
  // The key codes of the engines; the last one also when the user has opened the link.
  for (const windowsVirtualKeyCode of [461, 10_009, 27, 8]) {
    const link = await select(tv);
    if (windowsVirtualKeyCode === 8) {
      await openLink(link);
      await untilShown(tv, 'Continue on your phone');
    }
    await session.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', windowsVirtualKeyCode });
    expect([windowsVirtualKeyCode, await focused(tv)]).toEqual([windowsVirtualKeyCode, 'SSpotify']);
    await pollUntil('the link is cancelled', () => isCancelled(link));
  }
});

test('a link that expires is replaced by another with its own QR code, which signs in', async () => {
  const tv = await openTv();
  await dev.plan({ ending: 'expires', seconds: 6 });
  const slowNetwork = createGate();
  let pictures = 0;
  await tv.route('**/qr/**', async (route) => {
    pictures += 1;
    if (pictures === 2) await slowNetwork.pass();
    await route.continue();
  });
  const { arrived, release } = slowNetwork.close();
  const link = await select(tv);
  await arrived;
  const next = await linkOf(tv);
  expect(next).not.toBe(link);
  expect(await headingOf(tv)).toBe('Dev');
  expect(next).toEndWith(`/L/${await tv.locator('#code').textContent()}`);
  expect(await scanScreen(tv)).toBeUndefined();
  release();
  await untilScanned(tv, next);
  await signIn(await openLink(next));
  await untilShown(tv, 'You’re signed in');
});

test('without the client, and without a relay, it says what is missing', async () => {
  const tv = await openScreen();
  await tv.goto(`${dev.providerUrl}/tv?relay=`);
  await untilShown(tv, 'Name a relay in the URL: ?relay=https://relay.example');
  await tv.route('**/tv.js', (route) => route.abort());
  await tv.goto(`${dev.providerUrl}/tv`);
  await untilShown(tv, 'The client is not built. Run: bun client/build.ts');
});

describe('from three metres', () => {
  /** 10 foot interfaces of webOS and Android TV begin there, at 1080p. */
  const MIN_TEXT_PX = 28;
  /** WCAG 2.2, 1.4.6. */
  const MIN_CONTRAST = 7;
  /** Roku's title safe zone at 1080p: 192 px at the sides, 106 px above and below. */
  const OVERSCAN = 106 / 1_080;

  async function expectLegible(tv: Page, name: string): Promise<void> {
    await takePicture(tv, name);
    const { textPx, overscan } = await tv.evaluate(measure);
    const tooLittle = [textPx < MIN_TEXT_PX, overscan < OVERSCAN - 0.001];
    expect({ name, textPx, overscan, tooLittle }).toMatchObject({ tooLittle: [false, false] });
    // The gradient at its brightest, since the text is white.
    const flat = await tv.addStyleTag({ content: 'body { background: #232f72 }' });
    expect(await findViolations(tv, MIN_CONTRAST)).toEqual([]);
    await flat.evaluate((style) => (style as HTMLElement).remove());
  }

  test('every screen is legible, and inside of what a television shows', async () => {
    const tv = await openScreen();
    await tv.goto(`${dev.providerUrl}/tv`);
    await untilShown(tv, 'Sign in');
    await expectLegible(tv, 'menu');
    await tv.route('**/auth/start', () => {});
    await press(tv, 'Enter');
    await untilShown(tv, 'One moment…');
    await expectLegible(tv, 'wait');
    await press(tv, 'Escape');
    await tv.unroute('**/auth/start');

    const link = await select(tv);
    await expectLegible(tv, 'link');
    const phone = await openLink(link);
    await untilShown(tv, 'Continue on your phone');
    await expectLegible(tv, 'opened');
    await signIn(phone);
    await untilShown(tv, 'You’re signed in');
    await expectLegible(tv, 'done');
    await press(tv, 'Enter');
    await expectLegible(tv, 'menu-signed-in');

    await dev.plan({ ending: 'deny', auto: true });
    await press(tv, 'Enter');
    await untilShown(tv, 'Sign-in was declined.');
    await expectLegible(tv, 'declined');
    const declined = await strokeOf(tv);
    await press(tv, 'Enter');
    // The next start, and not this one, is to end like that.
    await tv.locator('#link').waitFor();
    await press(tv, 'Escape');
    await dev.plan({ ending: 'exchange-fails', auto: true });
    await press(tv, 'Enter');
    await untilShown(tv, 'Sign-in failed. Please try again.');
    await expectLegible(tv, 'failed');
    // Only what failed is red.
    expect([declined, await strokeOf(tv)]).toEqual(['rgb(211, 218, 247)', 'rgb(255, 180, 171)']);
  });

  const strokeOf = (tv: Page) =>
    tv.locator('#failed .picture').evaluate((picture) => getComputedStyle(picture).stroke);

  test('the address of a relay in production is short, and a phone reaches it', async () => {
    const origin = new URL(dev.providerUrl).origin;
    await using relay = await startRelay({
      OAUTH_BASE_URL: 'https://relay.example',
      PROVIDERS: 'mal,anilist,spotify',
      CORS_ORIGINS: origin,
      ANILIST_CLIENT_ID: 'of-anilist',
      SPOTIFY_CLIENT_ID: 'of-spotify',
    });
    const tv = await openScreen();
    await tv.route('https://relay.example/**', async (route) => {
      const url = route.request().url().replace('https://relay.example', relay.baseUrl);
      await route.fulfill({ response: await route.fetch({ url }) }).catch(() => {});
    });
    await tv.goto(`${dev.providerUrl}/tv?relay=https://relay.example`);
    await untilShown(tv, 'Sign in');
    await expectLegible(tv, 'production-menu');
    const link = await select(tv);
    expect(link).toStartWith('https://relay.example/');
    expect(await tv.locator('#address').textContent()).toBe('relay.example/link');
    expect(await tv.locator('#local').isVisible()).toBe(false);
    await expectLegible(tv, 'production-link');
    await tv.close();
  });
});

/** To look at, if RELAY_TEST_SHOTS names a folder. docs/images/tv.png is `tv-production-link`. */
async function takePicture(tv: Page, name: string): Promise<void> {
  const folder = process.env.RELAY_TEST_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await tv
    .locator('#link:visible #picture')
    .evaluateAll((pictures) =>
      Promise.all(pictures.map((picture) => (picture as HTMLImageElement).decode())),
    );
  await tv.screenshot({ path: join(folder, `tv-${name}.png`) });
}

/** The smallest text on the screen, and how near any is to an edge, as a fraction. */
function measure() {
  /** Where its contents are. */
  function rangeOf(element: Element): DOMRect {
    const range = document.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect();
  }

  /** Of 1, the nearest edge. */
  function distance(element: Element): number {
    const { left, top, right, bottom } = rangeOf(element);
    const [width, height] = [innerWidth, innerHeight];
    return Math.min(left / width, top / height, 1 - right / width, 1 - bottom / height);
  }

  const texts = [...document.querySelectorAll('#tv *')].filter(
    (element) =>
      element.checkVisibility() &&
      [...element.childNodes].some((node) => node instanceof Text && node.data.trim() !== ''),
  );
  return {
    textPx: Math.min(...texts.map((text) => Number.parseFloat(getComputedStyle(text).fontSize))),
    overscan: Math.min(...texts.map(distance)),
  };
}
