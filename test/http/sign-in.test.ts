/** One sign-in from start to result, by the fake clock: PKCE, waiting, lifetimes, base paths. */
import { describe, expect, test } from 'bun:test';
import { hash } from 'node:crypto';
import { PROVIDER_SHARES, RESERVED_FOR_DISCOVERY } from '../../src/providers/token-endpoint.ts';
import { isPending, runReady } from '../kit/clock.ts';
import { authorizeDevice, poll, start, startWithCode, UNKNOWN_SECRET } from '../kit/device.ts';
import {
  type Asked,
  BASE_URL,
  createTestService,
  SETTINGS,
  StoreUnavailable,
} from '../kit/service.ts';
import { callback, decision } from '../kit/user.ts';

/** An operator may change a provider's PKCE method while sign-ins are under way, one relay after the other. */
describe('RFC 7636 §4: PKCE', () => {
  type Method = 'none' | 'plain' | 'S256';

  test.each<[started: Method, opened: Method, returned: Method]>([
    ['none', 'S256', 'plain'],
    ['plain', 'none', 'plain'],
    ['plain', 'S256', 'none'],
    ['S256', 'plain', 'none'],
  ])(
    'started with %s, opened with %s, back with %s: PKCE as at the start',
    async (started, opened, returned) => {
      const first = createTestService({ providers: withPkce(started) });
      const relayWith = (pkce: Method) =>
        createTestService({ providers: withPkce(pkce), sharing: first });
      const { session, state, url } = await start(first);
      const location = (await relayWith(opened).ask(url)).headers.get('location') ?? '';
      const { searchParams: sent } = new URL(location);
      const last = relayWith(returned);
      await callback(last, state);
      expect((await poll(last, session)).status).toBe(200);
      const verifier = last.sent[0]?.fields.code_verifier;
      const challenge = [sent.get('code_challenge_method'), sent.get('code_challenge')];
      if (started === 'none') {
        expect([...challenge, verifier]).toEqual([null, null, undefined]);
      } else if (opened === 'plain') {
        expect(challenge).toEqual(['plain', String(verifier)]);
      } else {
        expect(challenge).toEqual(['S256', hash('sha256', String(verifier), 'base64url')]);
        expect(location).not.toContain(String(verifier));
      }
    },
  );

  function withPkce(pkce: Method) {
    return SETTINGS.providers.map((provider) => ({ ...provider, pkce }));
  }
});

test('no part of a request is in the redirect to the provider, apart from the state', async () => {
  const service = createTestService();
  const { state } = await start(service);
  const response = await service.ask(
    `/auth/mal?state=${state}&redirect_uri=https://evil.test&client_id=x`,
    { headers: { Host: 'evil.test', 'X-Forwarded-Host': 'evil.test' } },
  );
  expect(response.headers.get('location')).toStartWith(
    `https://mal.test/authorize?response_type=code&client_id=mal-client&redirect_uri=${encodeURIComponent(`${BASE_URL}/auth/mal/callback`)}&state=${state}&`,
  );
  expect(response.headers.get('location')).not.toContain('evil');
});

test('a space is %20 in the redirect to the provider, and a + stays one', async () => {
  const own = { scope: 'openid a+b', authorizeParams: { prompt: 'login consent' } };
  const providers = SETTINGS.providers.map((provider) => ({ ...provider, ...own }));
  const service = createTestService({ providers });
  const location = (await service.ask((await start(service)).url)).headers.get('location');
  expect(location).toContain('&scope=openid%20a%2Bb&prompt=login%20consent&state=');
});

test.each(['.', ')', ',', ').'])(
  'a %s after a link in a sentence is no part of it',
  async (mark) => {
    for (const confirm of ['code', 'always'] as const) {
      const service = createTestService({ confirm });
      const { url } = await start(service);
      expect((await service.ask(url + mark)).status).toBe(confirm === 'code' ? 302 : 200);
      expect((await service.ask(`${url}x${mark}`)).status).toBe(404);
    }
  },
);

test.each<[string, number, Asked | 'expire' | 'provider']>([
  ['without a session', 404, 'expire'],
  ['of a cancelled session', 404, 'cancel'],
  ['whose lease fails', 503, 'lease'],
  ['whose exchange fails', 502, 'provider'],
  ['whose result cannot be stored', 503, 'complete'],
])(
  'a callback %s keeps no place at the provider: the next one signs in',
  async (_, status, fault) => {
    let failing: typeof fault | undefined;
    const service = createTestService({
      // One request at a time to each provider.
      fetchesAtOnce: RESERVED_FOR_DISCOVERY + PROVIDER_SHARES,
      fetch: async () =>
        Response.json({ access_token: 'granted' }, { status: failing === 'provider' ? 500 : 200 }),
      beforeStore(verb) {
        if (verb === failing) throw new StoreUnavailable();
      },
    });
    const { session, state } = await start(service);
    if (fault === 'cancel') await poll(service, `${session}&cancel=1`);
    if (fault === 'expire') service.clock.advance(600_001);
    failing = fault;
    expect((await callback(service, state)).status).toBe(status);
    failing = undefined;
    expect((await callback(service, (await start(service)).state)).status).toBe(200);
  },
);

