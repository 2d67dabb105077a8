/**
 * What someone gains who can read all of a store that others may read and knows the user code, or
 * who can write to it (docs/sealing.md): the same for SQLite and for Redis.
 */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { derive, unseal, unsealAsDevice } from '../../src/stores/sealing.ts';
import { startRedis } from '../kit/redis/server.ts';
import {
  create,
  createCompleted,
  DELIVERED,
  GONE,
  LIFETIME_MS,
  NOW,
  newSession,
  openDurable,
  openTestRedis,
  PENDING,
  sqlOf,
  type TestSession,
  type TestStore,
} from '../kit/stores.ts';

const redis = await startRedis();

/** A store whose texts the test can read and replace. */
interface Opened {
  readonly store: TestStore;
  /** A store that knows only the texts. */
  reopen(): Promise<TestStore>;
  read(session: TestSession): Promise<string>;
  write(session: TestSession, text: string): Promise<unknown>;
}

const linkOf = ({ browserState }: TestSession) => derive(browserState, 'browser state').id;

async function openRedisStore(): Promise<Opened> {
  const prefix = `stolen-${crypto.randomUUID()}:`;
  const open = async () => (await openTestRedis(redis.url, { prefix })).store;
  const keyOf = (session: TestSession) => `${prefix}sign-in:${linkOf(session)}`;
  return {
    store: await open(),
    reopen: open,
    read: (session) => redis.cli('GET', keyOf(session)),
    write: (session, text) => redis.cli('SET', keyOf(session), text),
  };
}

async function openSqliteStore(): Promise<Opened> {
  const sql = sqlOf(new Database(':memory:'));
  const { store } = openDurable(sql);
  return {
    store,
    reopen: async () => openDurable(sql).store,
    read: async (session) =>
      String(sql.exec('SELECT value FROM kept WHERE id = ?', linkOf(session))[0]?.value),
    write: async (session, text) =>
      sql.exec('UPDATE kept SET value = ? WHERE id = ?', text, linkOf(session)),
  };
}

type Json = Record<string, unknown> & { keyMaterial: Record<string, string>; ids: object };

const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('{'))) as Json;

/** With everything that a session can have. */
const asked = () => ({ withUserCode: true, deviceName: 'Fernseher 📺' });

const FAILED = { state: 'delivered', result: { error: 'exchange_failed' } } as const;

