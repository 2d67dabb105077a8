/** Which object a request reaches, limits that are exact over all objects, and how many polls an object holds. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import {
  createTaggedSecrets,
  type RoutedRequest,
  tagOf,
  tagOfRequest,
} from '../../src/workers/tag.ts';
import { start, startRequest } from '../kit/device.ts';
import { MAX_PARKED_POLLS_OF_OBJECT, MAX_POLLS_PER_SESSION } from '../kit/limits.ts';
import { startTokenEndpoint } from '../kit/provider.ts';
import { openRaw, statusOf } from '../kit/sockets.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { inLanes } from '../kit/wait.ts';
import { startWorkers } from '../kit/workers.ts';

setDefaultTimeout(30_000);

const TAGS = 16;
const BASE = 'https://relay.test';

function tagOfPath(path: string, request: Partial<RoutedRequest> = {}) {
  const [method, contentType, body, address] = ['GET', null, '', '192.0.2.1'];
  const url = `${BASE}${path}`;
  return tagOfRequest({ method, contentType, body, address, url, ...request }, TAGS);
}

describe('a request reaches the object of its session', () => {
  const {
    browserState,
    pollSecret,
    userCode = '',
  } = createTaggedSecrets(randomBytes, TAGS, 7)(true);
  const typed = `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
  const own = tagOf(browserState, TAGS);
  const post = (body: string, contentType: string | null = null) => ({
    method: 'POST',
    body,
    contentType,
  });
  const deviceCode = new URLSearchParams({ grant_type: 'x', device_code: pollSecret }).toString();

  test.each<[string, string, Partial<RoutedRequest>]>([
    ['a poll', `/auth/result?session=${pollSecret}`, {}],
    ['a poll that does not wait', `/auth/result?wait=0&session=${pollSecret}`, {}],
    ['an acknowledgement below a path', `/base/auth/result?session=${pollSecret}&ack=1`, {}],
    ['a link', `/auth/mal?state=${browserState}`, {}],
    ['Continue', `/auth/mal?state=${browserState}`, { method: 'POST', body: 'choice=continue' }],
    ['a callback', `/auth/mal/callback?code=c&state=${browserState}`, {}],
    ['a link with the code', `/L/${typed}`, {}],
    ['its Continue', `/l/${typed.toLowerCase()}`, { method: 'POST', body: 'choice=continue' }],
    ['a QR code', `/qr/${browserState}.png?size=100`, {}],
    ['a token request', '/oauth2/mal/token', post(deviceCode)],
    [
      'a token request in JSON',
      '/oauth2/mal/token',
      post(JSON.stringify({ device_code: pollSecret }), 'application/json'),
    ],
  ])('%s', (_, path, request) => {
    expect(tagOfPath(path, request)).toBe(own);
  });

  test('a refresh goes by its token, whatever the address', () => {
    const requests: [string, string, string | null][] = [
      ['/refresh', JSON.stringify({ service: 'mal', refreshToken: 'old' }), null],
      ['/oauth2/mal/token', 'grant_type=refresh_token&refresh_token=old', null],
      ['/oauth2/mal/token', '{"refresh_token":"old"}', 'application/json'],
    ];
    for (const [path, body, contentType] of requests) {
      for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8::']) {
        expect(tagOfPath(path, { ...post(body, contentType), address })).toBe(tagOf('old', TAGS));
      }
    }
  });

  test('a start goes by its address alone, whatever else it has', () => {
    const expected = tagOf('192.0.2.1', TAGS);
    const paths = ['/auth/start', '/oauth2/mal/device_authorization'];
    for (const path of paths.flatMap((each) => [
      each,
      `${each}?state=${browserState}&session=${pollSecret}`,
    ])) {
      expect(tagOfPath(path, post(deviceCode))).toBe(expected);
    }
  });
});

test('with several objects a sign-in stays in the one of its start, and the start limit of an address is exact', async () => {
  using provider = startTokenEndpoint();
  await using relay = await startWorkers({ OBJECTS: '4', MAL_TOKEN_URL: provider.tokenUrl });
  const { session, state } = await start(relay);
  const code = makeCode();
  expect((await bringCode(relay, state, code)).status).toBe(200);
  expect((await relay.ask(`/auth/result?session=${session}`)).status).toBe(200);
  const attempts = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      relay.ask(`/auth/start?state=${'A'.repeat(23)}${index}`, {
        ...startRequest(),
        // No client can say who it is.
        headers: { 'X-Forwarded-For': `192.0.2.${index}`, 'CF-Connecting-IP': `192.0.2.${index}` },
      }),
    ),
  );
  const started = attempts.filter(({ status }) => status === 200);
  expect(started.length).toBeLessThanOrEqual(4);
  expect(attempts.filter(({ status }) => status === 429)).toHaveLength(8 - started.length);
  expect(relay.events('forwarded_header_ignored')).toEqual([]);
});

test('with several objects the limit of wrong codes of an address is exact', async () => {
  await using relay = await startWorkers({ OBJECTS: '4' });
  const statuses: number[] = [];
  // Ten, and one in ten seconds.
  for (const letter of 'BCDFGHJKLMNPQRST') {
    statuses.push((await relay.ask(`/L/${letter.repeat(4)}-${letter.repeat(4)}`)).status);
  }
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(404));
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
});

test('one poll more than an object has memory for ends the one that was held longest', async () => {
  await using relay = await startWorkers({ START_BURST: '1000' });
  async function park(session: string) {
    const connection = openRaw(relay.baseUrl);
    await connection.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return connection;
  }
  const first = await park((await start(relay)).session);
  await relay.waitForEvents('poll_waiting', 1);
  const others = Array.from({ length: MAX_PARKED_POLLS_OF_OBJECT / MAX_POLLS_PER_SESSION });
  await inLanes(8, others, async () => {
    const { session } = await start(relay);
    for (let count = 0; count < MAX_POLLS_PER_SESSION; count += 1) await park(session);
  });
  expect(statusOf(await first.until('\r\n\r\n'))).toBe(204);
});
