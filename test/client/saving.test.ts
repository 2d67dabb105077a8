/** Tokens that reach the app's storage, and sign-ins that go on in another process, by the fake clock. */
import { describe, expect, test } from 'bun:test';
import type { SignInError } from '../../client/src/errors.ts';
import type { Session } from '../../client/src/session.ts';
import { createMemory } from '../../client/src/storage.ts';
import { failureOf } from '../kit/wait.ts';
import {
  type Answer,
  BLIND,
  begin,
  codeOf,
  createNetwork,
  GONE,
  GRANTED,
  KEY,
  LINK,
  OFFER,
  OPEN,
  open,
  RELAY,
  signIn,
  started,
} from './network.ts';

const ANSWERS = { '&ack=1': [[204]], '/auth/result': [GRANTED] } as const;

const UNFINISHED = `unfinished-${KEY}`;

/** A storage that notes what is written, and may do something else first. */
function createItems(
  unfinished: string | null = null,
  before: (key: string) => unknown = () => {},
) {
  const inner = createMemory();
  if (unfinished !== null) inner.setItem(UNFINISHED, unfinished);
  const written: string[] = [];
  const write = (key: string, run: () => unknown, what: string) => {
    const waiting = before(key);
    if (waiting instanceof Promise) return waiting.then(run);
    written.push(what);
    return run();
  };
  const items = {
    getItem: inner.getItem,
    setItem: (key: string, value: string) =>
      write(key, () => inner.setItem(key, value), `set ${key}`),
    removeItem: (key: string) => write(key, () => inner.removeItem(key), `remove ${key}`),
  };
  return { items, written, unfinished: () => inner.getItem(UNFINISHED) as string | undefined };
}

/** Lets promises that are resolved be heard. */
const heard = () => new Promise((resolve) => setTimeout(resolve));

describe('tokens', () => {
  test('are stored before the result is acknowledged', async () => {
    const saved = Promise.withResolvers<void>();
    const { items } = createItems(null, (key) => (key === KEY ? saved.promise : undefined));
    const { network, ends } = await signIn(30_000, ANSWERS, { items });
    expect([ends.length, network.asksOf('&ack=1').length]).toEqual([0, 0]);
    saved.resolve();
    await heard();
    expect([ends.length, network.asksOf('&ack=1').length]).toEqual([1, 1]);
  });

  test('are stored again when that fails', async () => {
    let tries = 0;
    const { items } = createItems(null, (key) => {
      if (key !== KEY) return;
      tries += 1;
      if (tries < 4) throw new Error('busy');
    });
    const { network, ends } = await signIn(3_000, ANSWERS, { items });
    expect([tries, ends.length, network.asksOf('&ack=1').length]).toEqual([3, 0, 0]);
    await network.advance(2_000);
    expect(ends).toMatchObject([{ tokens: { accessToken: 'a' } }]);
    expect(network.asksOf('&ack=1').length).toBe(1);
  });

  test.each<[string, number, (session: Session) => Promise<unknown>]>([
    ['getToken', 600_000, ({ getToken }) => getToken()],
    ['the next sign-in, without a second code', 30_000, ({ signIn }) => signIn()],
  ])('that cannot be stored are a failure, not acknowledged, and stored by %s', async (...row) => {
    const [, ms, go] = row;
    const trouble = new Error('disk full');
    let isFull = true;
    const { items, unfinished } = createItems(null, (key) => {
      if (key === KEY && isFull) throw trouble;
    });
    const { network, ends, session, stored } = await signIn(ms, ANSWERS, { items });
    expect(ends).toMatchObject([{ failure: { code: 'storage_failed', cause: trouble } }]);
    // The relay keeps the result for a minute: the next start may get it once more.
    expect([network.asksOf('&ack=1'), unfinished()]).toEqual([
      [],
      expect.stringContaining('secret'),
    ]);
    isFull = false;
    const polls = network.asksOf('/auth/result').length;
    await go(session);
    expect([session.state.status, stored()?.accessToken]).toEqual(['signed-in', 'a']);
    await heard();
    const again = network.asksOf('/auth/result').slice(polls);
    expect(again.map(({ url }) => url)).toEqual([expect.stringContaining('&ack=1')]);
    // An old result, if the relay sent it again, would replace tokens that are refreshed since.
    expect(unfinished()).toBeUndefined();
  });

  test('that arrive while older ones are being stored are stored after them', async () => {
    const written = Promise.withResolvers<void>();
    const { items } = createItems(null, (key) =>
      key === KEY && /old/.test(`${items.getItem(key)}`) ? written.promise : undefined,
    );
    items.setItem(KEY, JSON.stringify({ accessToken: 'old', refreshToken: 'r', expiresAt: 1 }));
    const fresh: Answer = [200, '{"accessToken":"of the sign-in"}'];
    const answers = { '/auth/start': [started()], '/refresh': [GRANTED] };
    const network = createNetwork({ ...answers, '/auth/result': [[204], [204], fresh] }, 2);
    const { session } = open(network, { items });
    const signedIn = session.signIn();
    await network.advance(1_000);
    void failureOf(session.getToken());
    await network.advance(10_000);
    written.resolve();
    await network.advance(1_000);
    expect(await signedIn).toBe(true);
    expect(items.getItem(KEY)).toBe(JSON.stringify({ accessToken: 'of the sign-in' }));
  });

  test('that are stored while another call reads the storage stay', async () => {
    const tries: string[] = [];
    const { items } = createItems(null, (key) => {
      if (key === KEY && tries.push(key) === 1) throw new Error('busy');
    });
    const network = createNetwork({ '/auth/start': [started()], ...ANSWERS });
    const wait = () => new Promise<void>((resolve) => void network.clock.setTimer(30, resolve));
    const getItem = (key: string) => wait().then(() => items.getItem(key));
    const { session } = open(network, { items: { ...items, getItem } });
    void session.signIn();
    while (!tries.length) await network.advance(10);
    await network.advance(470);
    // Reads until the second try to save, and then again, by the lock.
    const [token] = await Promise.all([session.getToken(), network.advance(1_000)]);
    expect([token, tries.length, session.state.status]).toEqual(['a', 2, 'signed-in']);
  });
});

