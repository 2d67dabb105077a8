/** `GET /services`, `POST /refresh` and `details`: what a device may ask for besides a sign-in (docs/extensions.md). */

import { times } from '../async.ts';
import { expectOwnLimit, expectRequests, expectResult, postJson } from '../device.ts';
import {
  equal,
  expectJson,
  expectNoStore,
  expectNotAllowed,
  expectRetryAfter,
  expectStatus,
  expectSuccessPage,
  expectText,
  holds,
  parseObject,
  present,
  readJson,
} from '../expect.ts';
import type { Answer } from '../http.ts';
import { after, hangUp, json } from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

interface Service {
  readonly service: string;
  readonly name: string;
  readonly blind: string;
  readonly revoke?: boolean;
}

export async function listServices({ relay }: Kit): Promise<readonly Service[]> {
  const answer = await relay.send({ path: '/services' });
  expectNoStore(answer);
  const { services } = readJson(answer);
  holds('services', Array.isArray(services), 'a list', services);
  return services as readonly Service[];
}

export const services = cases((test) => {
  test('docs/extensions.md "Services": each service has a name and says if it takes a challenge; extensions are named', async (kit) => {
    const listed = await listServices(kit);
    for (const name of [SERVICE_A, SERVICE_B]) {
      const found = present(
        name,
        listed.find(({ service }) => service === name),
      );
      // `revoke` is there if the relay has that extension.
      const members = Object.keys(found).filter((member) => member !== 'revoke');
      equal('members', members.sort(), ['blind', 'name', 'service']);
      holds('name', typeof found.name === 'string' && found.name !== '', 'a text', found.name);
      const possible = name === SERVICE_B ? ['no'] : ['no', 'can', 'must'];
      holds('blind', possible.includes(found.blind), possible.join(' or '), found.blind);
    }
    const { extensions } = readJson(await kit.relay.send({ path: '/services' }));
    const isList =
      Array.isArray(extensions) && extensions.every((each) => typeof each === 'string');
    holds('extensions', isList, 'a list of names', extensions);
  });

  test('docs/extensions.md "Services": only GET, otherwise 405 with Allow; without OAUTH_BASE_URL: 503', async ({
    relay,
  }) => {
    for (const method of ['HEAD', 'POST', 'PUT', 'DELETE']) {
      const answer = await relay.send({ method, path: '/services' });
      expectNotAllowed(answer, method);
      equal('Allow', answer.headers.allow, 'GET');
    }
    const unconfigured = await relay.sendUnconfigured({ path: '/services' });
    expectText(unconfigured, 503, 'OAuth proxy not configured');
  });
});

/** A refresh that the provider decided: status 400, and only its error. */
function expectRefused(answer: Answer, error: string): void {
  expectStatus(answer, 400);
  expectNoStore(answer);
  equal('JSON fields', parseObject(answer), { error });
}

function expectBusy(answer: Answer): void {
  expectText(answer, 503, 'Server busy');
  expectRetryAfter(answer);
}

const MAX_BODY_BYTES = 16_384;

