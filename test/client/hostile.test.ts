/** A relay that is hostile or broken: answers of every shape, status, cut and delay, by the fake clock. */
import { describe, expect, test } from 'bun:test';
import { parse } from '../../client/src/ask.ts';
import { visible } from '../../client/src/errors.ts';
import { createSession, discover, SignInError } from '../../client/src/index.ts';
import type { Prompt } from '../../client/src/link.ts';
import type { Response as Answer, Platform } from '../../client/src/platform.ts';
import { createMemory } from '../../client/src/storage.ts';
import type { Tokens } from '../../client/src/tokens.ts';
import { printable } from '../../src/cli/terminal.ts';
import { advance, createFakeClock } from '../kit/clock.ts';
import { createRandom, INVISIBLE, IS_SOAK, TERMINAL_SEQUENCES, testSeed } from '../kit/random.ts';
import { failureOf } from '../kit/wait.ts';
import { begin, KEY, type OpenOptions, RELAY } from './network.ts';

const OWN_TOKEN_URL = 'https://provider.test/token';
const ANSWERS = IS_SOAK ? 100_000 : 5_000;
const HOUR_MS = 3_600_000;
/** Each request of a sign-in that fails at once: a start and what belongs to it, a poll and its ack, a cancel. */
const MOST_IN_FIVE_SECONDS = 16;

const SECRETS = /SECRET|verifier-of-this-device/;
const VERIFIER = 'verifier-of-this-device-43-characters-long-';

/** What members of an answer may be instead of what they should be. */
const VALUES: readonly unknown[] = [
  null,
  false,
  0,
  0.5,
  1e308,
  2 ** 53,
  '',
  '\ud800',
  '\u0000\n',
  [null],
  { valueOf: 1 },
  { length: 1e9 },
  { __proto__: null },
  'x'.repeat(3_000),
  '__proto__',
  'toString',
  'invalid_grant',
  'access_denied',
  'javascript:alert(1)',
  '//evil.test',
  'https://evil.test/token',
  'https://relay.test@evil.test/',
  'https://:80/',
  'http://evil.test/L/BCDF-GHJK',
  'file:///etc/passwd',
  `${RELAY}/auth/mal?state=s`,
];

const GOOD = {
  services: [{ service: 'mal', name: 'MAL', blind: 'can' }],
  extensions: ['wait', 'progress', 'cancel', 'ack'],
  session: 'SECRET-session-24-letters',
  url: `${RELAY}/auth/mal?state=s`,
  link: `${RELAY}/L/BCDF-GHJK`,
  userCode: 'BCDF-GHJK',
  expiresIn: 600,
  accessToken: 'SECRET-access-token-of-a-user',
  refreshToken: 'SECRET-refresh-token-of-a-user',
  tokenType: 'Bearer',
  scope: 'read',
  idToken: 'SECRET.id.token',
  code: 'SECRET-code-of-a-provider',
  tokenUrl: 'https://named.test/token',
  clientId: 'client',
  redirectUri: `${RELAY}/auth/mal/callback`,
  error: 'access_denied',
  progress: 'opened',
};
type Member = keyof typeof GOOD;

const SHAPES: readonly (readonly Member[])[] = [
  ['services', 'extensions'],
  ['session', 'url', 'expiresIn'],
  ['session', 'url', 'expiresIn', 'link', 'userCode'],
  ['accessToken', 'refreshToken', 'expiresIn', 'tokenType', 'scope', 'idToken'],
  ['code', 'tokenUrl', 'clientId', 'redirectUri'],
  ['error'],
  ['progress'],
];

const STATUSES = [
  0, 100, 200, 200, 200, 201, 204, 204, 301, 302, 308, 400, 401, 403, 404, 405, 408, 410, 425, 429,
  500, 502, 503, 511, 599, 999,
];
const TEXTS = [
  '',
  '\n<!doctype html><p>Log in',
  '[]',
  'null',
  '1',
  '"x"',
  '{',
  '[null]',
  'Server busy\n',
  '[['.repeat(20_000),
  '404 page not found\n',
  'at GET /auth/result?session=SECRET-session-24',
];
const RETRIES = [null, '1', '0', '-1', '1e9', 'Thu, 01 Jan 2026 00:00:00 GMT', 'x', 'Infinity'];

