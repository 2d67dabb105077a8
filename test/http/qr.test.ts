/** Pictures of QR codes, read by a scanner and measured in pixels (docs/qr.md). How a browser draws the SVG is in test/browser/qr.test.ts. */
import { describe, expect, test } from 'bun:test';
import { start } from '../kit/device.ts';
import { QR_LIMIT_OVERALL } from '../kit/limits.ts';
import { measure, readPng, scan } from '../kit/qr.ts';
import { createTestService, type TestService } from '../kit/service.ts';

async function fetchPicture({ ask }: TestService, path: string) {
  const response = await ask(path);
  expect([path, response.status]).toEqual([path, 200]);
  return readPng(await response.bytes());
}

const textAt = async (service: TestService, path: string) =>
  scan(await fetchPicture(service, path));

describe('the text of a code', () => {
  test.each(['BCDF-GHJK', 'bcdf-ghjk', 'BcDfGhJk'])(
    'for the user code %s is the short link in capitals, which 25 × 25 modules hold',
    async (name) => {
      const picture = await fetchPicture(createTestService(), `/qr/${name}.png`);
      expect(scan(picture)).toBe('HTTPS://RELAY.TEST/L/BCDF-GHJK');
      expect(measure(picture).modules).toBe(25);
    },
  );

  test('is the link itself for a browser state; a base path keeps its case', async () => {
    const service = createTestService({ baseUrl: 'https://relay.test/Tv/qr' });
    const { state, url } = await start(service);
    for (const prefix of ['', '/Tv/qr']) {
      const link = await textAt(service, `${prefix}/qr/bcdfghjk.png`);
      expect(link).toBe('https://relay.test/Tv/qr/L/BCDF-GHJK');
      expect(await textAt(service, `${prefix}/qr/${state}.png`)).toBe(url);
    }
  });

  test('has the host in ASCII, where its capitals would differ', async () => {
    const service = createTestService({ baseUrl: 'https://straße.test:8443' });
    const link = await textAt(service, '/qr/BCDF-GHJK.png');
    expect(link).toBe('HTTPS://XN--STRAE-OQA.TEST:8443/L/BCDF-GHJK');
  });

  test('does not reveal whether a user code exists: only browser states are looked up', async () => {
    const lookedUp: unknown[] = [];
    const service = createTestService({
      beforeStore(asked, _, key) {
        if (asked === 'find') lookedUp.push(key);
      },
    });
    await service.ask('/qr/BCDF-GHJK.png');
    await service.ask('/qr/neither-this-nor-that.png');
    expect(lookedUp).toEqual([]);
    const { state } = await start(service);
    await service.ask(`/qr/${state}.png`);
    expect(lookedUp).toEqual([{ link: state }]);
  });
});

describe('the picture', () => {
  test.each([undefined, 100, 719])(
    'at %p px is read by a scanner: equal modules as large as fit, with four of white',
    async (size) => {
      const service = createTestService();
      const query = size === undefined ? '' : `?size=${size}`;
      for (let tries = 0; tries < 2; tries += 1) {
        const { state, url } = await start(service);
        const short = 'HTTPS://RELAY.TEST/L/BCDF-GHJK';
        for (const [name, link] of [
          [state, url],
          ['BCDF-GHJK', short],
        ]) {
          const picture = await fetchPicture(service, `/qr/${name}.png${query}`);
          expect(scan(picture)).toBe(String(link));
          const { modulePx, modules, ...rest } = measure(picture);
          expect(rest).toEqual({ quietZone: [4, 4, 4, 4], strayPixels: 0 });
          expect(modulePx).toBe(Math.floor((size ?? 400) / (modules + 8)));
          const { widthPx, heightPx } = picture;
          expect([widthPx, heightPx]).toEqual(Array(2).fill(modulePx * (modules + 8)));
        }
      }
    },
  );

  test('is larger than asked for where the code does not fit', async () => {
    const service = createTestService({ baseUrl: `https://relay.example/${'a'.repeat(1_000)}` });
    const picture = await fetchPicture(service, '/qr/BCDF-GHJK.png?size=100');
    expect(measure(picture)).toMatchObject({ modulePx: 1, strayPixels: 0 });
  });
});

describe('limits', () => {
  const CODE = '/qr/BCDF-GHJK.svg?size=100';

  test('one address may have 20 pictures at once, then two a second', async () => {
    const { ask, clock } = createTestService();
    const askOnce = () => ask(CODE, {}, '192.0.2.1');
    for (let count = 0; count < 20; count += 1) expect((await askOnce()).status).toBe(200);
    const limited = await askOnce();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1']);
    clock.advance(500);
    expect((await askOnce()).status).toBe(200);
  });

  test('all together may have 50 at once, and nothing is looked up for a refused request', async () => {
    let lookUps = 0;
    const service = createTestService({
      beforeStore(verb) {
        if (verb === 'find') lookUps += 1;
      },
    });
    const { burst } = QR_LIMIT_OVERALL;
    const { state } = await start(service);
    const asked = Array.from({ length: 2 * burst }, () => service.ask(`/qr/${state}.svg`));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(burst);
    expect(statuses.filter((status) => status === 429)).toHaveLength(burst);
    expect(lookUps).toBe(burst);
  });
});
