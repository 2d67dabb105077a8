/**
 * Sealing by docs/sealing-vectors.json, which another implementation made (Python's
 * `cryptography`): the functions, and records as a store reads them (docs/sealing.md).
 */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import vectors from '../../docs/sealing-vectors.json' with { type: 'json' };
import type { Delivery } from '../../src/sign-ins/session.ts';
import { readRecord, writeRecord } from '../../src/stores/record.ts';
import { createSealedVault } from '../../src/stores/sealed-vault.ts';
import {
  derive,
  deviceKeyOf,
  expand,
  seal,
  sealToDevice,
  unseal,
  unsealAsDevice,
} from '../../src/stores/sealing.ts';

const fromHex = (hex: string) => Buffer.from(hex, 'hex');

describe('as in the vectors', () => {
  test.each(vectors.derivations)('id and key of the $what $secret', (vector) => {
    const { id, key } = derive(vector.secret, vector.what as Parameters<typeof derive>[1]);
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

describe('records that were written as in the vectors', () => {
  const vault = createSealedVault(randomBytes);

  test.each([
    ['a session', vectors.record],
    ['a session with a user code', vectors.codeRecord],
  ])('%s', (_, record) => {
    const { browserState, pollSecret, delivery, result } = record;
    const [link, poll] = [vault.link(browserState), vault.poll(pollSecret)];
    expect([link.id, poll.id]).toEqual([record.linkId, record.pollId]);
    const pending = readRecord(record.pending);
    if (pending?.state !== 'pending') return expect.unreachable();
    expect(writeRecord(pending)).toHaveLength(record.pending.length);
    expect(link.deliveryOf(pending)).toEqual(delivery as Delivery);
    if ('userCode' in record) {
      const code = vault.code(record.userCode);
      expect(code.id).toBe(record.codeId);
      expect(code.browserStateOf(pending)).toBe(browserState);
      expect(link.deviceNameOf(pending)).toBe(record.deviceName);
    }
    const completed = readRecord(record.completed);
    if (completed?.state !== 'completed') return expect.unreachable();
    expect(poll.resultOf(completed)).toEqual(result);
  });

  test('the result of a refresh', () => {
    const derivation = vectors.derivations.find(({ what }) => what === 'refresh');
    const result = vectors.seals.find(({ what }) => what === 'refresh');
    const { open } = vault.refresh(derivation?.secret ?? '');
    expect(open(result?.sealed ?? '')).toBe(fromHex(result?.plaintext ?? '').toString());
  });

  test('the result of one refresh token does not open for another', () => {
    const [own, other] = [vault.refresh('mal victim'), vault.refresh('mal other')];
    expect(other.open(other.protect('{}'))).toBe('{}');
    expect(() => own.open(other.protect('{}'))).toThrow();
  });
});
