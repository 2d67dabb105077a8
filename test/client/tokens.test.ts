/** The tokens of a session: one refresh for all who ask, in one process and in several. tabs.test.ts has tabs. */
import { describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  createSession,
  type SessionOptions,
  SignInError,
  type Tokens,
} from '../../client/src/index.ts';
import { fileStorage } from '../../client/src/node.ts';
import { createMemory, keyOf } from '../../client/src/storage.ts';
import { newFolder } from '../kit/folder.ts';
import { type Child, startChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { ROOT } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createGate, failureOf, pollUntil } from '../kit/wait.ts';

const HOUR_MS = 3_600_000;

/** A provider whose refresh tokens are good for one use, without a second chance. */
function startRefresher() {
  const gate = createGate();
  const seen: string[] = [];
  const revoked: string[] = [];
  let serial = 0;
  let valid = '';
  let isDown = false;

  function issue() {
    serial += 1;
    valid = plantSecret(`refresh-token-${serial}-of-the-keeper`);
    const accessToken = plantSecret(`access-token-${serial}-of-the-keeper`);
    return { accessToken, refreshToken: valid, expiresIn: 3_600 };
  }

  const { origin } = serveUpstream(async ({ url }, body) => {
    const { refreshToken } = JSON.parse(body);
    if (url.endsWith('/revoke')) {
      if (refreshToken) revoked.push(refreshToken);
      return Response.json({});
    }
    seen.push(refreshToken);
    const tokens = refreshToken === valid && !isDown && issue();
    await gate.pass();
    if (tokens) return Response.json(tokens);
    const error = isDown ? 'invalid_client' : 'invalid_grant';
    return Response.json({ error }, { status: isDown ? 401 : 400 });
  });
  return {
    gate,
    seen,
    revoked,
    relay: origin,
    /** Tokens with so much left, and none of the earlier ones work any more. */
    grant(leftMs: number, more: Partial<Tokens> = {}): Tokens {
      seen.length = 0;
      revoked.length = 0;
      return { ...issue(), expiresAt: Date.now() + leftMs, ...more };
    },
    setDown(value: boolean) {
      isDown = value;
    },
  };
}

const refresher = startRefresher();
const folder = newFolder();

interface KeepOptions {
  readonly save?: (tokens: Tokens) => unknown;
  readonly lock?: (key: string, run: () => Promise<void>) => unknown;
}

/** A session whose storage the test sees. */
function keep(first: unknown, { save, lock }: KeepOptions = {}) {
  const storage = { tokens: first as Tokens | undefined, loads: 0 };
  const session = createSession({
    relay: refresher.relay,
    service: 'mal',
    storage: {
      async getItem(key) {
        if (key.startsWith('unfinished')) return null;
        storage.loads += 1;
        return storage.tokens === undefined ? null : JSON.stringify(storage.tokens);
      },
      async setItem(_key, text) {
        if (save) await save(JSON.parse(text));
        else storage.tokens = JSON.parse(text);
      },
      async removeItem(key) {
        if (!key.startsWith('unfinished')) storage.tokens = undefined;
      },
      ...(lock && { lock }),
    },
  });
  const accessToken = (rejected?: string, { signal }: { signal?: AbortSignal } = {}) =>
    session.getToken({ rejected, signal });
  return { storage, accessToken, session };
}

