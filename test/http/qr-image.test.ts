/** Pictures of QR codes, read by a scanner and measured in pixels. SVG is in test/browser/qr.test.ts. */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { drawQr } from '../../src/http/qr/image.ts';
import { createCapability, createUserCode } from '../../src/relay/secrets.ts';
import { measure, readPng, scan } from '../support/qr-picture.ts';

const plainLink = () => `https://relay.example/auth/mal?state=${createCapability(randomBytes)}`;
const shortLink = () => `HTTPS://RELAY.EXAMPLE/L/${createUserCode(randomBytes)}`;

function drawPng(text: string, sizePx: number): Uint8Array {
  const png = drawQr(text, 'png', sizePx);
  if (typeof png === 'string') throw new Error('not bytes');
  return png;
}

const SIZES_PX = [100, 101, 240, 400, 719, 1_000];

describe('a PNG', () => {
  test.each(SIZES_PX)('asked for at %p px is read by a scanner, whatever the link', (sizePx) => {
    for (let tries = 0; tries < 5; tries += 1) {
      for (const link of [plainLink(), shortLink()]) {
        expect(scan(readPng(drawPng(link, sizePx)))).toBe(link);
      }
    }
  });

  test.each(SIZES_PX)(
    'at %p px has modules as large as fit, all of whole pixels and alike, and four of white around',
    (sizePx) => {
      for (const link of [plainLink(), shortLink()]) {
        const picture = readPng(drawPng(link, sizePx));
        const { modulePx, modules, ...rest } = measure(picture);
        expect(rest).toEqual({ quietZone: [4, 4, 4, 4], strayPixels: 0 });
        expect(modulePx).toBe(Math.floor(sizePx / (modules + 8)));
        expect([picture.widthPx, picture.heightPx]).toEqual(
          Array(2).fill(modulePx * (modules + 8)),
        );
      }
    },
  );

  test('is small: one bit a pixel', () => {
    expect(drawPng(plainLink(), 400).byteLength).toBeLessThan(1_000);
  });
});

describe('the code', () => {
  test.each([
    ['HTTPS://RELAY.EXAMPLE/L/BCDF-GHJK', 25],
    ['HTTPS://TWENTY-SEVEN-LONG-1.EXAMPLE/L/BCDF-GHJK', 25],
    ['HTTPS://TWENTY-EIGHT-LONG-10.EXAMPLE/L/BCDF-GHJK', 29],
    ['https://twenty-seven-long-1.example/L/BCDF-GHJK', 29],
    ['https://relay.example/auth/mal?state=ABCDEFGHIJKLMNOPQRSTUVWX', 33],
  ])('of %p is the smallest that holds it: %p modules', (link, modules) => {
    expect(measure(readPng(drawPng(link, 400))).modules).toBe(modules);
  });

  test('that is larger than what was asked for is drawn all the same', () => {
    const link = `https://relay.example/${'a'.repeat(1_000)}`;
    expect(measure(readPng(drawPng(link, 100)))).toMatchObject({ modulePx: 1, strayPixels: 0 });
  });

  test.each(['svg', 'png'] as const)('is drawn as the same %s each time', (format) => {
    const link = plainLink();
    expect(drawQr(link, format, 400)).toEqual(drawQr(link, format, 400));
  });
});