test.each(['/relay', '/auth', '/auth/v1', '/L'])(
  'OAUTH_BASE_URL may have the path %s, whether or not a proxy removes it',
  async (basePath) => {
    const baseUrl = `https://home.test${basePath}`;
    const service = createTestService({ baseUrl });
    const statusOf = async (path: string) => (await service.ask(path)).status;
    for (const prefix of [basePath, '']) {
      const { url, state } = await start(service, 'mal', {}, prefix);
      expect(url).toBe(`${baseUrl}/auth/mal?state=${state}`);
      const link = await service.ask(`${prefix}/auth/mal?state=${state}`);
      const { searchParams } = new URL(link.headers.get('location') ?? '');
      expect(searchParams.get('redirect_uri')).toBe(`${baseUrl}/auth/mal/callback`);
      expect(await statusOf(`${prefix}/auth/mal/callback?state=${state}&code=c`)).toBe(200);

      const { userCode } = await start(service, 'mal', { code: true }, prefix);
      const form = await (await service.ask(`${prefix}/link`)).text();
      expect(form).toContain(`action="${basePath}/link"`);
      const body = new URLSearchParams({ code: userCode });
      const typed = await service.ask(`${prefix}/link`, { method: 'POST', body });
      const otherSpelling = await service.ask(`${prefix}/l/${userCode}`);
      for (const { headers } of [typed, otherSpelling]) {
        expect(headers.get('location')).toBe(`${basePath}/L/${userCode}`);
      }
      for (const path of ['/', `/L/${userCode}`, '/auth/done', '/health']) {
        expect([path, await statusOf(prefix + path)]).toEqual([path, 200]);
      }
    }
    expect(await statusOf(`${basePath}auth/done`)).toBe(404);
  },
);

test('where POLL_SECONDS is 5 no poll is held longer, whatever it asks for', async () => {
  const service = createTestService({ pollSeconds: 5 });
  const polled = poll(service, `${(await start(service)).session}&wait=50`);
  await runReady();
  service.clock.advance(4_999);
  expect(await isPending(polled)).toBe(true);
  service.clock.advance(1);
  expect((await polled).status).toBe(204);
});

test('the name of a device is cleaned, with a start of either protocol', async () => {
  const service = createTestService();
  const device = '  Wohn\n\tzimmer\u200b  ';
  const { link } = await startWithCode(service, { device });
  const granted = await authorizeDevice(service, { device });
  for (const address of [link, granted.link]) {
    expect(await (await service.ask(address)).text()).toContain('<bdi>Wohn zimmer</bdi>');
  }
});

const A23 = 'A'.repeat(23);
const MALFORMED = ['', 'unknown', A23, `${A23}AA`, `${A23}+`, `${A23}A\n`, `${A23}é`];

type Endpoint = [string, 'code' | 'always', (value: string) => [string, RequestInit?], number];
test.each<Endpoint>([
  ['a poll', 'code', (secret) => [`/auth/result?session=${secret}`], 410],
  ['an acknowledgement', 'code', (secret) => [`/auth/result?session=${secret}&ack=1`], 410],
  ['a link', 'code', (state) => [`/auth/mal?state=${state}`], 404],
  ['a callback', 'code', (state) => [`/auth/mal/callback?state=${state}&code=c`], 404],
  ['one with an error', 'code', (state) => [`/auth/mal/callback?state=${state}&error=e`], 404],
  ['a link that asks', 'always', (state) => [`/auth/mal?state=${state}`], 404],
  ['Continue', 'always', (state) => [`/auth/mal?state=${state}`, decision('continue')], 404],
  ['Decline', 'always', (state) => [`/auth/mal?state=${state}`, decision('decline')], 404],
  ['a QR code', 'code', (state) => [`/qr/${state}.svg`], 404],
])(
  '%s refuses what cannot be a capability without a look-up',
  async (_, confirm, requestOf, status) => {
    let lookUps = 0;
    const beforeStore = () => {
      lookUps += 1;
    };
    const { ask } = createTestService({ confirm, beforeStore });
    for (const value of MALFORMED) {
      expect((await ask(...requestOf(encodeURIComponent(value)))).status).toBe(status);
    }
    expect(lookUps).toBe(0);
    expect((await ask(...requestOf(UNKNOWN_SECRET))).status).toBe(status);
    expect(lookUps).toBeGreaterThan(0);
  },
);
