/** Pages as the relay sends them: safe. QR codes as a browser draws them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { agree, comeBack, follow, open, type RelayPage, setUp } from '../kit/chromium.ts';
import { measure as measureQr, readPng, scan } from '../kit/qr.ts';
import { startRelay } from '../kit/relay.ts';

setDefaultTimeout(60_000);

const { relay, openPhone, startDevice, startDeviceWithCode, stop } = await setUp({
  APP_NAME: 'Plezy',
});
afterAll(stop);
const { baseUrl } = relay;

/** How to get to one page with each policy and status; looks.test.ts has every page. */
const PAGES: Readonly<Record<string, (page: Page) => Promise<RelayPage>>> = {
  home: (page) => open(page, `${baseUrl}/`),
  'code-unknown': async (page) => {
    await page.goto(`${baseUrl}/link`);
    // No session has it, but for one chance in 25 thousand million.
    await page.getByRole('textbox').fill('BCDF-GHJK');
    return follow(page, () => page.getByRole('button').click());
  },
  confirm: async (page) => open(page, (await startDeviceWithCode('mal')).shortUrl),
  'signed-in': async (page) => {
    await page.goto((await startDevice('mal')).url);
    return comeBack(page, () => agree(page, 'mal'));
  },
  'not-exchanged': async (page) => {
    const { state } = await startDevice('mal');
    return open(page, `${baseUrl}/auth/mal/callback?state=${state}&code=of-nobody`);
  },
  'link-invalid': (page) => open(page, `${baseUrl}/auth/mal?state=of-no-session`),
};

test.each(Object.entries(PAGES))(
  'page %s has no script, loads nothing, and does nothing that its policy forbids',
  async (_, goTo) => {
    const { page, complaints, close } = await openPhone();
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    const { status } = await goTo(page);
    const own = page.url();
    expect(requested.slice(requested.lastIndexOf(own))).toEqual([own]);
    // Chromium reports each status from 400 as a failed load, which is no fault of the page.
    const isStatus = (text: string) => status >= 400 && text.includes(String(status));
    expect(complaints.filter((text) => !isStatus(text))).toEqual([]);
    expect(await page.locator('script').count()).toBe(0);
    expect(await page.locator('[src], a, link:not([rel=icon]), [style]').count()).toBe(0);
    expect(await page.content()).not.toMatch(/\son\w+=/);
    await close();
  },
);

test('an SVG logo runs and loads nothing, in a page and opened by itself', async () => {
  const asked: string[] = [];
  using elsewhere = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch({ url }) {
      asked.push(url);
      return new Response('');
    },
  });
  const report = `fetch('${elsewhere.url}script');document.documentElement.id='ran'`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="${report}"><script>${report}</script><style>@import url(${elsewhere.url}style);</style><image href="${elsewhere.url}image"/><foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${elsewhere.url}frame"/></foreignObject></svg>`;
  const branded = await startRelay({ LOGO: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  const { page, close } = await openPhone();
  await page.goto(`${branded.baseUrl}/`);
  const width = page
    .locator('header img')
    .evaluate((logo) => (logo as HTMLImageElement).naturalWidth);
  expect(await width).toBeGreaterThan(0);
  await page.goto(`${branded.baseUrl}/logo`, { waitUntil: 'networkidle' });
  const root = await page.evaluate(() => [
    document.documentElement.tagName,
    document.documentElement.id,
  ]);
  expect([root, asked]).toEqual([['svg', ''], []]);
  await close();
  expect(await branded.stop()).toBe(0);
});

/** A pixel of the screen is a pixel of the picture. */
const SCREEN = { viewport: { width: 1_000, height: 1_000 }, deviceScaleFactor: 1 };

test('a browser in dark mode draws a QR code as SVG and as PNG alike', async () => {
  const { page, complaints, close } = await openPhone({ ...SCREEN, colorScheme: 'dark' });
  const { state, url } = await startDevice('mal');
  const links = { [state]: url, 'BCDF-GHJK': `${baseUrl.toUpperCase()}/L/BCDF-GHJK` };
  for (const [name, link] of Object.entries(links)) {
    for (const size of [100, 333]) {
      await page.goto(`${baseUrl}/qr/${name}.svg?size=${size}`);
      const [width = 0, height = 0] = await page.evaluate(() => {
        const { documentElement: root } = document;
        return [root.getAttribute('width'), root.getAttribute('height')].map(Number);
      });
      // Its white must be its own: the background may have any colour.
      const clip = { x: 0, y: 0, width, height };
      const svg = readPng(await page.screenshot({ clip, omitBackground: true }));
      expect(scan(svg)).toBe(link);
      expect(measureQr(svg)).toMatchObject({ quietZone: [4, 4, 4, 4], strayPixels: 0 });
      const png = await relay.ask(`/qr/${name}.png?size=${size}`);
      expect(svg).toEqual(readPng(await png.bytes()));
    }
  }
  expect(complaints).toEqual([]);
  await close();
});
