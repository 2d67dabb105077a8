/** How often user codes may be tried. The arithmetic is in docs/person.md. RFC 8628 §5.1. */
import { describe, expect, test } from 'bun:test';
import { formatUserCode } from '../../src/http/user-code.ts';
import { CODE_LIMIT_OVERALL, CODE_LIMIT_PER_ADDRESS } from '../../src/limits.ts';
import type { SessionStore } from '../../src/relay/store.ts';
import { createTestService } from '../support/test-service.ts';

type TestService = ReturnType<typeof createTestService>;

const WRONG = '/L/BCDF-GHJK';
const PERSON = '203.0.113.1';
const OTHER = '203.0.113.2';

async function startWithCode({ send }: TestService): Promise<string> {
  const body = JSON.stringify({ service: 'mal', code: true });
  const answer = await send('/auth/start', { method: 'POST', body }, '198.51.100.1');
  const { link } = (await answer.json()) as { link: string };
  return new URL(link).pathname;
}

async function tryWrong({ send }: TestService, times: number, createPeer: (n: number) => string) {
  const statuses: number[] = [];
  for (let tries = 0; tries < times; tries += 1) {
    statuses.push((await send(WRONG, {}, createPeer(tries))).status);
  }
  return statuses;
}

function decide({ send }: TestService, path: string, peer: string) {
  const headers = { 'Sec-Fetch-Site': 'same-origin' };
  return send(path, { method: 'POST', headers, body: 'choice=continue' }, peer);
}

const { burst, ratePerSecond } = CODE_LIMIT_PER_ADDRESS;

test('an address may be wrong ten times, then once in ten seconds', async () => {
  const service = createTestService();
  const tried = await tryWrong(service, burst + 1, () => PERSON);
  expect(tried).toEqual([...Array(burst).fill(404), 429]);
  const refused = await service.send(WRONG, {}, PERSON);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe(String(1 / ratePerSecond));
  expect(await refused.text()).toContain('Too many tries');
  expect((await service.send(WRONG, {}, OTHER)).status).toBe(404);

  service.clock.advance(1_000 / ratePerSecond);
  expect(await tryWrong(service, 2, () => PERSON)).toEqual([404, 429]);
});

test('the addresses of one IPv6 network are one', async () => {
  const service = createTestService();
  const tried = await tryWrong(service, burst + 1, (n) => `2001:db8::${n + 1}`);
  expect(tried.at(-1)).toBe(429);
});

test('whoever is limited does not learn whether a code is right, and decides nothing', async () => {
  const service = createTestService();
  const right = await startWithCode(service);
  await tryWrong(service, burst, () => PERSON);
  const pages = [WRONG, right].map(async (path) => {
    const answer = await service.send(path, {}, PERSON);
    expect(answer.status).toBe(429);
    return answer.text();
  });
  expect(new Set(await Promise.all(pages)).size).toBe(1);
  expect((await decide(service, right, PERSON)).status).toBe(429);
  expect((await decide(service, right, OTHER)).status).toBe(303);
});

test('right codes cost nothing: a household, a workshop or a link preview may open any number', async () => {
  const service = createTestService();
  const right = await startWithCode(service);
  for (let visits = 0; visits < 3 * CODE_LIMIT_OVERALL.burst; visits += 1) {
    expect((await service.send(right, {}, PERSON)).status).toBe(200);
  }
  expect((await tryWrong(service, burst, () => PERSON)).at(-1)).toBe(404);
});

test('what cannot be a code costs nothing either: nothing is looked up', async () => {
  const service = createTestService();
  for (let tries = 0; tries < 3 * burst; tries += 1) {
    expect((await service.send('/L/HELLO', {}, PERSON)).status).toBe(404);
  }
  expect((await service.send(WRONG, {}, PERSON)).status).toBe(404);
});

test('all addresses together may be wrong fifty times, then five times a second', async () => {
  const service = createTestService();
  const right = await startWithCode(service);
  const tried = await tryWrong(service, CODE_LIMIT_OVERALL.burst + 1, (n) => `192.0.2.${n}`);
  expect(tried).toEqual([...Array(CODE_LIMIT_OVERALL.burst).fill(404), 429]);
  const refused = await service.send(right, {}, PERSON);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  // Who is refused for the others' sake has lost none of their own tries.
  await tryWrong(service, burst, () => PERSON);
  service.clock.advance(1_000);
  expect((await service.send(right, {}, PERSON)).status).toBe(200);
  const again = await tryWrong(service, CODE_LIMIT_OVERALL.ratePerSecond + 1, () => PERSON);
  expect(again).toEqual([...Array(CODE_LIMIT_OVERALL.ratePerSecond).fill(404), 429]);
});

test('a limit that cannot take a token back does not keep the person', async () => {
  const service = createTestService({}, undefined, {
    createRateLimiter: () => ({
      take: async () => ({ ok: true }),
      giveBack: () => Promise.reject(new Error('away')),
      sweep: async () => {},
    }),
  });
  const right = await startWithCode(service);
  expect((await decide(service, right, PERSON)).status).toBe(303);
});

