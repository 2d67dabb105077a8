/** A user code can be found by trying them all: what a thief of the whole store gains by it. docs/sealing.md. */
import { afterAll, expect, test } from 'bun:test';
import { deriveFromBrowserState, deriveFromUserCode, unseal } from '../../src/stores/seal.ts';
import { unsealAsDevice } from '../../src/stores/seal-to-device.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { makeUserCode, NOW, newSession, register, TOKENS } from './suite/sessions.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
const PREFIX = 'guessed:';
const { store, close } = await openTestRedis(redis.url, { prefix: PREFIX });
afterAll(async () => {
  close();
  await redis.stop();
});

/** All that there is to be stolen of one session. */
async function steal(browserState: string) {
  const { id, key } = deriveFromBrowserState(browserState);
  const lines = (await redis.cli('HGETALL', `${PREFIX}session:${id}`)).split('\n');
  const fields = new Map(lines.flatMap((name, at) => (at % 2 ? [] : [[name, lines[at + 1]]])));
  return { id, sessionKey: key, read: (field: string) => fields.get(field) };
}

/** Tries codes until one leads to a link. */
async function guess(codes: readonly string[]): Promise<string> {
  for (const code of codes.map(deriveFromUserCode)) {
    const held = await redis.cli('GET', `${PREFIX}code:${code.id}`);
    const [, sealed] = held.split('.');
    if (sealed !== undefined) return unseal(code.key, `code ${code.id}`, sealed).toString();
  }
  throw new Error('none of them leads anywhere');
}

const complete = async ({ service, browserState }: ReturnType<typeof newSession>) => {
  await store.lease(service, browserState, NOW);
  expect(await store.complete(service, browserState, TOKENS, NOW)).toBe(true);
};

test('who has the store and guesses the code has the link, and nothing of the tokens', async () => {
  const session = await register(store, { userCode: makeUserCode() });
  const codes = [makeUserCode(), session.userCode ?? '', makeUserCode()];
  expect(await guess(codes)).toBe(session.browserState);
  await complete(session);
  const { id, sessionKey, read } = await steal(session.browserState);
  const [context, sealed] = [`result ${id}`, read('r') ?? ''];
  for (const part of [sealed, ...sealed.split('.')]) {
    expect(() => unseal(sessionKey, context, part)).toThrow();
  }
  for (const pollSecret of [session.browserState, codes[1] ?? '', newSession().pollSecret]) {
    expect(() => unsealAsDevice({ sessionKey, pollSecret }, context, sealed)).toThrow();
  }
  const claim = await store.claim(session.pollSecret, NOW);
  expect(claim).toEqual({ state: 'claimed', result: TOKENS });
});

test('the same holds where one instance took the lease and another has the tokens', async () => {
  const session = await register(store, { userCode: makeUserCode() });
  const other = await openTestRedis(redis.url, { prefix: PREFIX });
  await store.lease(session.service, session.browserState, NOW);
  await other.store.complete(session.service, session.browserState, TOKENS, NOW);
  other.close();
  expect((await steal(session.browserState)).read('r')).toContain('.');
  const claim = await store.claim(session.pollSecret, NOW);
  expect(claim).toEqual({ state: 'claimed', result: TOKENS });
});

test('a used code leads nowhere, whoever has the store', async () => {
  const session = await register(store, { userCode: makeUserCode() });
  await store.useCode(session.userCode ?? '', NOW);
  const { id } = deriveFromUserCode(session.userCode ?? '');
  expect(await redis.cli('GET', `${PREFIX}code:${id}`)).toMatch(/^0\.[\w-]{16}$/);
});

test('a session without a code is sealed as before: no key of the device, no ephemeral one', async () => {
  const session = await register(store);
  await complete(session);
  const { read } = await steal(session.browserState);
  expect(read('k')).toBeUndefined();
  expect(read('r')).not.toContain('.');
});
