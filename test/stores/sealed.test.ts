/** Nothing readable is in Redis: whole sign-ins, and a search for each of their secrets at each state (docs/sealing.md). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createRefreshes } from '../../src/sign-ins/refreshes.ts';
import { poll, start, startWithCode } from '../kit/device.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { scanRedis, watchChannels } from '../kit/redis/scan.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { type StoredState, untilSessionIs } from '../kit/relay-pair.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createTestService, SETTINGS } from '../kit/service.ts';
import { openTestRedis, systemClock } from '../kit/stores.ts';
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
  const options = { prefix: `sealed-${crypto.randomUUID()}:`, usesOwnTime: true };
  // Two, so that notices are published.
  const [own, other] = [await openTestRedis(url, options), await openTestRedis(url, options)];
  async function fetch() {
    await gate.pass();
    return Response.json(grant);
  }
  const providers = SETTINGS.providers.map((provider) => ({ ...provider, clientSecret }));
  const service = createTestService({ providers }, { stores: own.stores, fetch });
  return {
    service,
    secrets,
    remember,
    grant,
    gate,
    refreshes: createRefreshes(own.refreshes, own.stores.vault, systemClock),
    close() {
      own.close();
      other.close();
    },
    /** A device starts, and its user opens the link. One with a code has a name, and will acknowledge. */
    async start(withCode = false) {
      const device = `device ${crypto.randomUUID().slice(0, 30)}`;
      const started = withCode
        ? await startWithCode(service, { ack: true, device })
        : await start(service);
      const { session, link, userCode } = started;
      const state = withCode ? await continueWithCode(service, link) : started.state;
      const location = (await service.ask(`/auth/mal?state=${state}`)).headers.get('location');
      const verifier = new URL(location ?? '').searchParams.get('code_challenge') ?? '';
      for (const secret of [session, state, verifier]) remember(secret);
      if (withCode)
        for (const each of [userCode, userCode.replace('-', ''), device]) remember(each);
      return { session, state };
    },
    signIn: (state: string) => bringCode(service, state, remember(makeSecret())),
  };
}

test.each<[string, string, readonly RedisServer[]]>([
  ['one node', redis.url, [redis]],
  ['a primary and its replica', group.url, group.nodes],
  ['a Cluster', cluster.url, cluster.nodes],
])('%s: no secret is in a key, a value, a message or a file', async (_, url, servers) => {
  const watch = await watchChannels(servers);
  const relay = await openRelay(url);
  const { service, gate, refreshes } = relay;

  /** Searches while there is a session in that state. */
  async function expectSealed(state: StoredState): Promise<void> {
    await Promise.any(servers.map((server) => untilSessionIs(server, state)));
    const scan = await scanRedis(servers, watch);
    const found = [...relay.secrets].flatMap((secret) => scan.find(secret));
    expect({ state, found }).toEqual({ state, found: [] });
  }

  for (const withCode of [false, true]) {
    const { session, state } = await relay.start(withCode);
    await expectSealed('pending');
    const held = gate.close();
    const page = relay.signIn(state);
    await held.arrived;
    await expectSealed('exchanging');
    held.release();
    await page;
    await expectSealed('completed');
    const accessToken = relay.grant.access_token;
    expect(await (await poll(service, session)).json()).toMatchObject({ accessToken });
    await expectSealed(withCode ? 'delivered' : 'ended');
  }
  await deny(service, (await relay.start()).state);
  await expectSealed('completed');

  await pollUntil('a cancellation is published', async () => {
    const { session } = await relay.start();
    await service.ask(`/auth/result?session=${session}&cancel=1`);
    const messages = (await watch.messages()).map(({ bytes }) => bytes.toString());
    return messages.some((message) => / completed [\w-]{22}$/.test(message));
  });
  await expectSealed('cancelled');

  const refreshToken = relay.remember(makeSecret());
  const tokens = { accessToken: relay.grant.access_token, refreshToken: makeSecret() };
  relay.remember(tokens.refreshToken);
  const provider = {
    name: 'mal',
    reserve: () => true,
    release() {},
    refresh: async () => ({ ok: true, tokens }) as const,
  };
  for (let times = 0; times < 2; times += 1) {
    expect(await refreshes.refresh(provider, refreshToken, undefined)).toEqual({
      ok: true,
      tokens,
    });
  }
  await expectSealed('ended');
  // The client secret and two tokens; four sign-ins with three secrets, one with a code and six, a refresh.
  expect(relay.secrets.size).toBeGreaterThanOrEqual(3 + 4 * 3 + 2 + 3 + 1);
  relay.close();
  watch.stop();
});

test('each of these secrets would be found if the store kept it', async () => {
  const relay = await openRelay(redis.url);
  await relay.signIn((await relay.start(true)).state);
  for (const [index, secret] of [...relay.secrets].entries()) {
    const careless = JSON.stringify({ kept: secret });
    await redis.cli('HSET', `careless:${index}`, 'r', Buffer.from(careless).toString('base64'));
  }
  const scan = await scanRedis([redis]);
  expect([...relay.secrets].filter((secret) => scan.find(secret).length === 0)).toEqual([]);
  relay.close();
});
