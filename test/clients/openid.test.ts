/** openid-client and oauth4webapi in what the programs of docs/device-grant.md do not show. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { REFRESH_LIMIT } from '../../src/limits.ts';
import { SIGNED_IN } from '../browser/support/relay-page.ts';
import { type Service, setStage } from '../browser/support/stage.ts';
import { findFreePort } from '../support/free-port.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { countExchanges } from '../support/providers/running-provider.ts';
import { begin, poll } from './support/by-hand.ts';
import { openLink } from './support/person.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

const issuerAt = (baseUrl: string, service: Service) => new URL(`${baseUrl}/oauth2/${service}`);
const INSECURE = { [oauth.allowInsecureRequests]: true };
const { mal } = stage.providers;

async function discover(baseUrl: string, service: Service, algorithm?: 'oidc' | 'oauth2') {
  return openid.discovery(issuerAt(baseUrl, service), 'tv', undefined, openid.None(), {
    execute: [openid.allowInsecureRequests],
    ...(algorithm && { algorithm }),
  });
}

/** The code of a refusal, in either library's words. */
async function refusalOf(asked: Promise<unknown>): Promise<string> {
  const refusal = await asked.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refusal instanceof openid.ResponseBodyError) return refusal.error;
  return refusal instanceof openid.ClientError ? (refusal.code ?? '') : String(refusal);
}

/** A refresh token, without the pauses of a client. */
async function getRefreshToken(service: Service): Promise<string> {
  const { href } = issuerAt(stage.relay.baseUrl, service);
  const begun = await begin(href);
  const link = begun.verification_uri_complete;
  expect(await openLink(stage, link, service, 'agree')).toMatchObject(SIGNED_IN);
  return String((await poll(href, begun)).body.refresh_token);
}

describe.each(['oidc', 'oauth2'] as const)('metadata at the place of %s', (algorithm) => {
  const { baseUrl } = stage.relay;
  const issuer = issuerAt(baseUrl, 'mal');

  test('openid-client finds the relay', async () => {
    const config = await discover(baseUrl, 'mal', algorithm);
    expect(config.serverMetadata().token_endpoint).toBe(`${issuer}/token`);
  });

  test('oauth4webapi finds the relay', async () => {
    const found = await oauth.discoveryRequest(issuer, { algorithm, ...INSECURE });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    expect(server.device_authorization_endpoint).toBe(`${issuer}/device_authorization`);
  });
});

test.concurrent('a client with metadata of the relay refuses an ID token, whose issuer is the provider', async () => {
  const { baseUrl } = stage.relay;
  const { clientId } = stage.providers.demo;
  const found = (await discover(baseUrl, 'demo')).serverMetadata();
  // All else in the token is as the client expects it.
  const algorithm = { id_token_signed_response_alg: 'ES256' };
  const config = new openid.Configuration(found, clientId, algorithm, openid.None());
  openid.allowInsecureRequests(config);
  const begun = await openid.initiateDeviceAuthorization(config, {});
  const polled = refusalOf(openid.pollDeviceAuthorizationGrant(config, begun));
  const link = begun.verification_uri_complete ?? '';
  expect(await openLink(stage, link, 'demo', 'agree')).toMatchObject(SIGNED_IN);
  expect(await polled).toBe(oauth.JWT_CLAIM_COMPARISON);
});

test.concurrent('a client that does not look at the clock hears expired_token', async () => {
  const relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', SESSION_SECONDS: '2' });
  const config = await discover(relay.baseUrl, 'mal');
  const begun = await openid.initiateDeviceAuthorization(config, {});
  const { signal } = new AbortController();
  const polled = openid.pollDeviceAuthorizationGrant(config, begun, undefined, { signal });
  expect(await refusalOf(polled)).toBe('expired_token');
  await relay.stop();
});

test('many refreshes at once with one token: the provider is asked once, and all get its answer', async () => {
  const refreshToken = await getRefreshToken('mal');
  const before = countExchanges(mal);
  const config = await discover(stage.relay.baseUrl, 'mal');
  const refresh = () => openid.refreshTokenGrant(config, refreshToken);
  const answers = await Promise.all(Array.from({ length: 5 }, refresh));
  answers.push(await refresh());
  expect(new Set(answers.map(({ access_token: token }) => token)).size).toBe(1);
  expect(countExchanges(mal)).toBe(before + 1);
});

test('a refresh token that the provider refuses is invalid_grant', async () => {
  const config = await discover(stage.relay.baseUrl, 'mal');
  const asked = openid.refreshTokenGrant(config, 'no-such-refresh-token');
  expect(await refusalOf(asked)).toBe('invalid_grant');
});

test('a provider that is away is no invalid_grant: the client reports the status', async () => {
  const away = `http://127.0.0.1:${await findFreePort()}/token`;
  const relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', MAL_TOKEN_URL: away });
  const config = await discover(relay.baseUrl, 'mal');
  const asked = openid.refreshTokenGrant(config, 'a-refresh-token');
  expect(await refusalOf(asked)).toBe(oauth.RESPONSE_IS_NOT_CONFORM);
  await relay.stop();
});

test('an address that refreshes too much hears slow_down, which is not the end of its token', async () => {
  const away = `http://127.0.0.1:${await findFreePort()}/token`;
  const relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', MAL_TOKEN_URL: away });
  const config = await discover(relay.baseUrl, 'mal');
  const refresh = () => refusalOf(openid.refreshTokenGrant(config, 'a-refresh-token'));
  for (let count = 0; count < REFRESH_LIMIT.burst; count += 1) {
    expect(await refresh()).toBe(oauth.RESPONSE_IS_NOT_CONFORM);
  }
  expect(await refresh()).toBe('slow_down');
  await relay.stop();
});
