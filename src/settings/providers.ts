/** Combines the settings of a listed provider with its known facts: a provider to use, or one to discover by its issuer. */

import type { ProviderToDiscover } from '../providers/discovery.ts';
import { ENDPOINTS, SUBDOMAIN } from '../providers/endpoints.ts';
import { findKnown, PROFILES } from '../providers/known.ts';
import { findUnverified, type KnownProvider, OWN_URL, type Profile } from '../providers/profile.ts';
import { type ProviderConfig, prefixOf, type Revocation } from '../providers/provider.ts';
import { REDIRECT_KINDS, redirectKindsOf } from '../providers/redirect-uris.ts';
import { UNSUPPORTED } from '../providers/unsupported.ts';
import { findUrlProblem } from '../providers/url.ts';
import { PROVIDER_CHECKS, withoutTrailingSlashes } from './checks.ts';
import { warnOfProviderHazards } from './hazards.ts';
import { didYouMean } from './misspelt.ts';
import { PROVIDER_SETTINGS, RELAY_SETTINGS } from './names.ts';
import type { SettingWarning } from './problems.ts';
import { type Reading, readTable, reject, type Values, withoutUndefined } from './reading.ts';

/**
 * Undefined: the provider is disabled, or a setting is wrong. Its settings are checked even
 * while it is disabled, so that a later client id reveals no old mistakes.
 */
export function readProvider(
  reading: Reading,
  name: string,
): ProviderConfig | ProviderToDiscover | undefined {
  const { env, warnings } = reading;
  const prefix = prefixOf(name);
  const isSet = (setting: string) => env[prefix + setting] !== undefined;
  const given = readTable(reading, prefix, PROVIDER_SETTINGS, PROVIDER_CHECKS);
  const known = findKnown(name);
  if (!known && !['AUTHORIZE_URL', 'TOKEN_URL', 'ISSUER'].some(isSet)) {
    const unsupported = UNSUPPORTED.get(name);
    const problem = unsupported
      ? `lists ${name}, which cannot be enabled by its name. ${unsupported.reason} ${unsupported.instead}`
      : `lists ${name}, which is not a known provider.${didYouMean(name)} Otherwise set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL, or ${prefix}ISSUER`;
    reject(reading, 'PROVIDERS', problem);
    return undefined;
  }
  if (!isSet('CLIENT_ID')) {
    warnDisabled(reading, name);
    return undefined;
  }
  warnOfProviderHazards(reading, name, given, PROFILES.get(name));
  const common = withoutUndefined({
    name,
    displayName: given.DISPLAY_NAME ?? known?.displayName ?? capitalized(name),
    clientId: given.CLIENT_ID ?? '',
    clientSecret: given.CLIENT_SECRET,
    authorizeUrl: given.AUTHORIZE_URL,
    tokenUrl: given.TOKEN_URL,
    scope: given.SCOPE,
    pkce: given.PKCE,
    clientAuth: given.CLIENT_AUTH,
    authorizeParams: given.AUTHORIZE_PARAMS ?? {},
    quirks: given.USER_AGENT === undefined ? undefined : { userAgent: given.USER_AGENT },
    ...readRevocation(given, known),
  });
  // The issuer's own endpoints take precedence over known ones.
  if (isSet('ISSUER')) return { ...common, issuer: given.ISSUER ?? '' };
  warnings.push(...findProviderWarnings(name, isSet));
  warnings.push(...findRefusedRedirects(name, env.OAUTH_BASE_URL?.trim(), isSet));
  const quirks = { ...known?.quirks, ...common.quirks };
  return {
    clientAuth: known?.clientAuth ?? 'post',
    pkce: known?.pkce ?? 'none',
    ...(known?.scope !== undefined && { scope: known.scope }),
    ...common,
    authorizeParams: { ...known?.authorizeParams, ...common.authorizeParams },
    ...(Object.keys(quirks).length > 0 && { quirks }),
    ...readEndpoints(reading, name, given, known),
  };
}

/**
 * The endpoint of a profile is only for tokens of the profile's token endpoint: no other server
 * may get them, nor the client secret. How its requests differ is true of the same software
 * elsewhere too.
 */
function readRevocation(
  given: Given,
  known: KnownProvider | undefined,
): { readonly revocation?: Revocation | undefined; readonly removeAt?: string | undefined } {
  const { REVOKE_URL: url, TOKEN_URL, ISSUER } = given;
  const profile = ISSUER === undefined ? known : undefined;
  if (url !== undefined) return { revocation: { ...profile?.revocation, url } };
  if (profile === undefined || TOKEN_URL !== undefined) return {};
  const { revocation, removeAt } = profile;
  return {
    revocation: revocation && { ...revocation, url: complete(revocation.url, given, profile) },
    removeAt: removeAt && complete(removeAt, given, profile),
  };
}

/** Providers often write their names so. */
function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** No warning about a default provider that neither `PROVIDERS` nor another setting mentions. */
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

/** What an operator has to set or check before a known provider works. */
function findProviderWarnings(
  name: string,
  isSet: (setting: string) => boolean,
): readonly SettingWarning[] {
  const prefix = prefixOf(name);
  const profile = PROFILES.get(name);
  if (profile) return findProfileWarnings(name, profile, isSet);
  if (!ENDPOINTS.has(name)) return [];
  const missing = ['PKCE', 'SCOPE'].filter((setting) => !isSet(setting));
  if (missing.length === 0 || (isSet('AUTHORIZE_URL') && isSet('TOKEN_URL'))) return [];
  const names = missing.map((setting) => prefix + setting).join(' and ');
  const problem = `belongs to a provider of which only the endpoints are known: set ${names} as its documentation says, and ${prefix}AUTHORIZE_PARAMS if it needs one to give a refresh token`;
  return [{ setting: `${prefix}CLIENT_ID`, problem }];
}

