/** What a session makes of each response, by the fake clock. Both builds share this logic. */
import { describe, expect, test } from 'bun:test';
import { type Failure, fail } from '../../client/src/errors.ts';
import { createSession, type SessionOptions, type SignInError } from '../../client/src/index.ts';
import type { Lock } from '../../client/src/keeper.ts';
import { createMemory, keyOf } from '../../client/src/storage.ts';
import { refresh, type Tokens } from '../../client/src/tokens.ts';
import {
  type Answer,
  begin,
  codeOf,
  createNetwork,
  GONE,
  GRANTED,
  HTML,
  KEY,
  LINK,
  NOT_FOUND,
  OFFER,
  type OpenOptions,
  open,
  RELAY,
  STARTED,
} from './network.ts';

describe('waiting for the result', () => {
  const TRANSIENT: readonly (readonly [string, Answer])[] = [
    ['no response', [0]],
    ['not yet', [204]],
    ['a proxy without the relay', [502, HTML]],
    ['a captive portal', [200, HTML]],
    ['a response that is cut', [200, '{"accessToken":"a']],
    ['JSON of something else', [200, '{"session":"other"}']],
    ['a list', [200, '[]']],
    ['a full relay', [503, 'Server busy\n']],
    ['a bug', [500, 'oops']],
    ['a gateway timeout', [504, '']],
    ['a limit', [429, 'Rate limited\n', '3']],
    ['a proxy that refuses', [403, 'forbidden']],
    ['a proxy without a route', NOT_FOUND],
    ['HTML with the status of an end', [410, HTML]],
    ['an early request', [425, '']],
    ['a slow request', [408, '']],
  ];

  test.each(TRANSIENT)('%s is no end', (_name, answer) => {
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': [answer, GRANTED] });
    const { ends, prompts } = begin(network);
    network.clock.advance(5_000);
    expect(ends.map(({ tokens }) => tokens?.accessToken)).toEqual(['a']);
    expect(prompts.length).toBe(1);
  });

  const FINAL: readonly (readonly [Failure['code'], Answer])[] = [
    ['access_denied', [200, '{"error":"access_denied"}']],
    ['authorization_failed', [200, '{"error":"authorization_failed"}']],
    ['missing_code', [200, '{"error":"missing_code"}']],
    ['exchange_failed', [200, '{"error":"exchange_failed"}']],
    ['authorization_failed', [200, '{"error":"toString"}']],
    ['authorization_failed', [200, '{"error":"expired"}']],
    ['refused', [400, 'Invalid wait: a whole number from 0 to 50\n']],
    ['refused', [405, 'Method not allowed\n']],
  ];

  test.each(FINAL)('%s is final', (code, answer) => {
    const network = createNetwork({
      '/auth/start': [STARTED],
      '&ack=1': [[204]],
      '/auth/result': [answer],
    });
    const { ends } = begin(network);
    network.clock.advance(600_000);
    expect(ends.map(({ failure }) => codeOf(failure))).toEqual([code]);
    expect(network.asksOf('/auth/start').length).toBe(1);
  });

  test('a response without a result is asked for again at once, but not more often than every 2 s', () => {
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': [[204]] });
    begin(network);
    network.clock.advance(60_000);
    const asks = network.asksOf('/auth/result').map(({ atMs }) => atMs);
    expect(asks.length).toBe(30);
    expect(asks.slice(1).map((atMs, index) => atMs - (asks[index] ?? 0))).toEqual(
      Array(29).fill(2_000),
    );
  });

  test('pauses double up to 8 s, half of each is random, and Retry-After is a minimum', () => {
    const answers = [
      ...Array(6).fill([502]),
      [429, '', '20'],
      [503, '', 'Thu, 01 Jan 2026 00:00:00 GMT'],
      GRANTED,
    ];
    for (const randomness of [0, 1]) {
      const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': answers });
      network.setRandom(randomness);
      begin(network);
      network.clock.advance(100_000);
      const asks = network.asksOf('?session=secret').map(({ atMs }) => atMs);
      const pauses = asks.slice(1, 9).map((atMs, index) => atMs - (asks[index] ?? 0) - 10);
      const whole = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 20_000, 8_000];
      expect(pauses).toEqual(
        whole.map((pauseMs) => (pauseMs === 20_000 ? pauseMs : (pauseMs * (1 + randomness)) / 2)),
      );
    }
  });

  test('a result is acknowledged until the relay has answered, and the app does not wait for that', () => {
    const network = createNetwork({
      '/auth/start': [STARTED],
      '&ack=1': [[0], [503, 'Server busy\n'], [204]],
      '/auth/result': [GRANTED],
    });
    const { ends } = begin(network);
    network.clock.advance(35);
    expect(ends.length).toBe(1);
    network.clock.advance(60_000);
    expect(network.asksOf('&ack=1').length).toBe(3);
  });
});

