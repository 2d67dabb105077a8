/** `grant_type=refresh_token`: the relay adds what the device cannot hold. RFC 6749 §6. */

import { identityOf } from '../../command/environment.ts';
import type { Case, Group } from '../../engine/case.ts';
import { equal, matches } from '../../engine/expect.ts';
import { sleep, times } from '../../engine/wait.ts';
import { after, hangUp, json, redirect, text } from '../../provider/replies.ts';
import { formCall } from '../../wire/addresses.ts';
import { expectOAuthError, readOAuth, refresh, tokenPath } from '../../wire/grant.ts';

const TOKENS = {
  access_token: 'conformance-access-of-a-refresh',
  refresh_token: 'conformance-refresh-of-a-refresh',
  id_token: 'conformance-id-token-of-a-refresh',
  token_type: 'bearer',
  scope: 'read',
  expires_in: 3_599,
};

const passedOn: Case = {
  section: 'RFC 6749 §6',
  rule: 'token and scope go to the provider with the client id and its secret; its answer comes back',
  covers: ['rfc6749.6', 'rfc6749.5.1'],
  async run(bench) {
    const { provider, options } = bench;
    for (const service of [options.serviceA, options.serviceB]) {
      const token = provider.plan(json({ ...TOKENS, novel: 'x' }));
      const offered = { client_id: 'offered', client_secret: 'offered', scope: 'read' };
      const answer = await refresh(bench, service, token, offered);
      equal('fields', readOAuth(answer, 200), TOKENS);
      matches('Pragma', answer.headers.pragma, /\bno-cache\b/);
      const { clientId, clientSecret } = identityOf(options, service);
      const form = provider.requests(token).map((request) => Object.fromEntries(request.form));
      const common = { grant_type: 'refresh_token', refresh_token: token, scope: 'read' };
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      equal('requests', form, [{ ...common, client_id: clientId, ...secret }]);
    }
  },
};

const noNewToken: Case = {
  section: 'RFC 6749 §6',
  rule: 'a provider that gives no new refresh token: none is made up, and JSON asks as well as a form',
  covers: ['rfc6749.6'],
  async run({ target, provider, options }) {
    const { access_token } = TOKENS;
    const token = provider.plan(json({ access_token, token_type: 'Bearer' }));
    const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: token });
    const headers = { 'Content-Type': 'application/json' };
    const path = tokenPath(options.serviceB);
    const fields = readOAuth(await target.send({ method: 'POST', path, body, headers }), 200);
    equal('fields', fields, { access_token, token_type: 'Bearer', scope: '' });
  },
};

const together: Case = {
  section: 'RFC 6749 §6',
  rule: 'refreshes with one token at the same time: the provider is asked once, all get its answer',
  covers: ['refresh.once'],
  async run(bench) {
    const { provider, options } = bench;
    const token = provider.plan(after(800, json(TOKENS)));
    const asked = times(5, () => refresh(bench, options.serviceA, token));
    for (const answer of await Promise.all(asked)) equal('fields', readOAuth(answer, 200), TOKENS);
    equal('requests at the provider', provider.requests(token).length, 1);
  },
};

const repeated: Case = {
  section: 'RFC 6749 §6',
  rule: 'a repeat within 30 s gets the same answer, tokens or refusal, without the provider',
  covers: ['refresh.once'],
  async run(bench) {
    const { provider, options } = bench;
    const good = provider.plan(json(TOKENS));
    const bad = provider.plan(json({ error: 'invalid_grant' }, 400));
    for (const pause of [0, 1_000, 3_000]) {
      await sleep(pause);
      equal('fields', readOAuth(await refresh(bench, options.serviceA, good), 200), TOKENS);
      expectOAuthError(await refresh(bench, options.serviceB, bad), 'invalid_grant');
    }
    equal(
      'requests',
      [good, bad].map((token) => provider.requests(token).length),
      [1, 1],
    );
  },
};

const REPEAT_SECONDS = 30;

const forgotten: Case = {
  section: 'RFC 6749 §6',
  rule: 'after that the provider is asked again: nothing is kept',
  covers: ['refresh.once'],
  async run(bench) {
    const { provider, options } = bench;
    const token = provider.plan(json({ error: 'invalid_grant' }, 400));
    expectOAuthError(await refresh(bench, options.serviceA, token), 'invalid_grant');
    await sleep((REPEAT_SECONDS + 3) * 1000);
    await refresh(bench, options.serviceA, token);
    equal('requests at the provider', provider.requests(token).length, 2);
  },
};

