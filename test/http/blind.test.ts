/** Sign-ins with a `challenge`: the device exchanges the code itself (docs/extensions.md "Blind sign-ins"), in what the conformance suite cannot see. */
import { describe, expect, test } from 'bun:test';
import type { ProviderConfig } from '../../src/providers/config.ts';
import {
  DEVICE_CODE_GRANT,
  poll,
  pollOnce,
  refresh,
  requestAuthorization,
  requestToken,
  start,
  startRequest,
} from '../kit/device.ts';
import { discoveryDocumentOf } from '../kit/provider.ts';
import { ACME, acmeAt, createTestService, SETTINGS, type TestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

/** RFC 7636, appendix B. */
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

const PROVIDERS = [...SETTINGS.providers, ACME];

const startBlind = (service: TestService, asked = {}) =>
  start(service, 'acme', { challenge: CHALLENGE, ...asked });

describe('a start with a challenge', () => {
  test.each<[string, ProviderConfig['revocation'], object]>([
    ['gets the URL', { url: 'https://acme.test/r' }, { revocationUrl: 'https://acme.test/r' }],
    ['gets none if it could not use it', { url: 'https://acme.test/r', tokenIn: 'bearer' }, {}],
    ['gets none if there is none', undefined, {}],
  ])('the device that signs out itself %s', async (_, revocation, expected) => {
    const acme = revocation === undefined ? ACME : { ...ACME, revocation };
    const service = createTestService({ providers: [acme] });
    const { session, state } = await startBlind(service);
    await callback(service, state, 'code=c', 'acme');
    const { code, tokenUrl, clientId, redirectUri, ...rest } = await (
      await pollOnce(service, session)
    ).json();
    expect([code, tokenUrl, clientId, redirectUri]).not.toContain(undefined);
    expect(rest).toEqual(expected);
  });

  test('a code of 4,096 characters is kept for it, and a longer one ends the sign-in', async () => {
    const service = createTestService({ providers: PROVIDERS });
    for (const [length, expected, shown] of [
      [4_096, { code: 'c'.repeat(4_096) }, 'signed in'],
      [4_097, { error: 'authorization_failed' }, 'Sign-in failed'],
    ] as const) {
      const { session, state } = await startBlind(service);
      const page = await callback(service, state, `code=${'c'.repeat(length)}`, 'acme');
      expect(await page.text()).toContain(shown);
      expect(await (await pollOnce(service, session)).json()).toMatchObject(expected);
    }
  });
});

async function refusalOf(service: TestService, name: string, asked: object) {
  const answer = await service.ask('/auth/start', startRequest(name, asked));
  return [answer.status, await answer.text()];
}

test.each<['allow' | 'never' | 'always', ProviderConfig[], string[], (string | number)[]]>([
  ['allow', PROVIDERS, ['no', 'no', 'can'], [200, 200]],
  ['never', PROVIDERS, ['no', 'no', 'no'], [200, 'Challenge not supported\n']],
  ['always', [ACME], ['must'], ['Challenge required\n', 200]],
])('BLIND=%s: what /services says, and who may start', async (blind, providers, says, starts) => {
  const service = createTestService({ blind, providers });
  const { services, extensions } = await (await service.ask('/services')).json();
  expect(services.map((each: { blind: string }) => each.blind)).toEqual(says);
  for (const takesTokens of ['refresh', 'revoke']) {
    expect(extensions.includes(takesTokens)).toBe(blind !== 'always');
  }
  for (const [nth, asked] of [{}, { challenge: CHALLENGE }].entries()) {
    const [status, text] = await refusalOf(service, 'acme', asked);
    expect(status === 400 ? text : status).toBe(starts[nth]);
  }
});

describe('with BLIND=always', () => {
  const UNAUTHORIZED = { status: 400, body: { error: 'unauthorized_client' } };

  test('every request that would show the relay a token is refused, and sent nowhere', async () => {
    const revocation = { url: 'https://acme.test/revoke' };
    const service = createTestService({ blind: 'always', providers: [{ ...ACME, revocation }] });
    const metadata = await service.ask('/oauth2/acme/.well-known/openid-configuration');
    expect(await metadata.json()).not.toHaveProperty('revocation_endpoint');
    const listed = await service.ask('/services');
    expect(await listed.json()).toMatchObject({ services: [{ revoke: false }] });
    const { session, state } = await startBlind(service);
    await callback(service, state, 'code=c', 'acme');
    expect(await requestAuthorization(service, {}, {}, 'acme')).toMatchObject(UNAUTHORIZED);
    const form = { grant_type: DEVICE_CODE_GRANT, device_code: session };
    expect(await requestToken(service, form, {}, 'acme')).toMatchObject(UNAUTHORIZED);
    expect(await refresh(service, 'old', {}, 'acme')).toMatchObject(UNAUTHORIZED);
    const json = JSON.stringify({ service: 'acme', refreshToken: 'old' });
    for (const [path, body] of [
      ['/refresh', json],
      ['/revoke', json],
      ['/oauth2/acme/revoke', new URLSearchParams({ token: 't' })],
    ] as const) {
      const answer = await service.ask(path, { method: 'POST', body });
      expect([path, answer.status, await answer.json()]).toMatchObject([
        path,
        400,
        UNAUTHORIZED.body,
      ]);
    }
    expect(service.sent).toEqual([]);
    // The device grant took nothing.
    expect((await poll(service, session)).status).toBe(200);
  });

  test('an issuer that does not offer S256 stays undiscovered', async () => {
    const issuer = 'https://acme.test';
    const service = createTestService({
      blind: 'always',
      providers: [acmeAt(issuer)],
      fetch: async () => Response.json(discoveryDocumentOf(issuer)),
    });
    await service.discover();
    const refusal = await refusalOf(service, 'acme', { challenge: CHALLENGE });
    expect(refusal).toEqual([503, 'Server busy\n']);
  });
});
