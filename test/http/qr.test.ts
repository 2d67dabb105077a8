import { describe, expect, test } from 'bun:test';
import { HANDLER_DEADLINE_MS, QR_LIMIT_OVERALL, QR_LIMIT_PER_ADDRESS } from '../../src/limits.ts';
import { StoreUnavailable } from '../../src/relay/store.ts';
import { measure, readPng, scan } from '../support/qr-picture.ts';
import { createTestService } from '../support/test-service.ts';

type Service = ReturnType<typeof createTestService>;

async function fetchPicture({ send }: Service, path: string) {
  const response = await send(path);
  expect([path, response.status]).toEqual([path, 200]);
  return readPng(await response.bytes());
}

const textAt = async (service: Service, path: string) => scan(await fetchPicture(service, path));

/** Of the right form, and nobody's. */
const UNKNOWN_STATE = 'AAAAAAAAAAAAAAAAAAAAAAAA';

describe('what a code says', () => {
  test('a browser state: the link as the device was given it', async () => {
    const service = createTestService();
    for (const name of ['mal', 'anilist']) {
      const { state, url } = await service.start(name);
      expect(await textAt(service, `/qr/${state}.png`)).toBe(url);
    }
  });

  test.each(['BCDF-GHJK', 'bcdf-ghjk', 'BcDfGhJk', 'BCDFGHJK'])(
    'a user code, written %s: the short link, in capitals for a code of 25 × 25 modules',
    async (name) => {
      const picture = await fetchPicture(createTestService(), `/qr/${name}.png`);
      expect(scan(picture)).toBe('HTTPS://RELAY.TEST/L/BCDF-GHJK');
      expect(measure(picture).modules).toBe(25);
    },
  );

  test('a base path keeps its case, whether or not a proxy has removed it', async () => {
    const service = createTestService({ baseUrl: 'https://relay.test/Tv/qr' });
    const { state, url } = await service.start();
    for (const prefix of ['', '/Tv/qr']) {
      const link = await textAt(service, `${prefix}/qr/bcdfghjk.png`);
      expect(link).toBe('https://relay.test/Tv/qr/L/BCDF-GHJK');
      expect(await textAt(service, `${prefix}/qr/${state}.png`)).toBe(url);
    }
  });

  test('a host that has other capitals is written as machines write it', async () => {
    const service = createTestService({ baseUrl: 'https://straße.test:8443' });
    const link = await textAt(service, '/qr/BCDF-GHJK.png');
    expect(link).toBe('HTTPS://XN--STRAE-OQA.TEST:8443/L/BCDF-GHJK');
  });
});

describe('which codes there are', () => {
  test('is not told: nothing but a browser state is looked up', async () => {
    const finds: unknown[] = [];
    const { send, start } = createTestService({}, undefined, {
      changeStore: (store) => ({
        ...store,
        find(by, nowMs) {
          finds.push(by);
          return store.find(by, nowMs);
        },
      }),
    });
    await send('/qr/BCDF-GHJK.png');
    await send('/qr/neither-this-nor-that.png');
    expect(finds).toEqual([]);
    const { state: browserState } = await start();
    await send(`/qr/${browserState}.png`);
    expect(finds).toEqual([{ browserState }]);
  });

  test('a sign-in that no longer waits for its person has no picture', async () => {
    const { send, start, callback, clock } = createTestService();
    const finished = await start();
    await callback(finished.state, 'error=access_denied');
    const expired = await start();
    clock.advance(600_001);
    for (const { state } of [finished, expired]) {
      expect((await send(`/qr/${state}.png`)).status).toBe(404);
    }
  });
});

