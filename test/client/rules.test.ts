/** What a session makes of each response, by the fake clock. Both builds share this logic. */
import { describe, expect, test } from 'bun:test';
import { addressProblem, originOf } from '../../client/src/ask.ts';
import { SignInError, type SignInErrorCode } from '../../client/src/errors.ts';
import { createSession, type Session } from '../../client/src/index.ts';
import { createMemory, keyOf, type SessionStorage } from '../../client/src/storage.ts';
import type { Tokens } from '../../client/src/tokens.ts';
import { createRandom, testSeed } from '../kit/random.ts';
import { failureOf } from '../kit/wait.ts';
import {
  type Answer,
  BLIND,
  codeOf,
  createNetwork,
  GONE,
  GRANTED,
  HTML,
  KEY,
  LINK,
  NOT_FOUND,
  OFFER,
  OPEN,
  open,
  RELAY,
  STARTED,
  signIn,
  started,
} from './network.ts';

describe('waiting for the result', () => {
  const TRANSIENT: readonly (readonly [string, Answer])[] = [
    ['no response', [0]],
    ['not yet', [204]],
    ['a captive portal', [200, HTML]],
    ['a response that is cut', [200, '{"accessToken":"a']],
    ['JSON of something else', [200, '{"session":"other"}']],
    ['a list', [200, '[]']],
    ['a full relay', [503, 'Server busy\n']],
    ['JSON of a gateway', [503, '{"error":"access_denied"}']],
    ['a limit', [429, 'Rate limited\n', '3']],
    ['a proxy that refuses', [403, 'forbidden']],
    ['a proxy without a route', NOT_FOUND],
    ['HTML with the status of an end', [410, HTML]],
    ['an early request', [425, '']],
    ['a slow request', [408, '']],
  ];

  test.each(TRANSIENT)('%s is no end', async (_name, answer) => {
    const { ends, prompts } = await signIn(5_000, { '/auth/result': [answer, GRANTED] });
    expect(ends.map(({ tokens }) => tokens?.accessToken)).toEqual(['a']);
    expect(prompts.length).toBe(1);
  });

  const FINAL: readonly (readonly [SignInErrorCode, Answer])[] = [
    ['access_denied', [200, '{"error":"access_denied"}']],
    ['authorization_failed', [200, '{"error":"authorization_failed"}']],
    ['missing_code', [200, '{"error":"missing_code"}']],
    ['exchange_failed', [200, '{"error":"exchange_failed"}']],
    ['authorization_failed', [200, '{"error":"toString"}']],
    ['authorization_failed', [200, '{"error":"expired"}']],
    ['refused', [400, 'Invalid wait: a whole number from 0 to 50\n']],
    ['refused', [405, 'Method not allowed\n']],
  ];

  test.each(FINAL)('%s is final', async (code, answer) => {
    const { network, ends } = await signIn(600_000, {
      '&ack=1': [[204]],
      '/auth/result': [answer],
    });
    expect(ends.map(({ failure }) => codeOf(failure))).toEqual([code]);
    expect(network.asksOf('/auth/start').length).toBe(1);
  });

  test('pauses double up to 8 s, half of each is random, and Retry-After is a minimum', async () => {
    const answers = [
      ...Array(6).fill([502]),
      [429, '', '20'],
      [503, '', 'Thu, 01 Jan 2026 00:00:00 GMT'],
      GRANTED,
    ];
    for (const randomness of [0, 1]) {
      const platform = { random: () => randomness };
      const { network } = await signIn(100_000, { '/auth/result': answers }, { platform });
      const asks = network.asksOf('?session=secret').map(({ atMs }) => atMs);
      const pauses = asks.slice(1, 9).map((atMs, index) => atMs - (asks[index] ?? 0) - 10);
      const whole = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 20_000, 8_000];
      expect(pauses).toEqual(
        whole.map((pauseMs) => (pauseMs === 20_000 ? pauseMs : (pauseMs * (1 + randomness)) / 2)),
      );
    }
  });

  test('a result is acknowledged until the relay answers, without the app waiting', async () => {
    const { network, ends } = await signIn(35, {
      '&ack=1': [[0], [503, 'Server busy\n'], [204]],
      '/auth/result': [GRANTED],
    });
    expect(ends.length).toBe(1);
    await network.advance(60_000);
    expect(network.asksOf('&ack=1').length).toBe(3);
  });
});

