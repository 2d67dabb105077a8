/** Randomised tests: the seed is printed, and `TEST_SEED=n` replays a run. */
import fc from 'fast-check';

export const testSeed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`seed: TEST_SEED=${testSeed}`);

/** `npm run soak`: the same tests with far more inputs, which takes too long for `npm test`. */
export const IS_SOAK = process.env.SOAK === 'true';

/** Mulberry32: the same numbers, from 0 to 1, for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pickFrom<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** fast-check prints the shrunk counter-example and its path. */
export function property<T>(values: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(fc.property(values, check), { seed: testSeed, numRuns: 500 });
}

/** Characters that are invisible or change the direction of the text around them, some of each kind. */
export const INVISIBLE: readonly string[] = [
  // Zero width: joiners, spaces, a byte order mark, operators.
  ...['\u200B', '\u200C', '\u200D', '\u2060', '\uFEFF', '\u2063', '\u00AD', '\u034F', '\u180E'],
  // Direction: marks, embeddings, overrides, isolates.
  ...['\u200E', '\u200F', '\u061C', '\u202A', '\u202C', '\u202E', '\u2066', '\u2068', '\u2069'],
  // Blanks that count as letters or symbols.
  ...['\u3164', '\uFFA0', '\u115F', '\u1160', '\u2800', '\u17B4', '\u{1D159}'],
  // Variation selectors and tags without a base character.
  ...['\uFE0F', '\uFE00', '\u{E0100}', '\u{E0041}', '\u{E007F}', '\u180B'],
  // Controls, line separators, annotations, private use, half a surrogate pair.
  ...['\n', '\u0007', '\u001B', '\u0085', '\u2028', '\u2029', '\uFFF9', '\uE000', '\uD800'],
];

/** Sets the clipboard, sets the title, asks where the cursor is, clears or resets the screen, in C0 and in C1. */
export const TERMINAL_SEQUENCES: readonly string[] = [
  '\x1b]52;c;cm0gLXJmIH4K\x07',
  '\x1b]0;title\x1b\\',
  '\x1b[6n',
  '\x1b[2J',
  '\x1bc',
  '\x9b2J',
  '\x9d52;c;eA==\x9c',
  '\x90q\x9c',
  '\x08\x7f\r\n',
  '\x00',
];
