/** What is refused whatever it means, how much of a value is shown, and how an operator reads it. */
import { describe, expect, test } from 'bun:test';
import { describeFaults, readSettings } from '../../src/settings/index.ts';
import { malformedSecrets, property } from '../kit/random.ts';
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
    property(malformedSecrets, ({ env, files, secrets }) => {
      const reading = read({ ...env, PORT: 'none' }, files);
      if (reading.ok) throw new Error('expected faults');
      const told = describeFaults(reading.faults, reading.warnings);
      for (const secret of secrets) expect(told).not.toContain(secret);
    });
  });
});

describe('faults in the terminal', () => {
  const told = (env: Record<string, string>) => {
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
    expect(told(env)).toBe(
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
    const report = told({ ADMIN_PORT: '9090', ADMIN_NAMES: 'relay\x1b]52;c;eA==\x07' });
    expect(report).toContain('relay<U+001B>]52;c;eA==<U+0007>');
  });
});
