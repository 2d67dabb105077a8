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

const RUN = { seed: testSeed, numRuns: 500 };

/** fast-check prints the shrunk counter-example and its path. */
export function property<T>(values: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(fc.property(values, check), RUN);
}

export function asyncProperty<T>(
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
): Promise<void> {
  return fc.assert(fc.asyncProperty(values, check), RUN);
}

/** Characters that are invisible or change the direction of the text around them, some of each kind. */
export const UNSEEN: readonly string[] = [
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

/** No shorter piece of a secret is searched for: it could occur by chance. */
const piece = fc.stringMatching(/^[A-Z][A-Z0-9]{9}$/);
const separator = fc.constantFrom(...'@/?#:\\%&=+,; \t\n\'"'.split(''), '//', '%40', '://', '@@');

const secret = fc
  .tuple(piece, separator, piece, separator, piece)
  .map(([one, between, two, then, three]) => ({
    text: [one, between, two, then, three].join(''),
    pieces: [one, two, three],
  }));

/** Ways to write a secret into a setting: where the user or password belongs, or as the whole value. */
const writings: readonly ((secret: string) => string)[] = [
  (text) => text,
  (text) => ` ${text} `,
  (text) => `${text}\n${text}`,
  (text) => `"${text}"`,
  (text) => `/${text}`,
  (text) => `./${text}`,
  (text) => `:${text}@redis.example:6379`,
  (text) => `relay:${text}@redis.example`,
  (text) => `redis:${text}@redis.example`,
  (text) => `redis:/relay:${text}@redis.example`,
  (text) => `redis//relay:${text}@redis.example`,
  (text) => `redis:\\\\relay:${text}@redis.example`,
  (text) => `redis://relay:${text}`,
  (text) => `redis://relay:${text}@redis.example:port`,
  (text) => `redis://relay:${text}@redis.example/database`,
  (text) => `redis://redis.example/${text}`,
  (text) => `redis://redis.example?password=${text}`,
  (text) => `rediss+sentinel://relay:${text}@redis.example`,
  (text) => `unix://relay:${text}@/run/redis.sock`,
  (text) => `https:/me:${text}@host.example`,
  (text) => `https://me:${text}@host.example:port/path`,
  (text) => `https://me:${text}@host.example`,
  (text) => `https://me:${text}@`,
  (text) => `https://host.example?key=${text}`,
  (text) => `https://host.example/#${text}`,
  (text) => `http://me:${text}@host.example/path?key=${text}`,
];

const writing = fc
  .tuple(secret, fc.constantFrom(...writings))
  .map(([{ text, pieces }, write]) => ({ value: write(text), pieces }));

const PLACES = [
  'REDIS_URL',
  'REDIS_URL_FILE',
  'OAUTH_BASE_URL',
  'ADMIN_TOKEN',
  'ACME_CLIENT_ID',
  'ACME_CLIENT_SECRET',
  'ACME_CLIENT_SECRET_FILE',
  'ACME_AUTHORIZE_URL',
  'ACME_TOKEN_URL',
  'ACME_ISSUER',
  'ACME_AUTHORIZE_PARAMS',
];
/** Settings that name a file, and the path that the environment gives for it. */
const FILES = {
  REDIS_URL_FILE: '/files/redis-url',
  ADMIN_TOKEN_FILE: '/files/token',
  ACME_CLIENT_SECRET_FILE: '/files/secret',
};

interface MalformedSecrets {
  readonly env: Readonly<Record<string, string>>;
  /** Contents by path; the paths are in `env`. */
  readonly files: Readonly<Record<string, string>>;
  /** Pieces of the secrets, none of which may be shown. */
  readonly secrets: readonly string[];
}

/** Settings with malformed secrets: each place unset or with a secret in it, and some of them in files. */
export const malformedSecrets: fc.Arbitrary<MalformedSecrets> = fc
  .tuple(
    fc.record(Object.fromEntries(PLACES.map((place) => [place, fc.option(writing)]))),
    fc.record(Object.fromEntries(Object.keys(FILES).map((name) => [name, fc.option(writing)]))),
  )
  .map(([places, files]) => {
    const set = Object.entries(places).filter((entry) => entry[1] !== null);
    const inFiles = Object.entries(files).filter((entry) => entry[1] !== null);
    const pathOf = (name: string) => FILES[name as keyof typeof FILES];
    return {
      env: {
        PROVIDERS: 'acme',
        ...Object.fromEntries(set.map(([name, written]) => [name, written?.value ?? ''])),
        ...Object.fromEntries(inFiles.map(([name]) => [name, pathOf(name)])),
      },
      files: Object.fromEntries(
        inFiles.map(([name, written]) => [pathOf(name), written?.value ?? '']),
      ),
      secrets: [...set, ...inFiles].flatMap(([, written]) => written?.pieces ?? []),
    };
  });
