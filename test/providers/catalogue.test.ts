/** The catalogue of providers, which is made from the package `grant` (docs/providers.md). */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  CORRECTIONS,
  DEPARTURES,
  NO_DIFFERENCE,
  TAKES_BASIC,
  TAKES_JSON,
} from '../../scripts/grant-special-cases.ts';
import { readCatalogue } from '../../scripts/update-catalogue.ts';
import { findAddressProblem } from '../../src/providers/address.ts';
import {
  CATALOGUE_NAMES,
  findFacts,
  findInCatalogue,
  KNOWN_NAMES,
  SUBDOMAIN,
} from '../../src/providers/catalogue.ts';
import { PROFILE_NAMES } from '../../src/providers/profiles/index.ts';

const root = `${import.meta.dir}/../..`;

describe('the catalogue', () => {
  test('is what scripts/update-catalogue.ts makes of the installed package', () => {
    const text = readFileSync(`${root}/src/providers/catalogue.json`, 'utf8');
    expect(JSON.parse(text)).toEqual(readCatalogue());
  });

  test('has valid names for PROVIDERS, addresses that are safe for a secret, known values', () => {
    const unfit = KNOWN_NAMES.filter((name) => {
      const { authorizeUrl = '', tokenUrl = '', clientAuth = 'post' } = findFacts(name) ?? {};
      const addresses = [authorizeUrl, tokenUrl].map((text) => text.replace(SUBDOMAIN, 'mine'));
      return (
        !/^[a-z0-9][a-z0-9-]*$/.test(name) ||
        addresses.some((address) => findAddressProblem(address) !== undefined) ||
        !['post', 'basic'].includes(clientAuth)
      );
    });
    expect(KNOWN_NAMES.length).toBeGreaterThan(0);
    expect(unfit).toEqual([]);
  });

  test('does not know names that every object has', () => {
    expect(findInCatalogue('constructor')).toBeUndefined();
    expect(findFacts('constructor')).toBeUndefined();
  });

  test('does not repeat the providers that have a profile', () => {
    expect(PROFILE_NAMES.filter((name) => findInCatalogue(name))).toEqual([]);
  });

  test('has no address of a sandbox, and none that is known to have moved', () => {
    const addresses = KNOWN_NAMES.flatMap((name) => {
      const { authorizeUrl = '', tokenUrl = '' } = findFacts(name) ?? {};
      return [authorizeUrl, tokenUrl];
    });
    const stale = /sandbox|staging|v2launch|\/\/(api\.)?twitter\.com|\/\/ssl\.reddit\.com/;
    expect(addresses.filter((address) => stale.test(address))).toEqual([]);
  });
});

describe('the special cases of grant', () => {
  const flow = readFileSync(
    createRequire(import.meta.url).resolve('grant/lib/flow/oauth2.js'),
    'utf8',
  );
  /** Fields of its configuration, which look like names of providers in its source. */
  const fields =
    'authorize_url access_url key secret redirect_uri scope state nonce pkce code_challenge custom_params subdomain token_endpoint_auth_method token_endpoint_auth_signing_alg public_key private_key name'.split(
      ' ',
    );

  test('each provider that its source names is listed in scripts/grant-special-cases.ts', () => {
    const named = [...flow.matchAll(/\bprovider\.([a-z0-9_]+)/g)].map(([, name = '']) => name);
    const special = new Set(named.filter((name) => !fields.includes(name)));
    const accounted = [
      ...[...PROFILE_NAMES, ...Object.keys(DEPARTURES)],
      ...[...NO_DIFFERENCE, ...TAKES_JSON],
    ];
    expect([...special].filter((name) => !accounted.includes(name))).toEqual([]);
  });

  test('the providers that it authenticates by Basic are those that we do', () => {
    const patterns = [...flow.matchAll(/\/([a-z|]+)\/\.test\(provider\.name\)/g)].map(
      ([, pattern = '']) => new RegExp(pattern),
    );
    const basic = CATALOGUE_NAMES.filter((name) => patterns.some((pattern) => pattern.test(name)));
    expect(basic).toEqual([...TAKES_BASIC]);
  });

  test('each name in our lists is in the catalogue', () => {
    const names = [
      ...[...Object.keys(DEPARTURES), ...Object.keys(CORRECTIONS)],
      ...[...NO_DIFFERENCE, ...TAKES_BASIC, ...TAKES_JSON],
    ];
    expect(names.filter((name) => !findInCatalogue(name))).toEqual([]);
  });
});
