/** Signing out: `POST /revoke` (docs/extensions.md) and `/oauth2/<service>/revoke` (RFC 7009). */

import * as expect from '../answers.ts';
import { expectOwnLimit, expectRefusedBodies, expectRequests, postJson } from '../device.ts';
import { equal } from '../expect.ts';
import { type Answer, formCall } from '../http.ts';
import { hangUp, json, redirect, text } from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';
import { listServices } from './services.ts';

/** RFC 7009 §2.2: the content of the response does not matter. */
const REVOKED = text('', 200, 'text/plain');

const pathOf = (service: string) => `/oauth2/${service}/revoke`;

async function postForm(
  { relay }: Kit,
  form: Readonly<Record<string, string>>,
  service = SERVICE_B,
): Promise<Answer> {
  return relay.send({ ...formCall(pathOf(service), form), from: relay.nextAddress() });
}

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

function expectRefused(answer: Answer, error: string): void {
  expect.status(answer, 400);
  expect.noStore(answer);
  equal('error', expect.object(answer).error, error);
}

export const revoke = cases((test) => {
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
      const answer = await postForm(kit, { token, ...hinted, ...offered });
      expect.status(answer, 200);
      equal('body', answer.body, '');
      equal('requests', formsFor(kit, token), [requestOf(kit, token, hint)]);
    }
  });

  test('RFC 7009 §2.2: a token that the provider does not know, or no longer, counts as revoked', async (kit) => {
    for (const reply of [REVOKED, json({ error: 'invalid_token' }, 400)]) {
      const accessToken = kit.provider.issue(reply);
      const asked = { service: SERVICE_B, accessToken };
      for (const _ of [1, 2]) expect.status(await postJson(kit, '/revoke', asked), 200);
      expect.status(await postForm(kit, { token: kit.provider.issue(reply) }), 200);
    }
  });

  test('docs/extensions.md "Signing out"; RFC 7009 §2.2.1: a provider without a revocation endpoint: unsupported, unsupported_token_type', async (kit) => {
    const token = kit.provider.issue(REVOKED);
    expectRefused(
      await postJson(kit, '/revoke', { service: SERVICE_A, refreshToken: token }),
      'unsupported',
    );
    const answer = await postForm(kit, { token }, SERVICE_A);
    expect.oauthError(answer, 'unsupported_token_type');
    expectRequests(kit, token, 0);
  });

  test("RFC 7009 §2.2.1: the provider's error is passed on as 400, without its description", async (kit) => {
    const { provider } = kit;
    for (const [error, status] of [
      ['invalid_client', 401],
      ['unauthorized_client', 403],
      ['unsupported_token_type', 400],
    ] as const) {
      const said = { error, error_description: 'conformance-words-of-a-provider' };
      const issue = () => provider.issue(json(said, status));
      const own = await postJson(kit, '/revoke', { service: SERVICE_B, accessToken: issue() });
      equal('JSON fields', expect.object(own), { error });
      const oauth = await postForm(kit, { token: issue() });
      expect.oauthError(oauth, error);
      equal('description', oauth.body.includes(said.error_description), false);
    }
  });

  test('RFC 7009 §2.2.1: the provider did not decide: 503 with Retry-After, and a repeat asks it again', async (kit) => {
    const undecided = [500, 429, 400].map((status) => json({}, status));
    for (const reply of [hangUp, ...undecided, redirect(307, 'trap')]) {
      const asked = { service: SERVICE_B, accessToken: kit.provider.issue(reply) };
      const own = await postJson(kit, '/revoke', asked);
      expect.text(own, 503, 'Server busy');
      expect.retryAfter(own);
      kit.provider.recover(asked.accessToken);
      expect.status(await postJson(kit, '/revoke', asked), 200);
      const oauth = await postForm(kit, { token: kit.provider.issue(reply) });
      expect.oauthError(oauth, 'temporarily_unavailable', 503);
      expect.retryAfter(oauth);
    }
  });

  test('docs/extensions.md "Signing out"; RFC 6749 §3.2: no JSON, too much, no service, no token or two: 400, sent to no provider', async (kit) => {
    const { relay, provider } = kit;
    const token = provider.issue(REVOKED);
    await expectRefusedBodies(kit, '/revoke', { accessToken: token });
    for (const tokens of [{}, { accessToken: '' }, { refreshToken: 1 }]) {
      const asked = { service: SERVICE_B, ...tokens };
      expectRefused(await postJson(kit, '/revoke', asked), 'invalid_request');
    }
    const form = formCall(pathOf(SERVICE_B), {});
    for (const body of ['', 'token=', `token=${token}&token=${token}`]) {
      expect.oauthError(await relay.send({ ...form, body }), 'invalid_request');
    }
    expect.oauthError(await postForm(kit, { token }, 'nosuch'), 'not_found', 404);
    expectRequests(kit, token, 0);
  });

  test('docs/extensions.md "Services"; RFC 8414 §2: announced only where the relay can revoke', async (kit) => {
    const { relay, options } = kit;
    const listed = await listServices(kit);
    for (const service of [SERVICE_A, SERVICE_B]) {
      const can = service === SERVICE_B;
      equal('revoke', listed.find((each) => each.service === service)?.revoke, can);
      const path = `/oauth2/${service}/.well-known/openid-configuration`;
      const metadata = expect.oauth(await relay.send({ path }), 200);
      const endpoint = can ? `${options.baseUrl}${pathOf(service)}` : undefined;
      equal('revocation_endpoint', metadata.revocation_endpoint, endpoint);
    }
  });

  test('docs/extensions.md "Signing out": revocations have a limit of their own for each address: 429 with Retry-After', async (kit) => {
    const refused = await expectOwnLimit(kit, (from) => {
      const accessToken = kit.provider.issue(REVOKED);
      return postJson(kit, '/revoke', { service: SERVICE_B, accessToken }, from);
    });
    for (const answer of refused) expect.text(answer, 429, 'Rate limited');
  });

  test('docs/extensions.md "Signing out": only POST; without OAUTH_BASE_URL: 503', async (kit) => {
    expect.notAllowed(await kit.relay.send({ path: '/revoke' }));
    const oauth = await kit.relay.send({ path: pathOf(SERVICE_B) });
    expect.oauthError(oauth, 'method_not_allowed', 405);
    const unconfigured = await kit.relay.sendUnconfigured({ method: 'POST', path: '/revoke' });
    expect.text(unconfigured, 503, 'OAuth proxy not configured');
  });
});
