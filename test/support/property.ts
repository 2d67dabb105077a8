import fc from 'fast-check';

/**
 * Checks a property on random values. The seed is printed, and `TEST_SEED=n`
 * replays it; fast-check prints the shrunk counter-example and its path.
 */
export function property<T>(values: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(fc.property(values, check), { seed: testSeed, numRuns: 500 });
}

/** The same for a check that waits for something. */
export function asyncProperty<T>(
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
): Promise<void> {
  return fc.assert(fc.asyncProperty(values, check), { seed: testSeed, numRuns: 500 });
}

export const testSeed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`seed: TEST_SEED=${testSeed}`);
