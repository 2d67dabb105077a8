/** Which redirect URIs a provider refuses, named for the base URL at hand. */
import { expect, test } from 'bun:test';
import { prefixOf } from '../../src/providers/config.ts';
import { PROFILES } from '../../src/providers/profiles.ts';
import { redirectKindsOf } from '../../src/providers/redirect-uris.ts';
import { readSettings } from '../../src/settings/index.ts';

test.each([
  ['http://localhost:8080', ['localhost']],
  ['https://localhost', ['localhost']],
  ['http://127.0.0.1:8080/relay', ['loopback']],
  ['http://[::1]:8080', ['loopback']],
  ['http://192.168.1.20:8080', ['http', 'address']],
  ['https://192.168.1.20', ['address']],
  ['https://[fd00::1]:8443', ['address']],
  ['http://relay.local:8080', ['http', 'private']],
  ['https://relay', ['private']],
  ['https://relay.home.arpa', ['private']],
  ['https://relay.localhost', ['private']],
  ['https://RELAY.LAN.', ['private']],
  ['http://relay.acme.com', ['http']],
  ['https://relay.acme.com/path', []],
  ['https://local.acme.com', []],
  ['relay.acme.com', []],
] as const)('%s is %j', (baseUrl, kinds) => {
  expect(redirectKindsOf(baseUrl)).toEqual([...kinds]);
});

/** What the start says of OAUTH_BASE_URL, for a provider with a client id and a secret. */
function warningsFor(name: string, baseUrl: string, more = {}): readonly string[] {
  const prefix = prefixOf(name);
  const env = { [`${prefix}CLIENT_ID`]: 'id', [`${prefix}CLIENT_SECRET`]: 's', ...more };
  const read = readSettings({ OAUTH_BASE_URL: baseUrl, PROVIDERS: name, ...env }, () => '');
  return read.warnings
    .filter(({ setting, problem }) => setting === 'OAUTH_BASE_URL' && /redirect/.test(problem))
    .map(({ problem }) => problem);
}

test('the start says why a redirect URI cannot be registered, and what to write', () => {
  expect(warningsFor('spotify', 'http://localhost:8080')).toEqual([
    'has the name localhost, which Spotify refuses in a redirect URI: write 127.0.0.1 instead',
  ]);
  expect(warningsFor('microsoft', 'http://127.0.0.1:8080')).toEqual([
    expect.stringContaining('write localhost instead'),
  ]);
  expect(warningsFor('google', 'http://192.168.1.20')).toEqual([
    expect.stringMatching(/^has plain http, .*: use https$/),
    expect.stringMatching(/^has an IP address, .*: use a name$/),
  ]);
});

test('what the warning tells the operator to write is not refused either', () => {
  const refusesBoth = [...PROFILES].filter(
    ([, { refusedRedirects = [] }]) =>
      refusedRedirects.includes('localhost') && refusedRedirects.includes('loopback'),
  );
  expect(refusesBoth).toEqual([]);
  expect(warningsFor('spotify', 'http://127.0.0.1:8080')).toEqual([]);
  expect(warningsFor('microsoft', 'http://localhost:8080')).toEqual([]);
});

test('without known rules, or with an own endpoint or a public name, nothing warns', () => {
  expect(warningsFor('anilist', 'http://relay.local')).toEqual([]);
  const own = {
    SPOTIFY_AUTHORIZE_URL: 'https://own.example/authorize',
    SPOTIFY_TOKEN_URL: 'https://own.example/token',
  };
  expect(warningsFor('spotify', 'http://localhost:8080', own)).toEqual([]);
  const warned = [...PROFILES.keys()].filter(
    (name) => warningsFor(name, 'https://relay.acme.com').length > 0,
  );
  expect(warned).toEqual([]);
});
