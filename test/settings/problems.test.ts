/** What is refused whatever it means, how much of a value is shown, and how an operator reads it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { describeFaults, readSettings } from '../../src/settings/index.ts';
import { property } from '../kit/random.ts';
import { faultsOf, read, settingsOf, warningsOf } from './read.ts';

const anilist = { ANILIST_CLIENT_ID: 'id' };
const fromFile = { ...anilist, ANILIST_CLIENT_SECRET_FILE: '/run/secrets/anilist' };

describe('secrets from files', () => {
  test.each([
    [' hunter2 \n', ' hunter2 '],
    ['hunter2\r\n', 'hunter2'],
    ['hunter2', 'hunter2'],
    ['"hunter2"', '"hunter2"'],
  ])('a file with %j gives %j: only the line break at its end goes', (content, secret) => {
    const { providers } = settingsOf(fromFile, { '/run/secrets/anilist': content });
    expect(providers[0]?.clientSecret).toBe(secret);
  });

  test.each([
    [
      'must not be set together with ANILIST_CLIENT_SECRET',
      'hunter2',
      { ANILIST_CLIENT_SECRET: 's' },
    ],
    ['must name a file that is not empty', '\n', {}],
    ['must name a file of at most 64 KiB', 'hunter2'.repeat(10_000), {}],
    ['must name a file that can be read: /run/secrets/anilist does not exist', undefined, {}],
  ])('%s', (problem, content, more: Record<string, string>) => {
    const reading = read(
      { ...fromFile, ...more },
      content === undefined ? {} : { '/run/secrets/anilist': content },
    );
    const fault = { setting: 'ANILIST_CLIENT_SECRET_FILE', value: '***', problem };
    expect(reading).toMatchObject({ ok: false, faults: [fault] });
    expect(JSON.stringify(reading)).not.toMatch(/hunter2|secret words/);
  });

  test.each([
    ['EACCES', '/srv/secrets/mal', '/srv/secrets/mal may not be read by this user'],
    ['ENOTDIR', '/etc/relay/mal', '/etc/relay/mal does not exist'],
    ['EIO', '/run/secrets/mal', '/run/secrets/mal cannot be read (EIO)'],
    ['ENOENT', './a-secret', 'it does not exist'],
    ['ENOENT', '/Kq3/bA==', 'it does not exist'],
  ])('%s of %s is said in words, without what may be the secret itself', (code, path, problem) => {
    const reading = readSettings({ MAL_CLIENT_SECRET_FILE: path }, () => {
      throw Object.assign(new Error('secret words'), { code });
    });
    const fault = { value: '***', problem: `must name a file that can be read: ${problem}` };
    expect(reading).toMatchObject({ faults: [fault] });
  });

  test('a file that cannot be read is no reason to warn that the secret is not set', () => {
    expect(warningsOf(fromFile)).toEqual([]);
  });
});

describe('values in quotes, which container tools keep', () => {
  const QUOTED = 'must not be in quotes: they would be part of the value';

  test.each([
    ['PORT', "'8080'"],
    ['REDIS_URL_FILE', '"/run/secrets/redis-url"'],
    ['MAL_CLIENT_SECRET', ' "a-secret" '],
    ['PORT', '" "'],
  ])('%s=%s is a fault, and one alone', (setting, value) => {
    const files = { '/run/secrets/redis-url': 'redis://redis.example', '/run/secrets/mal': 's' };
    const env = { MAL_CLIENT_ID: 'id', [setting]: value };
    expect(faultsOf(env, files)).toEqual([`${setting} ${QUOTED}`]);
  });

  test('a single quote is no fault, and other names are not settings', () => {
    const env = { APP_NAME: '"Acme', DISPLAY: '":0"', SPOTIFY_CLIENT_ID: '"id"' };
    expect(faultsOf({ MAL_CLIENT_ID: 'id', ...env })).toEqual([]);
  });
});

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

const written = fc
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
/** These name a file that has the secret. */
const FILES = ['REDIS_URL_FILE', 'ADMIN_TOKEN_FILE', 'ACME_CLIENT_SECRET_FILE'];
type Written = Readonly<Record<string, { readonly value: string }>>;
const valuesOf = (places: Written, folder = '') =>
  Object.fromEntries(Object.entries(places).map(([name, { value }]) => [folder + name, value]));

