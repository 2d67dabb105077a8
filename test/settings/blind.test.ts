/** BLIND=always: a provider at which the relay would see tokens is a fault. */
import { expect, test } from 'bun:test';
import { faultsOf, settingsOf } from './read.ts';

const ACME = {
  PROVIDERS: 'acme',
  ACME_CLIENT_ID: 'id',
  ACME_AUTHORIZE_URL: 'https://acme.example/a',
  ACME_TOKEN_URL: 'https://acme.example/t',
};
const S256 = { ...ACME, ACME_PKCE: 'S256' };
const ISSUER = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_ISSUER: 'https://acme.example' };
const SECRET = { ACME_CLIENT_SECRET: 'a-secret' };

const NO_S256 = 'BLIND must not be always: acme does not use PKCE with S256 (ACME_PKCE)';
const HAS_SECRET = 'BLIND must not be always: acme has a client secret (ACME_CLIENT_SECRET)';

test.each<[string, Record<string, string>, string[]]>([
  ['S256 and no secret', S256, []],
  ['an issuer that has yet to say', ISSUER, []],
  ['no PKCE', ACME, [NO_S256]],
  ['plain', { ...S256, ACME_PKCE: 'plain' }, [NO_S256]],
  ['a secret', { ...S256, ...SECRET }, [HAS_SECRET]],
  ['an issuer, and a secret', { ...ISSUER, ...SECRET }, [HAS_SECRET]],
  [
    'a refresh endpoint of its own',
    { ...S256, ACME_REFRESH_URL: 'https://acme.example/r' },
    ['BLIND must not be always: acme has a refresh endpoint (ACME_REFRESH_URL)'],
  ],
  ['an issuer, and plain', { ...ISSUER, ACME_PKCE: 'plain' }, [NO_S256]],
  [
    'MyAnimeList',
    { MAL_CLIENT_ID: 'id' },
    ['BLIND must not be always: mal does not use PKCE with S256 (MAL_PKCE)'],
  ],
])('%s', (_, env, faults) => {
  expect(faultsOf({ ...env, BLIND: 'always' })).toEqual(faults);
  for (const BLIND of ['allow', 'never']) expect(faultsOf({ ...env, BLIND })).toEqual([]);
});

test('a provider that is not enabled is no fault', () => {
  expect(settingsOf({ ...S256, PROVIDERS: 'acme,mal', BLIND: 'always' }).blind).toBe('always');
});
