/** What is refused, because the relay would start and nobody could sign in. */
import { describe, expect, test } from 'bun:test';
import { faultsOf, read } from './read.ts';

describe('values in quotes, which container tools keep', () => {
  const QUOTED = 'must not be in quotes: here they are part of the value';

  test.each([
    ['OAUTH_BASE_URL', '"https://relay.example"'],
    ['PORT', "'8080'"],
    ['PROVIDERS', '"mal,anilist"'],
    ['REDIS_URL', '"redis://redis.example"'],
    ['REDIS_URL_FILE', '"/run/secrets/redis-url"'],
    ['APP_NAME', '"Acme TV"'],
    ['MAL_CLIENT_ID', '"1a2b3c"'],
    ['MAL_CLIENT_SECRET', ' "a-secret" '],
    ['MAL_CLIENT_SECRET_FILE', '"/run/secrets/mal"'],
    ['MAL_CLIENT_ID', '""'],
  ])('%s=%s is a fault, and one alone', (setting, value) => {
    const files = { '/run/secrets/redis-url': 'redis://redis.example', '/run/secrets/mal': 's' };
    expect(faultsOf({ MAL_CLIENT_ID: 'id', [setting]: value }, files)).toEqual([
      `${setting} ${QUOTED}`,
    ]);
  });

  test('what is inside is checked too', () => {
    expect(faultsOf({ PORT: '"http"' })).toEqual([
      `PORT ${QUOTED}`,
      'PORT must be a whole number from 0 to 65535',
    ]);
  });

  test('a secret from a file may have any form', () => {
    const env = { MAL_CLIENT_ID: 'id', MAL_CLIENT_SECRET_FILE: '/run/secrets/mal' };
    expect(read(env, { '/run/secrets/mal': '"a-secret"' })).toMatchObject({
      ok: true,
      settings: { providers: [{ clientSecret: '"a-secret"' }] },
    });
  });

  test('one quote is none, and other names are not ours', () => {
    const env = { APP_NAME: '"Acme', DISPLAY: '":0"', SPOTIFY_CLIENT_ID: '"id"' };
    expect(faultsOf({ MAL_CLIENT_ID: 'id', ...env })).toEqual([]);
  });
});

describe('a secret without its client id', () => {
  const relay = { OAUTH_BASE_URL: 'https://relay.example' };
  const problem = (prefix: string, secret: string) =>
    `${prefix}_CLIENT_ID must be set: ${secret} is set, and with no other provider nobody could sign in`;

  test('while no provider is enabled', () => {
    expect(faultsOf({ ...relay, ANILIST_CLIENT_SECRET: 's' })).toEqual([
      problem('ANILIST', 'ANILIST_CLIENT_SECRET'),
    ]);
    const file = { SPOTIFY_CLIENT_SECRET_FILE: '/run/secrets/spotify' };
    const files = { '/run/secrets/spotify': 's' };
    expect(faultsOf({ ...relay, PROVIDERS: 'mal,spotify', ...file }, files)).toEqual([
      problem('SPOTIFY', 'SPOTIFY_CLIENT_SECRET_FILE'),
    ]);
  });

  test('but not beside a provider at which people can sign in', () => {
    expect(faultsOf({ ...relay, MAL_CLIENT_ID: 'id', ANILIST_CLIENT_SECRET: 's' })).toEqual([]);
  });

  test('a relay with no provider at all starts: the specification has it', () => {
    expect(faultsOf(relay)).toEqual([]);
  });
});
