/** Refreshing, by `POST /refresh` (docs/extensions.md) and at the token endpoint of the device grant (RFC 6749 §6). */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import {
  expectOwnLimit,
  expectRefusedBodies,
  expectRequests,
  postJson,
  refreshGrant,
  tokenPath,
} from '../device.ts';
import { equal, matches } from '../expect.ts';
import { type Answer, formCall } from '../http.ts';
import { after, hangUp, json, type MockProvider, redirect, text } from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { type Case, cases, type Kit } from '../runner.ts';

/** One of the two requests that refresh, and what it answers. */
interface Endpoint {
  /** The section that has the rules. */
  readonly section: string;
  refresh(kit: Kit, service: string, token: string, scope?: string): Promise<Answer>;
  expectTokens(answer: Answer, tokens: ReturnType<MockProvider['makeOAuthTokens']>): void;
  /** `words`: those of the provider, which the device gets. */
  expectRefused(answer: Answer, error: string, words?: string): void;
  /** The token may still be good. */
  expectFailed(answer: Answer): void;
}

const OWN: Endpoint = {
  section: 'docs/extensions.md "Refreshing"',
  refresh: (kit, service, refreshToken, scope) =>
    postJson(kit, '/refresh', { service, refreshToken, scope }),
  expectTokens(answer, { access_token, refresh_token, expires_in }) {
    expect.noStore(answer);
    const tokens = { accessToken: access_token, refreshToken: refresh_token };
    expect.json(answer, { ...tokens, expiresIn: expires_in });
  },
  expectRefused(answer, error, words) {
    expect.status(answer, 400);
    expect.noStore(answer);
    const fields = words === undefined ? { error } : { error, error_description: words };
    equal('JSON fields', expect.object(answer), fields);
  },
  expectFailed(answer) {
    expect.text(answer, 503, 'Server busy');
    expect.retryAfter(answer);
  },
};

