/** Every page that a user sees, as the relay sends it: safe, and on one screen. QR codes as a browser draws them. WCAG 2.2. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import {
  agree,
  comeBack,
  declineAtProvider,
  follow,
  IN_APP_BROWSER,
  open,
  type Phone,
  type RelayPage,
  setUp,
} from '../kit/chromium.ts';
import { CODE_LIMIT_PER_ADDRESS } from '../kit/limits.ts';
import { measure as measureQr, type Picture, readPng, scan } from '../kit/qr.ts';

setDefaultTimeout(60_000);

const { relay, providers, openPhone, startDevice, startDeviceWithCode, stop } = await setUp({
  APP_NAME: 'Plezy',
});
afterAll(stop);
const { baseUrl } = relay;

const DEVICE_NAME = 'Television in the living room';
/** No session has it, but for one chance in 25 thousand million. */
const UNKNOWN_CODE = 'BCDF-GHJK';

let addresses = 0;

/** How to get to each page. */
const PAGES: Readonly<Record<string, (page: Page) => Promise<RelayPage>>> = {
  'signed-in': async (page) => {
    await page.goto((await startDevice('mal')).url);
    return comeBack(page, () => agree(page, 'mal'));
  },
  cancelled: async (page) => {
    await page.goto((await startDevice('mal')).url);
    return comeBack(page, () => declineAtProvider(page, 'mal'));
  },
  failed: (page) => openCallback(page, 'error=server_error'),
  incomplete: (page) => openCallback(page, ''),
  'not-exchanged': (page) => openCallback(page, 'code=a-code-that-nobody-issued'),
  'cancelled-on-device': async (page) => {
    const { session, shortUrl } = await startDeviceWithCode('mal');
    await relay.ask(`/auth/result?session=${session}&cancel=1`);
    return open(page, shortUrl);
  },
  'failed-before': async (page) => {
    const { state, shortUrl } = await startDeviceWithCode('mal');
    await relay.ask(`/auth/mal/callback?state=${state}&error=server_error`);
    return open(page, shortUrl);
  },
  'in-progress': async (page) => {
    const { state, shortUrl } = await startDeviceWithCode('mal');
    const held = providers.mal.tokenGate.close();
    const callingBack = relay.ask(`/auth/mal/callback?state=${state}&code=of-nobody`);
    await held.arrived;
    const shown = await open(page, shortUrl);
    held.release();
    await (await callingBack).body?.cancel();
    return shown;
  },
  'link-invalid': (page) => open(page, `${baseUrl}/auth/mal?state=of-no-session`),
  done: (page) => open(page, `${baseUrl}/auth/done`),
  home: (page) => open(page, `${baseUrl}/`),
  'code-form': (page) => open(page, `${baseUrl}/link`),
  'code-incomplete': (page) => typeCode(page, 'wdjb mj'),
  'code-unknown': (page) => typeCode(page, UNKNOWN_CODE),
  'too-many-tries': async (page) => {
    addresses += 1;
    const headers = { 'X-Forwarded-For': `192.0.2.${addresses}` };
    const path = `/L/${UNKNOWN_CODE}`;
    for (let tries = 0; tries < CODE_LIMIT_PER_ADDRESS.burst; tries += 1) {
      await relay.ask(path, { headers });
    }
    await page.setExtraHTTPHeaders(headers);
    const shown = await open(page, baseUrl + path);
    // It would come back by itself, and stays here: 204 changes no page.
    await page.route('**', (route) => route.fulfill({ status: 204 }));
    return shown;
  },
  confirm: async (page) => open(page, (await startDeviceWithCode('mal', DEVICE_NAME)).shortUrl),
  'confirm-in-app': async (page) => {
    await page.setExtraHTTPHeaders({ 'User-Agent': IN_APP_BROWSER });
    return open(page, (await startDeviceWithCode('mal', DEVICE_NAME)).shortUrl);
  },
  'not-found': (page) => open(page, `${baseUrl}/nowhere`),
  declined: async (page) => {
    await page.goto((await startDeviceWithCode('mal', DEVICE_NAME)).shortUrl);
    return follow(page, () => page.getByRole('button').last().click());
  },
};

/** These say more than has room on the smallest screen, after what the user needs first. */
const LONGER_PAGES = ['confirm-in-app', 'home', 'link-invalid'];

async function openCallback(page: Page, query: string): Promise<RelayPage> {
  const { state } = await startDevice('mal');
  return open(page, `${baseUrl}/auth/mal/callback?state=${state}&${query}`);
}