describe('an unfinished sign-in', () => {
  /** The storage that a process has left which was killed after this time. */
  async function leave(afterMs: number) {
    const { items, unfinished } = createItems();
    const answers = { '/services': [OFFER(['wait', 'cancel'])], '/auth/result': [undefined] };
    await signIn(afterMs, answers, { items });
    return unfinished() ?? '';
  }

  test('is stored before its prompt is shown, and removed after the tokens are stored', async () => {
    const kept = Promise.withResolvers<void>();
    const { items, written, unfinished } = createItems(null, () =>
      written.length === 0 && !isKept ? kept.promise : undefined,
    );
    let isKept = false;
    const { network, prompts, ends } = await signIn(1_000, ANSWERS, { items });
    expect([prompts.length, written]).toEqual([0, []]);
    isKept = true;
    kept.resolve();
    await heard();
    expect([prompts.length, unfinished()]).toEqual([1, expect.stringContaining('secret')]);
    await network.advance(1_000);
    expect(ends.length).toBe(1);
    expect(written).toEqual([`set ${KEY}`, `remove ${UNFINISHED}`]);
  });

  test.each([
    ['declined', [200, '{"error":"access_denied"}'] as const],
    ['expired', GONE],
  ])('that was %s is removed', async (_name, answer) => {
    const { items, unfinished } = createItems();
    await signIn(60_000, { '/auth/result': [answer] }, { items });
    expect(unfinished()).toBeUndefined();
  });

  test('that is cancelled before the storage has answered is removed, at the relay too', async () => {
    const { items, unfinished } = createItems(await leave(1_000));
    const network = createNetwork({ '&cancel=1': [[204]] }, 2_000);
    const { session, ends } = begin(network, { items });
    session.cancel();
    await network.advance(1_000);
    expect([unfinished(), ends]).toEqual([undefined, [{}]]);
    expect(network.asked.map(({ url }) => url)).toEqual([expect.stringContaining('&cancel=1')]);
  });

  test.each(['before', 'after'])(
    'that began %s a read, and was cancelled during it, is not resumable',
    async (when) => {
      const { items } = createItems(await leave(1_000));
      const answered = Promise.withResolvers<void>();
      let isSlow = false;
      const getItem = async (key: string) => {
        const value = items.getItem(key);
        if (isSlow && key === UNFINISHED) await answered.promise;
        return value;
      };
      const network = createNetwork({ '/auth/result': [undefined] }, 2_000);
      const { session } = open(network, { items: { ...items, getItem } });
      if (when === 'before') void session.signIn();
      await network.advance(10);
      isSlow = true;
      const read = session.getTokens();
      await heard();
      if (when === 'after') void session.signIn();
      session.cancel();
      answered.resolve();
      await read;
      expect(session.state).toEqual({ status: 'signed-out' });
    },
  );

  test('continues if the app cancels and signs in at once, as React does in StrictMode', async () => {
    const { items } = createItems(await leave(1_000));
    const network = createNetwork({ '/auth/result': [GRANTED] }, 2_000);
    const { session, prompts } = begin(network, { items });
    session.cancel();
    void session.signIn();
    await network.advance(1_000);
    expect(prompts.map(({ link }) => link)).toEqual([LINK]);
    expect([network.asksOf('&cancel=1'), network.asksOf('/auth/start')]).toEqual([[], []]);
    expect(session.state.status).toBe('signed-in');
  });

  test('continues with the same link, and what is left of its time', async () => {
    const { items } = createItems(await leave(100_000));
    const { network, prompts, ends } = await signIn(
      0,
      { '/auth/result': [[204], GRANTED] },
      { startMs: 250_000, items },
    );
    expect(prompts.map(({ link, secondsLeft }) => [link, secondsLeft()])).toEqual([[LINK, 350]]);
    await network.advance(3_000);
    expect(ends).toMatchObject([{ tokens: { accessToken: 'a' } }]);
    expect([network.asksOf('/auth/start'), network.asksOf('/services')]).toEqual([[], []]);
    expect(network.asked[0]?.url).toBe(`${RELAY}/auth/result?session=secret&wait=25`);
  });

  test('gets the tokens that wait, also when its link has expired, which is not shown', async () => {
    const { items } = createItems(await leave(1_000));
    const { prompts, ends } = await signIn(
      1_000,
      { '/auth/result': [GRANTED] },
      { startMs: 620_000, items },
    );
    expect(ends).toMatchObject([{ tokens: { accessToken: 'a' } }]);
    expect(prompts).toEqual([]);
  });

  test.each([
    ['the relay does not know it any more', GONE, 100_000],
    ['nobody knows how old it is: the clock was set back', [204] as const, -5_000],
    ['it has expired by the clock', [204] as const, 700_000],
  ])('is replaced with a new one if %s', async (_name, answer, nowMs) => {
    const { items, unfinished } = createItems(await leave(1_000));
    const start = started({ session: 'n', url: `${LINK}2` });
    const answers = { '/auth/start': [start], '=n': [GRANTED], '/auth/result': [answer] };
    const { prompts, ends } = await signIn(5_000, answers, { startMs: nowMs, items });
    expect(prompts.at(-1)?.link).toBe(`${LINK}2`);
    expect(ends).toMatchObject([{ tokens: { accessToken: 'a' } }]);
    expect(unfinished()).toBeUndefined();
  });

  test.each([
    ['waits for a link of its own', [204]],
    ['shared its link, and finds it gone', GONE],
  ] as const)('ends when another process has signed in, and this one %s', async (_, then) => {
    const answers = { '/auth/result': [[204], then] } as const;
    const { network, prompts, ends, session, items } = await signIn(1_000, answers);
    items.setItem(KEY, JSON.stringify({ accessToken: 'of another process' }));
    await network.advance(30_000);
    expect(ends).toMatchObject([{ tokens: { accessToken: 'of another process' } }]);
    expect([prompts.length, session.state.status]).toEqual([1, 'signed-in']);
  });

  test('that is damaged is not resumed', async () => {
    const good = JSON.parse(await leave(1_000));
    async function countStarts(state: unknown): Promise<number> {
      const { items } = createItems(JSON.stringify(state));
      const answers = { '/auth/result': [[204] as const] };
      const { network } = await signIn(1_000, answers, { startMs: 1_000, items });
      return network.asksOf('/auth/start').length;
    }
    expect(await countStarts(good)).toBe(0);
    for (const bad of [
      { ...good, started: { ...good.started, session: '\ud800' } },
      { ...good, started: { ...good.started, link: 'javascript:alert(1)' } },
      { ...good, started: { ...good.started, expiresIn: -1 } },
      { ...good, started: [null] },
      { ...good, startedAtMs: 'x' },
      null,
      7,
      'x',
      [],
      [good],
    ]) {
      expect([bad, await countStarts(bad)]).toEqual([bad, 1]);
    }
  });

  test('is not ended by tokens of a refresh that could not be stored', async () => {
    const { items } = createItems(await leave(1_000));
    items.setItem(KEY, JSON.stringify({ accessToken: 'old', refreshToken: 'r', expiresAt: 1 }));
    const setItem = () => Promise.reject(new Error('disk full'));
    const network = createNetwork({ '/refresh': [GRANTED], '/auth/result': [undefined] }, 2_000);
    const { session } = open(network, { items: { ...items, setItem } });
    const refused = failureOf(session.getToken());
    await network.advance(10_000);
    expect(await refused).toMatchObject({ code: 'storage_failed' });
    void session.signIn();
    await network.advance(1_000);
    expect([session.state.status, network.asksOf('ack=1')]).toEqual(['waiting', []]);
  });

  test('without a verifier is not resumed by an open one: the relay has seen its tokens', async () => {
    const { items } = createItems(await leave(1_000));
    const { network } = await signIn(
      1_000,
      { '/services': [OFFER(['open'])] },
      { startMs: 1_000, items, open: OPEN },
    );
    expect(network.asksOf('/auth/result')).toEqual([]);
  });

  test('that cannot be read or stored ends the sign-in, with what the storage has thrown', async () => {
    const trouble = new Error('no storage');
    const fail = () => {
      throw trouble;
    };
    for (const broken of [{ getItem: fail }, { setItem: fail }]) {
      const { ends, prompts } = await signIn(1_000, ANSWERS, {
        items: { ...createMemory(), ...broken },
      });
      const failure = { code: 'storage_failed', cause: trouble };
      expect([ends, prompts]).toMatchObject([[{ failure }], []]);
    }
  });
});

