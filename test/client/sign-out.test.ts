/** Signing out: the session forgets the tokens, whatever the network does, and says whether the provider confirmed. */
import { describe, expect, test } from 'bun:test';
import type { SignedOut } from '../../client/src/revoke.ts';
import { createMemory, type SessionStorage } from '../../client/src/storage.ts';
import type { Tokens } from '../../client/src/tokens.ts';
import { type Answer, createNetwork, HTML, KEY, open, RELAY } from './network.ts';

const TOKENS = { accessToken: 'access', refreshToken: 'refresh' };
const LONGEST_MS = 15_000;

function begin(
  answers: readonly (Answer | undefined)[],
  tokens: object | null = TOKENS,
  more: Partial<SessionStorage> = {},
) {
  const network = createNetwork({ '': answers });
  const memory = createMemory();
  if (tokens) memory.setItem(KEY, JSON.stringify(tokens));
  const items = { ...memory, ...more } as SessionStorage;
  const ends: { failure?: unknown; result?: SignedOut; atMs: number }[] = [];
  const { session } = open(network, { items });
  session.signOut().then(
    (result) => ends.push({ result, atMs: network.clock.now() }),
    (failure) => ends.push({ failure, atMs: network.clock.now() }),
  );
  return { ...network, session, items, ends };
}

const REVOKED: Answer = [200, '{}'];

test('the relay gets both tokens, and the app learns that they were revoked', async () => {
  const { advance, asked, ends } = begin([REVOKED]);
  await advance(10);
  expect(asked).toEqual([
    {
      atMs: 0,
      url: `${RELAY}/revoke`,
      body: JSON.stringify({ service: 'mal', refreshToken: 'refresh', accessToken: 'access' }),
    },
  ]);
  expect(ends).toEqual([{ result: { revoked: true }, atMs: 10 }]);
});

test.each<[string, Answer, Partial<SignedOut>]>([
  ['a provider without an endpoint', [400, '{"error":"unsupported"}'], { unsupported: true }],
  [
    'one where the user can remove the app',
    [400, '{"error":"unsupported","removeAt":"https://mal.test/apps"}'],
    { unsupported: true, removeAt: 'https://mal.test/apps' },
  ],
  [
    'removeAt of a wrong type',
    [400, '{"error":"unsupported","removeAt":{"toString":1}}'],
    { unsupported: true },
  ],
  ['a client that the provider refuses', [400, '{"error":"invalid_client"}'], {}],
  ['a relay that is older', [404, '404 page not found\n'], {}],
])('%s: not revoked, at once', async (_, answer, expected) => {
  const { advance, asked, ends } = begin([answer]);
  await advance(10);
  expect(asked).toHaveLength(1);
  expect(ends[0]?.result).toEqual({ revoked: false, detail: expect.any(String), ...expected });
});

test.each<[string, readonly (Answer | undefined)[]]>([
  ['no answer', [undefined]],
  ['a relay that cannot reach the provider', [[503, 'Server busy\n', '5']]],
  ['a Retry-After of an hour', [[429, 'Rate limited\n', '3600']]],
  ['a captive portal', [[200, HTML]]],
  ['a proxy that answers in its own words', [[200, 'ok']]],
])('%s: ends within 15 s, and says that it is not known', async (_, answers) => {
  const { advance, ends } = begin(answers);
  for (let ms = 0; ms < LONGEST_MS; ms += 100) await advance(100);
  expect(ends).toHaveLength(1);
  expect(ends[0]).toMatchObject({ result: { revoked: false } });
  const { length } = ends;
  await advance(600_000);
  expect(ends).toHaveLength(length);
});

test('what fails for a moment is tried again', async () => {
  const { advance, ends } = begin([[0], [503, 'Server busy\n', '1'], REVOKED]);
  await advance(LONGEST_MS - 1);
  expect(ends[0]?.result).toEqual({ revoked: true });
});