describe('starting', () => {
  test.each([
    ['Unknown service', 400],
    ['Challenge required', 400],
    ['404 page not found', 404],
  ])('%s is final, and the developer reads why', (text, status) => {
    const network = createNetwork({ '/auth/start': [[status, `${text}\n`]] });
    const { ends } = begin(network);
    network.clock.advance(600_000);
    expect(ends.map(({ failure }) => failure)).toEqual([
      fail('refused', `The relay answered ${status}: ${text}`),
    ]);
    expect(network.asksOf('/auth/start').length).toBe(1);
  });

  test.each([
    ['unreachable', [0]],
    ['unreachable', [502, HTML]],
    ['busy', [503, 'Server busy\n']],
    ['busy', [429, 'Rate limited\n', '1']],
  ] as const)('is given up after a minute as %s', (code, answer) => {
    const network = createNetwork({ '/auth/start': [answer] });
    const { ends } = begin(network);
    network.clock.advance(50_000);
    expect(ends).toEqual([]);
    network.clock.advance(20_000);
    expect(ends.map(({ failure }) => codeOf(failure))).toEqual([code]);
  });

  test('is given up after three pages of a captive portal', () => {
    for (const page of [
      [200, HTML],
      [302, ''],
      [511, HTML],
    ] as const) {
      const network = createNetwork({ '/services': [page] });
      const { ends } = begin(network);
      network.clock.advance(3_000);
      expect(ends.map(({ failure }) => codeOf(failure))).toEqual(['unreachable']);
      expect(network.asked.length).toBe(3);
    }
  });

  test('asks for a code, for delivery that survives a lost response, and names the device', () => {
    const network = createNetwork({ '/auth/start': [STARTED] });
    begin(network, { device: 'x'.repeat(200), details: true });
    network.clock.advance(30);
    expect(JSON.parse(network.asksOf('/auth/start')[0]?.body ?? '')).toEqual({
      service: 'mal',
      code: true,
      ack: true,
      details: true,
      device: 'x'.repeat(40),
    });
  });

  test('the prompt has what the user needs, and no secret', () => {
    const started = { session: 'secret', url: LINK, expiresIn: 600, userCode: 'BCDF-GHJK' };
    const link = `${RELAY}/base/L/BCDF-GHJK`;
    const answer: Answer = [200, JSON.stringify({ ...started, link })];
    const network = createNetwork({ '/auth/start': [answer], '/auth/result': [undefined] });
    const { prompts } = begin(network);
    network.clock.advance(30);
    expect(prompts).toMatchObject([
      { link, userCode: 'BCDF-GHJK', verificationUrl: `${RELAY}/base/link`, expiresIn: 600 },
    ]);
    expect(JSON.stringify(prompts)).not.toContain('secret');
  });
});

describe('a session that ends', () => {
  test('is renewed with a new prompt, three times on a screen that nobody looks at', () => {
    const link = [...Array(299).fill([204]), GONE];
    const network = createNetwork({
      '/auth/start': [STARTED],
      '/auth/result': [...link, ...link, ...link, ...link],
    });
    const { ends, prompts } = begin(network);
    network.clock.advance(1_900_000);
    expect([prompts.length, ends]).toEqual([4, []]);
    network.clock.advance(600_000);
    expect([prompts.length, ends.map(({ failure }) => codeOf(failure))]).toEqual([4, ['expired']]);
  });

  test('is renewed more often for a user who opens the links', () => {
    const opened: Answer = [200, '{"progress":"opened"}'];
    const link = [opened, ...Array(297).fill([204]), GONE];
    const network = createNetwork({
      '/services': [OFFER(['progress'])],
      '/auth/start': [STARTED],
      '/auth/result': Array(6).fill(link).flat(),
    });
    const { ends, prompts } = begin(network);
    network.clock.advance(3_100_000);
    expect([prompts.length, ends]).toEqual([6, []]);
  });

  test('is renewed when the relay has lost it', () => {
    const answers = [...Array(10).fill([204]), GONE, GRANTED];
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': answers });
    const { ends, prompts } = begin(network);
    network.clock.advance(60_000);
    expect([prompts.length, ends[0]?.tokens?.accessToken]).toEqual([2, 'a']);
  });

  test('is an error if the relay never knew it: another would end in the same way', () => {
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': [GONE] });
    const { ends } = begin(network);
    network.clock.advance(600_000);
    expect(ends.map(({ failure }) => codeOf(failure))).toEqual(['expired']);
    expect(network.asksOf('/auth/start').length).toBe(1);
  });
});