describe('what must not be shown is not shown', () => {
  test.each([
    ['OAUTH_BASE_URL', 'me:hunter2@relay.example', '***'],
    ['OAUTH_BASE_URL', 'https://me:hunt?er2@relay.example', '***'],
    ['OAUTH_BASE_URL', 'https://relay.example:99999/hunter2', '***'],
    ['OAUTH_BASE_URL', 'https://relay.example/path?key=hunter2', 'https://relay.example/path?…'],
    ['OAUTH_BASE_URL', 'https://me:hunter2@relay.example', 'https://***@relay.example'],
    ['OAUTH_BASE_URL', 'https://hunt/er2@a.example/auth/start', 'https://***@a.example/auth/start'],
    ['ANILIST_TOKEN_URL', 'https://me:hunt@er2/x@a.example/t', 'https://***@a.example/t'],
    ['ANILIST_CLIENT_SECRET', 'hunt\ner2', '***'],
    ['ANILIST_CLIENT_ID', 'hunt\ner2', '***'],
    ['ANILIST_CLIENT_SECRET_FILE', 'hunter2', '***'],
    ['REDIS_URL', 'hunter2', '***'],
    ['REDIS_SENTINEL_USERNAME', 'hunt\ner2', '***'],
    ['REDIS_SENTINEL_PASSWORD', 'hunt\ner2', '***'],
    ['ADMIN_TOKEN', 'hunter2', '***'],
    ['NOTIFY_URL', 'hunter2', '***'],
    ['ANILIST_AUTHORIZE_PARAMS', 'hunter2', '***'],
    ['TRUSTED_PROXY_CIDRS', 'hunt/er2@a', '***@a'],
    ['CORS_ORIGINS', 'https://me:hunt@er2/x@tv.example', '***@tv.example'],
    ['CORS_ORIGINS', 'https://me:hunt er2@tv.example', '***@tv.example'],
    ['PROVIDERS', 'hunter2@mal', '***@mal'],
  ])('of %s=%j is shown %j', (setting, written, value) => {
    const reading = read({ ...anilist, [setting]: written });
    expect(reading).toMatchObject({ ok: false, faults: [{ setting, value }] });
    expect(JSON.stringify(reading)).not.toMatch(/hunt|er2/);
  });

  test('no malformed secret, wherever it is set, is in what an operator reads', () => {
    const set = fc.dictionary(fc.constantFrom(...PLACES), written);
    const inFiles = fc.dictionary(fc.constantFrom(...FILES), written);
    property(fc.tuple(set, inFiles), ([env, files]) => {
      const paths = Object.fromEntries(Object.keys(files).map((name) => [name, `/${name}`]));
      const reading = read(
        { PROVIDERS: 'acme', ...valuesOf(env), ...paths, PORT: 'none' },
        valuesOf(files, '/'),
      );
      if (reading.ok) throw new Error('expected faults');
      const report = describeFaults(reading.faults, reading.warnings);
      for (const { pieces } of [...Object.values(env), ...Object.values(files)])
        for (const piece of pieces) expect(report).not.toContain(piece);
    });
  });
});

describe('faults in the terminal', () => {
  const reportFor = (env: Record<string, string>) => {
    const reading = read(env);
    if (reading.ok) throw new Error('expected faults');
    return describeFaults(reading.faults, reading.warnings);
  };

  test('all at once, one line each: the setting, its value, what is right; then warnings', () => {
    const env = {
      LOG_FORMAT: 'xml',
      PORT: 'a\nb',
      HOST: `h ${'o'.repeat(200)}`,
      PROVIDERS: 'acme,done',
      MAL_PKCE: 'x',
      ACME_CLIENT_ID: 'id',
      ACME_PKCE: 'S512',
      ACME_TOKEN_URL: 'https://acme.example/token',
      ACME_AUTHORIZE_URI: 'https://acme.example/authorize',
    };
    expect(reportFor(env)).toBe(
      `Not started: 6 settings are wrong
  HOST = "h ${'o'.repeat(58)}…": must be an IP address or a host name, such as 127.0.0.1 or ::; PORT sets the port
  PORT = "a\\nb": must be a whole number from 0 to 65535
  PROVIDERS = "acme,done": lists done, which is a path of the relay
  LOG_FORMAT = "xml": must be json or text
  ACME_PKCE = "S512": must be none, plain or S256
  ACME_AUTHORIZE_URL (not set): must be set: acme has no profile
Also check:
  ACME_AUTHORIZE_URI is not a setting: did you mean ACME_AUTHORIZE_URL?
`,
    );
  });

  test('a part of a value that a problem quotes is text too', () => {
    const report = reportFor({ ADMIN_PORT: '9090', ADMIN_NAMES: 'relay\x1b]52;c;eA==\x07' });
    expect(report).toContain('relay<U+001B>]52;c;eA==<U+0007>');
  });
});
