/**
 * What OAuth clients send and which answers they accept, according to their source: two
 * JavaScript libraries where the programs of docs/device-grant.md do not show it, and
 * clients in other languages, whose requests the tests send themselves.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { answerLink, NAMES, type Service, SIGNED_IN, setUp } from '../kit/chromium.ts';
import { authorizeDevice, type OAuthAnswer, pollToken } from '../kit/device.ts';
import { REFRESH_LIMIT } from '../kit/limits.ts';
import { findFreePort } from '../kit/process.ts';
import { startRelay } from '../kit/relay.ts';
import { failureOf } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const setup = await setUp();
afterAll(setup.stop);
const { relay, providers } = setup;
const { mal } = providers;

async function signIn(link: string, service: Service = 'mal'): Promise<void> {
  expect(await answerLink(setup, link, service)).toMatchObject(SIGNED_IN);
}

describe('openid-client and oauth4webapi', () => {
  const issuerAt = (baseUrl: string, service: Service) => new URL(`${baseUrl}/oauth2/${service}`);
  const issuer = issuerAt(relay.baseUrl, 'mal');

  function discover(baseUrl: string, service: Service, algorithm?: 'oidc' | 'oauth2') {
    return openid.discovery(issuerAt(baseUrl, service), 'tv', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
      ...(algorithm && { algorithm }),
    });
  }

  /** The code of a refusal, as either library names it. */
  async function refusalOf(asked: Promise<unknown>): Promise<string> {
    const refusal = await failureOf(asked);
    if (refusal instanceof openid.ResponseBodyError) return refusal.error;
    return refusal instanceof openid.ClientError ? (refusal.code ?? '') : String(refusal);
  }

  test.each(['oidc', 'oauth2'] as const)(
    'both find the metadata at its place in %s',
    async (algorithm) => {
      const config = await discover(relay.baseUrl, 'mal', algorithm);
      expect(config.serverMetadata().token_endpoint).toBe(`${issuer}/token`);
      const insecure = { [oauth.allowInsecureRequests]: true };
      const found = await oauth.discoveryRequest(issuer, { algorithm, ...insecure });
      const server = await oauth.processDiscoveryResponse(issuer, found);
      expect(server.device_authorization_endpoint).toBe(`${issuer}/device_authorization`);
    },
  );

  test('a client with the metadata of the relay refuses an ID token, because its issuer is the provider', async () => {
    const found = (await discover(relay.baseUrl, 'demo')).serverMetadata();
    // Everything else in the token is as the client expects it.
    const algorithm = { id_token_signed_response_alg: 'ES256' };
    const { clientId } = providers.demo;
    const config = new openid.Configuration(found, clientId, algorithm, openid.None());
    openid.allowInsecureRequests(config);
    const authorization = await openid.initiateDeviceAuthorization(config, {});
    const polled = refusalOf(openid.pollDeviceAuthorizationGrant(config, authorization));
    await signIn(authorization.verification_uri_complete ?? '', 'demo');
    expect(await polled).toBe(oauth.JWT_CLAIM_COMPARISON);
  });

  test('a provider that does not answer is no invalid_grant, nor is the limit of refreshes: the client keeps its token', async () => {
    const away = `http://127.0.0.1:${await findFreePort()}/token`;
    const alone = await startRelay({ MAL_TOKEN_URL: away });
    const config = await discover(alone.baseUrl, 'mal');
    const refresh = () => refusalOf(openid.refreshTokenGrant(config, 'a-refresh-token'));
    for (let count = 0; count < REFRESH_LIMIT.burst; count += 1) {
      expect(await refresh()).toBe(oauth.RESPONSE_IS_NOT_CONFORM);
    }
    expect(await refresh()).toBe('slow_down');
    await alone.stop();
  });
});

