/** Refreshing, by `POST /refresh` (docs/extensions.md) and at the token endpoint of the device grant (RFC 6749 §6). */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { expectRequests, postJson, tokenPath } from '../device.ts';
import { equal, matches } from '../expect.ts';
import type { Answer } from '../http.ts';
import { after, hangUp, json, type MockProvider, redirect, text } from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { type Case, cases, type Kit } from '../runner.ts';
import { type Endpoint, oauthEndpoint, ownEndpoint, testEndpoint, testLimit } from './tokens.ts';

const OWN = ownEndpoint('docs/extensions.md "Refreshing"', '/refresh', 'refreshToken');

const OAUTH = oauthEndpoint(
  'RFC 6749 §6; RFC 6749 §5.2; RFC 6749 §3.2; docs/device-grant.md "Refreshing"',
  'token',
  'refresh_token',
  { grant_type: 'refresh_token', client_id: 'offered' },
);

const REPLIES = {
  errors: [
    ['invalid_grant', 400],
    ['invalid_client', 401],
    ['unauthorized_client', 403],
    ['invalid_scope', 400],
  ],
  // Only invalid_grant needs no words: the user signs in again.
  explained: ['invalid_client', 'unauthorized_client', 'invalid_scope'],
  undecided: [
    hangUp,
    ...[500, 502, 429, 400].map((status) => json({}, status)),
    redirect(302, 'trap'),
    text('<html>'),
  ],
  granted: json({ access_token: 'unused' }),
} as const;

/** What holds for both. */
function testRefresh(
  endpoint: Endpoint,
  expectTokens: (answer: Answer, tokens: ReturnType<MockProvider['makeOAuthTokens']>) => void,
  test: (title: string, run: Case['run']) => void,
): void {
  const { section, ask } = endpoint;
  test(`${section}: token and scope go to the provider with id and secret; its tokens to the device`, async (kit) => {
    const { provider, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const tokens = provider.makeOAuthTokens();
      const token = provider.issue(json({ ...tokens, novel: 'x' }));
      expectTokens(await ask(kit, service, token, { scope: 'read' }), tokens);
      const { clientId, clientSecret } = registrationAt(options, service);
      const forms = provider.requests(token).map(({ form }) => Object.fromEntries(form));
      const sent = { grant_type: 'refresh_token', refresh_token: token, scope: 'read' };
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      equal('requests', forms, [{ ...sent, client_id: clientId, ...secret }]);
    }
  });

  testEndpoint(endpoint, REPLIES, test);
}

const endpointsOf = ({ options }: Kit) =>
  options.extensions.has('device-grant') ? [OWN, OAUTH] : [OWN];

export const refresh = cases((test) => {
  testRefresh(
    OWN,
    (answer, { access_token, refresh_token, expires_in }) => {
      expect.noStore(answer);
      const tokens = { accessToken: access_token, refreshToken: refresh_token };
      expect.json(answer, { ...tokens, expiresIn: expires_in });
    },
    test,
  );

  testLimit(endpointsOf, REPLIES, test);

  test('docs/extensions.md "Refreshing": of refreshes with one token, and a repeat, one asks the provider; all get tokens', async (kit) => {
    const { access_token } = kit.provider.makeOAuthTokens();
    const token = kit.provider.issue(after(800, json({ access_token })));
    const answers = await Promise.all(times(5, () => OWN.ask(kit, SERVICE_B, token)));
    for (const answer of [...answers, await OWN.ask(kit, SERVICE_B, token)]) {
      expect.json(answer, { accessToken: access_token });
    }
    if (kit.options.extensions.has('device-grant')) {
      const repeated = expect.oauth(await OAUTH.ask(kit, SERVICE_B, token), 200);
      equal('access_token', repeated.access_token, access_token);
    }
    expectRequests(kit, token, 1);
  });
});

export const deviceRefresh = cases((test) => {
  testRefresh(
    OAUTH,
    (answer, tokens) => {
      equal('fields', expect.oauth(answer, 200), tokens);
      matches('Pragma', answer.headers.pragma, /\bno-cache\b/);
    },
    test,
  );

  test('RFC 6749 §6: if the provider sends no new refresh token the device gets none; JSON works too', async (kit) => {
    const { access_token } = kit.provider.makeOAuthTokens();
    const token = kit.provider.issue(json({ access_token, token_type: 'Bearer' }));
    const asked = { grant_type: 'refresh_token', refresh_token: token };
    const answer = await postJson(kit, tokenPath(SERVICE_B), asked);
    const fields = expect.oauth(answer, 200);
    equal('fields', fields, { access_token, token_type: 'Bearer', scope: '' });
  });

  test('docs/device-grant.md "Refreshing": an error in other words is no invalid_grant: 401 is invalid_client, 400 is 503', async (kit) => {
    const { provider } = kit;
    const other = { error: 'conformance-error-of-a-provider', message: 'no' };
    const unauthorized = provider.issue(json(other, 401));
    expect.oauthError(await OAUTH.ask(kit, SERVICE_B, unauthorized), 'invalid_client');
    for (const reply of [json(other, 400), json(other, 403), json(other)]) {
      OAUTH.expectFailed(await OAUTH.ask(kit, SERVICE_B, provider.issue(reply)));
    }
  });
});