type Random = ReturnType<typeof createRandom>;
const choose = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)] as T;

/** What a good relay would answer to this request, so that each phase is reached. */
function expectedShape(url: string, random: Random): readonly Member[] {
  if (url.endsWith('/services')) return SHAPES[0] ?? [];
  if (url.endsWith('/auth/start')) return SHAPES[2] ?? [];
  return choose(random, SHAPES);
}

function bodyOf(url: string, random: Random, hostility: number): string {
  if (random() < hostility / 3) return choose(random, TEXTS);
  const isLost = random() < hostility / 3;
  const members = isLost ? choose(random, SHAPES) : expectedShape(url, random);
  const isWrong = () => random() < hostility / 2;
  const json = Object.fromEntries(
    members.map((name) => [name, isWrong() ? choose(random, VALUES) : GOOD[name]]),
  );
  const text = JSON.stringify(json).replaceAll('"\\ud800"', random() < 0.5 ? '1e999' : '"\\ud800"');
  return random() < hostility / 5 ? text.slice(0, random() * text.length) : text;
}

/** Undefined: never. */
function answerTo(url: string, random: Random, hostility: number): Answer | undefined {
  if (random() < hostility / 10) return undefined;
  const isOdd = random() < hostility;
  const status = isOdd ? choose(random, STATUSES) : /ack=|cancel=/.test(url) ? 204 : 200;
  return {
    status,
    text: status === 204 || status === 0 ? '' : bodyOf(url, random, hostility),
    retryAfter: isOdd ? choose(random, RETRIES) : null,
    location: choose(random, [null, undefined, '', 'https://evil.test/?session=SECRET']),
    cause: choose(random, [undefined, null, 'x', Error('fetch failed'), { message: 7 }]),
  };
}

