/** A device polls for its tokens: RFC 8628 §3.4, §3.5; RFC 6749 §5; RFC 7240. */

import type { Bench, Case, Group } from '../../engine/case.ts';
import { between, equal, holds, matches } from '../../engine/expect.ts';
import { sleep, times } from '../../engine/wait.ts';
import { json, text } from '../../provider/replies.ts';
import { formCall } from '../../wire/addresses.ts';
import {
  beginGrant,
  DEVICE_CODE,
  expectOAuthError,
  goOn,
  pollGrant,
  readOAuth,
  tokenPath,
} from '../../wire/grant.ts';
import type { Call } from '../../wire/http.ts';

const TOKENS = {
  access_token: 'conformance-access-of-a-device-grant',
  refresh_token: 'conformance-refresh-of-a-device-grant',
  id_token: 'conformance-id-token-of-a-device-grant',
  token_type: 'bearer',
  scope: 'read write',
  expires_in: 3_599,
};

/** The person goes on and comes back from the provider, which answers the exchange so. */
async function signIn(bench: Bench, tokens: object, service = bench.options.serviceA) {
  const { session } = await beginGrant(bench, { service });
  const opened = await goOn(bench, session);
  const code = bench.provider.plan(json(tokens));
  await bench.target.callback(opened, { code });
  return opened;
}

const tokens: Case = {
  section: 'RFC 6749 §5.1',
  rule: 'tokens with all that the provider gave, and nothing else of its answer; no-store, no-cache',
  covers: ['rfc6749.5.1'],
  async run(bench) {
    for (const service of [bench.options.serviceA, bench.options.serviceB]) {
      const session = await signIn(bench, { ...TOKENS, novel: 'x' }, service);
      const answer = await pollGrant(bench, session);
      equal('fields', readOAuth(answer, 200), TOKENS);
      matches('Pragma', answer.headers.pragma, /\bno-cache\b/);
    }
  },
};

const fewTokens: Case = {
  section: 'RFC 6749 §5.1',
  rule: 'token_type is Bearer and scope an empty string where the provider gave none',
  covers: ['rfc6749.5.1'],
  async run(bench) {
    const { access_token } = TOKENS;
    const session = await signIn(bench, { access_token });
    const fields = readOAuth(await pollGrant(bench, session), 200);
    equal('fields', fields, { access_token, token_type: 'Bearer', scope: '' });
  },
};

const pending: Case = {
  section: 'RFC 8628 §3.5',
  rule: 'authorization_pending at once, before and after the page was opened; then tokens',
  covers: ['rfc8628.3.5', 'rfc6749.5.2'],
  async run(bench) {
    const { session } = await beginGrant(bench);
    const answer = await pollGrant(bench, session);
    expectOAuthError(answer, 'authorization_pending');
    holds('seconds', answer.seconds < 3, 'less than 3', answer.seconds);
    const opened = await goOn(bench, session);
    expectOAuthError(await pollGrant(bench, session), 'authorization_pending');
    const code = bench.provider.plan(json(TOKENS));
    await bench.target.callback(opened, { code });
    equal('fields', readOAuth(await pollGrant(bench, session), 200), TOKENS);
  },
};

const slowDown: Case = {
  section: 'RFC 8628 §3.5',
  rule: 'slow_down for who polls without a pause, not for two polls an interval; what is there is given even then',
  covers: ['rfc8628.3.5'],
  async run(bench) {
    const { session } = await beginGrant(bench);
    for (const _ of [1, 2]) {
      expectOAuthError(await pollGrant(bench, session), 'authorization_pending');
    }
    const answers = await Promise.all(times(20, () => pollGrant(bench, session)));
    for (const answer of answers) expectOAuthError(answer, /^(authorization_pending|slow_down)$/);
    const slowed = answers.filter(({ body }) => body.includes('"slow_down"'));
    holds('20 polls at the same time', slowed.length > 0, 'slow_down among them', 'none');
    const code = bench.provider.plan(json(TOKENS));
    await bench.target.callback(await goOn(bench, session), { code });
    readOAuth(await pollGrant(bench, session), 200);
  },
};

const denied: Case = {
  section: 'RFC 8628 §3.5',
  rule: 'access_denied at once, whether declined here or at the provider, and again to whoever asks again',
  covers: ['rfc8628.3.5', 'device-grant.errors'],
  async run(bench) {
    const { target } = bench;
    const here = (await beginGrant(bench)).session;
    await target.decide(here, 'decline');
    const there = await goOn(bench, (await beginGrant(bench)).session);
    await target.callback(there, { error: 'access_denied' });
    for (const session of [here, there]) {
      for (const _ of [1, 2, 3]) {
        expectOAuthError(await pollGrant(bench, session), 'access_denied');
      }
    }
  },
};

const failures: Case = {
  section: 'RFC 6749 §5.2',
  rule: "the provider's failures, to each of two requests: authorization_failed, missing_code, exchange_failed",
  covers: ['rfc6749.5.2', 'device-grant.errors'],
  async run(bench) {
    const code = bench.provider.plan(text('nonsense'));
    for (const [parameters, error] of [
      [{ error: 'server_error' }, 'authorization_failed'],
      [{}, 'missing_code'],
      [{ code }, 'exchange_failed'],
    ] as const) {
      const session = await goOn(bench, (await beginGrant(bench)).session);
      await bench.target.callback(session, parameters);
      for (const _ of [1, 2]) expectOAuthError(await pollGrant(bench, session), error);
    }
  },
};

