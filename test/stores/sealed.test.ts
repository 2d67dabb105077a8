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
  const { stores, refreshes, close } = await openTestRedis(url, { usesOwnTime: true });
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
    close,
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

/** The fields of each session, one session a line. */
async function readSessions(servers: readonly RedisServer[]): Promise<string> {
  const script = `
    local lines = {}
    for _, key in ipairs(redis.call('KEYS', '*session:*')) do
      table.insert(lines, table.concat(redis.call('HGETALL', key), ' '))
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
      expect(await readSessions(servers)).toMatch(new RegExp(`^(.* )?s ${state}( |$)`, 'm'));
      const scan = await scanRedis(servers, watch);
      const found = [...relay.secrets].flatMap((secret) => scan.find(secret));
      expect({ state, found }).toEqual({ state, found: [] });
    }

    const first = await relay.start();
    await expectSealed('p');
    const held = gate.close();
    const page = relay.signIn(first.state);
    await held.arrived;
    await expectSealed('x');
    held.release();
    await page;
    await expectSealed('c');
    const accessToken = relay.grant.access_token;
    expect(await (await poll(service, first.session)).json()).toMatchObject({ accessToken });
    await expectSealed('d');

    await deny(service, (await relay.start()).state);
    await expectSealed('c');

    const awaited = await relay.start();
    const parked = poll(service, awaited.session);
    await pollUntil('the poll is parked', async () => /(^| )w:/m.test(await readSessions(servers)));
    await relay.signIn(awaited.state);
    expect((await parked).status).toBe(200);
    // What an instance does itself, and waits for, is not published; a cancellation is.
    const cancelled = await relay.start();
    await service.ask(`/auth/result?session=${cancelled.session}&cancel=1`);
    const messages = (await watch.messages()).map(({ bytes }) => bytes.toString());
    expect(messages.some((message) => /^[\w-]{22}$/.test(message))).toBe(true);
    await expectSealed('d');

    const typed = await relay.startWithCode();
    await expectSealed('p');
    const state = relay.remember(await continueWithCode(service, typed.link));
    await expectSealed('p');
    await relay.signIn(state);
    await expectSealed('c');
    expect((await poll(service, typed.session)).status).toBe(200);
    await expectSealed('d');

    const refresh = relay.remember(`mal ${crypto.randomUUID()}`);
    await refreshes.begin(refresh);
    await expectSealed('d');
    await refreshes.finish(refresh, JSON.stringify(relay.grant));
    expect(await refreshes.begin(refresh)).toMatchObject({ state: 'finished' });
    await expectSealed('d');
    // The client secret and two tokens; four sign-ins with three secrets, two of them with a
    // code; one by user code with six, and a refresh.
    expect(relay.secrets.size).toBe(3 + 4 * 3 + 2 + 6 + 1);
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
