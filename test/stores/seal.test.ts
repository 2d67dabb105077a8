/**
 * Sealing by docs/sealing-vectors.json, which another implementation made (Python's
 * `cryptography`): the functions, and records as a store reads them (docs/sealing.md).
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import vectors from '../../docs/sealing-vectors.json' with { type: 'json' };
import {
  deriveFromBrowserState,
  deriveFromPollSecret,
  deriveFromRefresh,
  deriveFromUserCode,
  deviceKeyOf,
  expand,
  seal,
  sealToDevice,
  unseal,
  unsealAsDevice,
} from '../../src/stores/sealing.ts';
import { property } from '../kit/random.ts';
import { startRedis } from '../kit/redis/server.ts';
import { type NewSession, NOW, openTestRedis } from '../kit/stores.ts';

const KEY = randomBytes(32);
const fromHex = (hex: string) => Buffer.from(hex, 'hex');

describe('as in the vectors', () => {
  const DERIVE: Readonly<Record<string, (secret: string) => { id: string; key: Buffer }>> = {
    'browser state': deriveFromBrowserState,
    'poll secret': deriveFromPollSecret,
    'user code': deriveFromUserCode,
    refresh: deriveFromRefresh,
  };

  test.each(vectors.derivations)('id and key of the $what $secret', (vector) => {
    const { id, key } = DERIVE[vector.what]?.(vector.secret) ?? expect.unreachable();
    expect({ id, key: key.toString('hex') }).toEqual({ id: vector.id, key: vector.key });
  });

  test.each(vectors.seals)('sealed and opened: $what', (vector) => {
    const key = fromHex(vector.key);
    const plaintext = fromHex(vector.plaintext);
    expect(seal(key, vector.context, plaintext, () => fromHex(vector.nonce))).toBe(vector.sealed);
    expect(unseal(key, vector.context, vector.sealed)).toEqual(plaintext);
  });

  test.each(vectors.refused)('refused: $why', ({ key, context, sealed }) => {
    expect(() => unseal(fromHex(key), context, sealed)).toThrow();
  });

  test.each(vectors.toDevice)('sealed to a device, and opened', (vector) => {
    const { pollSecret, context, sealed } = vector;
    const [sessionKey, deviceKey] = [fromHex(vector.sessionKey), deviceKeyOf(pollSecret)];
    expect(deviceKey).toEqual(fromHex(vector.deviceKey));
    const privateKey = expand(pollSecret, 'sign-in-relay/1 device key');
    expect(privateKey).toEqual(fromHex(vector.devicePrivateKey));
    const plaintext = fromHex(vector.plaintext);
    const random = [fromHex(vector.ephemeralPrivateKey), fromHex(vector.nonce)];
    const takeRandom = () => random.shift() ?? expect.unreachable();
    const keys = { sessionKey, deviceKey };
    expect(sealToDevice(keys, context, plaintext.toString(), takeRandom)).toBe(sealed);
    expect(unsealAsDevice({ sessionKey, pollSecret }, context, sealed)).toEqual(plaintext);
    const [, message = ''] = sealed.split('.');
    expect(unseal(fromHex(vector.resultKey), context, message)).toEqual(plaintext);
  });

  test.each(vectors.refusedToDevice)('refused by a device: $why', (vector) => {
    const by = { sessionKey: fromHex(vector.sessionKey), pollSecret: vector.pollSecret };
    expect(() => unsealAsDevice(by, vector.context, vector.sealed)).toThrow();
  });
});

describe('a store opens records that were written as in the vectors', async () => {
  const redis = await startRedis();
  const { store, refreshes, time, close } = await openTestRedis(redis.url, { prefix: 'vector:' });
  afterAll(async () => {
    close();
    await redis.stop();
  });

  test.each([
    ['a session', vectors.record],
    ['a session with a user code', vectors.codeRecord],
  ])('%s', async (_, record) => {
    const sessionKey = `vector:${record.sessionKey}`;
    const [startedAtMs, expiresAtMs] = [time.now() - 1_000, time.now() + 1];
    const byCode = 'userCode' in record ? record : undefined;
    await redis.cli(
      ...['HSET', sessionKey, 's', 'p', 'n', record.service, 't', startedAtMs, 'e', expiresAtMs],
      'd',
      record.pollKey.replace('poll:', ''),
      'v',
      record.sealedVerifier,
      ...(byCode ? ['m', byCode.sealedDeviceName, 'k', byCode.sealedDeviceKey] : []),
    );
    await redis.cli('SET', `vector:${record.pollKey}`, `${expiresAtMs}.${record.pointer}`);
    const session = record as Pick<NewSession, 'service' | 'browserState'>;
    if (byCode) {
      const value = `${expiresAtMs}.${byCode.sealedBrowserState}`;
      await redis.cli('SET', `vector:${byCode.codeKey}`, value);
      const { service, browserState, deviceName } = byCode;
      const found = { service, browserState, deviceName, ageMs: 1_000 };
      expect(await store.getSession({ userCode: byCode.userCode })).toEqual(found);
    } else {
      const { verifier } = vectors.record;
      expect(await store.authorize(session)).toEqual({ verifier });
    }
    await redis.cli('HSET', sessionKey, 's', 'c', 'r', record.sealedResult);
    const claim = await store.claim(record.pollSecret);
    expect(claim).toEqual({ state: 'claimed', result: record.result });
  });

  test('the result of a refresh', async () => {
    const derivation = vectors.derivations.find(({ what }) => what === 'refresh');
    const result = vectors.seals.find(({ what }) => what === 'refresh');
    await redis.cli('SET', `vector:refresh:${derivation?.id}`, `${NOW}..${result?.sealed}`);
    expect(await refreshes.begin(derivation?.secret ?? '')).toEqual({
      state: 'finished',
      result: fromHex(result?.plaintext ?? '').toString(),
    });
  });
});

describe('whatever the message', () => {
  test('it opens as it was sealed', () => {
    property(fc.tuple(fc.uint8Array({ maxLength: 5_000 }), fc.string()), ([plaintext, context]) => {
      const sealed = seal(KEY, context, Buffer.from(plaintext), randomBytes);
      expect(unseal(KEY, context, sealed)).toEqual(Buffer.from(plaintext));
    });
  });

  test('one changed bit anywhere, and it does not open', () => {
    const sealed = Buffer.from(seal(KEY, 'context', 'message', randomBytes), 'base64url');
    property(fc.nat({ max: sealed.length * 8 - 1 }), (bit) => {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => unseal(KEY, 'context', changed.toString('base64url'))).toThrow();
    });
  });

  test('it is never sealed in the same way twice', () => {
    const sealed = Array.from({ length: 1_000 }, () => seal(KEY, '', 'message', randomBytes));
    expect(new Set(sealed).size).toBe(1_000);
  });
});