describe('starting', () => {
  test.each([
    ['Unknown service', 400, 'The relay answered 400'],
    ['Challenge required', 400, 'The relay answered 400'],
    ['404 page not found', 404, 'The path is wrong: The relay answered 404'],
  ])('%s is final, and the developer reads why', async (text, status, why) => {
    const { network, ends } = await signIn(600_000, { '/auth/start': [[status, `${text}\n`]] });
    expect(ends.map(({ failure }) => failure)).toEqual([
      new SignInError('refused', `${why}: ${text} (${RELAY}/auth/start)`),
    ]);
    expect(network.asksOf('/auth/start').length).toBe(1);
  });

  test.each([
    ['unreachable', [0]],
    ['unreachable', [502, HTML]],
    ['busy', [503, 'Server busy\n']],
    ['busy', [429, 'Rate limited\n', '1']],
  ] as const)('is given up after a minute as %s', async (code, answer) => {
    const { network, ends } = await signIn(50_000, { '/auth/start': [answer] });
    expect(ends).toEqual([]);
    await network.advance(20_000);
    expect(ends.map(({ failure }) => codeOf(failure))).toEqual([code]);
  });

  test.each([
    [200, HTML],
    [302, ''],
    [511, HTML],
  ])('is given up after three pages of a captive portal: %d', async (status, text) => {
    const { network, ends } = await signIn(3_000, { '/services': [[status, text]] });
    expect(ends.map(({ failure }) => codeOf(failure))).toEqual(['unreachable']);
    expect(network.asked.length).toBe(3);
  });

  test('asks again if there is no answer within timeoutMs', async () => {
    const answers = { '/services': [undefined, OFFER([])] };
    const { network, prompts } = await signIn(1_900, answers, { timeoutMs: 2_000 });
    expect(network.asked.length).toBe(1);
    await network.advance(2_000);
    expect(prompts.length).toBe(1);
  });

  test('asks for a user code and for redelivery (ack), and names the device', async () => {
    const { network } = await signIn(30, {}, { device: 'x'.repeat(200), details: true });
    expect(JSON.parse(network.asksOf('/auth/start')[0]?.body ?? '')).toEqual({
      service: 'mal',
      code: true,
      ack: true,
      details: true,
      device: 'x'.repeat(40),
    });
  });

  test('the prompt has what the user needs, and no secret', async () => {
    const link = `${RELAY}/base/L/BCDF-GHJK`;
    const answer = started({ userCode: 'BCDF-GHJK', link, qr: 'javascript:0' });
    const { prompts } = await signIn(30, { '/auth/start': [answer], '/auth/result': [undefined] });
    const verificationUrl = `${RELAY}/base/link`;
    expect(prompts).toMatchObject([
      { link, userCode: 'BCDF-GHJK', verificationUrl, qr: undefined, expiresIn: 600 },
    ]);
    expect(JSON.stringify(prompts)).not.toContain('secret');
  });
});

describe('a session that ends', () => {
  test('is renewed with a new prompt, three times at most', async () => {
    const link = [...Array(299).fill([204]), GONE];
    const { network, ends, prompts } = await signIn(1_900_000, {
      '/auth/start': [1, 2, 3, 4].map((nth) => started({ url: LINK + nth })),
      '/auth/result': [...link, ...link, ...link, ...link],
    });
    expect([prompts.length, ends]).toEqual([4, []]);
    await network.advance(600_000);
    expect([prompts.length, ends.map(({ failure }) => codeOf(failure))]).toEqual([4, ['expired']]);
  });
});

