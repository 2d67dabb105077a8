/** Settings that hold secrets, malformed in the ways that hands and tools find. */
import fc from 'fast-check';

/** No shorter piece is looked for: it could be there by chance. */
const piece = fc.stringMatching(/^[A-Z][A-Z0-9]{9}$/);
const separator = fc.constantFrom(...'@/?#:\\%&=+,; \t\n\'"'.split(''), '//', '%40', '://', '@@');

interface Secret {
  readonly text: string;
  readonly pieces: readonly string[];
}

const secret: fc.Arbitrary<Secret> = fc
  .tuple(piece, separator, piece, separator, piece)
  .map(([one, between, two, then, three]) => ({
    text: [one, between, two, then, three].join(''),
    pieces: [one, two, three],
  }));

/** Where a user or password belongs, or the whole of it. */
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
  'ACME_CLIENT_ID',
  'ACME_CLIENT_SECRET',
  'ACME_CLIENT_SECRET_FILE',
  'ACME_AUTHORIZE_URL',
  'ACME_TOKEN_URL',
  'ACME_ISSUER',
  'ACME_AUTHORIZE_PARAMS',
];
/** In files, which these are named by. */
const FILES = { REDIS_URL_FILE: '/files/redis-url', ACME_CLIENT_SECRET_FILE: '/files/secret' };

export interface MalformedSecrets {
  readonly env: Readonly<Record<string, string>>;
  /** By their paths, which are in `env`. */
  readonly files: Readonly<Record<string, string>>;
  /** Pieces of the secrets, of which none may be shown. */
  readonly secrets: readonly string[];
}

/** Each place left out, or with a secret in it; and some of them from files. */
export const malformedSecrets: fc.Arbitrary<MalformedSecrets> = fc
  .tuple(
    fc.record(Object.fromEntries(PLACES.map((place) => [place, fc.option(writing)]))),
    fc.record(Object.fromEntries(Object.keys(FILES).map((name) => [name, fc.option(writing)]))),
  )
  .map(([places, files]) => {
    const set = Object.entries(places).filter((entry) => entry[1] !== null);
    const filed = Object.entries(files).filter((entry) => entry[1] !== null);
    const pathOf = (name: string) => FILES[name as keyof typeof FILES];
    return {
      env: {
        PROVIDERS: 'acme',
        ...Object.fromEntries(set.map(([name, written]) => [name, written?.value ?? ''])),
        ...Object.fromEntries(filed.map(([name]) => [name, pathOf(name)])),
      },
      files: Object.fromEntries(
        filed.map(([name, written]) => [pathOf(name), written?.value ?? '']),
      ),
      secrets: [...set, ...filed].flatMap(([, written]) => written?.pieces ?? []),
    };
  });
