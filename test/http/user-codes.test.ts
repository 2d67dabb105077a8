/** How often user codes may be guessed. The arithmetic is in docs/user-pages.md. RFC 8628 §5.1. */
import { expect, test } from 'bun:test';
import { hash, randomBytes } from 'node:crypto';
import { createUserCode, formatUserCode } from '../../src/sign-ins/secrets.ts';
import { startWithCode } from '../kit/device.ts';
import { CODE_LIMIT_OVERALL, CODE_LIMIT_PER_ADDRESS } from '../kit/limits.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { callback, decide, FROM_OWN_PAGE } from '../kit/user.ts';

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

test('one address may be wrong ten times, then once in ten seconds, and learns nothing', async () => {
  const service = createTestService();
  const { link } = await startWithCode(service);
  const tried = await guessWrong(service, burst + 1, () => USER);
  expect(tried).toEqual([...Array(burst).fill(404), 429]);
  const refused = [await service.ask(WRONG, {}, USER), await service.ask(link, {}, USER)];
  for (const { status, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([429, String(1 / ratePerSecond)]);
  }
  const [wrongPage, rightPage] = await Promise.all(refused.map((answer) => answer.text()));
  expect(wrongPage).toContain('Too many attempts');
  expect(wrongPage).toContain('This page will try again automatically in 10 seconds.');
  // A refresh without a URL gets the page's own URL.
  expect(wrongPage).toContain('<meta http-equiv="refresh" content="10"/>');
  expect(rightPage).toBe(wrongPage ?? '');
  // It cannot decide either, until it has waited; another address can.
  for (const choice of ['continue', 'decline']) {
    const decided = await decide(service, link, choice, USER);
    expect([decided.status, await decided.text()]).toEqual([429, wrongPage ?? '']);
  }
  expect((await decide(service, link, 'continue', OTHER)).status).toBe(303);
  service.clock.advance(1_000 / ratePerSecond);
  expect((await decide(service, link, 'continue', USER)).status).toBe(303);
  expect((await decide(service, link, 'decline', USER)).status).toBe(200);
  expect(await guessWrong(service, 2, () => USER)).toEqual([404, 429]);
});

test('the long link is never limited: it cannot be guessed', async () => {
  for (const confirm of ['code', 'always'] as const) {
    const service = createTestService({ confirm });
    const { url } = await startWithCode(service);
    expect((await guessWrong(service, burst + 1, () => USER)).at(-1)).toBe(429);
    const { status } = await service.ask(url, {}, USER);
    expect(status).toBe(confirm === 'code' ? 302 : 200);
  }
});

test('right codes in any spelling, and what cannot be a code, cost nothing', async () => {
  const service = createTestService();
  const { link } = await startWithCode(service);
  for (let visits = 0; visits < 3 * CODE_LIMIT_OVERALL.burst; visits += 1) {
    expect((await service.ask(link, {}, USER)).status).toBe(200);
    expect((await service.ask(link.toLowerCase(), {}, USER)).status).toBe(302);
    expect((await service.ask('/L/HELLO', {}, USER)).status).toBe(404);
  }
  expect((await guessWrong(service, burst, () => USER)).at(-1)).toBe(404);
});

test.each([
  ['a picture', { 'Sec-Fetch-Dest': 'image' }],
  ['a frame', { 'Sec-Fetch-Dest': 'iframe' }],
  ['a prefetch', { 'Sec-Fetch-Dest': 'document', 'Sec-Purpose': 'prefetch' }],
])('%s in a page of another site costs its visitor no try', async (_, how) => {
  const service = createTestService();
  const { link } = await startWithCode(service);
  const headers = { 'Sec-Fetch-Site': 'cross-site' };
  for (let tries = 0; tries <= CODE_LIMIT_OVERALL.burst; tries += 1) {
    const unseen = await service.ask(WRONG, { headers: { ...headers, ...how } }, USER);
    expect([unseen.status, await unseen.text()]).toEqual([403, 'Origin not allowed\n']);
  }
  const opened = { headers: { ...headers, 'Sec-Fetch-Dest': 'document' } };
  expect((await service.ask(link, opened, USER)).status).toBe(200);
});

test('the code of a sign-in that has ended costs no try, however often it is opened', async () => {
  const service = createTestService();
  const { link, state } = await startWithCode(service);
  await callback(service, state);
  for (let visits = 0; visits < 3 * burst; visits += 1) {
    expect((await service.ask(link, {}, USER)).status).toBe(200);
    expect((await decide(service, link, 'continue', USER)).status).toBe(200);
  }
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
  const createRateLimiter = () => ({
    policy: CODE_LIMIT_OVERALL,
    take: () => 0,
    refund: () => Promise.reject(new Error('away')),
    sweep: () => {},
  });
  const service = createTestService({ stores: { createRateLimiter } });
  const { link } = await startWithCode(service);
  expect((await decide(service, link)).status).toBe(303);
});

test('no cookie, header or form field gives an address another try in ten minutes', async () => {
  let lookUps = 0;
  const beforeStore = (verb: string) => {
    if (verb !== 'sweep') lookUps += 1;
  };
  const service = createTestService({ confirm: 'always', beforeStore });
  const { link, state } = await startWithCode(service);
  await decide(service, link, 'continue', USER);
  lookUps = 0;
  for (let second = 0; second <= 600; second += 1) {
    const guessed = formatUserCode(createUserCode(randomBytes));
    const address = `10.0.${second >> 8}.${second & 255}`;
    const names = [`__Host-continued-${hash('sha256', state, 'base64url')}`, guessed];
    const headers = {
      ...FROM_OWN_PAGE,
      Cookie: names.map((name) => `${name}=${state}`).join('; '),
      'X-Forwarded-For': address,
      'X-Real-IP': address,
      Forwarded: `for=${address}`,
    };
    const body = new URLSearchParams({ choice: 'continue', state, code: guessed });
    const asked = second % 2 === 0 ? { method: 'POST', headers, body } : { headers };
    await service.ask(`/L/${guessed}`, asked, USER);
    service.clock.advance(1_000);
  }
  expect(lookUps).toBe(burst + 600 * ratePerSecond);
});
