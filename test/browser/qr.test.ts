/** Pictures of QR codes as a browser draws them: an SVG says the same as a PNG, to the pixel. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { measure, type Picture, readPng, scan } from '../support/qr-picture.ts';
import { startDevice } from './support/device.ts';
import { openPhone } from './support/phone.ts';
import { setStage } from './support/stage.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

/** Few: an address may have 20 pictures at once. */
const SIZES_PX = [100, 333];

/** A screen whose pixels are those of the picture. */
const SCREEN = { viewport: { width: 1_000, height: 1_000 }, deviceScaleFactor: 1 };

/** What the browser makes of a picture by itself, at the size that the picture says. */
async function takePicture(page: Page, address: string): Promise<Picture> {
  await page.goto(address);
  const [width = 0, height = 0] = await page.evaluate(() => {
    const { documentElement: root } = document;
    return [root.getAttribute('width'), root.getAttribute('height')].map(Number);
  });
  const clip = { x: 0, y: 0, width, height };
  // Its white must be its own: what is behind it may be any colour.
  return readPng(await page.screenshot({ clip, omitBackground: true }));
}

async function fetchPng(address: string): Promise<Picture> {
  return readPng(await (await fetch(address)).bytes());
}

describe.each(['light', 'dark'] as const)('browser: an SVG where pages are %s', (colorScheme) => {
  test('is the PNG, pixel by pixel, and is read by a scanner', async () => {
    const { page, complaints, close } = await openPhone(stage.browser, { ...SCREEN, colorScheme });
    const { baseUrl } = stage.relay;
    const { state, url } = await startDevice(stage, 'mal');
    const links = { [state]: url, 'BCDF-GHJK': `${baseUrl.toUpperCase()}/L/BCDF-GHJK` };
    for (const [name, link] of Object.entries(links)) {
      for (const size of SIZES_PX) {
        const svg = await takePicture(page, `${baseUrl}/qr/${name}.svg?size=${size}`);
        expect(scan(svg)).toBe(link);
        expect(measure(svg)).toMatchObject({ quietZone: [4, 4, 4, 4], strayPixels: 0 });
        expect(svg).toEqual(await fetchPng(`${baseUrl}/qr/${name}.png?size=${size}`));
      }
    }
    expect(complaints).toEqual([]);
    await close();
  });
});
