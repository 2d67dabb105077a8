/** Nothing readable is in Redis: whole sign-ins, and a search for each of their secrets at each state (docs/sealing.md). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { poll, start, startWithCode } from '../kit/device.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { scanRedis, watchChannels } from '../kit/redis/scan.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import type { StoredState } from '../kit/relay-pair.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createTestService, SETTINGS } from '../kit/service.ts';
import { openTestRedis } from '../kit/stores.ts';
import { bringCode, continueWithCode, deny } from '../kit/user.ts';
import { createGate, pollUntil } from '../kit/wait.ts';

setDefaultTimeout(60_000);

const [redis, group, cluster] = await Promise.all([
  startRedis(),
  startRedisSentinel(),
  startRedisCluster(),
]);
afterAll(() => Promise.all([redis.stop(), group.stop(), cluster.stop()]));

const makeSecret = () => plantSecret(randomBytes(24).toString('base64url'));

/** A relay over a Redis, and everything that it, its devices and its users know and Redis must not. */
async function openRelay(url: string) {
  const secrets = new Set<string>();
  const remember = (secret: string): string => {
    secrets.add(secret);
    return secret;
  };
  const clientSecret = remember(makeSecret());
  const grant = { access_token: remember(makeSecret()), refresh_token: remember(makeSecret()) };
  const gate = createGate();
  const prefix = `sealed-${crypto.randomUUID()}:`;
  const options = { prefix, usesOwnTime: true };
  const { stores, refreshes, close } = await openTestRedis(url, options);
  // So that notices are published.
  const other = await openTestRedis(url, options);
  const service = createTestService(
    { providers: SETTINGS.providers.map((provider) => ({ ...provider, clientSecret })) },
    {
      stores,
      async fetch() {
        await gate.pass();
        return Response.json(grant);
      },
    },
  );
  return {
    service,
    secrets,
    remember,
    grant,
    gate,
    refreshes,
    close() {
      close();
      other.close();
    },
    /** A device starts, and its user opens the link. */
    async start() {
      const { session, state, url } = await start(service);
      const location = (await service.ask(url)).headers.get('location') ?? '';
      const verifier = new URL(location).searchParams.get('code_challenge') ?? '';
      for (const secret of [session, state, verifier]) remember(secret);
      return { session, state };
    },
    /** A device that asks for a code, has a name and will acknowledge. */
    async startWithCode() {
      const device = `device ${crypto.randomUUID().slice(0, 30)}`;
      const { session, userCode, link } = await startWithCode(service, { ack: true, device });
      for (const secret of [session, userCode, userCode.replace('-', ''), device]) remember(secret);
      return { session, link };
    },
    signIn: (state: string) => bringCode(service, state, remember(makeSecret())),
  };
}

/** The records of all sessions. */
async function readSessions(servers: readonly RedisServer[]): Promise<string> {
  const script = `
    local lines = {}
    for _, key in ipairs(redis.call('KEYS', '*:sign-in:*')) do
      table.insert(lines, redis.call('GET', key) or '')
    end
    return table.concat(lines, '\\n')`;
  return (await Promise.all(servers.map((server) => server.cli('EVAL', script, 0)))).join('\n');
}

describe.each([
  ['one node', redis.url, [redis]],
  ['a primary and its replica', group.url, group.nodes],
  ['a Cluster', cluster.url, cluster.nodes],
] as [string, string, readonly RedisServer[]][])('%s', (_, url, servers) => {
  test('no secret is in a key, a value, a message or a file, at any state of a session', async () => {
    const watch = await watchChannels(servers);
    const relay = await openRelay(url);
    const { service, gate, refreshes } = relay;

    /** Searches while there is a session in that state. */
    async function expectSealed(state: StoredState): Promise<void> {
      expect(await readSessions(servers)).toContain(`"state":"${state}"`);
      const scan = await scanRedis(servers, watch);
      const found = [...relay.secrets].flatMap((secret) => scan.find(secret));
      expect({ state, found }).toEqual({ state, found: [] });
    }

    const first = await relay.start();
    await expectSealed('pending');
    const held = gate.close();
    const page = relay.signIn(first.state);
    await held.arrived;
    await expectSealed('exchanging');
    held.release();
    await page;
    await expectSealed('completed');
    const accessToken = relay.grant.access_token;
    expect(await (await poll(service, first.session)).json()).toMatchObject({ accessToken });
    await expectSealed('ended');

    await deny(service, (await relay.start()).state);
    await expectSealed('completed');

    const awaited = await relay.start();
    const parked = poll(service, awaited.session);
    await pollUntil('the poll is parked', async () => service.waiters() === 1);
    await relay.signIn(awaited.state);
    expect((await parked).status).toBe(200);
    // Published, as there are other instances.
    await pollUntil('a cancellation is published', async () => {
      const { session } = await relay.start();
      await service.ask(`/auth/result?session=${session}&cancel=1`);
      const messages = (await watch.messages()).map(({ bytes }) => bytes.toString());
      return messages.some((message) => / completed [\w-]{22}$/.test(message));
    });
    await expectSealed('ended');

    const typed = await relay.startWithCode();
    await expectSealed('pending');
    const state = relay.remember(await continueWithCode(service, typed.link));
    await expectSealed('pending');
    await relay.signIn(state);
    await expectSealed('completed');
    expect((await poll(service, typed.session)).status).toBe(200);
    await expectSealed('ended');

    const refresh = relay.remember(`mal ${crypto.randomUUID()}`);
    await refreshes.begin(refresh);
    await expectSealed('ended');
    await refreshes.finish(refresh, JSON.stringify(relay.grant));
    expect(await refreshes.begin(refresh)).toMatchObject({ state: 'finished' });
    await expectSealed('ended');
    // The client secret and two tokens; four sign-ins with three secrets, two of them with a
    // code; one by user code with six, and a refresh.
    expect(relay.secrets.size).toBeGreaterThanOrEqual(3 + 4 * 3 + 2 + 6 + 1);
    relay.close();
    watch.stop();
  });
});

test('each of these secrets would be found if the store kept it', async () => {
  const relay = await openRelay(redis.url);
  await relay.signIn((await relay.start()).state);
  await relay.startWithCode();
  for (const [index, secret] of [...relay.secrets].entries()) {
    const careless = JSON.stringify({ kept: secret });
    await redis.cli('HSET', `careless:${index}`, 'r', Buffer.from(careless).toString('base64'));
  }
  const scan = await scanRedis([redis]);
  expect([...relay.secrets].filter((secret) => scan.find(secret).length === 0)).toEqual([]);
  relay.close();
});