export const refresh = cases((test) => {
  test('docs/extensions.md "Refreshing": token and scope go to the provider; the device gets the fields of a sign-in', async (kit) => {
    const { provider, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const { access_token, refresh_token, expires_in, ...rest } = provider.makeOAuthTokens();
      const reply = json({ access_token, refresh_token, expires_in, ...rest });
      const refreshToken = provider.issue(reply);
      const answer = await postJson(kit, '/refresh', { service, refreshToken, scope: 'read' });
      expectNoStore(answer);
      const tokens = { accessToken: access_token, refreshToken: refresh_token };
      expectJson(answer, { ...tokens, expiresIn: expires_in });
      const { clientId, clientSecret } = registrationAt(options, service);
      const forms = provider.requests(refreshToken).map(({ form }) => Object.fromEntries(form));
      const sent = { grant_type: 'refresh_token', refresh_token: refreshToken, scope: 'read' };
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      equal('requests', forms, [{ ...sent, client_id: clientId, ...secret }]);
    }
  });

  test('docs/extensions.md "Refreshing": of refreshes with one token, and a repeat, one asks the provider; all get tokens', async (kit) => {
    const { provider } = kit;
    const { access_token } = provider.makeOAuthTokens();
    const refreshToken = provider.issue(after(800, json({ access_token })));
    const asked = { service: SERVICE_B, refreshToken };
    const answers = await Promise.all(times(5, () => postJson(kit, '/refresh', asked)));
    for (const answer of [...answers, await postJson(kit, '/refresh', asked)]) {
      expectJson(answer, { accessToken: access_token });
    }
    expectRequests(kit, refreshToken, 1);
  });

  test('docs/extensions.md "Refreshing": the provider decided: 400 with its OAuth error, and its words', async (kit) => {
    const { provider } = kit;
    for (const [error, status] of [
      ['invalid_grant', 400],
      ['invalid_client', 401],
      ['invalid_scope', 400],
    ] as const) {
      const said = { error, error_description: 'conformance-words-of-a-provider' };
      const refreshToken = provider.issue(json(said, status));
      const answer = await postJson(kit, '/refresh', { service: SERVICE_B, refreshToken });
      expectStatus(answer, 400);
      // Only invalid_grant needs no words: the user signs in again.
      equal('JSON fields', parseObject(answer), error === 'invalid_grant' ? { error } : said);
    }
  });

  test('docs/extensions.md "Refreshing": the provider did not decide: 503 with Retry-After; the next refresh asks again', async (kit) => {
    const { provider } = kit;
    const undecided = [500, 429, 400].map((status) => json({}, status));
    for (const reply of [hangUp, ...undecided]) {
      const asked = { service: SERVICE_A, refreshToken: provider.issue(reply) };
      expectBusy(await postJson(kit, '/refresh', asked));
      provider.recover(asked.refreshToken);
      expectStatus(await postJson(kit, '/refresh', asked), 200);
    }
  });

  test('docs/extensions.md "Refreshing": no JSON, too much, no service, no refresh token: 400, sent to no provider', async (kit) => {
    const { provider } = kit;
    const refreshToken = provider.issue(json(provider.makeOAuthTokens()));
    for (const body of ['{', '', `{}${' '.repeat(MAX_BODY_BYTES)}`]) {
      expectText(await postJson(kit, '/refresh', body), 400, 'Invalid JSON');
    }
    for (const body of ['null', { refreshToken }, { service: 'nosuch', refreshToken }]) {
      expectText(await postJson(kit, '/refresh', body), 400, 'Unknown service');
    }
    for (const wrong of [undefined, '', 1]) {
      const asked = { service: SERVICE_A, refreshToken: wrong };
      expectRefused(await postJson(kit, '/refresh', asked), 'invalid_request');
    }
    expectRequests(kit, refreshToken, 0);
  });

  test('docs/extensions.md "Refreshing": refreshes have a limit of their own for each address: 429 with Retry-After', async (kit) => {
    const refused = await expectOwnLimit(kit, (from) => {
      const refreshToken = kit.provider.issue(json(kit.provider.makeOAuthTokens()));
      return postJson(kit, '/refresh', { service: SERVICE_A, refreshToken }, from);
    });
    for (const answer of refused) expectText(answer, 429, 'Rate limited');
  });

  test('docs/extensions.md "Refreshing": only POST; without OAUTH_BASE_URL: 503', async ({
    relay,
  }) => {
    const answer = await relay.send({ path: '/refresh' });
    expectNotAllowed(answer);
    equal('Allow', answer.headers.allow, 'POST');
    const unconfigured = await relay.sendUnconfigured({ method: 'POST', path: '/refresh' });
    expectText(unconfigured, 503, 'OAuth proxy not configured');
  });
});

export const details = cases((test) => {
  test('docs/extensions.md "Details": only with "details": true the result has tokenType, scope and idToken', async (kit) => {
    const { relay, provider } = kit;
    for (const asked of [true, 'true', undefined]) {
      const tokens = provider.makeOAuthTokens();
      const usual = {
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token,
        expiresIn: tokens.expires_in,
      };
      const more = { tokenType: tokens.token_type, scope: tokens.scope, idToken: tokens.id_token };
      const session = await relay.start({ details: asked });
      expectSuccessPage(await relay.callback(session, { code: provider.issue(json(tokens)) }));
      await expectResult(kit, session, asked === true ? { ...usual, ...more } : usual);
    }
    const { accessToken } = provider.makeTokens();
    const session = await relay.start({ details: true });
    await relay.callback(session, { code: provider.issue(json({ access_token: accessToken })) });
    await expectResult(kit, session, { accessToken });
  });

  test('docs/extensions.md "Refreshing"; docs/extensions.md "Details": a refresh gives them too', async (kit) => {
    const { provider } = kit;
    const { access_token, token_type, scope, id_token } = provider.makeOAuthTokens();
    const reply = json({ access_token, token_type, scope, id_token });
    const asked = { service: SERVICE_A, refreshToken: provider.issue(reply), details: true };
    const more = { tokenType: token_type, scope, idToken: id_token };
    expectJson(await postJson(kit, '/refresh', asked), { accessToken: access_token, ...more });
  });
});
