/** What a browser makes of the pictures of the relay: a logo is safe, QR codes are drawn right. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { setUp } from '../kit/chromium.ts';
import { measure as measureQr, readPng, scan } from '../kit/qr.ts';
import { startRelay } from '../kit/relay.ts';

setDefaultTimeout(60_000);

const { relay, openPhone, startDevice, stop } = await setUp();
afterAll(stop);
const { baseUrl } = relay;

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