const OAUTH: Endpoint = {
  section: 'RFC 6749 §6; RFC 6749 §5.2; docs/device-grant.md "Refreshing"',
  refresh: (kit, service, token, scope) =>
    refreshGrant(kit, service, token, scope === undefined ? {} : { scope, client_id: 'offered' }),
  expectTokens(answer, tokens) {
    equal('fields', expect.oauth(answer, 200), tokens);
    matches('Pragma', answer.headers.pragma, /\bno-cache\b/);
  },
  expectRefused(answer, error, words) {
    expect.oauthError(answer, error);
    equal('error_description', /"error_description":"conf/.test(answer.body), words !== undefined);
  },
  expectFailed(answer) {
    expect.oauthError(answer, 'temporarily_unavailable', 503);
    expect.retryAfter(answer);
  },
};

const WORDS = 'conformance-words-of-a-provider';

/** What holds for both. */
function shared(
  { section, refresh, expectTokens, expectRefused, expectFailed }: Endpoint,
  test: (title: string, run: Case['run']) => void,
): void {
  test(`${section}: token and scope go to the provider with id and secret; its tokens to the device`, async (kit) => {
    const { provider, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const tokens = provider.makeOAuthTokens();
      const token = provider.issue(json({ ...tokens, novel: 'x' }));
      expectTokens(await refresh(kit, service, token, 'read'), tokens);
      const { clientId, clientSecret } = registrationAt(options, service);
      const forms = provider.requests(token).map(({ form }) => Object.fromEntries(form));
      const sent = { grant_type: 'refresh_token', refresh_token: token, scope: 'read' };
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      equal('requests', forms, [{ ...sent, client_id: clientId, ...secret }]);
    }
  });

  test(`${section}: an error of the provider is passed on as 400, with its words`, async (kit) => {
    for (const [error, status] of [
      ['invalid_grant', 400],
      ['invalid_client', 401],
      ['unauthorized_client', 403],
      ['invalid_scope', 400],
    ] as const) {
      const token = kit.provider.issue(json({ error, error_description: WORDS }, status));
      // Only invalid_grant needs no words: the user signs in again.
      const words = error === 'invalid_grant' ? undefined : WORDS;
      expectRefused(await refresh(kit, SERVICE_B, token), error, words);
    }
  });

  test(`${section}: a provider that fails: 503; the next refresh asks it again`, async (kit) => {
    const statuses = [500, 502, 429, 400].map((status) => json({}, status));
    for (const reply of [hangUp, ...statuses, redirect(302, 'trap'), text('<html>')]) {
      const token = kit.provider.issue(reply);
      expectFailed(await refresh(kit, SERVICE_A, token));
      kit.provider.recover(token);
      expect.status(await refresh(kit, SERVICE_A, token), 200);
    }
  });

  test(`${section}: an empty refresh token is invalid_request`, async (kit) => {
    expectRefused(await refresh(kit, SERVICE_A, ''), 'invalid_request');
  });
}

export const refresh = cases((test) => {
  shared(OWN, test);

  test('docs/extensions.md "Refreshing": of refreshes with one token, and a repeat, one asks the provider; all get tokens', async (kit) => {
    const { access_token } = kit.provider.makeOAuthTokens();
    const refreshToken = kit.provider.issue(after(800, json({ access_token })));
    const asked = { service: SERVICE_B, refreshToken };
    const answers = await Promise.all(times(5, () => postJson(kit, '/refresh', asked)));
    for (const answer of [...answers, await postJson(kit, '/refresh', asked)]) {
      expect.json(answer, { accessToken: access_token });
    }
    expectRequests(kit, refreshToken, 1);
  });

  test('docs/extensions.md "Refreshing": no JSON, too much, no service, no refresh token: 400, sent to no provider', async (kit) => {
    const refreshToken = kit.provider.issue(json(kit.provider.makeOAuthTokens()));
    await expectRefusedBodies(kit, '/refresh', { refreshToken });
    for (const wrong of [undefined, 1]) {
      const asked = { service: SERVICE_A, refreshToken: wrong };
      OWN.expectRefused(await postJson(kit, '/refresh', asked), 'invalid_request');
    }
    expectRequests(kit, refreshToken, 0);
  });

  test('docs/extensions.md "Refreshing": refreshes have a limit of their own for each address: 429 with Retry-After', async (kit) => {
    const refused = await expectOwnLimit(kit, (from) => {
      const refreshToken = kit.provider.issue(json(kit.provider.makeOAuthTokens()));
      return postJson(kit, '/refresh', { service: SERVICE_A, refreshToken }, from);
    });
    for (const answer of refused) expect.text(answer, 429, 'Rate limited');
  });

  test('docs/extensions.md "Refreshing": only POST; without OAUTH_BASE_URL: 503', async (kit) => {
    const answer = await kit.relay.send({ path: '/refresh' });
    expect.notAllowed(answer);
    equal('Allow', answer.headers.allow, 'POST');
    const unconfigured = await kit.relay.sendUnconfigured({ method: 'POST', path: '/refresh' });
    expect.text(unconfigured, 503, 'OAuth proxy not configured');
  });
});

export const deviceRefresh = cases((test) => {
  shared(OAUTH, test);

  test('RFC 6749 §6: if the provider sends no new refresh token the device gets none; JSON works too', async (kit) => {
    const { relay, provider } = kit;
    const { access_token } = provider.makeOAuthTokens();
    const token = provider.issue(json({ access_token, token_type: 'Bearer' }));
    const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: token });
    const headers = { 'Content-Type': 'application/json' };
    const path = tokenPath(SERVICE_B);
    const fields = expect.oauth(await relay.send({ method: 'POST', path, body, headers }), 200);
    equal('fields', fields, { access_token, token_type: 'Bearer', scope: '' });
  });

  test('docs/device-grant.md "Refreshing": an error in other words is no invalid_grant: 401 is invalid_client, 400 is 503', async (kit) => {
    const { provider } = kit;
    const other = { error: 'conformance-error-of-a-provider', message: 'no' };
    const unauthorized = provider.issue(json(other, 401));
    expect.oauthError(await refreshGrant(kit, SERVICE_B, unauthorized), 'invalid_client');
    for (const reply of [json(other, 400), json(other, 403), json(other)]) {
      OAUTH.expectFailed(await refreshGrant(kit, SERVICE_B, provider.issue(reply)));
    }
  });

  test('RFC 6749 §5.2; RFC 6749 §3.2: no refresh token, or two: invalid_request, sent to no provider', async (kit) => {
    const { relay, provider } = kit;
    const token = provider.issue(json(provider.makeOAuthTokens()));
    const { body = '', ...form } = formCall(tokenPath(SERVICE_A), {
      grant_type: 'refresh_token',
    });
    for (const wrong of [body, `${body}&refresh_token=${token}&refresh_token=${token}`]) {
      expect.oauthError(await relay.send({ ...form, body: wrong }), 'invalid_request');
    }
    expectRequests(kit, token, 0);
  });
});