describe.each([
  ['SQLite', openSqliteStore],
  ['Redis', openRedisStore],
])('%s:', (_, open) => {
  /** Edits a record, and opens the store again. */
  async function edit(opened: Opened, session: TestSession, change: (json: Json) => void) {
    const text = await opened.read(session);
    const json = bodyOf(text);
    change(json);
    await opened.write(session, text.slice(0, text.indexOf('{')) + JSON.stringify(json));
    return opened.reopen();
  }

  /** Two sessions, and the record of the second. */
  async function openTwo(make: typeof create, options = {}) {
    const opened = await open();
    const session = await make(opened.store, options);
    const other = await make(opened.store, options);
    return { opened, session, other, foreign: bodyOf(await opened.read(other)) };
  }

  describe('who can write to it', () => {
    test.each<[string, (json: Json, other: Json) => unknown]>([
      ["another session's", (_, { result }) => result],
      ['what another member has', (json) => json.keyMaterial.sessionKey],
      ['tokens in the clear', () => ({ accessToken: 'of a stranger' })],
      ['tokens in the clear, as text', () => '{"accessToken":"of a stranger"}'],
      ['nothing', () => undefined],
    ])('cannot replace a result: %s', async (_, replace) => {
      for (const withUserCode of [false, true]) {
        const { opened, session, foreign } = await openTwo(createCompleted, { withUserCode });
        const store = await edit(opened, session, (json) => {
          json.result = replace(json, foreign);
        });
        expect(await store.poll(session.pollSecret)).toEqual(FAILED);
      }
    });

    test.each<[string, (json: Json, other: Json) => void]>([
      ['with that of another session', (json, { delivery }) => Object.assign(json, { delivery })],
      [
        'with none, so that there is no PKCE',
        (json) => Object.assign(json, { delivery: { kind: 'tokens' } }),
      ],
      ['by moving it to another service', (json) => Object.assign(json, { service: 'anilist' })],
    ])('cannot replace what leads to the provider: %s', async (_, replace) => {
      for (const step of ['open', 'finish'] as const) {
        const { opened, session, foreign } = await openTwo(create);
        const store = await edit(opened, session, (json) => replace(json, foreign));
        const signIns = store.signIns;
        const { service } = bodyOf(await opened.read(session)) as unknown as TestSession;
        if (step === 'open') {
          expect(await signIns.open(service, session.browserState)).toBe('failed');
        } else {
          const resolveCode = () => expect.unreachable();
          const ended = await signIns.finish(service, session.browserState, resolveCode);
          expect(ended.outcome).toBe('exchange_failed');
        }
        expect(await store.poll(session.pollSecret)).toEqual(FAILED);
      }
    });

    test("has nothing of another session's name or code shown", async () => {
      const { opened, session, foreign } = await openTwo(create, asked());
      const store = await edit(opened, session, (json) => {
        json.deviceName = foreign.deviceName;
        json.keyMaterial.browserState = foreign.keyMaterial.browserState ?? '';
      });
      expect(await store.find({ browserState: session.browserState })).toMatchObject({
        deviceName: undefined,
      });
      expect(await store.find({ userCode: session.userCode ?? '' })).toBeUndefined();
    });

    test.each(["another device's key", 'no key'])('has no tokens sealed to %s', async (which) => {
      const { opened, session, foreign } = await openTwo(create, asked());
      const { deviceKey = '' } = foreign.keyMaterial;
      const store = await edit(opened, session, (json) => {
        json.keyMaterial.deviceKey = which === 'no key' ? '' : deviceKey;
      });
      const ended = await store.signIns.finish('mal', session.browserState, () => ({
        ok: true,
        result: { accessToken: 'secret' },
      }));
      expect(ended.outcome).toBe('exchange_failed');
      expect(bodyOf(await opened.read(session)).result).toBeUndefined();
      expect(await store.poll(session.pollSecret)).toEqual(FAILED);
    });

    test('a malformed record ends its session, but no other, and a relay still starts', async () => {
      const { opened, session, other } = await openTwo(create);
      const whole = await opened.read(session);
      const malformed = [
        await opened.read(other),
        '',
        'x',
        whole.slice(0, 100),
        whole.replace('"pending"', '"completed"'),
        whole.replace('"pending"', '"constructor"'),
        whole.replace('"pending"', '7'),
        whole.replace('"none"', '"x"'),
        whole.replace('"service":"mal"', '"service":{}'),
        whole.replace('"ids":{', '"ids":7,"x":{'),
      ];
      for (const text of malformed) {
        await opened.write(session, text);
        const store = await opened.reopen();
        expect([text, await store.poll(session.pollSecret)]).toEqual([text, GONE]);
        expect(await store.open(session)).toBeUndefined();
        expect(await store.poll(other.pollSecret)).toEqual(PENDING);
      }
    });
  });

  describe('who can read it and knows the user code', () => {
    test('has the link, but not the tokens, whichever instance received them', async () => {
      const opened = await open();
      const session = await create(opened.store, asked());
      const { userCode = '', browserState, pollSecret } = session;
      const code = derive(userCode, 'user code');
      const { keyMaterial } = bodyOf(await opened.read(session));
      const state = unseal(code.key, `code ${code.id}`, keyMaterial.browserState ?? '');
      expect(state.toString()).toBe(browserState);
      await opened.store.lease(session);
      expect(await (await opened.reopen()).complete(session)).toBe(true);

      const { id, key } = derive(browserState, 'browser state');
      const sealed = String(bodyOf(await opened.read(session)).result);
      const context = `result ${id}`;
      for (const part of [sealed, ...sealed.split('.')]) {
        expect(() => unseal(key, context, part)).toThrow();
      }
      for (const guess of [browserState, userCode, newSession().pollSecret]) {
        const by = { sessionKey: key, pollSecret: guess };
        expect(() => unsealAsDevice(by, context, sealed)).toThrow();
      }
      expect(await (await opened.reopen()).poll(pollSecret)).toEqual(DELIVERED);
    });

    test('a session without a code is sealed with its own key alone', async () => {
      const opened = await open();
      const { keyMaterial, result } = bodyOf(
        await opened.read(await createCompleted(opened.store)),
      );
      expect(Object.keys(keyMaterial)).toEqual(['sessionKey']);
      expect(String(result)).not.toContain('.');
    });
  });

  test('a record of a newer version is skipped, and the other sessions continue', async () => {
    const { opened, session: newer, other } = await openTwo(create);
    const text = await opened.read(newer);
    const version = ` 1 ${NOW} ${NOW + LIFETIME_MS} `;
    await opened.write(newer, ` ${text}`.replace(version, version.replace('1', '2')).slice(1));
    expect(await opened.read(newer)).not.toBe(text);
    const store = await opened.reopen();
    const polled = await store.poll(newer.pollSecret).catch((error: Error) => error.name);
    expect<unknown[]>(['StoreUnavailable', GONE]).toContainEqual(polled);
    expect(await store.poll(other.pollSecret)).toEqual(PENDING);
  });
});