describe('cancelling', () => {
  const PENDING = {
    '/auth/start': [STARTED],
    '&cancel=1': [[0], [204]] as Answer[],
    '/auth/result': [[204]] as Answer[],
  };

  test('ends all requests, is no failure, and is sent to the relay if it offers that', () => {
    const network = createNetwork({ '/services': [OFFER(['cancel'])], ...PENDING });
    const { ends, session } = begin(network);
    network.clock.advance(5_000);
    const before = network.asksOf('/auth/result').length;
    session.cancel();
    network.clock.advance(600_000);
    expect(network.asksOf('&cancel=1').length).toBe(2);
    expect(network.asksOf('/auth/result').length).toBe(before + 2);
    expect([ends, session.getState().status]).toEqual([[{ failure: undefined }], 'signed-out']);
    expect(network.clock.timers).toBe(0);
  });

  test('is not sent to an older relay, which would take it for a poll', () => {
    const network = createNetwork(PENDING);
    const { session } = begin(network);
    network.clock.advance(5_000);
    session.cancel();
    network.clock.advance(600_000);
    expect(network.asksOf('&cancel=1')).toEqual([]);
  });

  test('what a listener of the app throws disturbs nobody else', () => {
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': [GRANTED] });
    const trouble = new Error('no screen');
    const { session, stored } = open(network);
    session.subscribe(() => {
      throw trouble;
    });
    session.signIn(() => {});
    for (let thrown = 0; thrown < 9; thrown += 1) {
      try {
        network.clock.advance(1_000);
      } catch (error) {
        expect(error).toBe(trouble);
      }
    }
    expect(stored()?.accessToken).toBe('a');
  });
});

describe('the state', () => {
  const statuses = ({ states }: ReturnType<typeof open>) => states.map(({ status }) => status);

  test('tells each step of a sign-in, and events have no secret', () => {
    const network = createNetwork({
      '/services': [OFFER(['progress', 'wait'])],
      '/auth/start': [STARTED],
      '&ack=1': [[204]],
      '/auth/result': [[204], [200, '{"progress":"opened"}'], GRANTED],
    });
    const begun = begin(network);
    network.clock.advance(10_000);
    expect(statuses(begun)).toEqual(['starting', 'waiting', 'opened', 'signed-in']);
    expect(begun.events).toEqual([{ type: 'opened' }, { type: 'saved' }]);
    expect(JSON.stringify(begun.states)).not.toContain('secret');
  });

  test('is "reconnecting" with the first request that fails, and goes on where it was', () => {
    const network = createNetwork({
      '/services': [[0], OFFER(['wait'])],
      '/auth/start': [[503, 'Server busy\n'], STARTED],
      '/auth/result': [[0], [204], GRANTED],
    });
    const begun = begin(network);
    network.clock.advance(20_000);
    const away = 'reconnecting';
    expect(statuses(begun)).toEqual([
      'starting',
      away,
      'starting',
      away,
      'waiting',
      away,
      'waiting',
      'signed-in',
    ]);
    expect(begun.events.map(({ type }) => type)).toEqual([
      'offline',
      'retrying',
      'offline',
      'saved',
    ]);
    expect(begun.states[5]).toMatchObject({ prompt: { link: LINK } });
    // The next poll is short, so that the app soon hears that the relay is back.
    expect(network.asksOf('/auth/result')[1]?.url).toContain('&wait=1');
  });

  test('of a sign-in that failed stays until it is dismissed, and who was signed in before still is', () => {
    const network = createNetwork({ '/auth/start': [[400, 'Unknown service\n']] });
    const items = createMemory();
    items.setItem(KEY, '{"accessToken":"old"}');
    const { session } = open(network, { items });
    expect(session.getState()).toEqual({ status: 'signed-in' });
    session.signIn(() => {});
    network.clock.advance(1_000);
    expect(session.getState()).toMatchObject({ status: 'failed', error: { code: 'refused' } });
    const given: unknown[] = [];
    session.getToken((_, token) => given.push(token));
    expect([given, session.getState().status]).toEqual([['old'], 'failed']);
    session.cancel();
    expect(session.getState()).toEqual({ status: 'signed-in' });
  });

  test('does not change for a token that nobody can have, nor for a cancellation of nothing', () => {
    const { session, states } = open(createNetwork({}));
    for (let count = 0; count < 3; count += 1) session.getToken(() => {});
    session.cancel();
    expect(states).toEqual([]);
    expect(session.getState()).toEqual({ status: 'signed-out' });
  });

  test('two calls during one sign-in start it once, and both hear of its end', () => {
    const network = createNetwork({ '/auth/start': [STARTED], '/auth/result': [GRANTED] });
    const { session, ends } = begin(network);
    session.signIn((failure) => ends.push({ failure }));
    network.clock.advance(1_000);
    expect([ends.length, network.asksOf('/auth/start').length]).toEqual([2, 1]);
  });
});