test('a storage that does not answer fails after 30 s, and is asked again', async () => {
  let hangs = true;
  const items = createMemory();
  items.setItem(KEY, '{"accessToken":"a"}');
  const getItem = (key: string) => (hangs ? new Promise<string>(() => {}) : items.getItem(key));
  const network = createNetwork({});
  const { session } = open(network, { items: { ...items, getItem } });
  const failed = failureOf(session.getToken());
  await network.advance(29_999);
  expect(session.state.status).toBe('loading');
  await network.advance(1);
  const cause = new Error('no answer within 30 s');
  expect(await failed).toMatchObject({ code: 'storage_failed', cause });
  hangs = false;
  expect([await session.getToken(), network.clock.timers]).toEqual(['a', 0]);
});

describe('an address that cannot be right', () => {
  test.each([undefined, '', 'relay.example', 'https://relay.example?x=1', 'https://a:b@c.example'])(
    '%p fails at once',
    async (relay) => {
      const { network, ends } = await signIn(0, {}, { relay: relay as string });
      const { code, detail } = Object(ends[0]?.failure) as SignInError;
      expect([code, network.asked]).toEqual(['refused', []]);
      expect(detail).toStartWith('relay needs https:// or http://');
      expect(detail).not.toContain('b@');
    },
  );

  const WRONG: readonly object[] = [
    ...[
      'javascript:alert(1)',
      'file:///etc/passwd',
      'https://relay.test@evil.test/',
      'https://:80/',
      'https://rel\u0430y.test/',
      `https://relay.test/${'a'.repeat(4_000)}`,
    ].map((url) => ({ url })),
    ...[7, '', '\ud800'].map((session) => ({ session })),
    ...['600', 0, -1, 86_401].map((expiresIn) => ({ expiresIn })),
  ];
  const NOT_EXPECTED = '200: not what was expected';
  const MOVED: Answer = [301, '', null, 'https://new.test/services?s=1'];

  test.each<[string, Answer, string]>([
    ['/services', MOVED, '301: a redirect to https://new.test/services'],
    ['/services', [200, '{"hello":"world"}'], NOT_EXPECTED],
    ['/services', [200, '{"services":{"0":"mal"}}'], NOT_EXPECTED],
    ['/auth/start', [200, `{"session":"s","url":"${LINK}","expiresIn":1e999}`], NOT_EXPECTED],
    ...WRONG.map((own): [string, Answer, string] => ['/auth/start', started(own), NOT_EXPECTED]),
  ])('a foreign answer at %s fails at once: %j', async (path, answer, words) => {
    const { ends } = await signIn(100, { [path]: [answer] });
    const detail = `The relay answered ${words} (${RELAY}${path})`;
    expect(ends).toMatchObject([{ failure: { code: 'refused', detail } }]);
  });

  test.each(['https://app.test', RELAY])(
    'a page of %s hears of CORS if the relay has another origin',
    async (origin) => {
      const { session } = await signIn(100, { '/services': [[0]] }, { platform: { origin } });
      const cors = origin === RELAY ? '' : `, or its CORS_ORIGINS does not have ${origin}`;
      const detail = `The relay did not answer${cors} (${RELAY}/services)`;
      expect(session.state).toEqual({ status: 'reconnecting', detail });
    },
  );
});

test.each<[string, Answer]>([
  ['tokens', GRANTED],
  ['a code without a client id', [200, '{"code":"c","tokenUrl":"https://p.test/token"}']],
  ['a code for the relay itself', [200, `{"code":"c","clientId":"i","tokenUrl":"${RELAY}/token"}`]],
  ['something else', [200, '{"hello":"world"}']],
])('a blind sign-in that gets %s is refused, and nothing is saved', async (_name, answer) => {
  const answers = { '/services': [OFFER([], 'can')], '/auth/result': [answer] };
  const { network, ends, stored } = await signIn(1_000, answers, { platform: BLIND });
  expect(ends.map(({ failure }) => codeOf(failure))).toEqual(['refused']);
  expect([stored(), network.asksOf('ack=1'), network.asksOf('token')]).toEqual([undefined, [], []]);
});