describe('a token', () => {
  test('that is valid for a while is returned without a request', async () => {
    const tokens = refresher.grant(HOUR_MS / 2);
    const { accessToken, storage } = keep(tokens);
    const given = await Promise.all(Array.from({ length: 100 }, () => accessToken()));
    expect([new Set(given), storage.loads]).toEqual([new Set([tokens.accessToken]), 1]);
    expect(refresher.seen).toEqual([]);
  });

  test('that is about to expire is returned at once, and refreshed in the background', async () => {
    const tokens = refresher.grant(30_000);
    const { accessToken, storage } = keep(tokens);
    const held = refresher.gate.close();
    expect(await accessToken()).toBe(tokens.accessToken);
    await held.arrived;
    expect(await accessToken()).toBe(tokens.accessToken);
    held.release();
    await pollUntil('the new one is saved', () => storage.tokens !== tokens);
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
    expect(refresher.seen).toEqual([String(tokens.refreshToken)]);
  });

  test('that has expired is refreshed once for all callers, and returned when saved', async () => {
    const tokens = refresher.grant(-1);
    const { accessToken, storage } = keep(tokens);
    const given = await Promise.all(Array.from({ length: 100 }, () => accessToken()));
    expect(new Set(given)).toEqual(new Set([String(storage.tokens?.accessToken)]));
    expect(storage.tokens).not.toBe(tokens);
    expect(refresher.seen.length).toBe(1);
  });

  test('that has expired, without a refresh token, is stored, but nobody is signed in', async () => {
    const { refreshToken: _, ...tokens } = refresher.grant(-1);
    const { session, accessToken } = keep(tokens);
    expect(await session.getTokens()).toMatchObject({ accessToken: tokens.accessToken });
    expect(session.state).toMatchObject({ status: 'signed-out', error: { code: 'invalid_grant' } });
    expect(await failureOf(accessToken())).toMatchObject({ code: 'invalid_grant' });
  });

  test('that the API rejected is refreshed, but not its successor', async () => {
    const tokens = refresher.grant(HOUR_MS / 2);
    const { accessToken } = keep(tokens);
    const [one, other] = await Promise.all([
      accessToken(tokens.accessToken),
      accessToken(tokens.accessToken),
    ]);
    expect(await accessToken(tokens.accessToken)).toBe(one);
    expect([other === one, one === tokens.accessToken]).toEqual([true, false]);
    expect(refresher.seen.length).toBe(1);
    expect(await accessToken(one)).not.toBe(one);
  });

  test('a refresh token that another process used: its new tokens are awaited', async () => {
    const old = refresher.grant(-1);
    const fresh = refresher.grant(HOUR_MS);
    const { accessToken, storage } = keep(old);
    const asked = accessToken();
    await pollUntil('the old one was refused', () => storage.loads > 3);
    storage.tokens = fresh;
    expect(await asked).toBe(fresh.accessToken);
    expect(refresher.seen).toEqual([String(old.refreshToken)]);
  });
});

test.each([
  ['was set back: it is refreshed', 24 * HOUR_MS, 3_600, 1],
  ['was corrected by seconds: it is returned', HOUR_MS + 20_000, 3_600, 0],
  ['is right, and a life of less than a minute: it is returned', 25_000, 40, 0],
])('a token by a clock that %s', async (_, leftMs, expiresIn, refreshes) => {
  const tokens = refresher.grant(leftMs, { expiresIn });
  const isSame = (await keep(tokens).accessToken()) === tokens.accessToken;
  expect([isSame, refresher.seen.length]).toEqual([refreshes === 0, refreshes]);
});

describe('a relay that cannot refresh now', () => {
  test('ends nothing: a token that may work is returned, and a new one once it can', async () => {
    const clockSetBack = keep(refresher.grant(24 * HOUR_MS));
    const expired = keep(refresher.grant(-1));
    refresher.setDown(true);
    const { accessToken } = clockSetBack.storage.tokens as Tokens;
    expect(await clockSetBack.accessToken()).toBe(accessToken);
    for (const asked of [clockSetBack.accessToken(accessToken), expired.accessToken()]) {
      expect(await failureOf(asked)).toMatchObject({ code: 'refused' });
    }
    refresher.setDown(false);
    expect(await expired.accessToken()).toBe(String(expired.storage.tokens?.accessToken));
  });
});