const REPEAT_MARGIN_SECONDS = 5;

const repeated: Case = {
  section: 'RFC 8628 §3.5',
  rule: 'tokens are given to any polls within --grant-repeat-seconds of the first (0: to one); then expired_token',
  covers: ['rfc8628.3.5', 'device-grant.repeat'],
  async run(bench) {
    const { grantRepeatSeconds } = bench.options;
    const session = await signIn(bench, TOKENS);
    const answers = await Promise.all(times(5, () => pollGrant(bench, session)));
    const given = answers.filter(({ status }) => status === 200);
    equal('answers with tokens', given.length, grantRepeatSeconds === 0 ? 1 : answers.length);
    for (const answer of answers) {
      if (answer.status === 200) equal('fields', readOAuth(answer, 200), TOKENS);
      else expectOAuthError(answer, 'expired_token');
    }
    if (grantRepeatSeconds > 0) await sleep((grantRepeatSeconds + REPEAT_MARGIN_SECONDS) * 1000);
    expectOAuthError(await pollGrant(bench, session), 'expired_token');
  },
};

const requests: Case = {
  section: 'RFC 8628 §3.4; RFC 6749 §3.2',
  rule: 'unknown parameters are ignored, JSON as good as a form; what is missing, repeated or unknown is told',
  covers: ['rfc8628.3.4', 'rfc6749.3.2', 'rfc6749.5.2'],
  async run(bench) {
    const { session } = await beginGrant(bench);
    const path = tokenPath(session.service);
    const { body = '', ...form } = formCall(path, {
      grant_type: DEVICE_CODE,
      device_code: session.secret,
    });
    const expect = async (error: string, call: Partial<Call>) =>
      expectOAuthError(await bench.target.send({ ...form, path, ...call }), error);
    await expect('authorization_pending', { body: `${body}&client_id=any&novel=1&scope=` });
    const asJson = JSON.stringify(Object.fromEntries(new URLSearchParams(body)));
    const headers = { 'Content-Type': 'application/json; charset=utf-8' };
    await expect('authorization_pending', { body: asJson, headers });
    await expect('invalid_request', { body: `${body}&device_code=x` });
    await expect('invalid_request', { body: 'device_code=x' });
    await expect('invalid_request', { body: body.replace(/&?device_code=[^&]*/, '') });
    await expect('invalid_request', { body: body.replace(/device_code=[^&]*/, 'device_code=') });
    await expect('unsupported_grant_type', { body: 'grant_type=password&username=a&password=b' });
    await expect('invalid_grant', { body: body.replace(session.secret, 'nonsense') });
    await expect('expired_token', { body: body.replace(session.secret, 'A'.repeat(24)) });
  },
};

const capabilities: Case = {
  section: 'RFC 8628 §5.2',
  rule: 'the user code is no device code, and neither is the browser state',
  covers: ['rfc8628.3.4'],
  async run(bench) {
    const opened = await goOn(bench, (await beginGrant(bench)).session);
    for (const wrong of [opened.userCode ?? '', opened.state]) {
      const answer = await pollGrant(bench, { ...opened, secret: wrong });
      expectOAuthError(answer, /^(invalid_grant|expired_token)$/);
    }
    expectOAuthError(await pollGrant(bench, opened), 'authorization_pending');
  },
};

const preferred: Case = {
  section: 'RFC 7240 §4.3',
  rule: 'Prefer: wait=3 holds a pending poll three seconds and says so; a completion ends the wait',
  covers: ['rfc7240.4.3'],
  async run(bench) {
    const { session } = await beginGrant(bench);
    const held = await pollGrant(bench, session, { Prefer: 'wait=3' });
    expectOAuthError(held, 'authorization_pending');
    matches('Preference-Applied', String(held.headers['preference-applied']), /^wait=\d+$/);
    const seconds = Math.min(3, bench.options.pollSeconds);
    between('seconds', held.seconds, seconds - 0.5, seconds + 3);
    const opened = await goOn(bench, session);
    const waiting = pollGrant(bench, session, { Prefer: 'respond-async, wait=40' });
    await sleep(300);
    await bench.target.callback(opened, { code: bench.provider.plan(json(TOKENS)) });
    const answer = await waiting;
    equal('fields', readOAuth(answer, 200), TOKENS);
    holds('seconds', answer.seconds < 5, 'less than 5', answer.seconds);
  },
};

export const deviceToken: Group = {
  name: 'device-token',
  about: 'RFC 8628: how a device comes by its tokens',
  extension: 'device-grant',
  pace: 'at-once',
  cases: [
    tokens,
    fewTokens,
    pending,
    slowDown,
    denied,
    failures,
    repeated,
    requests,
    capabilities,
    preferred,
  ],
};

const AFTER_SECONDS = 2;

const expired: Case = {
  section: 'RFC 8628 §3.5',
  rule: 'expired_token after the lifetime, and the user code leads nowhere',
  covers: ['rfc8628.3.5'],
  async run(bench) {
    const { options } = bench;
    const { session } = await beginGrant(bench);
    await sleep((options.sessionSeconds + options.sweepSeconds + AFTER_SECONDS) * 1000);
    expectOAuthError(await pollGrant(bench, session), 'expired_token');
    const { status } = await bench.target.decide(session, 'continue');
    equal('status of the code', status, 404);
  },
};

export const deviceExpiry: Group = {
  name: 'device-expiry',
  about: 'RFC 8628: codes that expire',
  extension: 'device-grant',
  when: 'lifetime',
  cases: [expired],
};
