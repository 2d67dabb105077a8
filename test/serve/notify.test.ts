/** Notifications of the operator (NOTIFY_URL), which arrive at a real server. docs/operating.md "Notifications". */
import { beforeEach, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { NO_MONITOR } from '../../src/monitor.ts';
import { createNotifier, send } from '../../src/notify.ts';
import type { ServiceState } from '../../src/service.ts';
import { createFakeClock } from '../kit/clock.ts';
import { start } from '../kit/device.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createTestService, SETTINGS } from '../kit/service.ts';
import { bringCode, callback, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const MINUTE_MS = 60_000;
const fullText = (maxSessions: number) =>
  `MAX_SESSIONS (${maxSessions}) sign-ins are in progress, so starts get a 503: raise it, or lower START_BURST and START_RATE if somebody abuses starts`;

let answer: () => Response | Promise<Response> = () => new Response('ok');
const { url, requests: arrived } = serveUpstream(() => answer());
beforeEach(() => {
  arrived.length = 0;
  answer = () => new Response('ok');
});

const notifyUrl = `${url}/${plantSecret(randomUUID())}`;
const target = { ...SETTINGS, notifyUrl, baseUrl: 'https://relay.test/sign/in' };
const texts = () => arrived.map(({ body }) => JSON.parse(body).text.replace(/^.*?: /, ''));

const GOOD = { liveSessions: 0, parkedPolls: 0, readiness: { status: 'ready' } } as const;
const down = (reason: string) => ({ ...GOOD, readiness: { status: 'down', reason } }) as const;

function open(maxSessions = 10) {
  const clock = createFakeClock();
  return { clock, ...createNotifier({ ...target, maxSessions }, fetch, clock) };
}

describe('one notification', () => {
  const sent = ['ready', 'Not ready: store'] as const;

  test('is JSON that chats show, or plain text for ntfy', async () => {
    expect(await send(target, fetch, ...sent)).toBeUndefined();
    const text = 'Sign-in Relay relay.test: Not ready: store';
    const json = { text, content: text, cause: 'ready', over: false };
    expect(JSON.parse(arrived[0]?.body ?? '')).toEqual(json);
    const ntfy = { ...target, notifyUrl: `${notifyUrl}#ntfy` };
    expect(await send(ntfy, fetch, ...sent, true)).toBeUndefined();
    expect(arrived[1]?.body).toBe('Over: Not ready: store');
    expect(arrived[1]?.headers.get('Title')).toBe('Sign-in Relay relay.test');
    for (const { headers } of arrived) expect(headers.get('User-Agent')).toBe('sign-in-relay');
  });

  test.each([
    ['fails', () => new Response('no', { status: 500 }), 'it answered 500'],
    ['redirects', () => Response.redirect(`${url}/elsewhere`), 'it answered 302'],
    ['is silent', () => new Promise<Response>(() => {}), 'it did not answer within 5 s'],
  ])('a server that %s is reported so, and followed nowhere', async (_, how, problem) => {
    answer = how;
    expect(await send(target, fetch, ...sent)).toBe(problem);
    expect(arrived.length).toBe(1);
  });

  test('a server that is gone, or answers without end, keeps nobody waiting', async () => {
    const gone = { ...target, notifyUrl: 'http://127.0.0.1:1/' };
    expect(await send(gone, fetch, ...sent)).toMatch(/^it cannot be reached \(\w+\)$/);
    answer = () =>
      new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(9)) }));
    expect(await send(target, fetch, ...sent)).toBeUndefined();
  });
});

describe('an outage', () => {
  const STATES: Readonly<Record<string, ServiceState>> = {
    good: GOOD,
    full: { ...GOOD, readiness: { status: 'degraded', reason: 'store: OOM' } },
    silent: down('store: silent'),
    replica: down('store: READONLY'),
  };

  test.each([
    ['is sent once, and when it is over', 'full 1, full 1, good 1', ['OOM', 'Over: OOM']],
    [
      'that recurs is sent five minutes after the first',
      'full 1, good 1, full 2, full 2, full 0',
      ['OOM', 'Over: OOM', 'OOM'],
    ],
    [
      'for another reason is sent at once',
      'full 1, good 1, silent 0',
      ['OOM', 'Over: OOM', 'silent'],
    ],
    [
      'whose reason changes is sent again, and over once',
      'silent 1, replica 1, good 0',
      ['silent', 'READONLY', 'Over: READONLY'],
    ],
    ['that becomes worse is not over', 'full 1, replica 1', ['OOM', 'READONLY']],
    [
      'that lasts is sent again after four hours',
      'full 239, full 1, full 0',
      ['OOM', 'Still: OOM'],
    ],
  ])('%s', async (_, states, expected) => {
    const { clock, check } = open();
    for (const each of states.split(', ')) {
      const [state = '', minutes] = each.split(' ');
      await check(STATES[state] ?? GOOD);
      clock.advance(Number(minutes) * MINUTE_MS);
    }
    const reasons = texts().map((text) =>
      text.replace(/(Not ready|Some requests fail): store: /, ''),
    );
    expect(reasons).toEqual(expected);
  });

  test('is sent ten times within an hour at most, and the tenth says so', async () => {
    const { clock, check } = open();
    for (let count = 0; count < 59; count += 1) {
      await check(count % 6 < 3 ? down('store: x') : GOOD);
      clock.advance(MINUTE_MS);
    }
    expect(texts().length).toBe(10);
    expect(texts().findIndex((text) => text.includes('10th notification within an hour'))).toBe(9);
    clock.advance(MINUTE_MS);
    await check(down('store: x'));
    expect(texts().length).toBe(11);
  });
});