describe('the storage', () => {
  test('that is full is reported, and gets the tokens once there is room', async () => {
    const full = Error('disk full');
    let isFull = true;
    const { accessToken, storage } = keep(refresher.grant(-1), {
      save(tokens) {
        if (isFull) throw full;
        storage.tokens = tokens;
      },
    });
    expect(await failureOf(accessToken())).toMatchObject({ code: 'storage_failed', cause: full });
    isFull = false;
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
    // The old refresh token was not used a second time.
    expect(refresher.seen.length).toBe(1);
  });

  test.each([
    ['signed out', () => undefined],
    ['signed in as another user', () => refresher.grant(HOUR_MS)],
  ] as [string, () => Tokens | undefined][])(
    'a user who has %s during a refresh stays so',
    async (_name, change) => {
      const { accessToken, storage } = keep(refresher.grant(-1));
      const held = refresher.gate.close();
      const asked = accessToken();
      await held.arrived;
      const after = change();
      storage.tokens = after;
      held.release();
      if (after) expect(await asked).toBe(after.accessToken);
      else expect(await failureOf(asked)).toMatchObject({ code: 'signed_out' });
      expect(storage.tokens).toEqual(after);
      // Nobody has the new tokens of who has signed out in another process.
      await pollUntil('revoked', () => refresher.revoked.length === (after ? 0 : 1));
    },
  );

  test('stays empty if another process signs out between two tries to save', async () => {
    let tries = 0;
    const { accessToken, storage } = keep(refresher.grant(-1), {
      save(tokens) {
        tries += 1;
        if (tries > 1) storage.tokens = tokens;
        else {
          storage.tokens = undefined;
          throw new Error('locked');
        }
      },
    });
    expect(await failureOf(accessToken())).toMatchObject({ code: 'signed_out' });
    expect([storage.tokens, tries]).toEqual([undefined, 1]);
    await pollUntil('revoked', () => refresher.revoked.length === 1);
  });

  test('stays empty if the user signs out while tokens are saved', async () => {
    const gate = createGate();
    const held = gate.close();
    const { accessToken, storage, session } = keep(refresher.grant(-1), {
      async save(tokens) {
        await gate.pass();
        storage.tokens = tokens;
      },
    });
    const asked = failureOf(accessToken());
    await held.arrived;
    const left = session.signOut();
    held.release();
    await left;
    expect(await asked).toMatchObject({ code: 'signed_out' });
    await pollUntil('the old and the new one are revoked', () => refresher.revoked.length > 1);
    expect([storage.tokens, session.state]).toEqual([undefined, { status: 'signed-out' }]);
  });

  test('signs the user in again if another process stores tokens after a sign-out', async () => {
    const tokens = refresher.grant(-1);
    const { accessToken, storage, session } = keep(tokens);
    await session.signOut();
    storage.tokens = tokens;
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
    expect([storage.tokens !== tokens, session.state.status]).toEqual([true, 'signed-in']);
  });

  test.each([
    'text',
    [null],
    { accessToken: '' },
    { accessToken: ['token'], refreshToken: 7 },
    { accessToken: 'token', expiresIn: '3600', expiresAt: 'tomorrow', tokenUrl: 1, clientId: {} },
    { accessToken: 'token', refreshToken: {}, expiresAt: -1 },
  ])('with %j in it gives text, or a SignInError', async (value) => {
    refresher.grant(-1);
    const given = await keep(value)
      .accessToken()
      .catch((failure: unknown) => failure);
    if (typeof given !== 'string') expect(given).toBeInstanceOf(SignInError);
    else expect(given).toBe('token');
  });
});

describe('the signal', () => {
  test('ends only the wait of its caller, not the refresh or other callers', async () => {
    const { accessToken, storage } = keep(refresher.grant(-1));
    const held = refresher.gate.close();
    const leaving = new AbortController();
    const left = accessToken(undefined, leaving);
    const stays = accessToken();
    await held.arrived;
    leaving.abort();
    expect(await failureOf(left)).toBe(leaving.signal.reason);
    held.release();
    expect(await stays).toBe(String(storage.tokens?.accessToken));
    expect(await failureOf(accessToken(undefined, leaving))).toBe(leaving.signal.reason);
  });

  test('cancels a sign-in, which rejects with its reason; also one that was aborted', async () => {
    const { session } = keep(undefined);
    await session.getTokens();
    const leaving = new AbortController();
    const left = failureOf(session.signIn(leaving));
    leaving.abort();
    expect(await left).toBe(leaving.signal.reason);
    expect(session.state.status).toBe('signed-out');
    expect(await failureOf(session.signIn(leaving))).toBe(leaving.signal.reason);
    // As in older React Native.
    const signal = { aborted: true, addEventListener() {}, removeEventListener() {} };
    expect(await failureOf(session.signIn({ signal }))).toMatchObject({ name: 'AbortError' });
  });
});