async function typeCode(page: Page, code: string): Promise<RelayPage> {
  await page.goto(`${baseUrl}/link`);
  await page.getByRole('textbox').fill(code);
  return follow(page, () => page.getByRole('button').click());
}

/** The smallest phone that is still in use, the first iPhone SE. */
const SMALLEST = { width: 320, height: 568 };
/** A window of 1280 × 800 at a zoom of 200 % (1.4.4). */
const ZOOMED = { width: 640, height: 400 };
describe.each(Object.entries(PAGES))('page %s', (name, goTo) => {
  let phone: Phone;
  let page: Page;
  let shown: RelayPage;
  const requested: string[] = [];
  beforeAll(async () => {
    phone = await openPhone();
    page = phone.page;
    page.on('request', (request) => requested.push(request.url()));
    shown = await goTo(page);
  });
  afterAll(() => phone.close());

  test('has no script, loads nothing, and does nothing that its policy forbids', async () => {
    const own = page.url();
    expect(requested.slice(requested.lastIndexOf(own))).toEqual([own]);
    // Chromium reports each status from 400 as a failed load, which is no fault of the page.
    const isStatus = (text: string) => shown.status >= 400 && text.includes(String(shown.status));
    expect(phone.complaints.filter((text) => !isStatus(text))).toEqual([]);
    expect(await page.locator('script').count()).toBe(0);
    expect(await page.locator('[src], a, link:not([rel=icon]), [style]').count()).toBe(0);
    expect(await page.content()).not.toMatch(/\son\w+=/);
  });

  test('has a language, a title and one heading, and can be zoomed', async () => {
    expect(await page.locator('html').getAttribute('lang')).toMatch(/^[a-z]{2}/);
    const texts = [shown.title, shown.heading, shown.message];
    expect(texts.filter((text) => text.trim() === '')).toEqual([]);
    expect(await page.getByRole('heading').count()).toBe(1);
    expect(await page.getByRole('main').count()).toBe(1);
    const viewport = await page.locator('meta[name=viewport]').getAttribute('content');
    expect(viewport).toContain('width=device-width');
    expect(viewport).not.toMatch(/user-scalable|maximum-scale/);
  });

  test('is one screen at 320 px, and does not scroll sideways when zoomed', async () => {
    const overflow = () =>
      page.evaluate(() => {
        const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
        return { x: scrollWidth - clientWidth, y: scrollHeight - clientHeight };
      });
    await page.setViewportSize(ZOOMED);
    expect(await overflow()).toMatchObject({ x: 0 });
    await page.setViewportSize(SMALLEST);
    const isOneScreen = !LONGER_PAGES.includes(name);
    expect(await overflow()).toMatchObject({ x: 0, ...(isOneScreen && { y: 0 }) });
  });
});

describe('a QR code', () => {
  /** Few, because of the limit on pictures per address. */
  const SIZES_PX = [100, 333];
  /** A pixel of the screen is a pixel of the picture. */
  const SCREEN = { viewport: { width: 1_000, height: 1_000 }, deviceScaleFactor: 1 };

  /** The picture as the browser draws it, at the size that it says. */
  async function draw(page: Page, address: string): Promise<Picture> {
    await page.goto(address);
    const [width = 0, height = 0] = await page.evaluate(() => {
      const { documentElement: root } = document;
      return [root.getAttribute('width'), root.getAttribute('height')].map(Number);
    });
    // Its white must be its own: the background may have any colour.
    const clip = { x: 0, y: 0, width, height };
    return readPng(await page.screenshot({ clip, omitBackground: true }));
  }

  test.each(['light', 'dark'] as const)(
    'a browser in %s mode draws the SVG as the PNG, pixel by pixel, and a scanner reads it',
    async (colorScheme) => {
      const { page, complaints, close } = await openPhone({ ...SCREEN, colorScheme });
      const { state, url } = await startDevice('mal');
      const links = { [state]: url, 'BCDF-GHJK': `${baseUrl.toUpperCase()}/L/BCDF-GHJK` };
      for (const [name, link] of Object.entries(links)) {
        for (const size of SIZES_PX) {
          const svg = await draw(page, `${baseUrl}/qr/${name}.svg?size=${size}`);
          expect(scan(svg)).toBe(link);
          expect(measureQr(svg)).toMatchObject({ quietZone: [4, 4, 4, 4], strayPixels: 0 });
          const png = await relay.ask(`/qr/${name}.png?size=${size}`);
          expect(svg).toEqual(readPng(await png.bytes()));
        }
      }
      expect(complaints).toEqual([]);
      await close();
    },
  );
});