test('a client without an address is refused, as at the start', async () => {
  const { handle } = createTestService();
  const answer = await handle(new Request(`https://relay.test${WRONG}`), () => undefined);
  expect(answer.status).toBe(400);
});

describe('no cookie and no header buys another try', () => {
  /** What a client sends with its guess; `own` is the cookie of a sign-in that it continued itself. */
  type Headers = (guessed: string, own: string) => Record<string, string>;

  /** In words, what is sent, and whether codes are then looked up at all. */
  const SENT: readonly [string, Headers, boolean][] = [
    ['nothing', () => ({}), true],
    ['the cookie of its own sign-in', (_, own) => ({ Cookie: own }), true],
    [
      'that cookie under the name of the code it guesses',
      (guessed, own) => ({ Cookie: own.replace(/-[A-Z]{4}-[A-Z]{4}=/, `-${guessed}=`) }),
      false,
    ],
    [
      'that browser state in every cookie there ever was',
      (guessed, own) => {
        const state = own.split('=')[1];
        const names = ['link', 'continued', `continued-${guessed}`, guessed];
        return { Cookie: names.map((name) => `${name}=${state}`).join('; ') };
      },
      true,
    ],
    [
      'addresses that it made up',
      (guessed) => {
        const address = `10.${guessed.charCodeAt(0)}.${guessed.charCodeAt(1)}.${guessed.charCodeAt(2)}`;
        return { 'X-Forwarded-For': address, 'X-Real-IP': address, Forwarded: `for=${address}` };
      },
      true,
    ],
  ];

  /** Consecutive, so that no code is tried twice. */
  function guess(nth: number): string {
    const letters = 'BCDFGHJKLMNPQRSTVWXZ';
    const code = Array.from(
      { length: 8 },
      (_, place) => letters[Math.floor(nth / 20 ** place) % 20],
    );
    return formatUserCode(code.join(''));
  }

  /** A service that counts the codes it looked up, all of them wrong, and a client with a cookie of its own. */
  async function countLookUps(overrides = {}) {
    let lookUps = 0;
    const changeStore = (store: SessionStore): SessionStore => ({
      ...store,
      find(by, nowMs) {
        if ('userCode' in by) lookUps += 1;
        return store.find(by, nowMs);
      },
      useCode(userCode, nowMs) {
        lookUps += 1;
        return store.useCode(userCode, nowMs);
      },
    });
    const service = createTestService(overrides, undefined, { changeStore });
    const right = await startWithCode(service);
    const continued = await decide(service, right, PERSON);
    const [own = ''] = (continued.headers.get('set-cookie') ?? '').split(';');
    lookUps = 0;
    return { service, own, lookUps: () => lookUps };
  }

  test.each(SENT)(
    'one address that sends %s tries no more than 70 codes in ten minutes',
    async (_, sent, isLookedUp) => {
      const { service, own, lookUps } = await countLookUps();
      for (let second = 0; second <= 600; second += 1) {
        const guessed = guess(second);
        const path = `/L/${guessed}`;
        const headers = { ...sent(guessed, own), 'Sec-Fetch-Site': 'same-origin' };
        const isPost = second % 2 === 0;
        await service.send(
          path,
          isPost ? { method: 'POST', headers, body: 'choice=continue' } : { headers },
          PERSON,
        );
        service.clock.advance(1_000);
      }
      const most = burst + 600 * ratePerSecond;
      expect(lookUps()).toBe(isLookedUp ? most : 0);
    },
  );

  test.each(SENT)(
    'a /48 that sends %s tries no more than 350 codes in a minute',
    async (_, sent, isLookedUp) => {
      const { service, own, lookUps } = await countLookUps({ trustedProxyCidrs: ['10.0.0.1'] });
      for (let tries = 0; tries < 610; tries += 1) {
        const guessed = guess(tries);
        const forwarded = `2001:db8:1:${tries.toString(16)}::1`;
        const headers = { ...sent(guessed, own), 'X-Forwarded-For': forwarded };
        await service.send(`/L/${guessed}`, { headers }, '10.0.0.1');
        if (tries % 10 === 9) service.clock.advance(1_000);
      }
      const most = CODE_LIMIT_OVERALL.burst + 60 * CODE_LIMIT_OVERALL.ratePerSecond;
      expect(lookUps()).toBe(isLookedUp ? most : 0);
    },
  );

  test("with a cookie of one's own a right code shows one's own sign-in, as a wrong one does", async () => {
    const { service, own } = await countLookUps();
    const body = JSON.stringify({ service: 'mal', code: true, device: 'Their television' });
    const started = await service.send('/auth/start', { method: 'POST', body }, '198.51.100.2');
    const { link } = (await started.json()) as { link: string };
    const [right, wrong] = [new URL(link).pathname, WRONG].map(async (path) => {
      const name = `-${path.slice('/L/'.length)}=`;
      const Cookie = own.replace(/-[A-Z]{4}-[A-Z]{4}=/, name);
      return (await service.send(path, { headers: { Cookie } }, PERSON)).text();
    });
    expect(await right).toBe((await wrong) as string);
    expect(await right).not.toContain('Their television');
  });
});