describe('how it is answered', () => {
  test.each([
    ['svg', 'image/svg+xml'],
    ['png', 'image/png'],
  ])('%s: as %s, kept by nobody, able to load nothing', async (format, type) => {
    const { headers } = await createTestService().send(`/qr/BCDF-GHJK.${format}`);
    expect(Object.fromEntries(headers)).toEqual({
      'cache-control': 'no-store, private',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'content-type': type,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    ['', 400],
    ['?size=100', 100],
    ['?size=1000', 1_000],
    ['?size=0500', 500],
  ])('%p: modules as large as fit in %p px', async (query, sizePx) => {
    const { widthPx } = await fetchPicture(createTestService(), `/qr/BCDF-GHJK.png${query}`);
    expect(widthPx).toBe(33 * Math.floor(sizePx / 33));
  });

  test.each(['99', '1001', '', '-400', '4e2', '400px', '400.5', '0x190', '99999999999999999999'])(
    'size %p is refused',
    async (size) => {
      const response = await createTestService().send(`/qr/BCDF-GHJK.svg?size=${size}`);
      expect([response.status, await response.text()]).toEqual([400, 'Invalid size\n']);
    },
  );

  test.each([
    `${UNKNOWN_STATE}.png`,
    `${UNKNOWN_STATE}A.png`,
    'BCDF-GHJA.png',
    'BCDF-GHJ.png',
    'BCDF-GHJK.gif',
    'BCDF-GHJK.constructor',
    'BCDF-GHJK',
    'BCDF-GHJK.png/',
    'BCDF%2DGHJK.png',
    '.png',
    '',
  ])('%p is found nowhere', async (name) => {
    const response = await createTestService().send(`/qr/${name}`);
    expect([response.status, await response.text()]).toEqual([404, '404 page not found\n']);
  });

  test.each(['HEAD', 'POST', 'OPTIONS'])('%s is refused', async (method) => {
    const response = await createTestService().send('/qr/BCDF-GHJK.png', { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
  });
});

describe('a store that is away', () => {
  test('is answered 503, and no device waits for ever', async () => {
    const away = createTestService({}, undefined, {
      changeStore: (store) => ({ ...store, find: () => Promise.reject(new StoreUnavailable()) }),
    });
    expect((await away.send(`/qr/${UNKNOWN_STATE}.png`)).status).toBe(503);

    const silent = createTestService({}, undefined, {
      changeStore: (store) => ({ ...store, find: () => new Promise<never>(() => {}) }),
    });
    const asked = silent.send(`/qr/${UNKNOWN_STATE}.png`);
    await silent.runReady();
    silent.clock.advance(HANDLER_DEADLINE_MS);
    expect((await asked).status).toBe(503);
  });
});

test('an address may have 20 pictures at once, then two a second', async () => {
  const { send, clock } = createTestService();
  const ask = () => send('/qr/BCDF-GHJK.png?size=100');
  for (let count = 0; count < 20; count += 1) expect((await ask()).status).toBe(200);
  const limited = await ask();
  expect(limited.status).toBe(429);
  expect(limited.headers.get('retry-after')).toBe('1');
  clock.advance(500);
  expect((await ask()).status).toBe(200);
});

test('481 requests of 481 /64s: 50 pictures are drawn, then 25 a second, and the others are refused unseen', async () => {
  let lookUps = 0;
  const service = createTestService({}, undefined, {
    changeStore: (store) => ({
      ...store,
      find(by, nowMs) {
        lookUps += 1;
        return store.find(by, nowMs);
      },
    }),
  });
  const { burst, ratePerSecond } = QR_LIMIT_OVERALL;
  const { state } = await service.start();
  const ask = (network: number) =>
    service.send(`/qr/${state}.svg`, {}, `2001:db8:0:${network.toString(16)}::1`);
  const askMany = async (first: number, count: number) => {
    const asked = Array.from({ length: count }, (_, index) => ask(first + index));
    return (await Promise.all(asked)).map(({ status }) => status);
  };
  const statuses = await askMany(0, 481);
  expect(statuses.filter((status) => status === 200)).toHaveLength(burst);
  expect(statuses.filter((status) => status === 429)).toHaveLength(481 - burst);
  expect(lookUps).toBe(burst);
  expect((await ask(500)).headers.get('retry-after')).toBe('1');

  service.clock.advance(1_000);
  const later = await askMany(1_000, 2 * ratePerSecond);
  expect(later.filter((status) => status === 200)).toHaveLength(ratePerSecond);
});

test('whoever is refused for the sake of others has lost none of their own pictures', async () => {
  const { send, clock } = createTestService();
  const ask = (peer: string) => send('/qr/BCDF-GHJK.svg?size=100', {}, peer);
  for (let count = 0; count < QR_LIMIT_OVERALL.burst; count += 1) await ask(`192.0.2.${count}`);
  for (let count = 0; count < 30; count += 1) {
    expect((await ask('198.51.100.1')).status).toBe(429);
  }
  clock.advance(1_000);
  const { burst } = QR_LIMIT_PER_ADDRESS;
  for (let count = 0; count < burst; count += 1) {
    expect((await ask('198.51.100.1')).status).toBe(200);
  }
});
