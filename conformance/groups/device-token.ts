/** The device grant: how a device gets its tokens (RFC 8628 §3.4, §3.5; RFC 6749 §5; RFC 7240). */

import * as expect from '../answers.ts';
import { sleep, times } from '../async.ts';
import { DEVICE_CODE, pollGrant, signIn, startGrant, tokenPath } from '../device.ts';
import { equal, holds, matches } from '../expect.ts';
import { type Call, FORM, formCall } from '../http.ts';
import { json, text } from '../mock-provider.ts';
import { POLL_SECONDS, SERVICE_A, SERVICE_B } from '../options.ts';
import type { Session } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';
import { continueToProvider } from '../user.ts';

/** A sign-in whose user is at the provider. */
async function startAndContinue(kit: Kit, service = SERVICE_A): Promise<Session> {
  return continueToProvider(kit, (await startGrant(kit, { service })).session);
}

/** The user comes back from the provider, which exchanges the code for these tokens. */
async function complete({ relay, provider }: Kit, session: Session, tokens: object) {
  await relay.callback(session, { code: provider.issue(json(tokens)) });
}

async function expectPollResult(kit: Kit, session: Session, fields: object) {
  equal('fields', expect.oauth(await pollGrant(kit, session), 200), fields);
}

async function expectPollError(kit: Kit, session: Session, error: string | RegExp) {
  expect.oauthError(await pollGrant(kit, session), error);
}