describe('cancelling', () => {
  const PENDING = {
    '/auth/start': [STARTED],
    '&cancel=1': [[0], [204]] as Answer[],
    '/auth/result': [[204]] as Answer[],
  };

  test('ends all requests, is no failure, and is sent to the relay if it offers that', async () => {
    const { network, ends, session } = await signIn(5_000, {
      '/services': [OFFER(['cancel'])],
      ...PENDING,
    });
    const before = network.asksOf('/auth/result').length;
    session.cancel();
    await network.advance(600_000);
    expect(network.asksOf('&cancel=1').length).toBe(2);
    expect(network.asksOf('/auth/result').length).toBe(before + 2);
    expect([ends, session.state.status]).toEqual([[{ failure: undefined }], 'signed-out']);
    expect(network.clock.timers).toBe(0);
  });

  test('is not sent to an older relay, which would take it for a poll', async () => {
    const { network, session } = await signIn(5_000, PENDING);
    session.cancel();
    await network.advance(600_000);
    expect(network.asksOf('&cancel=1')).toEqual([]);
  });

  test('by a listener while the start is answered stores no link, and cancels it', async () => {
    const network = createNetwork({
      '/services': [OFFER(['cancel'])],
      '/auth/start': [[0], STARTED],
      '&cancel=1': [[204]],
    });
    const { session, states, items } = open(network);
    // 'starting' again: the relay is back.
    session.subscribe(() => states.length > 2 && session.cancel());
    expect(await Promise.all([session.signIn(), network.advance(5_000)])).toEqual([
      false,
      undefined,
    ]);
    expect(items.getItem(`unfinished-${KEY}`)).toBeUndefined();
    expect(network.asksOf('/auth/result').map(({ url }) => url)).toEqual([
      `${RELAY}/auth/result?session=secret&cancel=1`,
    ]);
    expect(session.state).toEqual({ status: 'signed-out' });
  });

  test('a listener that another one unsubscribes is not called, but one left of two is', async () => {
    const network = createNetwork({});
    const { session } = open(network);
    const called: string[] = [];
    const note = () => called.push('left');
    session.subscribe(() => {
      for (const stop of stops) stop();
    });
    const stops = [session.subscribe(note), session.subscribe(() => called.push('unsubscribed'))];
    session.subscribe(note);
    await network.advance(0);
    expect(called).toEqual(['left']);
  });

  test('an exception of one listener affects no other', async () => {
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': [GRANTED] });
    const trouble = new Error('no screen');
    const { session, stored } = open(network);
    session.subscribe(() => {
      throw trouble;
    });
    void session.signIn();
    for (let thrown = 0; thrown < 9; thrown += 1) {
      try {
        await network.advance(1_000);
      } catch (error) {
        expect(error).toBe(trouble);
      }
    }
    expect(stored()?.accessToken).toBe('a');
  });
});

describe('the state', () => {
  test('reports each step of a sign-in once, without a secret', async () => {
    const opened: Answer = [200, '{"progress":"opened"}'];
    const { network, states } = await signIn(10_000, {
      '/services': [OFFER(['progress', 'wait'])],
      '&ack=1': [[204]],
      '/auth/result': [[204], opened, opened, GRANTED],
    });
    const statuses = states.map(({ status }) => status);
    expect(statuses).toEqual(['starting', 'waiting', 'opened', 'signed-in']);
    expect(JSON.stringify(states)).not.toContain('secret');
    expect(network.asksOf('progress=1')[0]?.url).toBe(
      `${RELAY}/auth/result?session=secret&wait=25&progress=1`,
    );
    // The user may be done at once, but a relay that repeats 'opened' must wait.
    const [first = 0, ...later] = network.asksOf('progress=1').map(({ atMs }) => atMs);
    expect(later.map((atMs) => atMs - first)).toEqual([2_000, 2_010, 4_010]);
  });

  test('is "reconnecting" with the first request that fails, and continues where it was', async () => {
    const { network, states } = await signIn(20_000, {
      '/services': [[0], OFFER(['wait'])],
      '/auth/start': [[503, 'Server busy\n'], STARTED],
      '/auth/result': [[0], [204], GRANTED],
    });
    const away = 'reconnecting';
    expect(states.map(({ status }) => status)).toEqual([
      ...(['starting', away, 'starting', away, 'starting'] as const),
      ...(['waiting', away, 'waiting', 'signed-in'] as const),
    ]);
    expect(states[6]).toMatchObject({ prompt: { link: LINK } });
    // The next poll is short, so that the app soon hears that the relay is back.
    expect(network.asksOf('/auth/result')[1]?.url).toContain('&wait=1');
  });

  test('two calls during one sign-in start it once, and both settle when it ends', async () => {
    const { network, session, ends } = await signIn(0, { '/auth/result': [GRANTED] });
    session.signIn().then(() => ends.push({}));
    await network.advance(1_000);
    expect([ends.length, network.asksOf('/auth/start').length]).toEqual([2, 1]);
  });
});