interface Sent {
  readonly atMs: number;
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function createNetwork(random: Random) {
  const clock = createFakeClock(0);
  const sent: Sent[] = [];
  const named = new Set([RELAY]);
  const hostility = random();
  let aheadMs = 0;

  const platform: Platform = {
    send({ url, body = '' }, headers, receive) {
      sent.push({ atMs: clock.now(), url, body, headers });
      const answer = answerTo(url, random, hostility);
      if (answer === undefined) return () => {};
      const delayMs = random() < 0.8 ? random() * 500 : random() * 70_000;
      if (random() < 0.02) aheadMs += (random() - 0.5) * 2 * HOUR_MS;
      return clock.setTimer(delayMs, () => {
        // What the relay names is an address that it could have had the code for.
        const { tokenUrl } = Object(parse(answer.text));
        if (typeof tokenUrl === 'string' && URL.canParse(tokenUrl)) {
          named.add(new URL(tokenUrl).origin);
        }
        receive(answer);
      });
    },
    now: clock.now,
    date: () => clock.now() + aheadMs,
    later: clock.setTimer,
    random,
    challenge: async () => ({ verifier: VERIFIER, challenge: 'challenge' }),
    origin: random() < 0.2 ? 'https://page.test' : undefined,
  };
  return { platform, clock, sent, named };
}

function optionsOf(random: Random): OpenOptions {
  const isOneIn = (count: number) => random() * count < 1;
  const items = createMemory();
  const trouble = new Error('from the storage');
  return {
    blind: choose(random, [undefined, true, false]),
    tokenUrl: isOneIn(2) ? OWN_TOKEN_URL : undefined,
    headers: { 'X-App': 'key' },
    items: {
      ...items,
      getItem(key: string) {
        const isStrange = key !== KEY && isOneIn(8);
        return isStrange ? JSON.stringify(choose(random, VALUES)) : items.getItem(key);
      },
      setItem(key: string, text: string) {
        if (key === KEY) checkTokens(JSON.parse(text));
        if (key === KEY && random() < 0.2) throw trouble;
        items.setItem(key, text);
      },
    },
  };
}

function checkTokens(tokens: Tokens): void {
  const { expiresIn = 1, expiresAt = 1, ...texts } = tokens;
  expect(texts.accessToken).toBeString();
  for (const value of Object.values(texts)) expect(value).toBeString();
  expect(Number.isFinite(expiresIn) && expiresIn > 0 && Number.isFinite(expiresAt)).toBe(true);
}

function checkPrompt({ link, userCode, verificationUrl, expiresIn, secondsLeft }: Prompt): void {
  expect(link).toMatch(/^https?:\/\/[!-~]+$/);
  expect(new URL(link).username).toBe('');
  if (userCode !== undefined) expect(userCode).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
  if (verificationUrl !== undefined) expect(verificationUrl).toMatch(/^https?:\/\/.*\/link$/);
  expect(secondsLeft()).toBeWithin(0, expiresIn + 1);
}

function checkFailure(failure: unknown): void {
  const { code, detail, show } = failure as SignInError;
  expect(show).toBeString();
  expect(code).toMatch(/^[a-z_]+$/);
  expect(detail).toMatch(/^\S[^\n]{4,300}$/);
  expect(detail).not.toMatch(SECRETS);
}

/** Secrets go to the relay, to the address that the app names, or to one that the relay names if the app does not. */
function checkRequests(sent: readonly Sent[], named: ReadonlySet<string>, tokenUrl?: string): void {
  sent.forEach(({ atMs, url, body, headers }, index) => {
    const { origin } = new URL(url);
    expect(headers['X-App']).toBe(origin === RELAY ? 'key' : undefined);
    if (SECRETS.test(body) && origin !== RELAY) {
      if (tokenUrl === undefined) expect([...named]).toContain(origin);
      else expect(url).toBe(tokenUrl);
    }
    if (body.includes(VERIFIER) && url !== tokenUrl) expect(url).not.toStartWith(`${RELAY}/`);
    const later = sent[index + MOST_IN_FIVE_SECONDS];
    if (later !== undefined) expect(later.atMs - atMs).toBeGreaterThan(5_000);
  });
}

/** A sign-in, a refresh and a sign-out. Returns how many answers they got. */
async function signInOnce(random: Random): Promise<number> {
  const network = createNetwork(random);
  const { clock, sent, named } = network;
  const options = optionsOf(random);
  const { session, ends } = begin(network, options);
  session.subscribe(() => {
    const state = session.state;
    if (state.status === 'waiting') checkPrompt(state.prompt);
  });
  // A relay may say a day, and is asked for four links.
  while (clock.now() < 104 * HOUR_MS && ends.length === 0) await advance(clock, 60_000);
  await advance(clock, HOUR_MS);
  expect([ends.length, clock.timers]).toEqual([1, 0]);
  for (const { failure, tokens } of ends) {
    if (failure) checkFailure(failure);
    else checkTokens(tokens as Tokens);
  }
  const { accessToken } = (await session.getTokens()) ?? {};
  let isOver = false;
  const refreshed = session.getToken({ rejected: accessToken }).catch(checkFailure);
  void refreshed.then(session.signOut).then(() => {
    isOver = true;
  });
  await advance(clock, HOUR_MS);
  expect([isOver, clock.timers]).toEqual([true, 0]);
  checkRequests(sent, named, options.tokenUrl);
  return sent.length;
}

test(`${ANSWERS} hostile answers to a sign-in: no throw, leak or loop, always an end`, async () => {
  const random = createRandom(testSeed);
  let answers = 0;
  while (answers < ANSWERS) answers += await signInOnce(random);
}, 120_000);

describe('what a relay writes', () => {
  const HARM = [...TERMINAL_SEQUENCES, ...INVISIBLE]
    .filter((text) => !/[\n\r]/.test(text))
    .join('x');
  const place = { relay: RELAY, service: 'mal' };

  /** A relay that answers nothing else. */
  const answering = (status: number, body: string, location = '') => ({
    ...place,
    fetch: async () => ({
      status,
      headers: { get: (name: string) => (name === 'Location' ? location : null) },
      text: async () => body,
    }),
  });

  const signInAt = (relay: ReturnType<typeof answering>) =>
    createSession({ ...relay, storage: createMemory() }).signIn();

  const json = JSON.stringify({ error: `no ${HARM}` });
  const cases: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['a refusal of the relay', () => signInAt(answering(400, `no ${HARM}`))],
    ['an error of the relay', () => discover(answering(200, json))],
    ['a redirect of the relay', () => discover(answering(308, '', `https://no/${HARM}`))],
  ];

  test.each(cases)('%s: its detail is one line of visible characters', async (_, ask) => {
    const { code, detail, message } = (await failureOf(ask())) as SignInError;
    expect([code, message]).toEqual(['refused', detail]);
    expect(detail).toContain('no');
    // The rule of the terminal finds nothing left, nor does a piece of a sequence stay.
    expect(printable(detail)).toBe(detail);
    expect(detail).not.toContain('[6n');
  });

  test('only visible characters stay, of all in Unicode', () => {
    const isUnassigned = /(?!\p{Default_Ignorable_Code_Point})\p{Cn}/u;
    const wrong: string[] = [];
    for (let point = 0; point < 0x110000; point += 1) {
      const character = String.fromCodePoint(point);
      const text = `a${character}ж`;
      const isSeen = printable(text) === text;
      const expected = /\s/.test(character) ? 'a ж' : isSeen ? text : 'aж';
      if (visible(text) !== expected && !isUnassigned.test(character)) wrong.push(escape(text));
    }
    expect(wrong).toEqual([]);
  }, 60_000);

  test('a service whose name is invisible is shown by its id', async () => {
    const services = [
      { service: 'mal', name: '\u202e\u200b' },
      { service: 'm\u202eal', name: 'Another' },
    ];
    const offer = await discover(answering(200, JSON.stringify({ services })));
    expect(offer.services.map(({ service, name }) => [service, name])).toEqual([['mal', 'mal']]);
  });
});

