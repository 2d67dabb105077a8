/** What is known of providers: profiles, and endpoints only (docs/providers.md). */
import { expect, test } from 'bun:test';
import { showProviders } from '../../src/cli/show-providers.ts';
import { ENDPOINTS, SUBDOMAIN } from '../../src/providers/endpoints.ts';
import { findKnown, KNOWN_NAMES, PROFILES } from '../../src/providers/known.ts';
import { OWN_URL } from '../../src/providers/profile.ts';
import { UNSUPPORTED } from '../../src/providers/unsupported.ts';
import { findUrlProblem } from '../../src/providers/url.ts';
import { readSettings } from '../../src/settings/index.ts';

test('known providers have valid names for PROVIDERS, and addresses that are safe for a secret', () => {
  const unfit = KNOWN_NAMES.filter((name) => {
    const { authorizeUrl = '', tokenUrl = '' } = findKnown(name) ?? {};
    const addresses = [authorizeUrl, tokenUrl].map((text) =>
      text.replace(SUBDOMAIN, 'mine').replace(OWN_URL, 'https://own.example'),
    );
    return (
      !/^[a-z0-9][a-z0-9-]*$/.test(name) ||
      addresses.some((address) => findUrlProblem(address) !== undefined)
    );
  });
  expect(KNOWN_NAMES.length).toBeGreaterThan(0);
  expect(unfit).toEqual([]);
});

test('names that every object has are not known', () => {
  expect(findKnown('constructor')).toBeUndefined();
});

test('no provider has both a profile and an entry of endpoints', () => {
  expect([...PROFILES.keys()].filter((name) => ENDPOINTS.has(name))).toEqual([]);
});

test('no provider that can be enabled by its name is listed as one that cannot', () => {
  expect([...UNSUPPORTED.keys()].filter((name) => KNOWN_NAMES.includes(name))).toEqual([]);
});

test('one that cannot be enabled by its name is refused with the reason, unless its endpoints are set', () => {
  for (const [name, { reason }] of UNSUPPORTED) {
    const prefix = name.toUpperCase();
    const env = { PROVIDERS: name, [`${prefix}_CLIENT_ID`]: 'id' };
    const read = readSettings(env, () => '');
    expect(read).toMatchObject({
      faults: [{ setting: 'PROVIDERS', problem: expect.stringContaining(reason) }],
    });
    const endpoints = {
      [`${prefix}_AUTHORIZE_URL`]: 'https://own.example/authorize',
      [`${prefix}_TOKEN_URL`]: 'https://own.example/token',
    };
    expect(readSettings({ ...env, ...endpoints }, () => '').ok).toBe(true);
    expect(showProviders(name)).toMatchObject({
      isFound: true,
      text: expect.stringContaining(reason),
    });
  }
});

test('every address says with which source it was compared', () => {
  const without = [...ENDPOINTS].filter(([, { source }]) => !/^https:/.test(source));
  expect(without).toEqual([]);
});

test('no address is that of a sandbox, or known to have moved', () => {
  const addresses = KNOWN_NAMES.flatMap((name) => {
    const { authorizeUrl = '', tokenUrl = '' } = findKnown(name) ?? {};
    return [authorizeUrl, tokenUrl];
  });
  const stale = /sandbox|staging|v2launch|\/\/(api\.)?twitter\.com|\/\/ssl\.reddit\.com/;
  expect(addresses.filter((address) => stale.test(address))).toEqual([]);
});
