/** Signing out: `POST /revoke` (docs/extensions.md) and `/oauth2/<service>/revoke` (RFC 7009). */

import * as expect from '../answers.ts';
import { expectRequests, postJson } from '../device.ts';
import { equal } from '../expect.ts';
import { hangUp, json, redirect, text } from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';
import { listServices } from './services.ts';
import { oauthEndpoint, ownEndpoint, testEndpoint, testLimit } from './tokens.ts';

const OWN = ownEndpoint('docs/extensions.md "Signing out"', '/revoke', 'accessToken');
const OAUTH = oauthEndpoint('RFC 7009 §2.2.1; RFC 6749 §3.2', 'revoke', 'token');

/** RFC 7009 §2.2: the content of the response does not matter. */
const REVOKED = text('', 200, 'text/plain');

const REPLIES = {
  errors: [
    ['invalid_client', 401],
    ['unauthorized_client', 403],
    ['unsupported_token_type', 400],
  ],
  explained: [],
  undecided: [hangUp, ...[500, 429, 400].map((status) => json({}, status)), redirect(307, 'trap')],
  granted: REVOKED,
} as const;

const formsFor = ({ provider }: Kit, token: string) =>
  provider.requests(token).map(({ path, form }) => ({ path, ...Object.fromEntries(form) }));

/** What the provider gets of service B. */
function requestOf({ options }: Kit, token: string, hint?: string) {
  const { clientId, clientSecret } = registrationAt(options, SERVICE_B);
  return {
    path: `/${SERVICE_B}/revoke`,
    token,
    ...(hint !== undefined && { token_type_hint: hint }),
    client_id: clientId,
    client_secret: clientSecret,
  };
}

export const revoke = cases((test) => {
  testEndpoint(OWN, REPLIES, test);
  testEndpoint(OAUTH, REPLIES, test);
  testLimit(() => [OWN, OAUTH], REPLIES, test);

  test('docs/extensions.md "Signing out": both tokens go to the provider with the client id and secret: 200 {}', async (kit) => {
    const [refreshToken, accessToken] = [kit.provider.issue(REVOKED), kit.provider.issue(REVOKED)];
    const tokens = { refreshToken, accessToken };
    const answer = await postJson(kit, '/revoke', { service: SERVICE_B, ...tokens });
    expect.noStore(answer);
    expect.json(answer, {});
    for (const [token, hint] of [
      [refreshToken, 'refresh_token'],
      [accessToken, 'access_token'],
    ] as const) {
      equal('requests', formsFor(kit, token), [requestOf(kit, token, hint)]);
    }
    // One that no provider can have issued, beside a good one.
    const good = kit.provider.issue(REVOKED);
    const refused = await OWN.ask(kit, SERVICE_B, good, { refreshToken: 'a\nb' });
    OWN.expectRefused(refused, 'invalid_request');
    expectRequests(kit, good, 0);
  });

  test('RFC 7009 §2.1; RFC 7009 §2.2: a token goes to the provider with its hint, if that is a known one: 200, empty', async (kit) => {
    for (const [hinted, hint] of [
      [{ token_type_hint: 'access_token' }, 'access_token'],
      [{ token_type_hint: 'refresh_token' }, 'refresh_token'],
      [{ token_type_hint: 'other' }, undefined],
      [{}, undefined],
    ] as const) {
      const token = kit.provider.issue(REVOKED);
      const offered = { client_id: 'offered', client_secret: 'offered' };
      const answer = await OAUTH.ask(kit, SERVICE_B, token, { ...hinted, ...offered });
      expect.status(answer, 200);
      equal('body', answer.body, '');
      equal('requests', formsFor(kit, token), [requestOf(kit, token, hint)]);
    }
  });

  test('RFC 7009 §2.2: a token that the provider does not know, or no longer, counts as revoked', async (kit) => {
    for (const reply of [REVOKED, json({ error: 'invalid_token' }, 400)]) {
      const token = kit.provider.issue(reply);
      for (const _ of [1, 2]) expect.status(await OWN.ask(kit, SERVICE_B, token), 200);
      expect.status(await OAUTH.ask(kit, SERVICE_B, kit.provider.issue(reply)), 200);
    }
  });

  test('docs/extensions.md "Signing out"; RFC 7009 §2.2.1: a provider without a revocation endpoint: unsupported, unsupported_token_type', async (kit) => {
    const token = kit.provider.issue(REVOKED);
    const answer = await OWN.ask(kit, SERVICE_A, token);
    expect.status(answer, 400);
    expect.noStore(answer);
    equal('error', expect.object(answer).error, 'unsupported');
    expect.oauthError(await OAUTH.ask(kit, SERVICE_A, token), 'unsupported_token_type');
    expectRequests(kit, token, 0);
  });

  test('docs/extensions.md "Services"; RFC 8414 §2: announced only where the relay can revoke', async (kit) => {
    const { relay, options } = kit;
    const listed = await listServices(kit);
    for (const service of [SERVICE_A, SERVICE_B]) {
      const can = service === SERVICE_B;
      equal('revoke', listed.find((each) => each.service === service)?.revoke, can);
      const path = `/oauth2/${service}`;
      const asked = { path: `${path}/.well-known/openid-configuration` };
      const metadata = expect.oauth(await relay.send(asked), 200);
      const endpoint = can ? `${options.baseUrl}${path}/revoke` : undefined;
      equal('revocation_endpoint', metadata.revocation_endpoint, endpoint);
    }
  });
});
