/** The device an app developer copies waits for its tokens, through every trouble, until the link ends. */
import { expect, test } from 'bun:test';
import { type SignIn, waitForTokens } from '../../demo/device.ts';
import { failureOf } from '../support/failure-of.ts';
import { speedUpPauses } from './support/fast-pauses.ts';
import {
  BROKEN_OFF,
  json,
  NOBODY_YET,
  PORTAL,
  startScriptedRelay,
  text,
} from './support/scripted-relay.ts';

const TOKENS = { accessToken: 'an-access-token', refreshToken: 'a-refresh-token', expiresIn: 60 };

function signInOf(leftMs = 600_000): SignIn {
  return {
    session: 'poll/secret',
    url: 'https://relay.example/auth/mal',
    expiresIn: 600,
    expiresAtMs: performance.now() + leftMs,
  };
}

test('demo device: wait: 204 → polls again with the same secret, and returns what arrives', async () => {
  using _ = speedUpPauses();
  using relay = startScriptedRelay(NOBODY_YET, NOBODY_YET, json(TOKENS));
  expect(await waitForTokens(relay.url, signInOf())).toEqual(TOKENS);
  expect(relay.asked).toEqual(Array(3).fill('GET /auth/result?session=poll%2Fsecret'));
});

test('demo device: wait: 204 at once, as from a relay that restarts → does not poll without a pause', async () => {
  using pauses = speedUpPauses();
  using relay = startScriptedRelay(NOBODY_YET, json(TOKENS));
  await waitForTokens(relay.url, signInOf());
  expect(Math.max(...pauses.pausesMs)).toBeGreaterThan(1_000);
});

test('demo device: wait: 500, 502, 429, a hotel’s page and a broken connection → polls again', async () => {
  using _ = speedUpPauses();
  using relay = startScriptedRelay(
    text(500, 'oops'),
    text(502, 'Bad Gateway'),
    text(429, 'slow down'),
    PORTAL,
    BROKEN_OFF,
    json(TOKENS),
  );
  const troubles: string[] = [];
  const onRetry = (trouble: string) => troubles.push(trouble);
  expect(await waitForTokens(relay.url, signInOf(), { onRetry })).toEqual(TOKENS);
  expect(troubles).toHaveLength(5);
});

test.each(['access_denied', 'authorization_failed', 'missing_code', 'exchange_failed'])(
  'demo device: wait: error %s → rejects with that code, and asks no more',
  async (error) => {
    using relay = startScriptedRelay(json({ error }));
    expect(await failureOf(waitForTokens(relay.url, signInOf()))).toMatchObject({ code: error });
    expect(relay.asked).toHaveLength(1);
  },
);

test('demo device: wait: 410 → expired', async () => {
  using relay = startScriptedRelay(text(410, 'Session not found'));
  expect(await failureOf(waitForTokens(relay.url, signInOf()))).toMatchObject({ code: 'expired' });
});

test('demo device: wait: the link’s time is over → expired, whatever the relay says', async () => {
  using relay = startScriptedRelay(NOBODY_YET);
  expect(await failureOf(waitForTokens(relay.url, signInOf(50)))).toMatchObject({
    code: 'expired',
  });
});

test('demo device: wait: called off → rejects with the signal’s reason', async () => {
  using relay = startScriptedRelay(text(500, 'oops'));
  const ending = new AbortController();
  const reason = new Error('the person has left');
  const onRetry = () => ending.abort(reason);
  const waiting = waitForTokens(relay.url, signInOf(), { signal: ending.signal, onRetry });
  expect(await failureOf(waiting)).toBe(reason);
});
