/** What a store keeps of a sign-in with `challenge` or `details`: in memory, in Redis and in a Redis Cluster. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes, randomUUID } from 'node:crypto';
import { createSessionSecrets, createVerifier } from '../../src/relay/secrets.ts';
import type { CodeResult } from '../../src/relay/session.ts';
import type { NewSession, SessionStore } from '../../src/relay/store.ts';
import { systemClock } from '../../src/relay/time.ts';
import { createMemoryStore } from '../../src/stores/memory/sessions.ts';
import { openRedis } from '../../src/stores/redis/open.ts';
import { parseRedisUrl } from '../../src/stores/redis/url.ts';
import { startRedisCluster } from '../kit/redis/groups.ts';
import { startRedis } from '../kit/redis/server.ts';
import { START_POLICY } from '../kit/stores.ts';

setDefaultTimeout(30_000);

const [redis, cluster] = await Promise.all([startRedis(), startRedisCluster()]);
const closings: (() => unknown)[] = [() => redis.stop(), () => cluster.stop()];
afterAll(async () => {
  for (const close of closings.toReversed()) await close();
});

async function open(url: string): Promise<SessionStore> {
  const target = parseRedisUrl(url);
  if (target === undefined) throw new Error('no address of a Redis');
  const stores = await openRedis({
    target,
    prefix: `test-${randomUUID()}:`,
    maxSessions: 100,
    startPolicy: START_POLICY,
    clock: systemClock,
    randomBytes,
    onEvent: () => {},
  });
  closings.push(stores.close);
  return stores.sessions;
}

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const RESULT: CodeResult = {
  code: 'a code',
  tokenUrl: 'https://acme.test/token',
  clientId: 'id',
  redirectUri: 'https://relay.test/auth/acme/callback',
};

function newSession({ userCode, ...asked }: Partial<NewSession>): NewSession {
  const withUserCode = userCode !== undefined;
  return {
    service: 'acme',
    lifetimeMs: 60_000,
    verifier: undefined,
    deviceName: undefined,
    repeatMs: undefined,
    keepsErrors: false,
    ...asked,
    ...createSessionSecrets(randomBytes, { withUserCode, tags: 16 }),
  };
}

describe.each([
  ['memory', async () => createMemoryStore(systemClock, 100, START_POLICY)],
  ['Redis', () => open(redis.url)],
  ['a Redis Cluster', () => open(cluster.url)],
])('%s', (_, openStore: () => Promise<SessionStore>) => {
  test.each<[string, Partial<NewSession>]>([
    ['a challenge', { challenge: CHALLENGE }],
    ['a challenge and a user code', { challenge: CHALLENGE, userCode: 'BCDFGHJK' }],
    ['a challenge, acknowledged', { challenge: CHALLENGE, repeatMs: 60_000 }],
  ])('%s is what the link and the lease give, and the code is delivered', async (_name, asked) => {
    const store = await openStore();
    const session = newSession(asked);
    const { browserState, pollSecret } = session;
    expect(await store.register(session)).toBe('registered');
    const expected = { challenge: CHALLENGE };
    expect(await store.getAuthorization('acme', browserState)).toMatchObject(expected);
    expect(await store.getAuthorization('other', browserState)).toBeUndefined();
    const leased = await store.lease('acme', browserState);
    expect(leased).toMatchObject(expected);
    expect(leased?.verifier).toBeUndefined();
    expect(await store.lease('acme', browserState)).toBeUndefined();
    expect(await store.complete('acme', browserState, RESULT)).toBe(true);
    expect(await store.claim(pollSecret)).toEqual({ state: 'claimed', result: RESULT });
    const repeated = asked.repeatMs === undefined ? 'gone' : 'claimed';
    expect((await store.claim(pollSecret)).state).toBe(repeated);
  });

  test('details stay with the verifier until the lease', async () => {
    const store = await openStore();
    const verifier = createVerifier(randomBytes);
    const session = newSession({ details: true, verifier });
    await store.register(session);
    const leased = await store.lease('acme', session.browserState);
    expect(leased).toMatchObject({ verifier, details: true });
    expect(leased?.challenge).toBeUndefined();
  });

  test('without either there is neither', async () => {
    const store = await openStore();
    const session = newSession({});
    await store.register(session);
    const found = await store.getAuthorization('acme', session.browserState);
    expect(found).toBeDefined();
    expect([found?.verifier, found?.challenge]).toEqual([undefined, undefined]);
    expect(found?.details ?? false).toBe(false);
  });
});