function findProfileWarnings(
  name: string,
  profile: Profile,
  isSet: (setting: string) => boolean,
): readonly SettingWarning[] {
  const prefix = prefixOf(name);
  const { displayName, userAgentNames, clientSecret, pkce } = profile;
  const warnings: SettingWarning[] = [];
  const unverified = findUnverified(profile);
  if (unverified.length > 0) {
    const problem = `belongs to ${displayName}, of which this is unverified: ${unverified.join(', ')}. See docs/providers/${name}.md`;
    warnings.push({ setting: `${prefix}CLIENT_ID`, problem });
  }
  if (userAgentNames && !isSet('USER_AGENT')) {
    const problem = `is not set: ${displayName} wants it to name ${userAgentNames}`;
    warnings.push({ setting: `${prefix}USER_AGENT`, problem });
  }
  const hasSecret = isSet('CLIENT_SECRET') || isSet('CLIENT_SECRET_FILE');
  // Without PKCE the relay warns of a missing secret whatever the provider.
  if (clientSecret === 'required' && pkce !== 'none' && !hasSecret) {
    const problem = `is not set: ${displayName} issues no tokens without it`;
    warnings.push({ setting: `${prefix}CLIENT_SECRET`, problem });
  }
  return warnings;
}

/** Why a redirect URI cannot be registered. Whoever sets an endpoint means another server, whose rules are unknown. */
function findRefusedRedirects(
  name: string,
  baseUrl: string | undefined,
  isSet: (setting: string) => boolean,
): readonly SettingWarning[] {
  const { displayName, refusedRedirects = [] } = PROFILES.get(name) ?? {};
  if (baseUrl === undefined || isSet('AUTHORIZE_URL')) return [];
  return redirectKindsOf(baseUrl)
    .filter((kind) => refusedRedirects.includes(kind))
    .map((kind) => {
      const { one, instead } = REDIRECT_KINDS[kind];
      const problem = `has ${one}, which ${displayName} refuses in a redirect URI: ${instead}`;
      return { setting: 'OAUTH_BASE_URL', problem };
    });
}

type Given = Values<typeof PROVIDER_SETTINGS, typeof PROVIDER_CHECKS>;

/** From the settings, otherwise the known ones completed by `_SUBDOMAIN`. A missing one is a fault. */
function readEndpoints(
  reading: Reading,
  name: string,
  given: Given,
  provider: KnownProvider | undefined,
): Pick<ProviderConfig, 'authorizeUrl' | 'tokenUrl'> {
  const { env } = reading;
  const prefix = prefixOf(name);
  // A setting overrides the known one, even if it is wrong.
  const known = {
    AUTHORIZE_URL: env[`${prefix}AUTHORIZE_URL`] ? '' : provider?.authorizeUrl,
    TOKEN_URL: env[`${prefix}TOKEN_URL`] ? '' : provider?.tokenUrl,
  };
  for (const [setting, url] of Object.entries(known)) {
    if (url !== undefined) continue;
    reject(reading, prefix + setting, `must be set: ${name} is not a known provider`);
  }
  const find = (placeholder: string) =>
    Object.values(known).find((url) => url?.includes(placeholder));
  checkSubdomain(reading, `${prefix}SUBDOMAIN`, given.SUBDOMAIN, find(SUBDOMAIN));
  checkOwnUrl(reading, `${prefix}URL`, find(OWN_URL), provider);
  return {
    authorizeUrl: given.AUTHORIZE_URL ?? complete(known.AUTHORIZE_URL ?? '', given, provider),
    tokenUrl: given.TOKEN_URL ?? complete(known.TOKEN_URL ?? '', given, provider),
  };
}

/** Puts what the operator set into a known URL. A missing part is a fault of its own. */
function complete(url: string, given: Given, known: KnownProvider | undefined): string {
  const own = withoutTrailingSlashes(given.URL ?? known?.defaultUrl ?? '');
  // Functions, because `$&` has a meaning in a replacement.
  return url.replace(SUBDOMAIN, () => given.SUBDOMAIN ?? '').replace(OWN_URL, () => own);
}

function checkOwnUrl(
  reading: Reading,
  setting: string,
  template: string | undefined,
  known: KnownProvider | undefined,
): void {
  const url = reading.env[setting]?.trim();
  if (template === undefined) {
    // Known names are those of large services, whose own tools read variables with the same prefix.
    const problem = 'has no effect: set the endpoints of the provider, or its issuer';
    const isOurs = !known && !Object.hasOwn(RELAY_SETTINGS, setting);
    if (url !== undefined && isOurs) reading.warnings.push({ setting, problem });
  } else if (url === undefined) {
    if (known?.defaultUrl) return;
    reject(reading, setting, `must be set: it completes ${template}`);
  } else {
    const problem = url.includes('?') ? 'must not contain a query (?)' : findUrlProblem(url);
    if (problem) reject(reading, setting, problem);
  }
}

function checkSubdomain(
  reading: Reading,
  setting: string,
  subdomain: string | undefined,
  template: string | undefined,
): void {
  const isSet = reading.env[setting] !== undefined;
  if (template === undefined) {
    const problem = 'has no effect: the endpoints of this provider are complete';
    if (isSet) reading.warnings.push({ setting, problem });
  } else if (!isSet) {
    reject(reading, setting, `must be set: it completes ${template}`);
  } else if (subdomain !== undefined) {
    // A whole host instead of a part of it would give a URL that does not exist.
    const [, ending = ''] = /\[subdomain\]([^/]*)/.exec(template) ?? [];
    if (subdomain.endsWith(ending)) {
      reject(reading, setting, `must be only the part before ${ending}`);
    }
  }
}
