/** The random secrets of a sign-in cannot be guessed. RFC 8628 §5.1, §5.2. */
import { expect, test } from 'bun:test';
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  createCapability,
  createUserCode,
  isCapability,
  parseUserCode,
} from '../../src/sign-ins/secrets.ts';
import { USER_CODE_ALPHABET } from '../kit/limits.ts';

const DRAWN = 20_000;

test('a capability is random: every character at every place, and none twice', () => {
  const drawn = new Set<string>();
  const places = Array.from({ length: 24 }, () => new Set<string>());
  for (let count = 0; count < DRAWN; count += 1) {
    const capability = createCapability(randomBytes);
    drawn.add(capability);
    for (const [place, seen] of places.entries()) seen.add(capability.charAt(place));
  }
  expect(drawn.size).toBe(DRAWN);
  expect([...drawn].every(isCapability)).toBe(true);
  // It ends with neither - nor _.
  expect(places.map(({ size }) => size)).toEqual([...Array(23).fill(64), 62]);
});

test('a capability that would end in - or _ is drawn again', () => {
  const lastByte = [0xfe, 0xff, 0xc1];
  const draw = (length: number) => Buffer.alloc(length, lastByte.shift());
  expect(createCapability(draw)).toBe(Buffer.alloc(18, 0xc1).toString('base64url'));
});

test('RFC 8628 §6.1: each letter of a user code is as likely as any other', () => {
  let next = 0;
  const eachByteOnce = (length: number) =>
    Buffer.from(Array.from({ length }, () => (next++ < 256 ? next - 1 : 0)));
  const letters: string[] = [];
  while (next < 240) letters.push(...createUserCode(eachByteOnce));
  const counts = [...USER_CODE_ALPHABET].map((letter) => letters.filter((each) => each === letter));
  expect(counts.map(({ length }) => length)).toEqual(Array(20).fill(12));
  // The last sixteen bytes are skipped: with them the first letters would be more likely.
  const code = createUserCode(eachByteOnce);
  expect(code).toBe(USER_CODE_ALPHABET.charAt(0).repeat(8));
  expect(next).toBeGreaterThan(256);
});

test('a typed code loses its marks before it is normalized', () => {
  // Normalizing first would join the two to one letter, and take quadratic time for many marks.
  expect(parseUserCode('B\u0331CDF-GHJK')).toBe('BCDFGHJK');
});