test('the name of a session in the storage is what SecureStore takes, and no other has it', () => {
  const place = { relay: 'https://relay.example/', service: 'mal' };
  expect(keyOf(place)).toBe('sign-in-relay__relay.example__mal');
  const others = [
    place,
    { ...place, account: 'Ж (2)' },
    { ...place, account: '_' },
    { ...place, relay: 'http://relay.example' },
    { ...place, relay: 'https://relay.example__mal', service: 'x' },
  ].map(keyOf);
  expect(new Set(others).size).toBe(others.length);
  for (const key of others) expect(key).toMatch(/^[\w.-]+$/);
});

describe('what the relay offers', () => {
  test.each([
    ['an older relay', NOT_FOUND],
    ['a proxy that passes on /auth/ alone', [404, HTML]],
    ['a relay that refuses the address', [405, 'Method not allowed\n']],
  ] as [string, Answer][])('%s is asked for nothing but the plain protocol', (_name, answer) => {
    const network = createNetwork({
      '/services': [answer],
      '/auth/start': [STARTED],
      '/auth/result': [GRANTED],
    });
    const { ends } = begin(network);
    network.clock.advance(1_000);
    expect(ends.length).toBe(1);
    expect(network.asksOf('/auth/result')[0]?.url).toBe(`${RELAY}/auth/result?session=secret`);
  });

  test('that the link was opened is told once', () => {
    const opened: Answer = [200, '{"progress":"opened"}'];
    const network = createNetwork({
      '/services': [OFFER(['progress', 'wait'])],
      '/auth/start': [STARTED],
      '/auth/result': [[204], opened, opened, GRANTED],
    });
    const { events, ends } = begin(network);
    network.clock.advance(10_000);
    expect([events.filter(({ type }) => type === 'opened').length, ends.length]).toEqual([1, 1]);
    expect(network.asksOf('progress=1')[0]?.url).toBe(
      `${RELAY}/auth/result?session=secret&wait=25&progress=1`,
    );
  });

  test('a dead connection is noticed 10 s after the poll should have ended', () => {
    const network = createNetwork({
      '/services': [OFFER(['wait'])],
      '/auth/start': [STARTED],
      '/auth/result': [undefined, GRANTED],
    });
    const { ends } = begin(network);
    network.clock.advance(35_000);
    expect(ends.length).toBe(0);
    network.clock.advance(2_000);
    expect(ends.length).toBe(1);
  });

  test('a sign-in that must be blind and cannot be is refused, and so is one that the app wants blind where that is not offered', () => {
    const must = '{"services":[{"service":"mal","name":"M","blind":"must"}],"extensions":[]}';
    for (const [answer, options, who] of [
      [[200, must], {}, 'This device has no cryptography for'],
      [NOT_FOUND, { blind: true }, 'The relay does not offer'],
    ] as [Answer, OpenOptions, string][]) {
      const detail = `${who} a blind sign-in with this service`;
      const network = createNetwork({ '/services': [answer], '/auth/start': [STARTED] });
      const { ends } = begin(network, options);
      network.clock.advance(1_000);
      expect(ends.map(({ failure }) => failure)).toEqual([fail('refused', detail)]);
      expect(network.asksOf('/auth/start')).toEqual([]);
    }
  });
});

