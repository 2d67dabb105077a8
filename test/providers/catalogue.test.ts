/** Which providers can be enabled by their names, and which cannot (docs/providers.md). */
import { expect, test } from 'bun:test';
import { showProviders } from '../../src/cli/show-providers.ts';
import { PROFILES } from '../../src/providers/known.ts';
import { OWN_URL } from '../../src/providers/profile.ts';
import { UNSUPPORTED } from '../../src/providers/unsupported.ts';
import { findUrlProblem } from '../../src/providers/url.ts';
import { readSettings } from '../../src/settings/index.ts';

test('providers with a profile have valid names for PROVIDERS, and addresses that are safe for a secret', () => {
  const unfit = [...PROFILES].filter(([name, { authorizeUrl, tokenUrl }]) => {
    const addresses = [authorizeUrl, tokenUrl].map((text) =>
      text.replace(OWN_URL, 'https://own.example'),
    );
    return (
      !/^[a-z0-9][a-z0-9-]*$/.test(name) ||
      addresses.some((address) => findUrlProblem(address) !== undefined)
    );
  });
  expect(PROFILES.size).toBeGreaterThan(0);
  expect(unfit).toEqual([]);
});

test('no provider that can be enabled by its name is listed as one that cannot', () => {
  expect([...UNSUPPORTED.keys()].filter((name) => PROFILES.has(name))).toEqual([]);
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
