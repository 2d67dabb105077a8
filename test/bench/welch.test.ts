/** The statistics of `npm run bench -- --only timing`, with numbers in place of times. docs/timing.md. */
import { expect, test } from 'bun:test';
import { compare, SAME_BELOW } from '../../bench/welch.ts';
import { createRandom } from '../kit/random.ts';

const COUNT = 20_000;
const random = createRandom(1);

/** Around 1,000, with a deviation of 10. One in fifty is interrupted, which takes a thousand times as long. */
function draw(shift = 0): number[] {
  return Array.from({ length: COUNT }, () => {
    const around = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return 1_000 + shift + 10 * around + (random() < 0.02 ? 1_000_000 * random() : 0);
  });
}

test('equal kinds are the same, whatever interrupts them', () => {
  for (let tries = 0; tries < 10; tries += 1) {
    expect(Math.abs(compare(draw(), draw()).t)).toBeLessThan(SAME_BELOW);
  }
});

test('a tenth of the deviation is found among interrupts that are far longer, with its sign and size', () => {
  for (const shift of [1, -1]) {
    const { t, difference, foundFrom } = compare(draw(shift), draw());
    expect(t * shift).toBeGreaterThan(SAME_BELOW);
    expect(difference * shift).toBeGreaterThan(0.5);
    expect(difference * shift).toBeLessThan(1.5);
    expect(foundFrom).toBeLessThan(0.6);
  }
});

test('what is measured as equally long to the last digit is the same', () => {
  const same = Array<number>(100).fill(5);
  expect(compare(same, same)).toEqual({ t: 0, difference: 0, foundFrom: 0 });
});