export const deviceToken = cases((test) => {
  test("RFC 6749 §5.1: the provider's tokens, all standard members and no other; no-store, no-cache", async (kit) => {
    for (const service of [SERVICE_A, SERVICE_B]) {
      const tokens = kit.provider.makeOAuthTokens();
      const session = await startAndContinue(kit, service);
      await complete(kit, session, { ...tokens, novel: 'x' });
      const answer = await pollGrant(kit, session);
      equal('fields', expect.oauth(answer, 200), tokens);
      matches('Pragma', answer.headers.pragma, /\bno-cache\b/);
    }
  });

  test('RFC 6749 §5.1: where the provider sent none, token_type is Bearer and scope is an empty string', async (kit) => {
    const { access_token } = kit.provider.makeOAuthTokens();
    const session = await startAndContinue(kit);
    await complete(kit, session, { access_token });
    await expectPollResult(kit, session, { access_token, token_type: 'Bearer', scope: '' });
  });

  test('RFC 8628 §3.5: authorization_pending at once, before and after the page was opened; then tokens', async (kit) => {
    const tokens = kit.provider.makeOAuthTokens();
    const { session } = await startGrant(kit);
    const answer = await pollGrant(kit, session);
    expect.oauthError(answer, 'authorization_pending');
    expect.atOnce(answer);
    const opened = await continueToProvider(kit, session);
    await expectPollError(kit, session, 'authorization_pending');
    await complete(kit, opened, tokens);
    await expectPollResult(kit, session, tokens);
  });

  test('RFC 8628 §3.5: slow_down for polls without a pause, not for two an interval, nor for a result', async (kit) => {
    const tokens = kit.provider.makeOAuthTokens();
    const { session } = await startGrant(kit);
    for (const _ of [1, 2]) await expectPollError(kit, session, 'authorization_pending');
    const answers = await Promise.all(times(20, () => pollGrant(kit, session)));
    for (const answer of answers) expect.oauthError(answer, /^(authorization_pending|slow_down)$/);
    const slowed = answers.filter(({ body }) => body.includes('"slow_down"'));
    holds('20 polls at once', slowed.length > 0, 'slow_down among them', 'none');
    await complete(kit, await continueToProvider(kit, session), tokens);
    expect.oauth(await pollGrant(kit, session), 200);
  });

  test('RFC 8628 §3.5; RFC 6749 §5.2; docs/device-grant.md "Errors": how it failed, at the relay or at the provider, to every poll', async (kit) => {
    const code = kit.provider.issue(text('nonsense'));
    for (const [parameters, error] of [
      ['declined', 'access_denied'],
      [{ error: 'access_denied' }, 'access_denied'],
      [{ error: 'server_error' }, 'authorization_failed'],
      [{}, 'missing_code'],
      [{ code }, 'exchange_failed'],
    ] as const) {
      const { session } = await startGrant(kit);
      if (parameters === 'declined') await kit.relay.decide(session, 'decline');
      else await kit.relay.callback(await continueToProvider(kit, session), parameters);
      for (const _ of [1, 2, 3]) await expectPollError(kit, session, error);
    }
  });

  test('docs/device-grant.md "Polling": tokens are delivered to every poll, at once or repeated', async (kit) => {
    const tokens = kit.provider.makeOAuthTokens();
    const session = await startAndContinue(kit);
    await complete(kit, session, tokens);
    const answers = await Promise.all(times(5, () => pollGrant(kit, session)));
    for (const answer of answers) equal('fields', expect.oauth(answer, 200), tokens);
    await expectPollResult(kit, session, tokens);
    // What /auth/start began is delivered once, here too.
    const { session: own } = await signIn(kit);
    expect.oauth(await pollGrant(kit, own), 200);
    const denied = await kit.relay.start();
    await kit.relay.callback(denied, { error: 'access_denied' });
    await expectPollError(kit, denied, 'access_denied');
    for (const over of [own, denied]) await expectPollError(kit, over, 'expired_token');
  });

  test('RFC 8628 §3.4; RFC 6749 §3.2; RFC 6749 §5.2: unknown parameters are ignored; missing, repeated and wrong ones have an error', async (kit) => {
    const { session } = await startGrant(kit);
    const grantType = new URLSearchParams({ grant_type: DEVICE_CODE }).toString();
    const body = `${grantType}&device_code=${session.pollSecret}`;
    const asJson = {
      body: JSON.stringify({ grant_type: DEVICE_CODE, device_code: session.pollSecret }),
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
    };
    const expected: readonly (readonly [error: string, call: Partial<Call>])[] = [
      ['authorization_pending', { body: `${body}&client_id=any&novel=1&scope=` }],
      [
        'authorization_pending',
        { body, headers: { ...FORM, Authorization: `Basic ${btoa('any:')}` } },
      ],
      ['authorization_pending', asJson],
      ['invalid_request', { body: `${body}&device_code=x` }],
      ['invalid_request', { body: 'device_code=x' }],
      ['invalid_request', { body: grantType }],
      ['invalid_request', { body: `${grantType}&device_code=` }],
      ['unsupported_grant_type', { body: 'grant_type=password&username=a&password=b' }],
      ['invalid_grant', { body: `${grantType}&device_code=nonsense` }],
      ['expired_token', { body: `${grantType}&device_code=${'A'.repeat(24)}` }],
    ];
    const form = formCall(tokenPath(session.service), {});
    for (const [error, call] of expected) {
      expect.oauthError(await kit.relay.send({ ...form, ...call }), error);
    }
  });

  test('RFC 8628 §5.2: user code, browser state, or at another provider: no device code', async (kit) => {
    const session = await startAndContinue(kit);
    for (const wrong of [
      { pollSecret: session.userCode ?? '' },
      { pollSecret: session.state },
      { service: SERVICE_B },
    ]) {
      await expectPollError(kit, { ...session, ...wrong }, /^(invalid_grant|expired_token)$/);
    }
    await expectPollError(kit, session, 'authorization_pending');
  });

  test('RFC 7240 §4.3: Prefer: wait=3 holds a pending poll for three seconds, or until a completion', async (kit) => {
    const tokens = kit.provider.makeOAuthTokens();
    const { session } = await startGrant(kit);
    const held = await pollGrant(kit, session, { Prefer: 'wait=3' });
    expect.oauthError(held, 'authorization_pending');
    matches('Preference-Applied', String(held.headers['preference-applied']), /^wait=\d+$/);
    expect.held(held, Math.min(3, POLL_SECONDS));
    const opened = await continueToProvider(kit, session);
    const polling = pollGrant(kit, session, { Prefer: 'respond-async, wait=40' });
    await sleep(300);
    await complete(kit, opened, tokens);
    const answer = await polling;
    equal('fields', expect.oauth(answer, 200), tokens);
    expect.atOnce(answer);
  });
});
