/** The device an app developer copies asks for a link, through every trouble that waiting may cure. */
import { expect, test } from 'bun:test';
import { startSignIn } from '../../demo/device.ts';
import { failureOf } from '../support/failure-of.ts';
import { speedUpPauses } from './support/fast-pauses.ts';
import { BROKEN_OFF, json, PORTAL, startScriptedRelay, text } from './support/scripted-relay.ts';

const STARTED = { session: 'poll/secret', url: 'https://relay.example/auth/mal', expiresIn: 600 };

test('demo device: start: asks once, and knows when the link ends', async () => {
  using relay = startScriptedRelay(json(STARTED));
  const beforeMs = performance.now();
  const signIn = await startSignIn(relay.url, 'mal');
  expect(signIn).toMatchObject(STARTED);
  expect(signIn.expiresAtMs).toBeGreaterThanOrEqual(beforeMs + 600_000);
  expect(relay.asked).toEqual(['POST /auth/start']);
});

test('demo device: start: 429, 503, a hotel’s page and a broken connection → asks again', async () => {
  using _ = speedUpPauses();
  using relay = startScriptedRelay(
    text(429, 'Rate limited'),
    text(503, 'Server busy'),
    PORTAL,
    BROKEN_OFF,
    json(STARTED),
  );
  const troubles: string[] = [];
  await startSignIn(relay.url, 'mal', { onRetry: (trouble) => troubles.push(trouble) });
  expect(troubles).toEqual([
    'the relay answered 429 Rate limited',
    'the relay answered 503 Server busy',
    'the relay does not answer',
    'the relay does not answer',
  ]);
});

test('demo device: start: 429 with Retry-After → waits as long as that says', async () => {
  using pauses = speedUpPauses();
  const limited = text(429, 'Rate limited', { 'Retry-After': '7' });
  using relay = startScriptedRelay(limited, json(STARTED));
  await startSignIn(relay.url, 'mal');
  expect(pauses.pausesMs).toContain(7_000);
});

test('demo device: start: 429 without end → rate_limited', async () => {
  using _ = speedUpPauses();
  using relay = startScriptedRelay(text(429, 'Rate limited'));
  expect(await failureOf(startSignIn(relay.url, 'mal'))).toMatchObject({ code: 'rate_limited' });
});

test('demo device: start: nobody listens → unreachable', async () => {
  using _ = speedUpPauses();
  const relay = startScriptedRelay(json(STARTED));
  relay[Symbol.dispose]();
  expect(await failureOf(startSignIn(relay.url, 'mal'))).toMatchObject({ code: 'unreachable' });
});

test('demo device: start: 400 → refused with the relay’s reason, and not asked again', async () => {
  using relay = startScriptedRelay(text(400, 'Unknown service'));
  expect(await failureOf(startSignIn(relay.url, 'nobody'))).toMatchObject({
    code: 'refused',
    detail: 'the relay answered 400 Unknown service',
  });
  expect(relay.asked).toHaveLength(1);
});

test('demo device: start: called off → rejects with the signal’s reason', async () => {
  using relay = startScriptedRelay(text(503, 'Server busy'));
  const ending = new AbortController();
  const reason = new Error('the person has left');
  const start = startSignIn(relay.url, 'mal', {
    signal: ending.signal,
    onRetry: () => ending.abort(reason),
  });
  expect(await failureOf(start)).toBe(reason);
});
