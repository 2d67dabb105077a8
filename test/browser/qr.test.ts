/** QR codes as a browser draws them. */
import { expect, test } from 'bun:test';
import { setUp } from '../kit/chromium.ts';
import { measure as measureQr, readPng, scan } from '../kit/qr.ts';

const { relay, openPhone, startDevice } = await setUp();
const { baseUrl } = relay;

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
