/** `keepTokens`: one refresh for all who ask, in one process and in several. test/client/browser.test.ts has tabs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepTokens, SignInError, signOut, type Tokens } from '../../client/src/index.ts';
import { type Child, startChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createGate, failureOf, pollUntil } from '../kit/wait.ts';

const HOUR_MS = 3_600_000;

/**
 * Refreshes as strictly as a provider may: each refresh token is good for one use, without
 * a second chance.
 */
function startRefresher() {
  const gate = createGate();
  let valid = '';
  let serial = 0;
  let answer: (() => Response) | undefined;
  const seen: string[] = [];
  /** Refresh tokens of which the app has signed out. */
  const revoked: string[] = [];

  const issue = () => {
    serial += 1;
    valid = plantSecret(`refresh-token-${serial}-of-the-keeper`);
    return { access: plantSecret(`access-token-${serial}-of-the-keeper`), refresh: valid };
  };

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (request.method !== 'POST') return new Response('', { status: 404 });
      const text = await request.text();
      if (pathname === '/revoke') {
        const { refreshToken } = JSON.parse(text) as { refreshToken?: string };
        if (refreshToken) revoked.push(refreshToken);
        return Response.json({});
      }
      const spent = (JSON.parse(text) as { refreshToken: string }).refreshToken;
      seen.push(spent);
      const isValid = spent === valid;
      const { access, refresh } = isValid ? issue() : { access: '', refresh: '' };
      await gate.pass();
      if (answer) return answer();
      if (!isValid) return Response.json({ error: 'invalid_grant' }, { status: 400 });
      return Response.json({ accessToken: access, refreshToken: refresh, expiresIn: 3_600 });
    },
  });
  const relay = server.url.origin;
  return {
    gate,
    seen,
    revoked,
    relay,
    server,
    /** Tokens with so much left, and none of the earlier ones work any more. */
    grant(leftMs: number, more: Partial<Tokens> = {}): Tokens {
      const { access, refresh } = issue();
      seen.length = 0;
      revoked.length = 0;
      answer = undefined;
      const expiry = { expiresIn: 3_600, expiresAt: Date.now() + leftMs };
      return { accessToken: access, refreshToken: refresh, ...expiry, ...more };
    },
    fail(status: number, body = '') {
      answer = () => new Response(body, { status });
    },
    recover() {
      answer = undefined;
    },
  };
}

let refresher: ReturnType<typeof startRefresher>;
let folder: string;

beforeAll(() => {
  refresher = startRefresher();
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-keeper-'));
});

afterAll(async () => {
  await refresher.server.stop(true);
  rmSync(folder, { recursive: true });
});

/** An app with its storage in memory. */
function keep(first: unknown, more: Partial<Parameters<typeof keepTokens>[0]> = {}) {
  const storage = { tokens: first as Tokens | undefined, loads: 0, saves: 0 };
  const accessToken = keepTokens({
    relay: refresher.relay,
    service: 'mal',
    load: async () => {
      storage.loads += 1;
      return storage.tokens;
    },
    save: async (tokens) => {
      storage.tokens = tokens;
    },
    ...more,
  });
  return { storage, accessToken };
}

