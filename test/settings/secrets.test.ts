import { describe, expect, test } from 'bun:test';
import { describeFaults } from '../../src/settings/faults.ts';
import { PROVIDER_SETTINGS, RELAY_SETTINGS } from '../../src/settings/names.ts';
import { malformedSecrets } from '../support/malformed-secrets.ts';
import { property } from '../support/property.ts';
import { faultsOf, read, settingsOf } from './read.ts';

const anilist = { ANILIST_CLIENT_ID: 'id' };
const fromFile = { ...anilist, ANILIST_CLIENT_SECRET_FILE: '/run/secrets/anilist' };

describe('client secrets from files', () => {
  test.each([
    ['hunter2\n', 'hunter2'],
    ['hunter2\r\n', 'hunter2'],
    ['hunter2', 'hunter2'],
    [' hunter2 ', ' hunter2 '],
  ])('a file with %j gives %j: only the line break at its end goes', (content, secret) => {
    const { providers } = settingsOf(fromFile, { '/run/secrets/anilist': content });
    expect(providers[0]?.clientSecret).toBe(secret);
  });

  test('both set is a fault', () => {
    const env = { ...fromFile, ANILIST_CLIENT_SECRET: 'hunter2' };
    expect(faultsOf(env, { '/run/secrets/anilist': 'hunter2' })).toEqual([
      'ANILIST_CLIENT_SECRET_FILE must not be set together with ANILIST_CLIENT_SECRET',
    ]);
  });

  test('unreadable is a fault that shows the code, nothing more', () => {
    const reading = read(fromFile);
    expect(reading).toMatchObject({
      ok: false,
      faults: [
        {
          setting: 'ANILIST_CLIENT_SECRET_FILE',
          value: '***',
          problem: 'must name a file that can be read (ENOENT)',
        },
      ],
    });
    expect(JSON.stringify(reading)).not.toContain('secret words');
  });

  test('an empty file is a fault', () => {
    expect(faultsOf(fromFile, { '/run/secrets/anilist': '\n' })).toEqual([
      'ANILIST_CLIENT_SECRET_FILE must name a file that is not empty',
    ]);
  });

  test('no other file is read', () => {
    const env = { ...anilist, ANILIST_CLIENT_ID_FILE: '/x', OAUTH_BASE_URL_FILE: '/y' };
    expect(faultsOf(env)).toEqual([]);
  });
});

describe('what must not be shown is not shown', () => {
  test.each(['hunter2\n', 'hunt\ner2', 'hunt\u0000er2'])(
    'a secret with a control character, %j, is a fault without the secret',
    (secret) => {
      const inEnvironment = read({ ...anilist, ANILIST_CLIENT_SECRET: secret });
      const inFile = read(fromFile, { '/run/secrets/anilist': `${secret}\n` });
      for (const reading of [inEnvironment, inFile]) {
        expect(reading).toMatchObject({
          ok: false,
          faults: [{ setting: 'ANILIST_CLIENT_SECRET', value: '***' }],
        });
        expect(JSON.stringify(reading)).not.toContain('hunt');
      }
    },
  );

  test.each([
    ['me:hunter2@relay.example', '***'],
    ['https:/me:hunter2@relay.example', '***'],
    ['https:\\\\me:hunter2@relay.example', '***'],
    ['https://me:hunt?er2@relay.example', '***'],
    ['https://me:hunt#er2@relay.example', '***'],
    ['https://relay.example?key=hunter2@x', '***'],
    ['https://relay.example:99999/hunter2', '***'],
    ['https://relay.example/path?key=hunter2', 'https://relay.example/path?…'],
    ['https://relay.example/path#hunter2', 'https://relay.example/path?…'],
  ])('of the address %s is shown %s', (address, shown) => {
    expect(read({ OAUTH_BASE_URL: address })).toMatchObject({
      ok: false,
      faults: [{ setting: 'OAUTH_BASE_URL', value: shown }],
    });
  });

  test('a password inside an address is masked', () => {
    const reading = read({
      OAUTH_BASE_URL: 'https://me:hunter2@relay.example',
      ...anilist,
      ANILIST_TOKEN_URL: 'https://me:hunt@er2/x@anilist.co/token',
    });
    expect(reading).toMatchObject({
      ok: false,
      faults: [{ value: 'https://***@relay.example' }, { value: 'https://***@anilist.co/token' }],
    });
  });

  test('a secret written where the path of its file belongs is masked', () => {
    const reading = read({ ...anilist, ANILIST_CLIENT_SECRET_FILE: 'hunter2' });
    expect(reading).toMatchObject({
      ok: false,
      faults: [{ setting: 'ANILIST_CLIENT_SECRET_FILE', value: '***' }],
    });
    expect(JSON.stringify(reading)).not.toContain('hunter2');
  });

  test('a client id with a line break inside is a fault; blanks around it are not', () => {
    expect(faultsOf({ MAL_CLIENT_ID: 'a\nb' })).toEqual([
      'MAL_CLIENT_ID must hold no line break or other control character',
    ]);
    expect(settingsOf({ MAL_CLIENT_ID: ' ab\n' }).providers).toMatchObject([{ clientId: 'ab' }]);
  });
});

test('no malformed secret, wherever it is set, is in what an operator is told', () => {
  property(malformedSecrets, ({ env, files, secrets }) => {
    const reading = read({ ...env, PORT: 'none' }, files);
    if (reading.ok) throw new Error('expected faults');
    const told = describeFaults(reading.faults, reading.warnings);
    for (const secret of secrets) expect(told).not.toContain(secret);
  });
});

test('every setting that may come from a file is declared a secret', () => {
  const all = [...RELAY_SETTINGS, ...PROVIDER_SETTINGS];
  const fromFiles = all.filter(({ name }) => all.some((other) => other.name === `${name}_FILE`));
  expect(fromFiles.map(({ name, shown }) => [name, shown])).toEqual([
    ['REDIS_URL', 'nothing'],
    ['CLIENT_SECRET', 'nothing'],
  ]);
});

describe('faults in the terminal', () => {
  test('one line each: name, what it holds, what would be right; then the warnings', () => {
    const reading = read({
      PORT: 'a\nb',
      HOST: `h ${'o'.repeat(200)}`,
      PROVIDERS: 'acme',
      ACME_CLIENT_ID: 'id',
      ACME_PKCE: 'S256',
      ACME_TOKEN_URL: 'https://acme.example/token',
      ACME_AUTHORIZE_URI: 'https://acme.example/authorize',
    });
    if (reading.ok) throw new Error('expected faults');
    expect(describeFaults(reading.faults, reading.warnings)).toBe(
      `3 faults in the settings, so the relay did not start:
  HOST = "h ${'o'.repeat(58)}…": must be an address or host name alone, such as 127.0.0.1 or ::; the port is PORT
  PORT = "a\\nb": must be a whole number from 0 to 65535
  ACME_AUTHORIZE_URL (not set): must be set: acme is not in the catalogue
Perhaps also:
  ACME_AUTHORIZE_URI is not a setting: did you mean ACME_AUTHORIZE_URL?
`,
    );
  });
});