describe('a fetch of another platform', () => {
  const headers = { get: () => null };
  const broken = (name: string) => (): never => {
    throw new Error(name);
  };
  let pulledBytes = 0;
  const endless = () =>
    new ReadableStream({
      pull(controller) {
        pulledBytes += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    });
  const FETCHES: readonly (readonly [string, () => unknown])[] = [
    ['throws', broken('sync')],
    ['rejects with nothing', () => Promise.reject()],
    ['resolves with nothing', async () => undefined],
    ['has no headers', async () => ({ status: 200, text: async () => '{}' })],
    ['has a body that fails', async () => ({ status: 200, headers, text: broken('body') })],
    ['has a text that is none', async () => ({ status: 200, headers, text: async () => 7 })],
    ['has a status that is none', async () => ({ status: 'x', headers, text: async () => '' })],
    ['never ends', async () => new Response(endless())],
  ];
  test.each(FETCHES)('that %s is no end and no unhandled rejection', async (_name, fetch) => {
    let asked = 0;
    const leaving = new AbortController();
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    const { signIn } = createSession({
      relay: RELAY,
      service: 'mal',
      storage: createMemory(),
      fetch: (() => {
        asked += 1;
        if (asked === 2) leaving.abort();
        return fetch();
      }) as never,
    });
    const ended = await signIn(leaving).catch((error) => error);
    await Bun.sleep(0);
    process.off('unhandledRejection', note);
    if (ended !== leaving.signal.reason) expect(ended).toBeInstanceOf(SignInError);
    expect(unhandled).toEqual([]);
    // Two responses, of which neither is read to its end.
    expect(pulledBytes).toBeLessThan(2_000_000);
  });
});
