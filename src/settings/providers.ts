/** Combines the settings of a listed provider with the catalogue: a provider to use, or one to discover by its issuer. */
import { findAddressProblem } from '../providers/address.ts';
import {
  findBuiltIn,
  findInCatalogue,
  type ProviderFacts,
  SUBDOMAIN,
} from '../providers/catalogue.ts';
import type { ProviderToDiscover } from '../providers/discovery.ts';
import { type ProviderConfig, prefixOf } from '../providers/provider.ts';
import { PROVIDER_CHECKS } from './checks.ts';
import { didYouMean } from './misspelt.ts';
import { PROVIDER_SETTINGS } from './names.ts';
import { type Reading, readTable, reject, type Values, withoutUndefined } from './reading.ts';

/**
 * Undefined: the provider is disabled, or something is wrong. Its settings are
 * checked even while it is disabled, so that setting the client id brings no surprise.
 */
export function readProvider(
  reading: Reading,
  name: string,
): ProviderConfig | ProviderToDiscover | undefined {
  const prefix = prefixOf(name);
  const isSet = (setting: string) => reading.env[prefix + setting] !== undefined;
  const given = readTable(reading, prefix, PROVIDER_SETTINGS, PROVIDER_CHECKS);
  const facts = findBuiltIn(name) ?? findInCatalogue(name);
  if (!facts && !['AUTHORIZE_URL', 'TOKEN_URL', 'ISSUER'].some(isSet)) {
    const problem = `lists ${name}, which is not in the catalogue.${didYouMean(name)} Otherwise set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL, or ${prefix}ISSUER`;
    reject(reading, 'PROVIDERS', problem);
    return undefined;
  }
  if (!isSet('CLIENT_ID')) {
    warnDisabled(reading, name);
    return undefined;
  }
  const common = withoutUndefined({
    name,
    displayName: given.DISPLAY_NAME ?? facts?.displayName ?? capitalized(name),
    clientId: given.CLIENT_ID ?? '',
    clientSecret: given.CLIENT_SECRET,
    authorizeUrl: given.AUTHORIZE_URL,
    tokenUrl: given.TOKEN_URL,
    scope: given.SCOPE,
    pkce: given.PKCE,
    clientAuth: given.CLIENT_AUTH,
    authorizeParams: given.AUTHORIZE_PARAMS ?? {},
  });
  // The issuer's own addresses take precedence over the catalogue's.
  if (isSet('ISSUER')) return { ...common, issuer: given.ISSUER ?? '' };
  return {
    clientAuth: facts?.clientAuth ?? 'post',
    pkce: facts?.pkce ?? 'none',
    ...common,
    ...readAddresses(reading, name, given, facts),
  };
}

/** Often the way a provider writes its own name. */
function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** No warning for a built-in provider that neither `PROVIDERS` nor another setting mentions. */
function warnDisabled({ env, warnings }: Reading, name: string): void {
  const prefix = prefixOf(name);
  const other = Object.keys(PROVIDER_SETTINGS).find((setting) => env[prefix + setting]);
  if (env.PROVIDERS === undefined && other === undefined) return;
  const although = other ? `, although ${prefix}${other} is set` : '';
  warnings.push({
    setting: `${prefix}CLIENT_ID`,
    problem: `is not set${although}: ${name} stays disabled`,
  });
}

type Given = Values<typeof PROVIDER_SETTINGS, typeof PROVIDER_CHECKS>;

/** Both addresses, from the settings, otherwise from the catalogue and `_SUBDOMAIN`. A missing one is a fault. */
function readAddresses(
  reading: Reading,
  name: string,
  given: Given,
  facts: ProviderFacts | undefined,
): Pick<ProviderConfig, 'authorizeUrl' | 'tokenUrl'> {
  const { env, warnings } = reading;
  const prefix = prefixOf(name);
  // An address that is set overrides the catalogue, even if it is wrong.
  const known = {
    AUTHORIZE_URL: env[`${prefix}AUTHORIZE_URL`] ? '' : facts?.authorizeUrl,
    TOKEN_URL: env[`${prefix}TOKEN_URL`] ? '' : facts?.tokenUrl,
  };
  for (const [setting, address] of Object.entries(known)) {
    if (address !== undefined) continue;
    reject(reading, prefix + setting, `must be set: ${name} is not in the catalogue`);
  }
  const template = Object.values(known).find((address) => address?.includes(SUBDOMAIN));
  checkSubdomain(reading, `${prefix}SUBDOMAIN`, given.SUBDOMAIN, template);
  if (facts?.departure && (known.AUTHORIZE_URL || known.TOKEN_URL)) {
    const problem = `belongs to a provider that ${facts.departure}: the sign-in may fail`;
    warnings.push({ setting: `${prefix}CLIENT_ID`, problem });
  }
  const fill = (address = '') => address.replace(SUBDOMAIN, given.SUBDOMAIN ?? '');
  return {
    authorizeUrl: given.AUTHORIZE_URL ?? fill(known.AUTHORIZE_URL),
    tokenUrl: given.TOKEN_URL ?? fill(known.TOKEN_URL),
  };
}

function checkSubdomain(
  reading: Reading,
  setting: string,
  subdomain: string | undefined,
  template: string | undefined,
): void {
  const isSet = reading.env[setting] !== undefined;
  if (template === undefined) {
    const problem = 'has no effect: the addresses of this provider are complete';
    if (isSet) reading.warnings.push({ setting, problem });
  } else if (!isSet) {
    reject(reading, setting, `must be set: it completes ${template}`);
  } else if (subdomain !== undefined) {
    const problem = findSubdomainProblem(subdomain, template);
    if (problem) reject(reading, setting, problem);
  }
}

/** A whole host instead of a part of it would give an address that does not exist. */
function findSubdomainProblem(subdomain: string, template: string): string | undefined {
  const [, ending = ''] = /\[subdomain\]([^/]*)/.exec(template) ?? [];
  if (ending && (/[/:]/.test(subdomain) || subdomain.endsWith(ending))) {
    return `must be only the part before ${ending}`;
  }
  const problem = findAddressProblem(template.replace(SUBDOMAIN, subdomain));
  return problem && `must complete ${template} to a valid address`;
}