test('no request follows a redirect; headers of the app go to the relay alone', async () => {
  using elsewhere = serveUpstream(() => Response.json({ accessToken: 'stolen' }));
  const there = `${elsewhere.origin}/there`;
  using moved = serveUpstream(() => Response.redirect(`${there}?secret=1`, 307));
  for (const own of [{}, { tokenUrl: moved.url, clientId: 'c' }]) {
    const headers = { 'X-App-Key': 'key' };
    const place = { relay: moved.origin, service: 'mal', storage: createMemory(), headers };
    const tokens = { accessToken: 'old', refreshToken: 'secret', ...own };
    place.storage.setItem(keyOf(place), JSON.stringify(tokens));
    const failed = await failureOf(createSession(place).getToken({ rejected: 'old' }));
    const { message } = failed as SignInError;
    expect(message).toContain(`answered 307: a redirect to ${there}`);
    expect(message).not.toContain('secret');
  }
  for (const { path, headers } of moved.requests) {
    expect([path, headers.get('X-App-Key')]).toEqual([path, path === '/refresh' ? 'key' : null]);
  }
  expect(elsewhere.requests).toEqual([]);
});

describe('the lock', () => {
  test('is held while tokens are refreshed and saved, and no longer', async () => {
    const events: string[] = [];
    const { accessToken, storage } = keep(refresher.grant(-1), {
      lock: async (_key, run) => {
        events.push('taken');
        await run();
        events.push('released');
      },
      save(tokens) {
        events.push('saved');
        storage.tokens = tokens;
      },
    });
    await accessToken();
    await accessToken();
    expect(events).toEqual(['taken', 'saved', 'released']);
  });

  test('if another process refreshed before this one got it, that token is returned', async () => {
    const { accessToken, storage } = keep(refresher.grant(-1), {
      lock(_key, run): unknown {
        storage.tokens = refresher.grant(HOUR_MS);
        return run();
      },
    });
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
    expect(refresher.seen).toEqual([]);
  });

  test('that cannot be had is reported with what it threw, and is asked for again', async () => {
    const trouble = Error('no lock');
    let isBroken = true;
    const { accessToken, storage } = keep(refresher.grant(-1), {
      lock(_key, run): unknown {
        if (isBroken) throw trouble;
        return run();
      },
    });
    const failure = { code: 'storage_failed', cause: trouble };
    expect(await failureOf(accessToken())).toMatchObject(failure);
    isBroken = false;
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
  });
});