const refused: Case = {
  section: 'RFC 6749 §5.2',
  rule: "the provider's error comes through as 400, whatever its status; words of its own do not",
  covers: ['rfc6749.6', 'rfc6749.5.2'],
  async run(bench) {
    const { provider, options } = bench;
    const said = { error_description: 'conformance-words-of-a-provider' };
    for (const [error, status] of [
      ['invalid_grant', 400],
      ['invalid_client', 401],
      ['unauthorized_client', 403],
      ['invalid_scope', 400],
    ] as const) {
      const token = provider.plan(json({ error, ...said }, status));
      const answer = await refresh(bench, options.serviceB, token);
      expectOAuthError(answer, error);
      equal('own words', answer.body.includes(said.error_description), false);
    }
  },
};

const ownWords: Case = {
  section: 'RFC 6749 §5.2',
  rule: 'a refusal without a standard error is never invalid_grant: 401 is invalid_client, 400 is 503 temporarily_unavailable',
  covers: ['rfc6749.5.2', 'refresh.down'],
  async run(bench) {
    const { provider, options } = bench;
    const words = { error: 'conformance-error-of-a-provider', message: 'no' };
    const unauthorized = provider.plan(json(words, 401));
    const answer = await refresh(bench, options.serviceB, unauthorized);
    expectOAuthError(answer, 'invalid_client');
    for (const reply of [json(words, 400), json(words, 403), json(words)]) {
      const token = provider.plan(reply);
      const unknown = await refresh(bench, options.serviceB, token);
      expectOAuthError(unknown, 'temporarily_unavailable', 503);
    }
  },
};

const down: Case = {
  section: 'RFC 6749 §5.2',
  rule: 'a provider that cannot be asked: 503 temporarily_unavailable, never invalid_grant, and not kept',
  covers: ['refresh.down'],
  async run(bench) {
    const { provider, options } = bench;
    const broken = [hangUp, json({}, 500), json({}, 502), json({}, 429), redirect(302, 'trap')];
    for (const reply of [...broken, text('<html>')]) {
      const token = provider.plan(reply);
      const answer = await refresh(bench, options.serviceA, token);
      expectOAuthError(answer, 'temporarily_unavailable', 503);
      // The second request is answered with tokens.
      readOAuth(await refresh(bench, options.serviceA, token), 200);
    }
  },
};

const incomplete: Case = {
  section: 'RFC 6749 §5.2',
  rule: 'without a refresh token, or with two: invalid_request, and the provider is not asked',
  covers: ['rfc6749.5.2', 'rfc6749.3.2'],
  async run({ target, provider, options }) {
    const token = provider.plan(json(TOKENS));
    const form = formCall(tokenPath(options.serviceA), { grant_type: 'refresh_token' });
    const twice = `${form.body}&refresh_token=${token}&refresh_token=${token}`;
    for (const body of [form.body ?? '', `${form.body}&refresh_token=`, twice]) {
      expectOAuthError(await target.send({ ...form, body }), 'invalid_request');
    }
    equal('requests at the provider', provider.requests(token).length, 0);
  },
};

const BURST = 10;

const limited: Case = {
  section: 'RFC 6749 §5.2',
  rule: 'refreshes have a limit of their own per address: 429 slow_down with Retry-After',
  covers: ['rfc6749.6', 'rfc6749.5.2'],
  async run({ target, provider, options }) {
    const from = await target.sources.fresh();
    const path = tokenPath(options.serviceA);
    const answers = [];
    for (const _ of times(2 * BURST, Number)) {
      const token = provider.plan(json(TOKENS));
      const form = { grant_type: 'refresh_token', refresh_token: token };
      answers.push(await target.send({ ...formCall(path, form), from }));
    }
    // Not each of them: where requests are slow, one or the other is in time again.
    const refused = answers.slice(BURST).find(({ status }) => status !== 200) ?? answers.at(-1);
    if (refused === undefined) return;
    expectOAuthError(refused, 'slow_down', 429);
    matches('Retry-After', refused.headers['retry-after'], /^[1-9]\d*$/);
    for (const answer of answers.slice(0, BURST)) readOAuth(answer, 200);
    await target.start(options.serviceA, from);
  },
};

export const deviceRefresh: Group = {
  name: 'device-refresh',
  about: 'RFC 6749 §6: new tokens, with the secret that a device cannot hold',
  extension: 'device-grant',
  pace: 'at-once',
  cases: [
    passedOn,
    noNewToken,
    together,
    repeated,
    forgotten,
    refused,
    ownWords,
    down,
    incomplete,
    limited,
  ],
};
