/** How often user codes may be guessed. The arithmetic is in docs/person.md. RFC 8628 §5.1. */
import { describe, expect, test } from 'bun:test';
import { startWithCode } from '../kit/device.ts';
import { CODE_LIMIT_OVERALL, CODE_LIMIT_PER_ADDRESS } from '../kit/limits.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { cookiesOf, decide, FROM_OWN_PAGE } from '../kit/user.ts';

const WRONG = '/L/BCDF-GHJK';
const USER = '203.0.113.1';
const OTHER = '203.0.113.2';
const { burst, ratePerSecond } = CODE_LIMIT_PER_ADDRESS;

async function guessWrong({ ask }: TestService, times: number, peerOf: (n: number) => string) {
  const statuses: number[] = [];
  for (let tries = 0; tries < times; tries += 1) {
    statuses.push((await ask(WRONG, {}, peerOf(tries))).status);
  }
  return statuses;
}

test('one address may be wrong ten times, then once in ten seconds; refused, it does not learn whether a code exists', async () => {
  const service = createTestService();
  const { link } = await startWithCode(service);
  const tried = await guessWrong(service, burst + 1, () => USER);
  expect(tried).toEqual([...Array(burst).fill(404), 429]);
  const refused = [await service.ask(WRONG, {}, USER), await service.ask(link, {}, USER)];
  for (const { status, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([429, String(1 / ratePerSecond)]);
  }
  const [wrongPage, rightPage] = await Promise.all(refused.map((answer) => answer.text()));
  expect(wrongPage).toContain('Too many tries');
  expect(rightPage).toBe(wrongPage ?? '');
  // It cannot decide either; another address can.
  expect((await decide(service, link, 'continue', USER)).status).toBe(429);
  expect((await decide(service, link, 'continue', OTHER)).status).toBe(303);
  service.clock.advance(1_000 / ratePerSecond);
  expect(await guessWrong(service, 2, () => USER)).toEqual([404, 429]);
});

test('right codes, and what cannot be a code, cost nothing', async () => {
  const service = createTestService();
  const { link } = await startWithCode(service);
  for (let visits = 0; visits < 3 * CODE_LIMIT_OVERALL.burst; visits += 1) {
    expect((await service.ask(link, {}, USER)).status).toBe(200);
    expect((await service.ask('/L/HELLO', {}, USER)).status).toBe(404);
  }
  expect((await guessWrong(service, burst, () => USER)).at(-1)).toBe(404);
});

test('all addresses together may be wrong fifty times, then five times a second', async () => {
  const service = createTestService();
  const { link } = await startWithCode(service);
  const tried = await guessWrong(service, CODE_LIMIT_OVERALL.burst + 1, (n) => `192.0.2.${n}`);
  expect(tried).toEqual([...Array(CODE_LIMIT_OVERALL.burst).fill(404), 429]);
  const refused = await service.ask(link, {}, USER);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  // An address that is refused because of the others keeps its own tries.
  await guessWrong(service, burst, () => USER);
  service.clock.advance(1_000);
  expect((await service.ask(link, {}, USER)).status).toBe(200);
  const again = await guessWrong(service, CODE_LIMIT_OVERALL.ratePerSecond + 1, () => USER);
  expect(again).toEqual([...Array(CODE_LIMIT_OVERALL.ratePerSecond).fill(404), 429]);
});

test('a limiter that fails to refund a token does not stop the user', async () => {
  const service = createTestService(
    {},
    {
      createRateLimiter: () => ({
        policy: CODE_LIMIT_OVERALL,
        take: () => 0,
        refund: () => Promise.reject(new Error('away')),
        sweep: () => {},
      }),
    },
  );
  const { link } = await startWithCode(service);
  expect((await decide(service, link)).status).toBe(303);
});

describe('no cookie and no header buys another try', () => {
  /** What a client sends with its guess; `own` is the cookie of a sign-in that it continued itself. */
  type Headers = (guessed: string, own: string) => Record<string, string>;

  const rename = (own: string, code: string) => own.replace(/-[A-Z]{4}-[A-Z]{4}=/, `-${code}=`);

  /** What is sent, and whether codes are then looked up at all. */
  const SENT: readonly [string, Headers, boolean][] = [
    ['nothing', () => ({}), true],
    ['the cookie of its own sign-in', (_, own) => ({ Cookie: own }), true],
    [
      'that cookie under the name of the code it guesses',
      (guessed, own) => ({ Cookie: rename(own, guessed) }),
      false,
    ],
    [
      'that browser state in cookies of every name',
      (guessed, own) => {
        const names = ['link', 'continued', `continued-${guessed}`, guessed];
        return { Cookie: names.map((name) => `${name}=${own.split('=')[1]}`).join('; ') };
      },
      true,
    ],
    [
      'made-up addresses',
      (guessed) => {
        const address = `10.${guessed.charCodeAt(0)}.${guessed.charCodeAt(1)}.${guessed.charCodeAt(2)}`;
        return { 'X-Forwarded-For': address, 'X-Real-IP': address, Forwarded: `for=${address}` };
      },
      true,
    ],
  ];

  /** Consecutive, so that no code is tried twice. */
  function codeNumber(nth: number): string {
    const letters = 'BCDFGHJKLMNPQRSTVWXZ';
    const letterAt = (_: unknown, place: number) => letters[Math.floor(nth / 20 ** place) % 20];
    return Array.from({ length: 8 }, letterAt).join('').replace(/^.{4}/, '$&-');
  }

  /** Counts the codes that are looked up, all of them wrong, for a client with a cookie of its own. */
  async function startCounting(overrides = {}) {
    let lookUps = 0;
    const service = createTestService(overrides, {
      beforeVerb(verb, by) {
        if (verb === 'useCode' || (verb === 'getSession' && 'userCode' in Object(by))) lookUps += 1;
      },
    });
    const { link } = await startWithCode(service);
    const [cookie] = cookiesOf(await decide(service, link, 'continue', USER));
    lookUps = 0;
    return { service, own: `${cookie?.name}=${cookie?.value}`, lookUps: () => lookUps };
  }

  test.each(SENT)(
    'one address that sends %s tries at most 70 codes in ten minutes',
    async (_, sent, isLookedUp) => {
      const { service, own, lookUps } = await startCounting();
      for (let second = 0; second <= 600; second += 1) {
        const guessed = codeNumber(second);
        const headers = { ...sent(guessed, own), ...FROM_OWN_PAGE };
        const post = { method: 'POST', headers, body: 'choice=continue' };
        await service.ask(`/L/${guessed}`, second % 2 === 0 ? post : { headers }, USER);
        service.clock.advance(1_000);
      }
      expect(lookUps()).toBe(isLookedUp ? burst + 600 * ratePerSecond : 0);
    },
  );

  test.each(SENT)(
    'a /48 that sends %s tries at most 350 codes in a minute',
    async (_, sent, isLookedUp) => {
      const { service, own, lookUps } = await startCounting({ trustedProxyCidrs: ['10.0.0.1'] });
      for (let tries = 0; tries < 610; tries += 1) {
        const guessed = codeNumber(tries);
        const forwarded = `2001:db8:1:${tries.toString(16)}::1`;
        const headers = { ...sent(guessed, own), 'X-Forwarded-For': forwarded };
        await service.ask(`/L/${guessed}`, { headers }, '10.0.0.1');
        if (tries % 10 === 9) service.clock.advance(1_000);
      }
      const most = CODE_LIMIT_OVERALL.burst + 60 * CODE_LIMIT_OVERALL.ratePerSecond;
      expect(lookUps()).toBe(isLookedUp ? most : 0);
    },
  );

  test("with its own cookie under another code's name a browser sees its own sign-in, whether or not that code exists", async () => {
    const { service, own } = await startCounting();
    const { link } = await startWithCode(service, { device: 'Their television' });
    const [right, wrong] = await Promise.all(
      [link, WRONG].map(async (path) => {
        const headers = { Cookie: rename(own, path.slice('/L/'.length)) };
        return (await service.ask(path, { headers }, USER)).text();
      }),
    );
    expect(right).toBe(wrong ?? '');
    expect(right).not.toContain('Their television');
  });
});
