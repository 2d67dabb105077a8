/** Callbacks and visits that are no misconfiguration: users who cancel, second callbacks, prefetches, a hidden origin. */
import { describe, expect, test } from 'bun:test';
import { isPending } from '../kit/clock.ts';
import { poll, pollOnce, start } from '../kit/device.ts';
import { findUndocumented } from '../kit/log-document.ts';
import { captureLog, createTestService } from '../kit/service.ts';
import { callback, createUser, decide, decision, textOf } from '../kit/user.ts';

const NOT_SIGNED_IN = 'Your device wasn’t signed in.';

test.each([
  ['error=user_cancelled_login', 'authorization_failed'],
  ['error=user_cancelled_authorize', 'authorization_failed'],
  ['error=user_denied', 'authorization_failed'],
  ['error=cancelled', 'authorization_failed'],
  ['error=ACCESS_DENIED', 'authorization_failed'],
  ['denied=some-token', 'missing_code'],
  ['error_reason=user_denied', 'missing_code'],
])('a user who comes back with %s has cancelled, and nobody is warned', async (query, error) => {
  const log = captureLog();
  const service = createTestService();
  const { session, state } = await start(service);
  const page = await callback(service, state, query);
  expect(page.status).toBe(error === 'missing_code' ? 400 : 200);
  const text = await textOf(page);
  expect(text).toContain(NOT_SIGNED_IN);
  expect(text).not.toContain('taken too long');
  expect(await (await poll(service, session)).json()).toEqual({ error });
  expect(log.named('authorization_cancelled')).toMatchObject([{ level: 'info', service: 'mal' }]);
  expect(log.events.filter(({ level }) => level === 'warning')).toEqual([]);
  expect(log.events.flatMap(findUndocumented)).toEqual([]);
});

test('an error_code alone means that the app is not set up', async () => {
  const log = captureLog();
  const service = createTestService();
  await callback(service, (await start(service)).state, 'error_code=1349187&error_message=x');
  const [failed] = log.named('authorization_failed');
  expect(failed).toMatchObject({ level: 'warning', providerError: 'error_code' });
  expect(failed?.hint).toContain('finish its registration there');
});

describe('a second callback', () => {
  test.each([
    ['signed in', 'code=c', 'You’re signed in'],
    ['cancelled', 'error=access_denied', NOT_SIGNED_IN],
    ['failed', 'error=server_error', 'Sign-in failed. Please try again.'],
  ])('says that the user has %s, in the browser of Continue alone', async (_, query, words) => {
    const service = createTestService({ confirm: 'always' });
    const { url, state, session } = await start(service);
    const user = createUser(service);
    await user.decide(url, 'continue');
    await user.comeBack(state, query);
    for (const isDelivered of [false, true]) {
      if (isDelivered) await pollOnce(service, session);
      const again = await user.comeBack(state, query);
      expect([again.status, await textOf(again)]).toEqual([200, expect.stringContaining(words)]);
      expect((await callback(service, state, query)).status).toBe(404);
      expect((await user.comeBack(state, query, 'anilist')).status).toBe(404);
    }
    expect(service.sent).toHaveLength(query === 'code=c' ? 1 : 0);
  });
});

test.each([
  ['Sec-Purpose', 'prefetch;prerender'],
  ['Purpose', 'prefetch'],
  ['X-Moz', 'prefetch'],
])('a prefetch (%s: %s) is redirected, and the device gets no progress', async (name, value) => {
  const log = captureLog('debug');
  const service = createTestService();
  const { session, state, url } = await start(service);
  const polled = service.ask(`/auth/result?session=${session}&progress=1`);
  const prefetched = await service.ask(url, { headers: { [name]: value } });
  expect(prefetched.status).toBe(302);
  expect(log.named('sign_in_opened')).toEqual([]);
  expect(await isPending(polled)).toBe(true);
  const tapped = await service.ask(url);
  expect(tapped.headers.get('location')).toBe(prefetched.headers.get('location'));
  expect(await (await polled).json()).toEqual({ progress: 'opened' });
  const wrong = await service.ask(`/auth/anilist?state=${state}`, { headers: { [name]: value } });
  expect(wrong.status).toBe(404);
});

test.each([
  ['a picture', { 'Sec-Fetch-Dest': 'image', 'Sec-Fetch-Mode': 'no-cors' }],
  ['a frame', { 'Sec-Fetch-Dest': 'iframe', 'Sec-Fetch-Mode': 'navigate' }],
  ['a prefetch', { 'Sec-Fetch-Dest': 'document', 'Sec-Purpose': 'prefetch' }],
])('a callback that a page loads as %s ends nothing, and spends no code', async (_, headers) => {
  const service = createTestService();
  const { state } = await start(service);
  const path = `/auth/mal/callback?state=${state}&code=c`;
  expect((await service.ask(path, { headers })).status).toBe(403);
  expect(service.sent).toEqual([]);
  // A provider's page may come back by `fetch`.
  const fetched = { 'Sec-Fetch-Dest': 'empty', 'Sec-Fetch-Mode': 'cors' };
  expect((await service.ask(path, { headers: fetched })).status).toBe(200);
});

test('Origin: null without fetch metadata: the page and the log say why Continue fails', async () => {
  const log = captureLog();
  const service = createTestService({ confirm: 'always' });
  const { url } = await start(service);
  const hidden = await service.ask(url, decision('continue', { Origin: 'null' }));
  expect(hidden.status).toBe(403);
  expect(await textOf(hidden)).toContain('hid which page you pressed the button on');
  expect(log.named('origin_hidden')).toMatchObject([
    { level: 'warning', hint: expect.stringContaining('docs/proxies.md') },
  ]);
  expect(log.events.flatMap(findUndocumented)).toEqual([]);
  expect((await decide(service, url)).status).toBe(303);
});