test.each([
  ['a store that does not answer', down('store: x'), ['Not ready: store: x']],
  ['sessions that are full', { ...GOOD, liveSessions: 10 }, [fullText(10)]],
  ['a relay that drains', down('draining'), []],
])('%s', async (_, state, expected) => {
  const { check } = open();
  await check(state);
  expect(texts()).toEqual(expected);
});

const refuse = () => new Response('', { status: 502 });

test.each<[minutes: number, at: number[]]>([
  [5, [0, 0.5, 1.5, 3.5, 7.5]],
  [60, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 30.5, 45.5]],
])('what is refused for %d minutes is sent at minutes %p', async (minutes, expected) => {
  const { clock, check } = open();
  const at: number[] = [];
  for (let minute = 0; minute < 60; minute += 0.5) {
    answer = minute < minutes ? refuse : () => new Response('ok');
    await check(down('store: x'));
    if (arrived.length > at.length) at.push(minute);
    clock.advance(MINUTE_MS / 2);
  }
  expect(at).toEqual(expected);
});

test('a notification that is always refused holds up no other', async () => {
  const { clock, check } = open();
  answer = refuse;
  await check(down('store: x'));
  answer = () => new Response('ok');
  const both = { ...down('store: x'), liveSessions: 10 };
  await check(both);
  clock.advance(MINUTE_MS / 2);
  await check(both);
  const [ready, sessions] = ['Not ready: store: x', fullText(10)];
  expect(texts()).toEqual([ready, sessions, ready]);
});

test('most sign-ins of a provider fail: a notification, and another when it is over', async () => {
  const { check, listenTo } = open();
  let fails = true;
  const service = createTestService({
    monitor: listenTo(NO_MONITOR),
    fetch: async () =>
      fails
        ? Response.json({ error: 'invalid_client' }, { status: 401 })
        : Response.json({ access_token: 'token' }),
  });
  const signIn = async () => bringCode(service, (await start(service)).state, makeCode());
  await callback(service, (await start(service)).state, 'error=access_denied');
  await signIn();
  await signIn();
  await check(GOOD);
  expect(arrived).toEqual([]);
  await signIn();
  await check(GOOD);
  expect(texts()).toEqual([expect.stringMatching(/^MyAnimeList: 3 of the last 3 .*MAL_CLIENT_/)]);
  fails = false;
  for (let count = 0; count < 3; count += 1) await signIn();
  await check(GOOD);
  expect(texts()[1]).toStartWith('Over: MyAnimeList');
});

test.each([
  [
    'fails after many successes is reported after five in a row',
    5,
    [expect.stringContaining('5 of the last 9')],
  ],
  ['fails four times after many successes is not reported', 4, []],
])('a provider that %s', async (_, failures, expected) => {
  const { check, listenTo } = open();
  const { ended, failed } = listenTo(NO_MONITOR);
  for (let count = 0; count < 12; count += 1) ended('mal', 'signed_in');
  for (let count = 0; count < failures; count += 1) {
    failed({ event: 'exchange_failed', service: 'mal', signIn: undefined, hint: 'a hint' });
  }
  await check(GOOD);
  expect(texts()).toEqual(expected);
});

test('a provider uses up half of the notifications of an hour at most', async () => {
  const { check, listenTo, clock } = open();
  const { ended, failed } = listenTo(NO_MONITOR);
  for (let round = 0; round < 10; round += 1) {
    for (let count = 0; count < 9; count += 1) {
      failed({ event: 'authorization_failed', service: 'mal', signIn: undefined, hint: 'a hint' });
    }
    await check(GOOD);
    for (let count = 0; count < 9; count += 1) ended('mal', 'signed_in');
    clock.advance(5 * MINUTE_MS);
    await check(GOOD);
  }
  expect(texts().length).toBe(5);
  await check(down('store: x'));
  expect(texts().at(-1)).toBe('Not ready: store: x');
});

test('a failed check does not end the relay or the checks', async () => {
  const { clock, watch } = open();
  let reads = 0;
  watch(async () => {
    reads += 1;
    if (reads === 1) throw new Error('no state');
    return down('store: x');
  });
  await pollUntil('a notification', () => {
    clock.advance(MINUTE_MS);
    return arrived.length > 0;
  });
  expect(texts()).toEqual(['Not ready: store: x']);
});

test('a relay process notifies NOTIFY_URL, and never logs the URL', async () => {
  const env = { NOTIFY_URL: notifyUrl, MAX_SESSIONS: '1' };
  const relay = await startRelay(env, { fault: 'short timers' });
  await start(relay);
  await pollUntil('a notification', () => arrived.length > 0);
  expect(texts()).toEqual([fullText(1)]);
  await relay.stop();
  expect(relay.output()).not.toContain(notifyUrl);
});
