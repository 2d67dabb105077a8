import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  deriveFromBrowserState,
  deriveFromPollSecret,
  seal,
  unseal,
} from '../../src/stores/seal.ts';
import { property } from '../support/property.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { NOW } from './suite/sessions.ts';
import { openTestRedis } from './support/redis-store.ts';
import { parseVectors, VECTORS } from './support/sealing-vectors.ts';

const KEY = randomBytes(32);
const fromHex = (hex: string) => Buffer.from(hex, 'hex');

test.each(VECTORS.derivations)('$what $capability: id and key are as in the vectors', (vector) => {
  const derive = vector.what === 'poll secret' ? deriveFromPollSecret : deriveFromBrowserState;
  const { id, key } = derive(vector.capability);
  expect({ id, key: key.toString('hex') }).toEqual({ id: vector.id, key: vector.key });
});

test.each(VECTORS.seals)('$what: sealed and opened as in the vectors', (vector) => {
  const key = fromHex(vector.key);
  const plaintext = fromHex(vector.plaintext);
  expect(seal(key, vector.context, plaintext, () => fromHex(vector.nonce))).toBe(vector.sealed);
  expect(unseal(key, vector.context, vector.sealed)).toEqual(plaintext);
});

test.each(VECTORS.refused)('$why: does not open', ({ key, context, sealed }) => {
  expect(() => unseal(fromHex(key), context, sealed)).toThrow();
});

test('a vector with a key that nobody looks at is refused', () => {
  const [first, ...rest] = VECTORS.seals;
  expect(() => parseVectors({ ...VECTORS, seals: [{ ...first, extra: 1 }, ...rest] })).toThrow();
  expect(() => parseVectors({ ...VECTORS, extra: [] })).toThrow();
});

test('a store opens a session that was written as the vectors say', async () => {
  const redis = await startRedis();
  const { store, close } = await openTestRedis(redis.url, { prefix: 'vector:' });
  const { record } = VECTORS;
  const expiresAtMs = NOW + 1;
  try {
    await redis.cli(
      ...['HSET', `vector:${record.sessionKey}`, 's', 'p', 'n', record.service],
      ...['e', expiresAtMs, 'd', record.pollKey.replace('poll:', ''), 'v', record.sealedVerifier],
    );
    await redis.cli('SET', `vector:${record.pollKey}`, `${expiresAtMs}.${record.pointer}`);
    const { service, browserState, pollSecret, verifier, result } = record;
    expect(await store.open(service, browserState, NOW)).toEqual({ verifier });
    await redis.cli('HSET', `vector:${record.sessionKey}`, 's', 'c', 'r', record.sealedResult);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result });
  } finally {
    close();
    await redis.stop();
  }
});

test('the page shows the record of the vectors', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/sealing.md'), 'utf8');
  const { record, derivations } = VECTORS;
  const shown = [
    ...Object.values(record).filter((value) => typeof value === 'string'),
    JSON.stringify(record.result),
    ...derivations.slice(0, 2).map(({ key }) => key),
  ];
  expect(shown.filter((value) => !page.includes(value))).toEqual([]);
});

test('what was sealed opens, whatever it is', () => {
  property(fc.tuple(fc.uint8Array({ maxLength: 5_000 }), fc.string()), ([plaintext, context]) => {
    const sealed = seal(KEY, context, Buffer.from(plaintext), randomBytes);
    expect(unseal(KEY, context, sealed)).toEqual(Buffer.from(plaintext));
  });
});

test('a changed bit anywhere keeps it shut', () => {
  const sealed = Buffer.from(seal(KEY, 'context', 'message', randomBytes), 'base64url');
  property(fc.nat({ max: sealed.length * 8 - 1 }), (bit) => {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => unseal(KEY, 'context', changed.toString('base64url'))).toThrow();
  });
});

test('the same message is never sealed the same way twice', () => {
  const sealed = Array.from({ length: 1_000 }, () => seal(KEY, '', 'message', randomBytes));
  expect(new Set(sealed).size).toBe(1_000);
});