describe('clients in other languages', () => {
  const form = { client_id: 'tv' };
  const basic = { headers: { Authorization: `Basic ${btoa('tv:')}` } };

  async function expectTokens({ status, body }: OAuthAnswer): Promise<void> {
    expect(status).toBe(200);
    expect(await mal.findOwner(String(body.access_token))).toBe(NAMES.mal);
  }

  /** What each of them takes for "ask again". Anything else, or a challenge, would end its polls. */
  function expectPending({ status, headers, body }: OAuthAnswer): void {
    expect(body.error).toBe('authorization_pending');
    expect(status).toBe(400);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('www-authenticate')).toBeNull();
  }

  test('golang.org/x/oauth2 polls at once, with Basic and then with the id in the body; Basic gets the tokens', async () => {
    const { deviceCode, verification_uri_complete: link } = await authorizeDevice(relay, {
      ...form,
      scope: 'a b',
    });
    for (let round = 0; round < 2; round += 1) {
      expectPending(await pollToken(relay, deviceCode, {}, basic));
      expectPending(await pollToken(relay, deviceCode, form));
    }
    await signIn(link);
    await expectTokens(await pollToken(relay, deviceCode, {}, basic));
  });

  test.each(['decline', 'decline at the provider'] as const)(
    'golang.org/x/oauth2 reports the answer to its second request, which is access_denied too (%s)',
    async (choice) => {
      const { deviceCode, verification_uri_complete: link } = await authorizeDevice(relay, form);
      await answerLink(setup, link, 'mal', choice);
      const withBasic = await pollToken(relay, deviceCode, {}, basic);
      const withBody = await pollToken(relay, deviceCode, form);
      for (const { status, body } of [withBasic, withBody]) {
        expect([status, body.error]).toEqual([400, 'access_denied']);
      }
    },
  );

  test('AppAuth for tvOS polls without waiting for replies; each of them gets the tokens', async () => {
    const { deviceCode, verification_uri_complete: link } = await authorizeDevice(relay, form);
    const poll = () => pollToken(relay, deviceCode);
    const early = await Promise.all([poll(), poll()]);
    early.forEach(expectPending);
    await signIn(link);
    const late = await Promise.all(Array.from({ length: 4 }, poll));
    for (const answer of late) await expectTokens(answer);
  });

  test('oauth2 for Rust reads unsigned integers, and polls at once', async () => {
    const authorization = await authorizeDevice(relay, form);
    expect(authorization.text).toMatch(/"expires_in":\d+[,}]/);
    expect(authorization.text).toMatch(/"interval":\d+[,}]/);
    expectPending(await pollToken(relay, authorization.deviceCode));
    await signIn(authorization.verification_uri_complete);
    const answer = await pollToken(relay, authorization.deviceCode);
    expect(answer.body.token_type).toBe('Bearer');
    expect(answer.text).toMatch(/"expires_in":\d+[,}]/);
    await expectTokens(answer);
  });

  test('@octokit/auth-oauth-device 8.0.5 sends JSON, and reads the scope as a string', async () => {
    const send = async (path: string, body: object): Promise<Record<string, unknown>> => {
      const response = await fetch(`${relay.baseUrl}/oauth2/mal/${path}`, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(body),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    const begun = await send('device_authorization', { client_id: 'tv', scope: 'a' });
    const request = {
      client_id: 'tv',
      device_code: begun.device_code,
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    };
    expect(await send('token', request)).toMatchObject({ error: 'authorization_pending' });
    await signIn(String(begun.verification_uri_complete));
    const tokens = await send('token', request);
    expect(tokens.scope).toBeString();
    expect(await mal.findOwner(String(tokens.access_token))).toBe(NAMES.mal);
  });

  test("GitHub's cli/oauth gives up at the third slow_down: four polls at once get none, and after too many it still gets the tokens", async () => {
    const { deviceCode, verification_uri_complete: link } = await authorizeDevice(relay, form);
    const poll = () => pollToken(relay, deviceCode);
    for (let count = 0; count < 4; count += 1) expectPending(await poll());
    const hurried = await Promise.all(Array.from({ length: 8 }, poll));
    expect(hurried.map(({ body }) => body.error)).toContain('slow_down');
    await signIn(link);
    await expectTokens(await poll());
  });
});
