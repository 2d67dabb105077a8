/** Which redirect URIs a provider refuses, named for the base URL at hand. */
import { expect, test } from 'bun:test';
import { PROFILES } from '../../src/providers/profiles.ts';
import { redirectKindsOf } from '../../src/providers/redirect-uris.ts';

test.each([
  ['http://localhost:8080', ['localhost']],
  ['https://localhost', ['localhost']],
  ['http://127.0.0.1:8080/relay', ['loopback']],
  ['http://[::1]:8080', ['loopback']],
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

test('no provider refuses what the warning about its rule suggests', () => {
  const refusesBoth = [...PROFILES].filter(
    ([, { refusedRedirects = [] }]) =>
      refusedRedirects.includes('localhost') && refusedRedirects.includes('loopback'),
  );
  expect(refusesBoth).toEqual([]);
});