describe('the storage', () => {
  test('is emptied before anything is sent, also of an unfinished sign-in', async () => {
    const removed: string[] = [];
    const { advance, asked, session } = begin([undefined], TOKENS, {
      removeItem: (key: string) => removed.push(key),
    } as object);
    await advance(0);
    expect(removed).toEqual([`unfinished-${KEY}`, KEY]);
    expect([asked.length, session.state]).toEqual([1, { status: 'signed-out' }]);
  });

  test('with nothing in it: there is nothing to revoke', async () => {
    const { advance, asked, ends } = begin([REVOKED], null);
    await advance(0);
    expect(asked).toEqual([]);
    expect(ends).toMatchObject([{ result: { revoked: false } }]);
  });

  test.each(['throws', 'rejects'])(
    'that %s does not prevent the revocation, and the app learns of it',
    async (how) => {
      const cause = new Error('read-only storage');
      const removeItem = () => {
        if (how === 'throws') throw cause;
        return Promise.reject(cause);
      };
      const broken = { removeItem, setItem: removeItem };
      const { advance, ends, asked } = begin([REVOKED], TOKENS, broken);
      await advance(10);
      expect(asked).toHaveLength(1);
      const failure = { code: 'storage_failed', cause };
      expect(ends).toMatchObject([{ failure }]);
    },
  );

  test('that fails is no unhandled rejection where a listener signs out as well', async () => {
    const removeItem = () => Promise.reject(new Error('read-only storage'));
    const network = createNetwork({});
    const { session } = open(network, {
      items: { ...createMemory(), removeItem, setItem: removeItem },
    });
    const stop = session.subscribe(() => {
      stop();
      void session.signOut();
    });
    const failed = expect(session.signOut()).rejects.toMatchObject({ code: 'storage_failed' });
    await network.advance(0);
    await failed;
  });

  test('that fails for a moment is emptied soon, and the user stays signed out', async () => {
    let isBroken = true;
    const memory = createMemory();
    memory.setItem(KEY, JSON.stringify(TOKENS));
    const unlessBroken = (run: () => unknown) => {
      if (isBroken) throw new Error('read-only storage');
      return run();
    };
    const { advance, ends, session } = begin([REVOKED], TOKENS, {
      getItem: memory.getItem,
      setItem: (key, value) => unlessBroken(() => memory.setItem(key, value)),
      removeItem: (key) => unlessBroken(() => memory.removeItem(key)),
    });
    await advance(10);
    expect(ends).toMatchObject([{ failure: { code: 'storage_failed' } }]);
    // Another tab's storage event reads it as well.
    expect(await session.getTokens()).toBeUndefined();
    expect(session.state).toMatchObject({ error: { code: 'storage_failed' } });
    isBroken = false;
    await advance(4_000);
    expect(await session.getTokens()).toBeUndefined();
    expect([session.state, memory.getItem(KEY)]).toEqual([
      { status: 'signed-out' },
      expect.not.stringContaining('access'),
    ]);
  });

  test('that can write and not delete: tokens are overwritten before anything reads', async () => {
    const removeItem = () => Promise.reject(new Error('no deletion'));
    const { advance, ends, items, session } = begin([REVOKED], TOKENS, { removeItem } as object);
    const read = session.getTokens().then(session.getTokens);
    await advance(10);
    expect([ends[0]?.result, items.getItem(KEY)]).toEqual([{ revoked: true }, '{}']);
    expect([await read, session.state]).toEqual([undefined, { status: 'signed-out' }]);
  });

  test('that cannot be read: the result says that, and not that nobody was signed in', async () => {
    const getItem = () => Promise.reject(new Error('keychain locked'));
    const { advance, asked, ends } = begin([REVOKED], TOKENS, { getItem } as object);
    await advance(10);
    const detail = 'The storage failed to read';
    expect([asked, ends[0]?.result]).toEqual([[], { revoked: false, detail }]);
  });
});

describe('after a blind sign-in', () => {
  const BLIND: Tokens = { ...TOKENS, tokenUrl: 'https://acme.test/token', clientId: 'a b' };
  const revocationUrl = 'https://acme.test/revoke';

  test('each token goes to the provider, and none to the relay', async () => {
    const tokens = { ...BLIND, revocationUrl };
    const { advance, asked, ends } = begin([[200], [200]], tokens);
    await advance(20);
    expect(asked.map(({ url, body }) => [url, body])).toEqual([
      [revocationUrl, 'token=refresh&client_id=a%20b'],
      [revocationUrl, 'token=access&client_id=a%20b'],
    ]);
    expect(ends[0]?.result).toEqual({ revoked: true });
  });

  test.each<[string, Answer, boolean]>([
    ['a success without content', [204], true],
    ['an unknown token, which is revoked already', [400, '{"error":"invalid_token"}'], true],
    ['an error with status 200', [200, '{"error":"invalid_client"}'], false],
  ])('the provider answers %s', async (_, answer, revoked) => {
    const { advance, asked, ends } = begin([answer], { ...BLIND, revocationUrl });
    await advance(20);
    expect(ends).toMatchObject([{ result: { revoked } }]);
    expect(asked).toHaveLength(revoked ? 2 : 1);
  });

  test.each<[string, object]>([
    ['without a revocation endpoint', {}],
    [
      'with one on a host whose name begins alike',
      { revocationUrl: 'https://acme.test.evil.test/' },
    ],
    ['with one that is the relay', { revocationUrl: `${RELAY}/revoke` }],
    ['with one that is no text', { revocationUrl: { toString: 1 } }],
  ])('%s nothing is sent', async (_, more) => {
    const tokens = { ...BLIND, ...more } as Tokens;
    const { advance, asked, ends } = begin([REVOKED], tokens);
    await advance(0);
    expect(asked).toEqual([]);
    const detail = expect.any(String);
    expect(ends[0]?.result).toEqual({ revoked: false, unsupported: true, detail });
  });
});
