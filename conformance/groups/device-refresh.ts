import { expectOAuthError, expectRequests, readOAuth, refresh, tokenPath } from '../device.ts';
import { equal, matches } from '../expect.ts';
import { formCall } from '../http.ts';
import { hangUp, json, redirect, text } from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { cases } from '../runner.ts';

export const deviceRefresh = cases((test) => {
  test('RFC 6749 §6: token and scope go to the provider with id and secret; its answer to the device', async (kit) => {
    const { provider, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const tokens = provider.makeOAuthTokens();
      const token = provider.issue(json({ ...tokens, novel: 'x' }));
      const offered = { client_id: 'offered', client_secret: 'offered', scope: 'read' };
      const answer = await refresh(kit, service, token, offered);
      equal('fields', readOAuth(answer, 200), tokens);
      matches('Pragma', answer.headers.pragma, /\bno-cache\b/);
      const { clientId, clientSecret } = registrationAt(options, service);
      const forms = provider.requests(token).map(({ form }) => Object.fromEntries(form));
      const common = { grant_type: 'refresh_token', refresh_token: token, scope: 'read' };
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      equal('requests', forms, [{ ...common, client_id: clientId, ...secret }]);
    }
  });

  test('RFC 6749 §6: if the provider sends no new refresh token the device gets none; JSON works too', async (kit) => {
    const { relay, provider } = kit;
    const { access_token } = provider.makeOAuthTokens();
    const token = provider.issue(json({ access_token, token_type: 'Bearer' }));
    const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: token });
    const headers = { 'Content-Type': 'application/json' };
    const path = tokenPath(SERVICE_B);
    const fields = readOAuth(await relay.send({ method: 'POST', path, body, headers }), 200);
    equal('fields', fields, { access_token, token_type: 'Bearer', scope: '' });
  });

  test('RFC 6749 §5.2; RFC 6749 §6: an error of the provider is passed on as 400, with its words', async (kit) => {
    const { provider } = kit;
    const description = 'conformance-words-of-a-provider';
    for (const [error, status] of [
      ['invalid_grant', 400],
      ['invalid_client', 401],
      ['unauthorized_client', 403],
      ['invalid_scope', 400],
    ] as const) {
      const token = provider.issue(json({ error, error_description: description }, status));
      const answer = await refresh(kit, SERVICE_B, token);
      expectOAuthError(answer, error);
      // Only invalid_grant needs no words: the user signs in again.
      const isPassedOn = answer.body.includes(description);
      equal("the provider's description", isPassedOn, error !== 'invalid_grant');
    }
  });

  test('docs/device-grant.md "Refreshing": an error in other words is no invalid_grant: 401 is invalid_client, 400 is 503', async (kit) => {
    const { provider } = kit;
    const other = { error: 'conformance-error-of-a-provider', message: 'no' };
    const unauthorized = provider.issue(json(other, 401));
    expectOAuthError(await refresh(kit, SERVICE_B, unauthorized), 'invalid_client');
    for (const reply of [json(other, 400), json(other, 403), json(other)]) {
      const answer = await refresh(kit, SERVICE_B, provider.issue(reply));
      expectOAuthError(answer, 'temporarily_unavailable', 503);
    }
  });

  test('docs/device-grant.md "Refreshing": a provider that fails: 503, never invalid_grant; the next refresh asks it again', async (kit) => {
    const { provider } = kit;
    const statuses = [500, 502, 429].map((status) => json({}, status));
    for (const reply of [hangUp, ...statuses, redirect(302, 'trap'), text('<html>')]) {
      const token = provider.issue(reply);
      const answer = await refresh(kit, SERVICE_A, token);
      expectOAuthError(answer, 'temporarily_unavailable', 503);
      provider.recover(token);
      readOAuth(await refresh(kit, SERVICE_A, token), 200);
    }
  });

  test('RFC 6749 §5.2; RFC 6749 §3.2: no refresh token, an empty one, or two: invalid_request, sent to no provider', async (kit) => {
    const { relay, provider } = kit;
    const token = provider.issue(json(provider.makeOAuthTokens()));
    const { body = '', ...form } = formCall(tokenPath(SERVICE_A), {
      grant_type: 'refresh_token',
    });
    const two = `${body}&refresh_token=${token}&refresh_token=${token}`;
    for (const wrong of [body, `${body}&refresh_token=`, two]) {
      expectOAuthError(await relay.send({ ...form, body: wrong }), 'invalid_request');
    }
    expectRequests(kit, token, 0);
  });
});
