/** The exchange: the request to the provider, what is read of its response, and what counts as failed. */

import * as expect from '../answers.ts';
import { exchange, expectRequests, expectResult } from '../device.ts';
import { between, equal, present } from '../expect.ts';
import type { Answer } from '../http.ts';
import {
  after,
  cutShort,
  drip,
  HANG_UP_REQUESTS,
  hangUp,
  json,
  type Reply,
  redirect,
  silence,
  type Tokens,
  text,
  tokenResponse,
} from '../mock-provider.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

export const requests = cases((test) => {
  test('The exchange: a form with five fields and no other: the verifier of the link, or the secret', async (kit) => {
    const { relay, provider, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      // A device or a browser offers client credentials of its own.
      const offered = { client_secret: 'offered', clientSecret: 'offered', client_id: 'offered' };
      const session = await relay.start({ service, ...offered });
      const link = expect.location(await relay.open(session)).searchParams;
      const { code } = provider.issueCode();
      expect.successPage(await relay.callback(session, { code, ...offered }));
      expectRequests(kit, code, 1);
      const request = present('request', provider.requests(code)[0]);
      const { clientId, clientSecret, tokenUrl } = registrationAt(options, service);
      equal('method', request.method, 'POST');
      equal('path', request.path, new URL(tokenUrl).pathname);
      const { 'content-type': type, accept } = request.headers;
      equal('Content-Type', type, 'application/x-www-form-urlencoded');
      equal('Accept', accept, 'application/json');
      const verifier = link.get('code_challenge');
      // The order is free.
      const expected = {
        grant_type: 'authorization_code',
        code,
        client_id: clientId,
        redirect_uri: link.get('redirect_uri'),
        ...(clientSecret ? { client_secret: clientSecret } : { code_verifier: verifier }),
      };
      equal(
        'form',
        request.form.map((field) => [...field]).sort(),
        Object.entries(expected).sort(),
      );
    }
  });

  test('The exchange: a code of reserved and non-ASCII characters reaches the provider unchanged', async (kit) => {
    const session = await kit.relay.start();
    const reply = json({ access_token: 'unused' });
    const code = kit.provider.issue(reply, '/a+b c%20&state=x;=é€😀"<');
    expect.successPage(await kit.relay.callback(session, { code }));
    expectRequests(kit, code, 1);
  });
});

/** The exchange succeeds, and the device gets exactly this. */
async function expectTokens(kit: Kit, reply: Reply, result: Partial<Tokens>): Promise<void> {
  const { session, page } = await exchange(kit, reply);
  expect.successPage(page);
  await expectResult(kit, session, result);
}

/** The exchange fails: the 502 page, `exchange_failed` for the device, and no more requests than these. */
async function expectFailed(kit: Kit, reply: Reply, maxRequests = 1): Promise<Answer> {
  const { session, code, page } = await exchange(kit, reply);
  expect.failurePage(page, expect.EXCHANGE_FAILED);
  const { length } = kit.provider.requests(code);
  between('requests at the token endpoint', length, 1, maxRequests);
  await expectResult(kit, session, { error: 'exchange_failed' });
  return page;
}

const RESPONSE_BYTES = 65_536;