const OLD: Tokens = { accessToken: 'old', refreshToken: 'r1', expiresIn: 3_600, expiresAt: 0 };

describe('tokens go to nobody on the way', () => {
  /** Every request of the session is counted, and fails. */
  async function refreshAt(
    relay: string,
    options: Partial<SessionOptions> = {},
    tokens: Tokens = OLD,
  ) {
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(url);
      return new Response('{"error":"invalid_client"}', { status: 400 });
    };
    const place = { relay, service: 'mal' };
    const storage = createMemory();
    storage.setItem(keyOf(place), JSON.stringify(tokens));
    const failure = await createSession({ ...place, storage, fetch, ...options })
      .getToken()
      .then(() => undefined)
      .catch((error: SignInError) => error);
    return { asked, code: failure?.code, detail: failure?.detail };
  }

  test.each([
    'http://relay.example',
    'HTTP://relay.example:80',
    'http://192.168.1.5:8080',
    'http://localhost.example',
    'http://127.0.0.1.example',
    'http://127.example',
    'http://[::2]',
  ])('nothing is sent to %s, unless the app allows http', async (relay) => {
    const { asked, code, detail } = await refreshAt(relay);
    expect([asked, code]).toEqual([[], 'refused']);
    expect(detail).toBe(`relay must start with https:// (see allowHttp): ${relay}/refresh`);
    expect((await refreshAt(relay, { allowHttp: true })).asked).toEqual([`${relay}/refresh`]);
  });

  test.each([
    'https://relay.example',
    'http://localhost:8080',
    'http://127.0.0.1:8080/relay',
    'http://[::1]:8080',
  ])('%s is safe', async (relay) => {
    expect((await refreshAt(relay)).asked).toEqual([`${relay}/refresh`]);
  });

  const OWN = 'https://acme.test/token';

  test.each([
    ['http://localhost:1@acme.test/token', undefined],
    ['https://me@acme.test/token', undefined],
    [OWN, 'http://localhost:1@acme.test/token'],
  ])('nothing is sent to %s of a blind sign-in, or %s of the app', async (stored, own) => {
    const tokens = { ...OLD, tokenUrl: stored, clientId: 'c' };
    const { asked, code, detail } = await refreshAt(RELAY, { tokenUrl: own }, tokens);
    expect([asked, code]).toEqual([[], 'refused']);
    expect(detail).toContain('tokenUrl must start with https:// or http://, then a host');
  });

  test.each(['https://me@acme.test/revoke', 'https://acme.test@evil.test/revoke'])(
    'nothing is sent to %s to revoke tokens',
    async (revocationUrl) => {
      const asked: string[] = [];
      const fetch = async (url: string) => {
        asked.push(url);
        return new Response('{}');
      };
      const place = { relay: RELAY, service: 'mal', storage: createMemory() };
      const tokens = { ...OLD, tokenUrl: OWN, clientId: 'c', revocationUrl };
      place.storage.setItem(keyOf(place), JSON.stringify(tokens));
      const signedOut = await createSession({ ...place, fetch }).signOut();
      expect([signedOut.revoked, asked]).toEqual([false, []]);
    },
  );

  test('what the app allows applies to each request of a sign-in, also to the acknowledgement', () => {
    const network = createNetwork({
      '/services': [OFFER(['ack'])],
      '/auth/start': [STARTED],
      'ack=1': [[204]],
      '/auth/result': [GRANTED],
    });
    begin(network, { relay: 'http://relay.example', allowHttp: true });
    network.clock.advance(5_000);
    expect(network.asksOf('http://relay.example')).toHaveLength(network.asked.length);
    expect(network.asksOf('ack=1')).toHaveLength(1);
  });
});

