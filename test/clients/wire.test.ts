/**
 * What openid-client makes of the relay where the programs of docs/device-grant.md do not
 * show it: ID tokens, and refreshes that fail.
 */
import { afterAll, expect, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { SIGNED_IN, startServers, USER } from '../kit/chromium.ts';
import { REFRESH_LIMIT } from '../kit/limits.ts';
import { findFreePort } from '../kit/process.ts';
import { startRelay } from '../kit/relay.ts';
import { answerLink } from '../kit/user.ts';
import { failureOf } from '../kit/wait.ts';

const setup = await startServers();
afterAll(setup.stop);
const { relay, providers } = setup;

const discover = (issuer: string) =>
  openid.discovery(new URL(issuer), 'tv', undefined, openid.None(), {
    execute: [openid.allowInsecureRequests],
  });

/** The code of a refusal, as either library names it. */
async function refusalOf(asked: Promise<unknown>): Promise<string> {
  const refusal = await failureOf(asked);
  if (refusal instanceof openid.ResponseBodyError) return refusal.error;
  return refusal instanceof openid.ClientError ? (refusal.code ?? '') : String(refusal);
}

test("a client with the relay's metadata refuses an ID token of the provider", async () => {
  const found = (await discover(`${relay.baseUrl}/oauth2/demo`)).serverMetadata();
  // Everything else in the token is as the client expects it.
  const algorithm = { id_token_signed_response_alg: 'ES256' };
  const { clientId } = providers.demo;
  const config = new openid.Configuration(found, clientId, algorithm, openid.None());
  openid.allowInsecureRequests(config);
  const authorization = await openid.initiateDeviceAuthorization(config, {});
  const polled = refusalOf(openid.pollDeviceAuthorizationGrant(config, authorization));
  const link = authorization.verification_uri_complete ?? '';
  expect(await answerLink(USER, link)).toMatchObject(SIGNED_IN);
  expect(await polled).toBe(oauth.JWT_CLAIM_COMPARISON);
});

test('a silent provider and the limit of refreshes are no invalid_grant: tokens stay', async () => {
  const away = `http://127.0.0.1:${await findFreePort()}/token`;
  await using alone = await startRelay({ MAL_TOKEN_URL: away });
  const config = await discover(`${alone.baseUrl}/oauth2/mal`);
  const refresh = () => refusalOf(openid.refreshTokenGrant(config, 'a-refresh-token'));
  for (let count = 0; count < REFRESH_LIMIT.burst; count += 1) {
    expect(await refresh()).toBe(oauth.RESPONSE_IS_NOT_CONFORM);
  }
  expect(await refresh()).toBe('slow_down');
});