describe('session.fetch', () => {
  test('sends the token, again with a fresh one after a 401, and never a stream twice', async () => {
    const tokens = refresher.grant(HOUR_MS / 2);
    const { session, storage } = keep(tokens);
    const sent: (string | null)[] = [];
    using api = serveUpstream(({ headers }) => {
      const given = headers.get('Authorization');
      sent.push(given);
      const isGood = given === `Bearer ${storage.tokens?.accessToken}` && storage.tokens !== tokens;
      return new Response(headers.get('X-Own'), { status: isGood ? 200 : 401 });
    });
    const { url } = api;
    for (const body of [new Blob(['x']).stream(), Readable.from(['x']) as never]) {
      sent.length = 0;
      const streamed = await session.fetch(url, { method: 'POST', body });
      expect([streamed.status, sent.length]).toEqual([401, 1]);
    }
    const response = await session.fetch(url, { headers: { 'X-Own': 'kept' } });
    expect([response.status, await response.text()]).toEqual([200, 'kept']);
    expect(sent.slice(1)).toEqual([
      `Bearer ${tokens.accessToken}`,
      `Bearer ${storage.tokens?.accessToken}`,
    ]);
  });

  /** A session with tokens, whose requests are counted and not sent. */
  function count(options: Partial<SessionOptions> = {}, leftMs = HOUR_MS / 2) {
    const asked: string[] = [];
    const place = { relay: refresher.relay, service: 'mal', storage: createMemory() };
    place.storage.setItem(keyOf(place), JSON.stringify(refresher.grant(leftMs)));
    const fetch = async (url: string) => {
      asked.push(url);
      return new Response('');
    };
    return { asked, session: createSession({ ...place, fetch, ...options }) };
  }

  test('returns the 401 if a refresh brings the same token again', async () => {
    let asked = 0;
    const { session } = count({
      fetch: async (url) => {
        if (url.endsWith('/refresh')) return Response.json({ accessToken: 'same' });
        asked += 1;
        return new Response('', { status: 401 });
      },
    });
    const statuses: number[] = [];
    for (const _ of [1, 2]) statuses.push((await session.fetch('https://api.example')).status);
    expect([statuses, asked]).toEqual([[401, 401], 3]);
  });

  test('abandons the body of a 401 before it asks again', async () => {
    const abandoned = Promise.withResolvers<void>();
    const endless = new ReadableStream({ cancel: () => abandoned.resolve() });
    const answers = [new Response(endless, { status: 401 }), new Response('good')];
    const { session } = count({
      fetch: async (url, init) =>
        url.startsWith('https://api.') ? (answers.shift() as Response) : fetch(url, init),
    });
    expect(await (await session.fetch('https://api.example')).text()).toBe('good');
    await abandoned.promise;
  });

  test('sends the token only to origins that the app names, and refreshes for no other', async () => {
    const { asked, session } = count({
      origins: ['https://api.example', 'https://a.example:8443'],
    });
    const fine = [
      ...['https://api.example', 'https://api.example?me=a@b', 'https://api.example/@me#a@b'],
      ...['https://API.example:443', 'https://a.example:8443/'],
    ];
    for (const url of fine) {
      for (const input of [url, new URL(url)]) await session.fetch(input);
    }
    for (const url of [
      'https://evil.test/',
      'https://api.example.evil.test/',
      'https://api.example:8443/',
      'https://a.example/',
      'https://api.example./',
      'https://evil.test/https://api.example/',
    ]) {
      const { origin } = new URL(url);
      for (const input of [url, new URL(url), new Request(url)]) {
        expect(await failureOf(session.fetch(input))).toMatchObject({
          code: 'refused',
          detail: `The option origins does not have ${origin}`,
        });
      }
    }
    expect(asked).toEqual(fine.flatMap((url) => [url, new URL(url).href]));
    const none = count({ origins: [] }, -1);
    expect(await failureOf(none.session.fetch(fine[0] ?? ''))).toMatchObject({ code: 'refused' });
    const text = count({ origins: 'https://api.example' as never }, -1);
    expect(await failureOf(text.session.fetch('https://api.e'))).toBeInstanceOf(TypeError);
    expect([none.asked, text.asked]).toEqual([[], []]);
    expect(refresher.seen).toEqual([]);
  });
});

test('two sessions of one relay, service, account and storage are one', () => {
  const storage = fileStorage(folder);
  const place = { relay: 'https://relay.example', service: 'mal', storage };
  const session = createSession(place);
  expect(createSession({ ...place, relay: 'https://relay.example/' })).toBe(session);
  expect(createSession({ ...place, storage: fileStorage(`${folder}/.`) })).toBe(session);
  expect(createSession({ ...place, account: 'B' })).not.toBe(session);
});

/** Waits for a line, and then gets a token as an app does. Its storage is a folder that others use too. */
const PROCESS = `
import { createInterface } from 'node:readline';
import { createSession } from '${ROOT}client/src/index.ts';
import { fileStorage } from '${ROOT}client/src/node.ts';

const [relay, folder] = process.argv.slice(2);
const session = createSession({ relay, service: 'mal', storage: fileStorage(folder) });
await session.getTokens();
console.log('ready');
createInterface({ input: process.stdin }).on('line', async () =>
  console.log('token ' + (await session.getToken())));
`;

