/** Redis learns nothing readable: whole sign-ins, and a search for their secrets in all that is sent to it (docs/sealing.md). */
import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createRefreshes } from '../../src/providers/refreshes.ts';
import { poll, start, startWithCode } from '../kit/device.ts';
import { startRedis } from '../kit/redis/server.ts';
import { containsSecret, plantSecret } from '../kit/secrets.ts';
import { createTestService, SETTINGS } from '../kit/service.ts';
import { openTestRedis, systemClock } from '../kit/stores.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { bringCode, continueWithCode, deny } from '../kit/user.ts';

const makeSecret = () => plantSecret(randomBytes(24).toString('base64url'));

test('no secret of a sign-in or a refresh is in any byte that Redis gets', async () => {
  const secrets = new Set<string>();
  const remember = (secret: string): string => {
    secrets.add(secret);
    return secret;
  };
  await using redis = await startRedis();
  await using proxy = await startCuttingProxy(redis.port);
  const options = { prefix: 'sealed:', usesOwnTime: true };
  // Two, so that notices are published.
  const own = await openTestRedis(proxy.url, options);
  await openTestRedis(proxy.url, options);
  const clientSecret = remember(makeSecret());
  const grant = { access_token: remember(makeSecret()), refresh_token: remember(makeSecret()) };
  const providers = SETTINGS.providers.map((provider) => ({ ...provider, clientSecret }));
  const fetch = async () => Response.json(grant);
  const service = createTestService({ providers, stores: own.stores, fetch });

  /** A device starts, and its user opens the link. One with a code has a name, and will acknowledge. */
  async function startSignIn(withCode = false) {
    const device = `device ${crypto.randomUUID().slice(0, 30)}`;
    const started = withCode
      ? await startWithCode(service, { ack: true, device })
      : await start(service);
    const { session, link, userCode } = started;
    const state = withCode ? await continueWithCode(service, link) : started.state;
    const location = (await service.ask(`/auth/mal?state=${state}`)).headers.get('location');
    const verifier = new URL(location ?? '').searchParams.get('code_challenge') ?? '';
    for (const secret of [session, state, verifier]) remember(secret);
    if (withCode) for (const each of [userCode, userCode.replace('-', ''), device]) remember(each);
    return { session, state };
  }

  for (const withCode of [false, true]) {
    const { session, state } = await startSignIn(withCode);
    await bringCode(service, state, remember(makeSecret()));
    const accessToken = grant.access_token;
    expect(await (await poll(service, session)).json()).toMatchObject({ accessToken });
  }
  await deny(service, (await startSignIn()).state);
  const { session } = await startSignIn();
  await service.ask(`/auth/result?session=${session}&cancel=1`);

  const refreshToken = remember(makeSecret());
  const tokens = { accessToken: remember(makeSecret()), refreshToken: remember(makeSecret()) };
  const refreshed = { ok: true, tokens } as const;
  const provider = { name: 'mal', refresh: async () => refreshed };
  const refreshes = createRefreshes(own.refreshes, own.stores.vault, systemClock);
  expect(await refreshes.refresh(provider, refreshToken, undefined)).toEqual(refreshed);

  const found = () => [...secrets].filter((secret) => containsSecret(proxy.bytes(), secret));
  expect(found()).toEqual([]);
  // The client secret and two tokens; four sign-ins with three secrets, one with three more, two codes; a refresh.
  expect(secrets.size).toBe(3 + 4 * 3 + 3 + 2 + 3);

  // The same search finds each that is sent unsealed.
  for (const secret of secrets) {
    await own.refreshes.finish('unsealed', btoa(JSON.stringify({ kept: secret })));
  }
  expect(found()).toEqual([...secrets]);
});
