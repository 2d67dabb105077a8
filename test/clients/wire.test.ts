/**
 * What OAuth clients send and what they can bear, as their source has it: two
 * JavaScript libraries where the programs of docs/device-grant.md do not show it, and
 * clients in other languages, whose requests the tests send themselves.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { answerLink, NAMES, type Service, SIGNED_IN, setUp } from '../kit/chromium.ts';
import {
  authorizeDevice,
  DEVICE_CODE_GRANT,
  type DeviceAuthorization,
  type OAuthAnswer,
  pollToken,
  postForm,
} from '../kit/device.ts';
import { REFRESH_LIMIT } from '../kit/limits.ts';
import { findFreePort } from '../kit/process.ts';
import { startRelay } from '../kit/relay.ts';

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
    const refusal = await asked.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal instanceof openid.ResponseBodyError) return refusal.error;
    return refusal instanceof openid.ClientError ? (refusal.code ?? '') : String(refusal);
  }

  /** A relay whose provider does not answer. */
  async function startWithoutProvider() {
    const away = `http://127.0.0.1:${await findFreePort()}/token`;
    const alone = await startRelay({ MAL_TOKEN_URL: away });
    const config = await discover(alone.baseUrl, 'mal');
    const refresh = () => refusalOf(openid.refreshTokenGrant(config, 'a-refresh-token'));
    return { refresh, stop: () => alone.stop() };
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

  test('a client with metadata of the relay refuses an ID token, whose issuer is the provider', async () => {
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

  test('a client that does not watch the time gets expired_token', async () => {
    const shortLived = await startRelay({ SESSION_SECONDS: '2' });
    const config = await discover(shortLived.baseUrl, 'mal');
    const authorization = await openid.initiateDeviceAuthorization(config, {});
    const { signal } = new AbortController();
    const polled = openid.pollDeviceAuthorizationGrant(config, authorization, undefined, {
      signal,
    });
    expect(await refusalOf(polled)).toBe('expired_token');
    await shortLived.stop();
  });

  test('many refreshes at once with one token: one request to the provider, one result for all', async () => {
    const { deviceCode, verification_uri_complete: link } = await authorizeDevice(relay);
    await signIn(link);
    const { body } = await pollToken(relay, deviceCode);
    const before = mal.exchanges();
    const config = await discover(relay.baseUrl, 'mal');
    const refresh = () => openid.refreshTokenGrant(config, String(body.refresh_token));
    const answers = await Promise.all(Array.from({ length: 5 }, refresh));
    answers.push(await refresh());
    expect(new Set(answers.map(({ access_token: token }) => token)).size).toBe(1);
    expect(mal.exchanges()).toBe(before + 1);
  });

  test('a refresh token that the provider refuses is invalid_grant', async () => {
    const config = await discover(relay.baseUrl, 'mal');
    const asked = openid.refreshTokenGrant(config, 'no-such-refresh-token');
    expect(await refusalOf(asked)).toBe('invalid_grant');
  });

  test('a provider that does not answer is no invalid_grant: the client reports the status', async () => {
    const { refresh, stop } = await startWithoutProvider();
    expect(await refresh()).toBe(oauth.RESPONSE_IS_NOT_CONFORM);
    await stop();
  });

  test('an address that refreshes too often gets slow_down, which does not end its token', async () => {
    const { refresh, stop } = await startWithoutProvider();
    for (let count = 0; count < REFRESH_LIMIT.burst; count += 1) {
      expect(await refresh()).toBe(oauth.RESPONSE_IS_NOT_CONFORM);
    }
    expect(await refresh()).toBe('slow_down');
    await stop();
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

  test('octokit sends JSON, and splits the scope even if there is none', async () => {
    const headers = { 'Content-Type': 'application/json; charset=utf-8' };
    const sendJson = (endpoint: string, body: object) =>
      postForm(relay, `/oauth2/mal/${endpoint}`, {}, { headers, body: JSON.stringify(body) });
    const { body } = await sendJson('device_authorization', form);
    const authorization = body as object as DeviceAuthorization;
    const { device_code } = authorization;
    const poll = () => sendJson('token', { ...form, device_code, grant_type: DEVICE_CODE_GRANT });
    expectPending(await poll());
    await signIn(authorization.verification_uri_complete);
    const answer = await poll();
    expect(answer.body.scope).toBeString();
    await expectTokens(answer);
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

  test('oauth2c shows only the complete link, and needs an interval', async () => {
    const asked = { ...form, scope: 'openid', audience: 'https://a' };
    const authorization = await authorizeDevice(relay, asked);
    expect(authorization.interval).toBe(5);
    await signIn(authorization.verification_uri_complete);
    await expectTokens(await pollToken(relay, authorization.deviceCode, form));
  });
});
