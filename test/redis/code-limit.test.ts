/** The limit on wrong codes over Redis: a refusal says nothing about the code, not even by what it costs. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { startWithCode } from '../kit/device.ts';
import { CODE_LIMIT_OVERALL, CODE_LIMIT_PER_ADDRESS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { createCode, openTestRedis } from '../kit/stores.ts';
import { callback, decide, FROM_OWN_PAGE } from '../kit/user.ts';

setDefaultTimeout(60_000);

const redis = await startRedis();
afterAll(() => redis.stop());

const GUESSER = '203.0.113.1';
const randomLink = () => `/L/${createCode().replace(/^.{4}/, '$&-')}`;

/** Whatever a guess may bring along. */
const GUESSES: [string, () => RequestInit][] = [
  ['GET', () => ({})],
  ['GET with cookies', () => ({ headers: { Cookie: `__Host-continued=${secret()}` } })],
  ['POST', () => post({ choice: 'continue' })],
  ['POST, declining', () => post({ choice: 'decline' })],
  ['POST with a proof', () => post({ choice: 'continue', proof: secret() })],
  ['POST of another site', () => ({ ...post({ choice: 'continue' }), headers: {} })],
];

const secret = () => randomBytes(32).toString('base64url');

function post(fields: Record<string, string>): RequestInit {
  return { method: 'POST', headers: FROM_OWN_PAGE, body: new URLSearchParams(fields) };
}

/** Links of sign-ins that wait, that the user has opened, and that have ended in each way. */
async function startAll(service: TestService): Promise<string[]> {
  const started = await Promise.all(Array.from({ length: 5 }, () => startWithCode(service)));
  const [, opened, signedIn, declined, cancelled] = started;
  await decide(service, opened?.link ?? '');
  await callback(service, signedIn?.state ?? '');
  await decide(service, declined?.link ?? '', 'decline');
  await service.ask(`/auth/result?session=${cancelled?.session}&cancel=1`);
  return started.map(({ link }) => link);
}

/** A limit that is used up: that of the guesser's own address, or that of all together. The time stands still. */
async function openLimited(whose: 'own' | 'overall', confirm: 'code' | 'always') {
  const { stores, close } = await openTestRedis(redis.url);
  const service = createTestService({ confirm, trustedProxyCidrs: [] }, { stores });
  const existing = await startAll(service);
  const { burst } = whose === 'own' ? CODE_LIMIT_PER_ADDRESS : CODE_LIMIT_OVERALL;
  for (let tries = 0; tries < burst; tries += 1) {
    const from = whose === 'own' ? GUESSER : `198.51.100.${tries}`;
    expect((await service.ask(randomLink(), {}, from)).status).toBe(404);
  }
  async function guess(link: string, init: RequestInit): Promise<void> {
    const response = await service.ask(link, init, GUESSER);
    expect(response.status).toBe(429);
    await response.body?.cancel();
  }
  return { existing, guess, close };
}

/** How often Redis has carried out each command, also within scripts; without heartbeats, looks at the clock, and what asks. */
async function countCommands(): Promise<Record<string, number>> {
  const stats = await redis.cli('INFO', 'commandstats');
  const calls = [...stats.matchAll(/cmdstat_([\w|]+):calls=(\d+)/g)];
  const counted = calls.filter(([, name = '']) => !/^(?:publish|time|info|client|ping)/.test(name));
  return Object.fromEntries(counted.map(([, name, count]) => [name, Number(count)]));
}

async function commandsOf(ask: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await countCommands();
  await ask();
  const after = await countCommands();
  const added = Object.entries(after).map(([name, calls]) => [name, calls - (before[name] ?? 0)]);
  return Object.fromEntries(added.filter(([, calls]) => calls !== 0));
}

describe.each([
  ['own', 'code'],
  ['own', 'always'],
  ['overall', 'code'],
] as const)('refused by the limit "%s", with CONFIRM=%s,', (whose, confirm) => {
  test.each(GUESSES)(
    '%s runs the same commands whether or not the code exists',
    async (_, init) => {
      const { existing, guess, close } = await openLimited(whose, confirm);
      // Redis has learnt every script by now.
      await guess(randomLink(), init());
      const wrong = await commandsOf(() => guess(randomLink(), init()));
      // The relay remembers a refusal; where only all together are refused, the address takes its token and gets it back.
      expect(wrong.evalsha ?? 0).toBe(whose === 'own' ? 0 : 2);
      for (const link of existing) {
        expect(await commandsOf(() => guess(link, init()))).toEqual(wrong);
      }
      close();
    },
  );
});
