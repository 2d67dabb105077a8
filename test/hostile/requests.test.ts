/**
 * Requests of every kind (requests.ts) at the relay's and the admin port's handlers. In this
 * process, where tens of thousands take seconds.
 */
import { heapStats } from 'bun:jsc';
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createAdmin } from '../../src/admin/admin.ts';
import { startLog } from '../../src/log.ts';
import { IS_SOAK, testSeed } from '../kit/random.ts';
import { captureLog, createTestService, SETTINGS } from '../kit/service.ts';
import { countOf, createInput, MARK } from './input.ts';
import { ADMIN_TOKEN, makeRequest, NOBODY, type Session, sessionOf, urlOf } from './requests.ts';

setDefaultTimeout(7_200_000);
afterAll(() => captureLog());

const CLIENT_SECRET = 'anilist-client-secret';
const BATCH = 200;
/** The secrets that later requests use. */
const KNOWN_SESSIONS = 40;

const EXPECTED_5XX: Readonly<Record<string, readonly string[]>> = {
  // docs/protocol.md §2 (too many sign-ins are open), §5 (the exchange fails).
  '503': ['/auth/start', '/refresh', '/revoke', '/oauth2/'],
  '502': ['/callback'],
};

/** Throws for a response that no input may cause. */
function check(
  path: string,
  request: string,
  { status, headers }: Response,
  text: string,
  known: readonly Session[],
) {
  const fail = (what: string): never => {
    throw new Error(`${what}: ${status} ${JSON.stringify([...headers])} ${text.slice(0, 2_000)}`);
  };
  const isNamed = EXPECTED_5XX[status]?.some((part) => path.includes(part));
  if (status >= 500 && !isNamed) fail('a status that docs/protocol.md does not name');
  for (const [name, value] of headers) {
    // Back to the form, with the code that was mistyped.
    const isForm = name === 'location' && /^(\/base)?\/link\?code=[\w.*+%-]*$/.test(value);
    if (!isForm && `${name}${value}`.includes(MARK)) fail('the header has text of the request');
  }
  // A code that was typed, also at the mistyped address /l, and a device name on the page that asks.
  const isShown =
    headers.get('content-type')?.startsWith('text/html') &&
    /^\/(base\/)?(link|l(?![^/?])|auth\/)/i.test(path);
  if (text.includes(MARK)) {
    if (!isShown) fail('the body has text of the request');
    if (/<[^>]*zqhost7[^"]*['<>]|<zqhost7|<script/.test(text))
      fail('text of the request is markup');
  }
  if (/^\s+at .*:\d+:\d+|\/src\/|node_modules|TypeError|SyntaxError/m.test(text)) fail('a stack');
  if (text.includes(CLIENT_SECRET) || text.includes(ADMIN_TOKEN)) fail('a secret');
  const isStart = /start|device_authorization/.test(path);
  const isLeak = known.some(
    ({ secret }) => text.includes(secret) && !(isShown && request.includes(secret)),
  );
  if (!isStart && isLeak) fail('a poll secret');
}

/** Every line of the log: no fault, and no secret of a session. */
function watchLog(known: readonly Session[]): void {
  startLog({
    level: 'debug',
    format: 'json',
    write(line) {
      if (line.includes('"level":"error"')) throw new Error(`a fault in the log: ${line}`);
      const isLeak = known.some(
        ({ secret, state, userCode }) =>
          line.includes(secret) ||
          (state !== NOBODY.state && line.includes(state)) ||
          (userCode !== NOBODY.userCode && line.includes(userCode)),
      );
      if (isLeak) throw new Error(`a secret in the log: ${line}`);
    },
  });
}

type Handle = (url: URL, init: RequestInit, peer: string) => Response | Promise<Response>;

/** Sends that many requests, and at the end of each batch lets a minute pass, so that no poll is left. */
async function attack(handle: Handle, count: number, pass: () => void): Promise<void> {
  const input = createInput(testSeed);
  const sessions: Session[] = [];
  watchLog(sessions);
  const statuses = new Map<number, number>();
  let parked: Promise<void>[] = [];

  async function send(index: number): Promise<void> {
    const { target, init, peer } = makeRequest(input, sessions);
    const url = urlOf(target);
    if (url === undefined) return;
    try {
      const response = await handle(url, init, peer);
      const text = await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      check(url.pathname, JSON.stringify([target, init.body]), response, text, sessions);
      const started = sessionOf(text);
      if (started !== undefined) sessions.unshift(started);
      sessions.length = Math.min(sessions.length, KNOWN_SESSIONS);
    } catch (error) {
      throw new Error(`request ${index}: ${JSON.stringify({ target, init, peer })}`, {
        cause: error,
      });
    }
  }

  let objects = 0;
  for (let index = 0; index < count; index += 1) {
    const sent = send(index);
    // Reported at the end of the batch.
    sent.catch(() => {});
    parked.push(sent);
    if ((index + 1) % BATCH !== 0) continue;
    // Until those that wait for something other than the clock have it.
    await new Promise(setImmediate);
    pass();
    await Promise.all(parked);
    parked = [];
    if (index + 1 === Math.floor(count / BATCH / 4) * BATCH) objects = countObjects();
  }
  await Promise.all(parked);
  console.log(`${count} requests: ${JSON.stringify(Object.fromEntries(statuses))}`);
  // One object kept for ten requests would show, once as many sign-ins are open as ever will be.
  if (IS_SOAK) expect(countObjects() - objects).toBeLessThan(count / 10);
}

function countObjects(): number {
  Bun.gc(true);
  const counts = Object.values(heapStats().objectTypeCounts);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A token endpoint that grants, refuses and breaks in turns. */
function createProvider() {
  let asked = 0;
  return async () => {
    asked += 1;
    if (asked % 4 === 0) throw new Error(`${CLIENT_SECRET} ${MARK}`);
    if (asked % 4 === 1) return new Response(`<p>${MARK}`, { status: 500 });
    if (asked % 4 === 2) return Response.json({ error: 'invalid_grant', x: MARK }, { status: 400 });
    return Response.json({ access_token: 'granted', refresh_token: 'next', expires_in: 3_600 });
  };
}

test.each<[name: string, settings: Partial<typeof SETTINGS>, count: number]>([
  ['as it is by default', {}, 15_000],
  [
    'behind a proxy, always confirming, for web apps',
    {
      trustedProxyCidrs: ['10.0.0.0/8'],
      confirm: 'always',
      corsOrigins: ['https://tv.test', 'null'],
    },
    9_000,
  ],
  [
    'with a base path and room for 30 sign-ins',
    { baseUrl: 'https://relay.test/base', maxSessions: 30 },
    6_000,
  ],
])('relay %s: documented statuses, nothing reflected, leaked, kept', async (_, settings, count) => {
  const service = createTestService({ ...settings, fetch: createProvider() });
  const { clock, handle } = service;
  const { timers } = clock;
  await attack(
    (url, init, peer) => handle(new Request(url, init), { requestIP: () => ({ address: peer }) }),
    countOf(count),
    () => clock.advance(60_000),
  );
  clock.advance(7_200_000);
  expect(await service.countParked()).toBe(0);
  expect(service.kept()).toEqual({ sessions: 0, startBuckets: 0, refreshes: 0 });
  expect(clock.timers).toBe(timers);
});

test('the admin port: documented statuses, nothing reflected, leaked or kept', async () => {
  const { clock, readState } = createTestService();
  const settings = { ...SETTINGS, adminNames: ['admin.example'], adminToken: ADMIN_TOKEN };
  const admin = createAdmin(settings, 'Bun', clock, readState);
  await attack(
    async (url, init, peer) => {
      const request = new Request(url, init);
      // Most get as far as to the pages.
      if (!request.headers.has('authorization')) {
        request.headers.set('authorization', `Bearer ${ADMIN_TOKEN}`);
        request.headers.set('host', '127.0.0.1');
      }
      return admin.handle(request, { requestIP: () => ({ address: peer }) });
    },
    countOf(2_000),
    () => clock.advance(60_000),
  );
});