test("a session's name in the storage is unique, and one that SecureStore takes", () => {
  const place = { relay: 'https://relay.example/', service: 'mal' };
  expect(keyOf(place)).toBe('sign-in-relay__relay.example__mal');
  const others = [
    place,
    { ...place, account: 'Ж (2)' },
    { ...place, account: '_' },
    { ...place, account: 'ann' },
    { ...place, account: 'Ann' },
    { ...place, relay: 'http://relay.example' },
    { ...place, service: 'anilist' },
    { ...place, relay: 'https://relay.example__mal', service: 'x' },
  ].map(keyOf);
  expect(new Set(others).size).toBe(others.length);
  // Some file systems do not distinguish capitals.
  for (const key of others) expect(key).toMatch(/^[a-z\d_.-]+$/);
});

const PAGE = { platform: { origin: 'https://app.test' } };

describe('what the relay offers', () => {
  test.each([
    ['an older relay', NOT_FOUND],
    ['a proxy that passes on /auth/ alone', [404, HTML]],
    ['a relay that refuses the address', [405, 'Method not allowed\n']],
  ] as [string, Answer][])(
    '%s is asked for nothing but the plain protocol',
    async (_name, answer) => {
      const { network, ends } = await signIn(1_000, {
        '/services': [answer],
        '/auth/result': [GRANTED],
      });
      expect(ends.length).toBe(1);
      expect(network.asksOf('/auth/result')[0]?.url).toBe(`${RELAY}/auth/result?session=secret`);
    },
  );

  test('a dead connection is noticed 10 s after the poll should have ended', async () => {
    const { network, ends } = await signIn(35_000, {
      '/services': [OFFER(['wait'])],
      '/auth/result': [undefined, GRANTED],
    });
    expect(ends.length).toBe(0);
    await network.advance(2_000);
    expect(ends.length).toBe(1);
  });

  test.each<[string, string, Parameters<typeof signIn>[2], boolean]>([
    ['if the relay requires it', 'must', { blind: false }, true],
    ['if the relay offers it', 'can', {}, true],
    ['unless the app declines', 'can', { blind: false }, false],
    ['unless it is in a page, where CORS may prevent it', 'can', PAGE, false],
    ['unless the relay has a secret', 'no', {}, false],
  ])('a sign-in is blind %s', async (_, blind, options, isBlind) => {
    const platform = { ...BLIND, ...options?.platform };
    const answers = { '/services': [OFFER([], blind)] };
    const { network } = await signIn(1_000, answers, { ...options, platform });
    const { challenge } = JSON.parse(network.asksOf('/auth/start')[0]?.body ?? '');
    expect(challenge).toBe(isBlind ? 'c' : undefined);
  });

  test.each([
    [OFFER([], 'must'), {}, 'No Web Crypto here for blind sign-ins'],
    [NOT_FOUND, { blind: true, platform: BLIND }, 'The relay does not offer blind sign-ins'],
    [NOT_FOUND, { open: OPEN }, 'The relay does not offer open sign-ins'],
  ] as [Answer, Parameters<typeof signIn>[2], string][])(
    'a blind or open sign-in that cannot be is refused: %j, %j',
    async (answer, options, detail) => {
      const { network, ends } = await signIn(1_000, { '/services': [answer] }, options);
      expect(ends.map(({ failure }) => failure)).toEqual([new SignInError('refused', detail)]);
      expect(network.asksOf('/auth/start')).toEqual([]);
    },
  );
});

/** RFC 6749 §4.1.2. */
test.each<[string, Answer, number, object]>([
  ['an error', [500, ''], 1, { failure: { code: 'exchange_failed' } }],
  ['a page', [200, HTML], 1, { failure: { code: 'exchange_failed' } }],
  ['no answer', [0], 2, { tokens: { accessToken: 'a' } }],
])('the code of a blind sign-in is sent again only without an answer: %s', async (...row) => {
  const [, answer, times, end] = row;
  const code = { code: 'c', clientId: 'i', tokenUrl: 'https://p.test/t', redirectUri: RELAY };
  const answers = {
    '/services': [OFFER([], 'must')],
    '/auth/result': [[200, JSON.stringify(code)] as const],
    'p.test': [answer, [200, '{"access_token":"a"}'] as const],
  };
  const { network, ends } = await signIn(60_000, answers, { platform: BLIND });
  expect(network.asksOf('p.test')).toHaveLength(times);
  expect(ends).toMatchObject([end]);
});

const OLD: Tokens = { accessToken: 'old', refreshToken: 'r1', expiresIn: 3_600, expiresAt: 0 };