/** JSON of exactly this length; the token stands before what makes it long. */
function jsonOf(bytes: number, accessToken: string): Reply {
  return text(`${`{"access_token":"${accessToken}","pad":"`.padEnd(bytes - 2, 'x')}"}`);
}

export const tokenResponses = cases((test) => {
  test('The exchange; Waiting for the result: accessToken, refreshToken and expiresIn reach the device, and no other field', async (kit) => {
    const tokens = kit.provider.makeTokens();
    await expectTokens(kit, json({ ...tokenResponse(tokens), id_token: 'x', error: '' }), tokens);
  });

  test('The exchange; Waiting for the result: refreshToken and expiresIn are left out if missing or empty; any Content-Type', async (kit) => {
    const { accessToken, refreshToken, expiresIn } = kit.provider.makeTokens();
    const access = { access_token: accessToken };
    // The body decides, not its type.
    await expectTokens(kit, text(JSON.stringify(access), 200, 'text/plain'), { accessToken });
    await expectTokens(kit, json(access), { accessToken });
    const lasting = { ...access, refresh_token: '', expires_in: expiresIn };
    await expectTokens(kit, json(lasting), { accessToken, expiresIn });
    const renewable = { ...access, refresh_token: refreshToken, expires_in: 0 };
    await expectTokens(kit, json(renewable), { accessToken, refreshToken });
  });

  test('Waiting for the result: tokens reach the device unchanged, whatever characters they contain', async (kit) => {
    const accessToken = `conformance-"\\/<>&' +%41é€😀\u2028-${'long'.repeat(4_000)}`;
    const refreshToken = 'conformance-\u0001-\t-=';
    const fields = { access_token: accessToken, refresh_token: refreshToken, expires_in: 1 };
    await expectTokens(kit, json(fields), { accessToken, refreshToken, expiresIn: 1 });
  });

  test('The exchange; Limits: a token response of 64 KiB is read whole; a longer one is a failed exchange', async (kit) => {
    const { accessToken } = kit.provider.makeTokens();
    await expectTokens(kit, jsonOf(RESPONSE_BYTES, accessToken), { accessToken });
    for (const bytes of [RESPONSE_BYTES + 1, 1_000_000]) {
      await expectFailed(kit, jsonOf(bytes, kit.provider.makeTokens().accessToken));
    }
  });
});

const STATUSES = [201, 202, 203, 206, 299, 400, 401, 403, 404, 429, 500, 503];
const REDIRECTS = [301, 302, 303, 307, 308];
const NOT_OBJECTS = [
  '',
  ' ',
  '<html></html>',
  'access_token=x',
  '[]',
  'null',
  '"x"',
  '42',
  '['.repeat(60_000),
];
const WITHOUT_TOKEN = [{}, { access_token: '' }, { access_token: null }, { access_token: 5 }];

/** Replies that fail the exchange, most of them with tokens that a relay could take by mistake. */
const FAILING: Record<string, (tokens: object) => readonly Reply[]> = {
  'any status other than 200 is a failed exchange, even with tokens in the body': (tokens) => [
    ...STATUSES.map((status) => json(tokens, status)),
    text('', 204),
  ],
  'a redirect is a failed exchange, and the code goes to no other address': () =>
    REDIRECTS.flatMap((status) => [redirect(status, 'trap'), redirect(status, 'token')]),
  'a body that is not a JSON object is a failed exchange': (tokens) =>
    [...NOT_OBJECTS, JSON.stringify(tokens).slice(0, -1)].map((body) => text(body)),
  'an access_token that is missing, empty or no string is a failed exchange': () =>
    WITHOUT_TOKEN.map((access) => json({ refresh_token: 'unused', expires_in: 3600, ...access })),
};

export const upstream = cases((test) => {
  for (const [rule, replies] of Object.entries(FAILING)) {
    test(`The exchange: ${rule}`, async (kit) => {
      const tokens = tokenResponse(kit.provider.makeTokens());
      for (const reply of replies(tokens)) await expectFailed(kit, reply);
    });
  }

  test('The exchange: a broken connection is a failed exchange; sent again only before any answer', async (kit) => {
    const body = JSON.stringify(tokenResponse(kit.provider.makeTokens()));
    await expectFailed(kit, hangUp, HANG_UP_REQUESTS);
    await expectFailed(kit, cutShort(body.slice(0, 40)));
  });
});

const EXCHANGE_SECONDS = 15;

export const upstreamTimeout = cases((test) => {
  test('The exchange; Limits: a provider that does not answer for 15 seconds: the exchange has failed', async (kit) =>
    expect.held(await expectFailed(kit, silence), EXCHANGE_SECONDS));

  test('The exchange; Limits: the 15 seconds include the body: a provider that sends it slowly is cut off', async (kit) =>
    expect.held(await expectFailed(kit, drip), EXCHANGE_SECONDS));

  test('The exchange; Limits: a provider that answers after 12 seconds is in time', async (kit) => {
    const tokens = kit.provider.makeTokens();
    const reply = after(12_000, json(tokenResponse(tokens)));
    let { session, page } = await exchange(kit, reply);
    // On a busy machine those 12 seconds may have been 15. A relay that waits for less fails sooner.
    if (page.status === 502 && page.seconds >= EXCHANGE_SECONDS) {
      ({ session, page } = await exchange(kit, reply));
    }
    expect.successPage(page);
    await expectResult(kit, session, tokens);
  });
});