describe('processes that share a folder', () => {
  const place = { relay: refresher.relay, service: 'mal' };
  const shared = join(folder, 'shared');
  const file = join(shared, `${keyOf(place)}.json`);
  const lock = join(shared, `${keyOf(place)}.lock`);
  const store = async (tokens: Tokens) =>
    fileStorage(shared).setItem(keyOf(place), JSON.stringify(tokens));

  async function startAll(count: number) {
    const script = join(folder, 'process.mjs');
    writeFileSync(script, PROCESS);
    const heard: string[] = [];
    const start = (): Child =>
      startChild([process.execPath, script, refresher.relay, shared], {
        hasInput: true,
        onLine: (line) => heard.push(line),
      });
    const all = Array.from({ length: count }, start);
    await pollUntil('all run', () => heard.length === count);
    return { all, heard };
  }

  test('seven that refresh at once send a single-use token once, and lose nothing', async () => {
    const { all, heard } = await startAll(7);
    for (let round = 0; round < 5; round += 1) {
      heard.length = 0;
      await store(refresher.grant(-1));
      for (const each of all) each.write('\n');
      await pollUntil('all have a token', () => heard.length === 7);
      const [first = ''] = heard;
      expect(new Set(heard)).toEqual(new Set([first]));
      expect(readFileSync(file, 'utf8')).toContain(first.replace('token ', ''));
      expect(refresher.seen.length).toBe(1);
    }
    for (const each of all) each.kill();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(shared).mode & 0o777).toBe(0o700);
  });

  test('one that was killed with the lock does not keep it', async () => {
    const { all, heard } = await startAll(2);
    const [killed, other] = all;
    heard.length = 0;
    const tokens = refresher.grant(-1);
    await store(tokens);
    const held = refresher.gate.close();
    killed?.write('\n');
    await held.arrived;
    expect(existsSync(lock)).toBe(true);
    killed?.kill('SIGKILL');
    await killed?.exited;
    held.release();
    // What it was sent is lost with it: the user signs in again.
    const fresh = refresher.grant(HOUR_MS);
    await store({ ...fresh, expiresAt: 0 });
    other?.write('\n');
    await pollUntil('the other has a token', () => heard.length === 1);
    await pollUntil('the lock is released', () => !existsSync(lock));
    other?.kill();
  });

  test('one that was killed while it wrote the lock does not keep it either', async () => {
    writeFileSync(lock, '');
    const written = new Date(Date.now() - 10_000);
    utimesSync(lock, written, written);
    await store(refresher.grant(-1));
    const session = createSession({ ...place, storage: fileStorage(shared) });
    expect(await session.getToken()).not.toBe('');
    await pollUntil('the lock is released', () => !existsSync(lock));
  });

  test('one that cannot write the lock leaves none, and spends no refresh token', async () => {
    await store(refresher.grant(-1));
    const script = join(folder, 'process.mjs');
    writeFileSync(script, PROCESS);
    // As on a full disk: a file can be created, and nothing written to it.
    const limited = `trap '' XFSZ; ulimit -f 0; exec "$@"`;
    const app = [process.execPath, script, refresher.relay, shared];
    const child = startChild(['sh', '-c', limited, 'sh', ...app], { hasInput: true });
    child.write('\n');
    expect(await child.exited).not.toBe(0);
    expect(child.output()).toContain('The storage failed to lock');
    expect([existsSync(lock), refresher.seen]).toEqual([false, []]);
  });

  test('temporary files of killed processes are removed', async () => {
    const [old, recent] = ['0123456789ab', 'ba9876543210'].map((end) => `${file}.${end}`);
    for (const path of [old, recent]) writeFileSync(path ?? '', 'half of it');
    const hourAgo = new Date(Date.now() - HOUR_MS);
    utimesSync(old ?? '', hourAgo, hourAgo);
    await store(refresher.grant(HOUR_MS));
    expect([old, recent, file].map((path) => existsSync(path ?? ''))).toEqual([false, true, true]);
  });

  test('a file that cannot be renamed is removed', async () => {
    mkdirSync(join(shared, 'key.json'));
    await expect(fileStorage(shared).setItem('key', 'secret')).rejects.toThrow('rename');
    expect(readdirSync(shared).filter((name) => name.startsWith('key'))).toEqual(['key.json']);
  });

  test('a folder that cannot be written is reported by name', async () => {
    const path = join(folder, 'a-file');
    writeFileSync(path, '');
    const { signIn } = createSession({ ...place, storage: fileStorage(join(path, 'in-it')) });
    const failure = await failureOf(signIn());
    expect(failure).toMatchObject({ code: 'storage_failed' });
    expect(String((failure as SignInError).cause)).toContain('a-file');
  });
});