describe('where a secret may go', () => {
  const HTTPS = 'needs https:// (see allowHttp)';
  const HOST = 'needs https:// or http://, and no user name';
  const ADDRESSES: readonly (readonly [problem: string | undefined, ...urls: readonly string[]])[] =
    [
      [undefined, 'https://relay.example/', 'HTTPS://API.EXAMPLE:8443/', 'https://[2001:db8::1]/'],
      [undefined, 'http://localhost:8080/', 'http://127.0.0.1:8080/relay', 'http://[::1]:8080/'],
      [undefined, 'https://api.example/users/@me?a@b#a@b', 'http://localhost:8080/users/@me'],
      [HTTPS, 'http://relay.example/', 'HTTP://relay.example:80/', 'http://192.168.1.5:8080/'],
      [HTTPS, 'http://localhost.example/', 'http://127.0.0.1.example/', 'http://127.example/'],
      [HTTPS, 'http://[::2]/'],
      [HOST, 'http://localhost:1@api.example/', 'http://[::1]:1@api.example/'],
      [HOST, 'https://me:password@api.example/', 'https://me@api.example/'],
      [HOST, 'http://localhost\\@api.example/', 'http://localhost:1\t@api.example/'],
      [HOST, 'https:\\\\api.example/', 'https:api.example/', ' https://api.example/'],
      [HOST, 'https:///', '/users/@me', ''],
    ];

  test.each(ADDRESSES)('%p: %s and alike', (problem, ...urls) => {
    for (const url of urls) {
      expect([url, addressProblem(url, false)]).toEqual([url, problem]);
      expect([url, addressProblem(url, true)]).toEqual([
        url,
        problem === HTTPS ? undefined : problem,
      ]);
    }
  });

  test('an address that may be used leads where it says, to every parser', () => {
    const random = createRandom(testSeed);
    const pieces = [
      ...['http:', 'https:', '//', '/', '\\', '@', ':', '?', '#', '%40', '%2f', '\t', '\n', ' '],
      ...['localhost', '127.0.0.1', '[::1]', 'api.example', 'evil.test', '.', ':1', ':443', 'Ä'],
    ];
    let used = 0;
    for (let nth = 0; nth < 20_000; nth += 1) {
      const length = 2 + Math.floor(random() * 7);
      const made = Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)]);
      const url = (nth % 2 ? made : ['http', nth % 4 ? 's' : '', '://', ...made]).join('');
      if (addressProblem(url, false) || !URL.canParse(url)) continue;
      used += 1;
      const { origin, username, password } = new URL(url);
      expect([username, password]).toEqual(['', '']);
      expect(origin).toMatch(/^https:|^http:\/\/(localhost|127\.[\d.]+|\[::1\])(:|$)/);
      const own = originOf(url);
      if (own === 'https://api.example' || own === 'http://localhost:1') expect(own).toBe(origin);
    }
    expect(used).toBeGreaterThan(100);
  });

  const OWN = 'https://acme.test/token';
  const BLIND = { ...OLD, tokenUrl: OWN, clientId: 'c' };
  const WRONG = 'https://me@acme.test/';

  test.each<[string, object, object, (session: Session) => Promise<unknown>]>([
    ['the relay', { relay: 'http://relay.example' }, OLD, (session) => session.getToken()],
    ['a stored tokenUrl', {}, { ...BLIND, tokenUrl: WRONG }, (session) => session.getToken()],
    ["the app's tokenUrl", { tokenUrl: WRONG }, BLIND, (session) => session.getToken()],
    ['the API', {}, { accessToken: 'a' }, (session) => session.fetch(WRONG)],
    [
      'a revocation endpoint',
      {},
      { ...BLIND, revocationUrl: WRONG },
      async (session) => {
        if (!(await session.signOut()).revoked) throw { code: 'refused' };
      },
    ],
  ])('nothing is sent to an address that may not be used: %s', async (_, own, tokens, send) => {
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(url);
      return new Response('{}');
    };
    const options = { relay: RELAY, service: 'mal', storage: createMemory(), fetch, ...own };
    options.storage.setItem(keyOf(options), JSON.stringify(tokens));
    expect(await failureOf(send(createSession(options)))).toMatchObject({ code: 'refused' });
    expect(asked).toEqual([]);
  });

  test('allowHttp applies to each request of a sign-in, acknowledgements too', async () => {
    const { network } = await signIn(
      5_000,
      { '/services': [OFFER(['ack'])], 'ack=1': [[204]], '/auth/result': [GRANTED] },
      { relay: 'http://relay.example', allowHttp: true },
    );
    expect(network.asksOf('http://relay.example')).toHaveLength(network.asked.length);
    expect(network.asksOf('ack=1')).toHaveLength(1);
  });
});