describe('refreshing', () => {
  function refreshOnce(answers: readonly Answer[], tokens: Tokens = OLD) {
    const network = createNetwork({ '/refresh': answers });
    const ends: { failure: unknown; tokens: Tokens | undefined }[] = [];
    refresh(
      { platform: network.platform },
      { relay: RELAY, service: 'mal', tokens },
      (failure, fresh) => ends.push({ failure, tokens: fresh }),
    );
    network.clock.advance(120_000);
    return { ...network, ends };
  }

  test('keeps the old refresh token unless there is a new one', () => {
    const [first] = refreshOnce([[200, '{"accessToken":"b"}']]).ends;
    expect(first?.tokens).toEqual({ accessToken: 'b', refreshToken: 'r1' });
    const [second] = refreshOnce([
      [200, '{"accessToken":"b","refreshToken":"r2","expiresIn":60}'],
    ]).ends;
    expect(second?.tokens).toMatchObject({ accessToken: 'b', refreshToken: 'r2', expiresIn: 60 });
    expect(second?.tokens?.expiresAt).toBeGreaterThan(Date.now());
  });

  test('only the provider says that a token no longer works', () => {
    for (const answer of [[503, 'Server busy\n', '1'], [0], [429, ''], [502, HTML]] as Answer[]) {
      const { ends } = refreshOnce([answer, [400, '{"error":"invalid_grant"}']]);
      expect(ends.map(({ failure }) => codeOf(failure))).toEqual(['invalid_grant']);
    }
    expect(codeOf(refreshOnce([[400, '{"error":"invalid_client"}']]).ends[0]?.failure)).toBe(
      'refused',
    );
    expect(codeOf(refreshOnce([[503, '']]).ends[0]?.failure)).toBe('busy');
    expect(codeOf(refreshOnce([[0]]).ends[0]?.failure)).toBe('unreachable');
  });

  test('sends no request without a refresh token', () => {
    const { ends, asked } = refreshOnce([], { accessToken: 'a' });
    expect([codeOf(ends[0]?.failure), asked.length]).toEqual(['invalid_grant', 0]);
  });
});

/** What takes longer than a test may; everything else is in keeper.test.ts. */
describe('keeping tokens', () => {
  function keep(leftMs: number, answers: readonly Answer[], lock?: Lock) {
    const network = createNetwork({ '/refresh': answers });
    const items = createMemory();
    items.setItem(KEY, JSON.stringify({ ...OLD, expiresAt: Date.now() + leftMs }));
    const { session } = open(network, { items, ...(lock && { lock }) });
    const given: unknown[] = [];
    const take = () =>
      session.getToken((failure, token) => given.push(failure ? codeOf(failure) : token));
    return { ...network, given, get: session.getToken, take };
  }

  const FRESH: Answer = [200, '{"accessToken":"new","refreshToken":"r2","expiresIn":3600}'];

  test('tries to refresh a valid token again 10 s after a failure', () => {
    const keeper = keep(30_000, [[401, '{"error":"invalid_client"}'], FRESH]);
    keeper.take();
    keeper.clock.advance(9_000);
    keeper.take();
    expect(keeper.asked.length).toBe(1);
    keeper.clock.advance(2_000);
    keeper.take();
    keeper.clock.advance(100);
    keeper.take();
    expect(keeper.given).toEqual(['old', 'old', 'old', 'new']);
    expect(keeper.asked.length).toBe(2);
  });

  test('gives up after 75 s if another process does not release the lock, and takes it no more', () => {
    const held: ((release: () => void) => void)[] = [];
    let releases = 0;
    const keeper = keep(-5, [FRESH], (run) => held.push(run));
    keeper.take();
    keeper.clock.advance(74_000);
    expect(keeper.given).toEqual([]);
    keeper.clock.advance(2_000);
    expect(keeper.given).toEqual(['busy']);
    held[0]?.(() => {
      releases += 1;
    });
    keeper.clock.advance(1_000);
    expect([releases, keeper.asked.length]).toEqual([1, 0]);
    keeper.take();
    held[1]?.(() => {
      releases += 1;
    });
    keeper.clock.advance(1_000);
    expect([releases, keeper.given]).toEqual([2, ['busy', 'new']]);
    expect(keeper.clock.timers).toBe(0);
  });

  test('what one caller throws does not keep the others from their token', () => {
    const keeper = keep(-5, [FRESH]);
    const trouble = new Error('of the first caller');
    keeper.get(() => {
      throw trouble;
    });
    keeper.take();
    expect(() => keeper.clock.advance(1_000)).toThrow(trouble);
    expect(keeper.given).toEqual(['new']);
  });
});