describe('a token', () => {
  test('that is good for a while is given, and nothing is asked', async () => {
    const tokens = refresher.grant(HOUR_MS / 2);
    const { accessToken, storage } = keep(tokens);
    const given = await Promise.all(Array.from({ length: 100 }, () => accessToken()));
    expect([new Set(given), storage.loads]).toEqual([new Set([tokens.accessToken]), 1]);
    expect(refresher.seen).toEqual([]);
  });

  test('that is about to expire is given at once, and refreshed behind it', async () => {
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

  test('that has expired is refreshed once for all who ask, and saved before it is given', async () => {
    const tokens = refresher.grant(-1);
    const { accessToken, storage } = keep(tokens);
    const given = await Promise.all(Array.from({ length: 100 }, () => accessToken()));
    expect(new Set(given)).toEqual(new Set([String(storage.tokens?.accessToken)]));
    expect(storage.tokens).not.toBe(tokens);
    expect(refresher.seen.length).toBe(1);
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

  test('a refresh token that another process used is no end: its tokens are stored soon', async () => {
    const old = refresher.grant(-1);
    const fresh = refresher.grant(HOUR_MS);
    const { accessToken, storage } = keep(old);
    const asked = accessToken();
    await pollUntil('the old one was refused', () => storage.loads > 2);
    storage.tokens = fresh;
    expect(await asked).toBe(fresh.accessToken);
    expect(refresher.seen).toEqual([String(old.refreshToken)]);
  });

  test('a refresh token that is refused, and still the stored one after a while, is the end', async () => {
    const old = refresher.grant(-1);
    refresher.grant(HOUR_MS);
    const { accessToken, storage } = keep(old);
    const failure = await failureOf(accessToken());
    expect(failure).toBeInstanceOf(SignInError);
    expect(failure).toMatchObject({ code: 'invalid_grant', show: 'Please sign in again.' });
    expect([storage.tokens, refresher.seen.length]).toEqual([old, 1]);
    expect(storage.loads).toBeGreaterThan(3);
  });
});

describe('the clock', () => {
  test('that was set back says nothing about the token: it is refreshed', async () => {
    const tokens = refresher.grant(24 * HOUR_MS);
    const { accessToken } = keep(tokens);
    expect(await accessToken()).not.toBe(tokens.accessToken);
    expect(refresher.seen.length).toBe(1);
  });

  test('that was set back, and nobody who refreshes: the token is given, perhaps it works', async () => {
    const tokens = refresher.grant(24 * HOUR_MS);
    refresher.fail(401, '{"error":"invalid_client"}');
    const { accessToken } = keep(tokens);
    expect(await accessToken()).toBe(tokens.accessToken);
    expect(await failureOf(accessToken(tokens.accessToken))).toMatchObject({ code: 'refused' });
  });

  test('is not held against a token that lives for less than a minute', async () => {
    const tokens = refresher.grant(25_000, { expiresIn: 40 });
    expect(await keep(tokens).accessToken()).toBe(tokens.accessToken);
    expect(refresher.seen).toEqual([]);
  });

  test('that was corrected by seconds costs no refresh', async () => {
    const tokens = refresher.grant(HOUR_MS + 20_000);
    const { accessToken } = keep(tokens);
    expect(await accessToken()).toBe(tokens.accessToken);
    expect(refresher.seen).toEqual([]);
  });
});

describe('a relay that cannot refresh now', () => {
  test('is no failure while the token is valid, and is not asked for every caller', async () => {
    const tokens = refresher.grant(30_000);
    refresher.fail(401, '{"error":"invalid_client"}');
    const { accessToken } = keep(tokens);
    for (let call = 0; call < 20; call += 1) {
      expect(await accessToken()).toBe(tokens.accessToken);
      await pollUntil('it was asked', () => refresher.seen.length > 0);
    }
    expect(refresher.seen.length).toBe(1);
  });

  test('is one for a token that has expired, until it can', async () => {
    const tokens = refresher.grant(-1);
    refresher.fail(401, '{"error":"invalid_client"}');
    const { accessToken, storage } = keep(tokens);
    expect(await failureOf(accessToken())).toMatchObject({ code: 'refused' });
    expect(storage.tokens).toBe(tokens);
    refresher.recover();
    storage.tokens = refresher.grant(-1);
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
  });
});

describe('the storage', () => {
  test('that is busy is asked again: new tokens are not lost', async () => {
    let fails = 2;
    const saved: Tokens[] = [];
    const { accessToken } = keep(refresher.grant(-1), {
      save(tokens) {
        fails -= 1;
        if (fails >= 0) throw Error('locked');
        saved.push(tokens);
      },
    });
    expect(await accessToken()).toBe(String(saved[0]?.accessToken));
    expect([saved.length, refresher.seen.length]).toEqual([1, 1]);
  });

  test('that is full is reported with the tokens, which it gets as soon as it can take them', async () => {
    const full = Error('disk full');
    let isFull = true;
    const { accessToken, storage } = keep(refresher.grant(-1), {
      async save(tokens) {
        if (isFull) throw full;
        storage.tokens = tokens;
      },
    });
    const failure = (await failureOf(accessToken())) as SignInError & { tokens: Tokens };
    expect(failure).toMatchObject({ code: 'not_saved', cause: full });
    isFull = false;
    expect(await accessToken()).toBe(failure.tokens.accessToken);
    expect(storage.tokens).toEqual(failure.tokens);
    // The old refresh token was not used a second time.
    expect(refresher.seen.length).toBe(1);
  });

  test('that is empty, or throws: so does the keeper', async () => {
    const empty = await failureOf(keep(undefined).accessToken());
    expect(empty).toMatchObject({ code: 'invalid_grant' });
    const trouble = Error('no disk');
    const broken = keep(undefined, {
      load() {
        throw trouble;
      },
    });
    expect(await failureOf(broken.accessToken())).toBe(trouble);
    expect(await failureOf(broken.accessToken())).toBe(trouble);
  });

  test.each([
    ['signed out', () => undefined],
    ['signed in as another user', () => refresher.grant(HOUR_MS)],
  ] as [string, () => Tokens | undefined][])(
    'whoever has %s during a refresh stays so',
    async (_name, change) => {
      const { accessToken, storage } = keep(refresher.grant(-1));
      const held = refresher.gate.close();
      const asked = accessToken();
      await held.arrived;
      const after = change();
      storage.tokens = after;
      held.release();
      if (after) expect(await asked).toBe(after.accessToken);
      else expect(await failureOf(asked)).toMatchObject({ code: 'invalid_grant' });
      expect(storage.tokens).toBe(after);
    },
  );

  describe('from which the user signs out during a refresh stays empty, and the new tokens are revoked', () => {
    /** Until both have been revoked: what was stored, and what the refresh has brought. */
    async function expectSignedOut(
      { storage, accessToken }: ReturnType<typeof keep>,
      during: (leave: () => Promise<unknown>) => Promise<unknown>,
    ): Promise<void> {
      const { tokens } = storage;
      if (tokens === undefined) throw new Error('nothing is stored');
      const forget = async () => {
        storage.tokens = undefined;
      };
      const place = { relay: refresher.relay, service: 'mal' };
      const failed = failureOf(accessToken());
      await during(() => signOut({ ...place, tokens, forget }));
      expect(await failed).toMatchObject({ code: 'invalid_grant' });
      await pollUntil('both are revoked', () => refresher.revoked.length === 2);
      expect(refresher.revoked[0]).toBe(String(tokens.refreshToken));
      expect(refresher.revoked[1]).not.toBe(String(tokens.refreshToken));
      expect(storage.tokens).toBeUndefined();
    }

    test('while the relay has not answered', async () => {
      const app = keep(refresher.grant(-1));
      const held = refresher.gate.close();
      await expectSignedOut(app, async (leave) => {
        await held.arrived;
        await leave();
        held.release();
      });
    });

    test('while the relay has not answered, and the user signs out of another service too', async () => {
      const app = keep(refresher.grant(-1));
      const held = refresher.gate.close();
      await expectSignedOut(app, async (leave) => {
        await held.arrived;
        await leave();
        const tokens = { accessToken: 'of another service' };
        await signOut({ relay: refresher.relay, service: 'anilist', tokens });
        held.release();
      });
    });

    test('while a save that failed waits to be tried again', async () => {
      const tried = Promise.withResolvers<void>();
      const app = keep(refresher.grant(-1), {
        save(tokens) {
          const isFirst = app.storage.saves === 0;
          app.storage.saves += 1;
          tried.resolve();
          if (isFirst) throw new Error('locked');
          app.storage.tokens = tokens;
        },
      });
      await expectSignedOut(app, async (leave) => {
        await tried.promise;
        await leave();
      });
      expect(app.storage.saves).toBe(1);
    });

    test('until the user signs in again, also with the same refresh token', async () => {
      const tokens = refresher.grant(-1);
      await signOut({ relay: refresher.relay, service: 'mal', tokens });
      const { accessToken, storage } = keep(tokens);
      expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
      expect(storage.tokens).not.toBe(tokens);
    });

    test('while a save is in progress, which ends later than the storage was emptied', async () => {
      const gate = createGate();
      const held = gate.close();
      const app = keep(refresher.grant(-1), {
        async save(tokens) {
          await gate.pass();
          app.storage.tokens = tokens;
        },
      });
      await expectSignedOut(app, async (leave) => {
        await held.arrived;
        await leave();
        held.release();
      });
    });
  });

  const STRANGE: readonly unknown[] = [
    '',
    'text',
    7,
    true,
    [],
    [null],
    () => {},
    Symbol('x'),
    10n,
    {},
    { accessToken: 7 },
    { accessToken: '' },
    { accessToken: null, expiresAt: 0 },
    { accessToken: { toString: () => 'token' }, expiresAt: Number.NaN },
    { accessToken: ['token'], refreshToken: 7 },
    { accessToken: 'token', expiresAt: Number.NaN },
    { accessToken: 'token', expiresIn: '3600', expiresAt: 'tomorrow', tokenUrl: 1, clientId: {} },
    { accessToken: 'token', refreshToken: {}, expiresAt: -1 },
    { accessToken: 'token', expiresIn: { valueOf: 1 }, expiresAt: { valueOf: () => 1n } },
  ];

  test.each(STRANGE.map((value) => [Bun.inspect(value), value] as const))(
    'with %s in it gives text, or a SignInError',
    async (_name, value) => {
      refresher.grant(-1);
      const given = await keep(value)
        .accessToken()
        .catch((failure: unknown) => failure);
      if (typeof given !== 'string') expect(given).toBeInstanceOf(SignInError);
      else expect(given).toBe('token');
    },
  );
});

describe('the signal', () => {
  test('ends the waiting of its caller, and neither the refresh nor the others', async () => {
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

  test('of a time-out can be told from that of a user', async () => {
    const { accessToken } = keep(refresher.grant(-1));
    const held = refresher.gate.close();
    const asked = failureOf(accessToken(undefined, { signal: AbortSignal.timeout(1) }));
    expect(await asked).toMatchObject({ code: 'timeout' });
    held.release();
  });
});

describe('the lock', () => {
  test('is held while tokens are refreshed and saved, and no longer', async () => {
    const events: string[] = [];
    const { accessToken, storage } = keep(refresher.grant(-1), {
      lock: async (run: () => Promise<void>) => {
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

  test('another process has refreshed before it was had: its token is given', async () => {
    const { accessToken, storage } = keep(refresher.grant(-1), {
      lock(run): unknown {
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
      lock(run): unknown {
        if (isBroken) throw trouble;
        return run();
      },
    });
    expect(await failureOf(accessToken())).toBe(trouble);
    isBroken = false;
    expect(await accessToken()).toBe(String(storage.tokens?.accessToken));
  });
});

/** Waits for a line, and then gets a token as an app does. Its storage and its lock are files. */
const PROCESS = (client: string) => `
import { mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { keepTokens } from '${client}';

const [relay, folder, hasLock] = process.argv.slice(2);
const accessToken = keepTokens({
  relay,
  service: 'mal',
  load: () => JSON.parse(readFileSync(folder + '/tokens.json', 'utf8')),
  save(tokens) {
    writeFileSync(folder + '/tokens.' + process.pid, JSON.stringify(tokens));
    renameSync(folder + '/tokens.' + process.pid, folder + '/tokens.json');
  },
  lock: hasLock !== 'locked' ? undefined : async (run) => {
    for (;;) {
      try { mkdirSync(folder + '/lock'); break; } catch { await new Promise((next) => setTimeout(next, 5)); }
    }
    try { await run(); } finally { rmdirSync(folder + '/lock'); }
  },
});
console.log('ready');
createInterface({ input: process.stdin }).on('line', async () => console.log('token ' + (await accessToken())));
`;

describe('two processes that refresh at once', () => {
  const store = (tokens: Tokens) => {
    writeFileSync(join(folder, 'next'), JSON.stringify(tokens));
    renameSync(join(folder, 'next'), join(folder, 'tokens.json'));
  };
  const stored = () => JSON.parse(readFileSync(join(folder, 'tokens.json'), 'utf8')) as Tokens;

  /** Both ask in each round. Returns how many requests the provider got. */
  async function race(mode: 'locked' | 'free', rounds: number): Promise<number> {
    const script = join(folder, 'process.mjs');
    writeFileSync(script, PROCESS(`${ROOT}client/src/index.ts`));
    const heard: string[] = [];
    const start = (): Child =>
      startChild([process.execPath, script, refresher.relay, folder, mode], {
        hasInput: true,
        onLine: (line) => heard.push(line),
      });
    const both = [start(), start()];
    await pollUntil('both run', () => heard.length === 2);
    let requests = 0;
    for (let round = 0; round < rounds; round += 1) {
      heard.length = 0;
      store(refresher.grant(-1));
      for (const each of both) each.write('\n');
      await pollUntil('both have a token', () => heard.length === 2);
      expect(new Set(heard)).toEqual(new Set([`token ${stored().accessToken}`]));
      requests += refresher.seen.length;
    }
    for (const each of both) each.kill();
    return requests;
  }

  test('send one request each time, if they share a lock', async () => {
    expect(await race('locked', 5)).toBe(5);
  });

  test('have the same tokens in the end without a lock too', async () => {
    expect(await race('free', 5)).toBeGreaterThanOrEqual(5);
  });
});