/** A session whose tokens expire then, at a relay that answers refreshes so. */
function keep(expiresAt: number, answers: readonly Answer[], own: Partial<SessionStorage> = {}) {
  const network = createNetwork({ '/refresh': answers });
  const items = { ...createMemory(), ...own } as SessionStorage;
  items.setItem(KEY, JSON.stringify({ ...OLD, expiresAt }));
  return { ...network, ...open(network, { items }) };
}

describe('refreshing', () => {
  /** The tokens that are stored then, or why there are none. */
  async function refreshOnce(...answers: readonly Answer[]) {
    const { session, advance, stored } = keep(0, answers);
    const failed = failureOf(session.getToken());
    await advance(120_000);
    return (await failed) ?? stored();
  }

  test('keeps the old refresh token unless there is a new one', async () => {
    const kept = { accessToken: 'b', refreshToken: 'r1' };
    expect(await refreshOnce([200, '{"accessToken":"b"}'])).toEqual(kept);
    const more = '{"accessToken":"b","refreshToken":"r2","expiresIn":60}';
    const fresh = { accessToken: 'b', refreshToken: 'r2', expiresIn: 60, expiresAt: 60_010 };
    // With a 201 the old one may be spent too.
    for (const status of [200, 201]) {
      expect(await refreshOnce([status, more])).toEqual(fresh);
    }
  });

  test('only the provider says that a token no longer works', async () => {
    for (const answer of [[503, 'Server busy\n', '1'], [0], [429, ''], [502, HTML]] as Answer[]) {
      const ended = await refreshOnce(answer, [400, '{"error":"invalid_grant"}']);
      expect(codeOf(ended)).toBe('invalid_grant');
    }
    // Some say it in words that the relay cannot read.
    const hint = `invalid_client (${RELAY}/refresh). Signing in again may help`;
    expect(await refreshOnce([400, '{"error":"invalid_client"}'])).toEqual(
      new SignInError('refused', `The relay answered 400: ${hint}`),
    );
    expect(codeOf(await refreshOnce([503, '']))).toBe('busy');
    expect(codeOf(await refreshOnce([0]))).toBe('unreachable');
  });
});

/** What takes longer than a test may; everything else is in tokens.test.ts. */
describe('keeping tokens', () => {
  const FRESH: Answer = [200, '{"accessToken":"new","refreshToken":"r2","expiresIn":3600}'];

  function startTaking(...args: Parameters<typeof keep>) {
    const kept = keep(...args);
    const given: unknown[] = [];
    /** Asks for a token, and waits so long. */
    async function takeFor(ms: number): Promise<void> {
      const taken = kept.session.getToken().catch(codeOf);
      void taken.then((each) => given.push(each));
      await kept.advance(ms);
    }
    return { ...kept, given, takeFor };
  }

  test('tries to refresh a valid token again 10 s after a failure', async () => {
    const refused: Answer = [401, '{"error":"invalid_client"}'];
    const { takeFor, advance, asked, given } = startTaking(30_000, [refused, FRESH]);
    await takeFor(9_000);
    await takeFor(0);
    expect(asked.length).toBe(1);
    await advance(2_000);
    await takeFor(100);
    await takeFor(0);
    expect([given, asked.length]).toEqual([['old', 'old', 'old', 'new'], 2]);
  });

  test('gives up after 75 s without the lock, and does nothing if it gets it then', async () => {
    const held: (() => Promise<void>)[] = [];
    const lock = (_key: string, run: () => Promise<void>) =>
      new Promise<void>((resolve) => {
        held.push(() => run().then(resolve));
      });
    const { takeFor, advance, asked, given, clock } = startTaking(-5, [FRESH], { lock });
    await takeFor(74_000);
    expect(given).toEqual([]);
    await advance(2_000);
    expect(given).toEqual(['busy']);
    void held[0]?.();
    await advance(1_000);
    expect(asked.length).toBe(0);
    await takeFor(0);
    void held[1]?.();
    await advance(1_000);
    expect([given, asked.length, clock.timers]).toEqual([['busy', 'new'], 1, 0]);
  });
});
