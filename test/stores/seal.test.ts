import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  deriveFromBrowserState,
  deriveFromPollSecret,
  deriveFromRefresh,
  deriveFromUserCode,
  expand,
  seal,
  unseal,
} from '../../src/stores/seal.ts';
import { deviceKeyOf, sealToDevice, unsealAsDevice } from '../../src/stores/seal-to-device.ts';
import { property } from '../support/property.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { NOW } from './suite/sessions.ts';
import { openTestRedis } from './support/redis-store.ts';
import { parseVectors, VECTORS } from './support/sealing-vectors.ts';

const KEY = randomBytes(32);
const fromHex = (hex: string) => Buffer.from(hex, 'hex');

const DERIVE = {
  'browser state': deriveFromBrowserState,
  'poll secret': deriveFromPollSecret,
  'user code': deriveFromUserCode,
  refresh: deriveFromRefresh,
};

test.each(VECTORS.derivations)('$what $secret: id and key are as in the vectors', (vector) => {
  const { id, key } = DERIVE[vector.what](vector.secret);
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

test.each(VECTORS.toDevice)('a result is sealed to its device as in the vectors', (vector) => {
  const { pollSecret, context, sealed } = vector;
  const [sessionKey, deviceKey] = [fromHex(vector.sessionKey), deviceKeyOf(pollSecret)];
  expect(deviceKey).toEqual(fromHex(vector.deviceKey));
  expect(expand(pollSecret, 'sign-in-relay/1 device key')).toEqual(
    fromHex(vector.devicePrivateKey),
  );
  const plaintext = fromHex(vector.plaintext);
  const random = [fromHex(vector.ephemeralPrivateKey), fromHex(vector.nonce)];
  const takeRandom = () => random.shift() ?? expect.unreachable();
  expect(sealToDevice({ sessionKey, deviceKey }, context, plaintext.toString(), takeRandom)).toBe(
    sealed,
  );
  expect(unsealAsDevice({ sessionKey, pollSecret }, context, sealed)).toEqual(plaintext);
  const [, message = ''] = sealed.split('.');
  expect(unseal(fromHex(vector.resultKey), context, message)).toEqual(plaintext);
});

test.each(VECTORS.refusedToDevice)('to a device, $why: does not open', (vector) => {
  const by = { sessionKey: fromHex(vector.sessionKey), pollSecret: vector.pollSecret };
  expect(() => unsealAsDevice(by, vector.context, vector.sealed)).toThrow();
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

test('a store opens a session with a user code that was written as the vectors say', async () => {
  const redis = await startRedis();
  const { store, close } = await openTestRedis(redis.url, { prefix: 'vector:' });
  const { codeRecord: record } = VECTORS;
  const sessionKey = `vector:${record.sessionKey}`;
  const startedAtMs = NOW - 1_000;
  const expiresAtMs = NOW + 1;
  try {
    await redis.cli(
      ...['HSET', sessionKey, 's', 'p', 'n', record.service, 't', startedAtMs, 'e', expiresAtMs],
      ...['d', record.pollKey.replace('poll:', ''), 'v', record.sealedVerifier],
      ...['m', record.sealedDeviceName, 'k', record.sealedDeviceKey],
    );
    await redis.cli('SET', `vector:${record.pollKey}`, `${expiresAtMs}.${record.pointer}`);
    const codeValue = `${expiresAtMs}.${record.sealedBrowserState}`;
    await redis.cli('SET', `vector:${record.codeKey}`, codeValue);
    const { service, browserState, deviceName, pollSecret, result } = record;
    const found = { service, browserState, deviceName, startedAtMs };
    expect(await store.useCode(record.userCode, NOW)).toEqual(found);
    await redis.cli('HSET', sessionKey, 's', 'c', 'r', record.sealedResult);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result });
  } finally {
    close();
    await redis.stop();
  }
});

test('a store opens the answer to a refresh that was written as the vectors say', async () => {
  const redis = await startRedis();
  const { refreshAnswers, close } = await openTestRedis(redis.url, { prefix: 'vector:' });
  const derivation = VECTORS.derivations.find(({ what }) => what === 'refresh');
  const answer = VECTORS.seals.find(({ what }) => what === 'refresh');
  await redis.cli('SET', `vector:refresh:${derivation?.id}`, `${NOW}..${answer?.sealed}`);
  expect(await refreshAnswers.begin(derivation?.secret ?? '', NOW)).toEqual({
    state: 'answered',
    answer: fromHex(answer?.plaintext ?? '').toString(),
  });
  close();
  await redis.stop();
});

test('the page shows the records of the vectors', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/sealing.md'), 'utf8');
  const { record, codeRecord, derivations, toDevice } = VECTORS;
  const shown = [
    ...[record, codeRecord].flatMap((each) => [
      ...Object.values(each).filter((value) => typeof value === 'string'),
      JSON.stringify(each.result),
    ]),
    ...derivations.slice(0, 2).map(({ key }) => key),
    ...toDevice.flatMap(({ deviceKey, ephemeralPrivateKey }) => [deviceKey, ephemeralPrivateKey]),
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
