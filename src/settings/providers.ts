/** Combines the settings of a listed provider with its profile: a provider to use, or one to discover by its issuer. */
import { type ProviderConfig, prefixOf, type Revocation } from '../providers/config.ts';
import type { EnabledProvider } from '../providers/discovery.ts';
import { OWN_URL, type Profile } from '../providers/profile.ts';
import { PROFILES, UNSUPPORTED } from '../providers/profiles.ts';
import { REDIRECT_KINDS, redirectKindsOf } from '../providers/redirect-uris.ts';
import { findUrlProblem } from '../providers/url.ts';
import { PROVIDER_CHECKS, withoutTrailingSlashes } from './checks.ts';
import { didYouMean } from './misspelt.ts';
import { namesOf, PROVIDER_SETTINGS } from './names.ts';
import type { SettingWarning } from './problems.ts';
import { type Reading, readTable, reject, type Values, withoutUndefined } from './reading.ts';
import { warnOfProviderHazards } from './warnings.ts';

/**
 * Undefined if the provider is disabled, or a setting is wrong. Its settings are checked even
 * while it is disabled, so that a later client id reveals no old mistakes.
 */
export function readProvider(reading: Reading, name: string): EnabledProvider | undefined {
  const { env, warnings } = reading;
  const prefix = prefixOf(name);
  const isSet = (setting: string) => env[prefix + setting] !== undefined;
  const given = readTable(reading, prefix, PROVIDER_SETTINGS, PROVIDER_CHECKS);
  const profile = PROFILES.get(name);
  if (!profile && !['AUTHORIZE_URL', 'TOKEN_URL', 'ISSUER'].some(isSet)) {
    const problem = UNSUPPORTED.includes(name)
      ? `lists ${name}, which cannot be enabled by its name: sign-in-relay providers ${name} says why, and what to do instead`
      : `lists ${name}, which is not a known provider: set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL, or ${prefix}ISSUER.${didYouMean(name)}`;
    reject(reading, 'PROVIDERS', problem);
    return undefined;
  }
  if (!isSet('CLIENT_ID')) {
    warnDisabled(reading, name);
    return undefined;
  }
  warnOfProviderHazards(reading, name, given, profile);
  const common = withoutUndefined({
    name,
    displayName: given.DISPLAY_NAME ?? profile?.displayName ?? capitalized(name),
    clientId: given.CLIENT_ID ?? '',
    clientSecret: given.CLIENT_SECRET,
    authorizeUrl: given.AUTHORIZE_URL,
    tokenUrl: given.TOKEN_URL,
    scope: given.SCOPE,
    pkce: given.PKCE,
    clientAuth: given.CLIENT_AUTH,
    authorizeParams: given.AUTHORIZE_PARAMS ?? {},
    quirks: given.USER_AGENT === undefined ? undefined : { userAgent: given.USER_AGENT },
    ...readOtherEndpoints(given, profile),
  });
  // The issuer's own endpoints take precedence over those of the profile.
  if (isSet('ISSUER')) return { ...common, issuer: given.ISSUER ?? '' };
  if (profile) warnings.push(...findProfileWarnings(name, profile, isSet));
  warnings.push(...findRefusedRedirects(name, env.OAUTH_BASE_URL?.trim(), isSet));
  const quirks = { ...profile?.quirks, ...common.quirks };
  return {
    clientAuth: profile?.clientAuth ?? 'post',
    pkce: profile?.pkce ?? 'none',
    ...(profile?.scope !== undefined && { scope: profile.scope }),
    ...common,
    authorizeParams: { ...profile?.authorizeParams, ...common.authorizeParams },
    ...(Object.keys(quirks).length > 0 && { quirks }),
    ...(profile?.knownErrors && { knownErrors: profile.knownErrors }),
    ...readEndpoints(reading, name, given, profile),
  };
}

/**
 * The refresh endpoint, the revocation endpoint and where users remove the app. The relay sends
 * tokens and the client secret to the first two, so it uses those of the profile only if the token
 * endpoint is the profile's too. A revocation at REVOKE_URL has the form that the profile describes,
 * since that server may run the same software.
 */
function readOtherEndpoints(
  given: Given,
  known: Profile | undefined,
): {
  readonly refreshUrl?: string | undefined;
  readonly revocation?: Revocation | undefined;
  readonly removeAt?: string | undefined;
} {
  const { REFRESH_URL, REVOKE_URL: url, TOKEN_URL, ISSUER } = given;
  const profile = ISSUER === undefined ? known : undefined;
  const own = TOKEN_URL === undefined ? profile : undefined;
  const refreshUrl = REFRESH_URL ?? own?.refreshUrl;
  if (url !== undefined) return { refreshUrl, revocation: { ...profile?.revocation, url } };
  const { revocation, removeAt } = own ?? {};
  return {
    refreshUrl,
    revocation: revocation && { ...revocation, url: complete(revocation.url, given, own) },
    removeAt: removeAt && complete(removeAt, given, own),
  };
}

/** Providers often write their names so. */
function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** There is no warning about a default provider that no setting mentions. */
function warnDisabled({ env, warnings }: Reading, name: string): void {
  const prefix = prefixOf(name);
  const other = namesOf(PROVIDER_SETTINGS).find((setting) => env[prefix + setting]);
  if (env.PROVIDERS === undefined && other === undefined) return;
  const although = other ? `, although ${prefix}${other} is set` : '';
  warnings.push({
    setting: `${prefix}CLIENT_ID`,
    problem: `is not set${although}: ${name} stays disabled`,
  });
}

/** What an operator has to set or check before a provider with a profile works. */
function findProfileWarnings(
  name: string,
  profile: Profile,
  isSet: (setting: string) => boolean,
): readonly SettingWarning[] {
  const prefix = prefixOf(name);
  const { displayName, userAgentNames, clientSecret, pkce, hasUnverified } = profile;
  const warnings: SettingWarning[] = [];
  if (hasUnverified) {
    const problem = `enables ${displayName}, about which some facts are unverified: run sign-in-relay providers ${name}`;
    warnings.push({ setting: `${prefix}CLIENT_ID`, problem });
  }
  if (userAgentNames && !isSet('USER_AGENT')) {
    const problem = `is not set: ${displayName} wants it to name ${userAgentNames}`;
    warnings.push({ setting: `${prefix}USER_AGENT`, problem });
  }
  const hasSecret = isSet('CLIENT_SECRET') || isSet('CLIENT_SECRET_FILE');
  // The relay warns of a missing secret at every provider that lacks PKCE.
  if (clientSecret === undefined && pkce !== 'none' && !hasSecret) {
    const problem = `is not set: ${displayName} issues no tokens without it`;
    warnings.push({ setting: `${prefix}CLIENT_SECRET`, problem });
  }
  return warnings;
}

/** Why a redirect URI cannot be registered. If the operator sets an endpoint, it's another server, whose rules are unknown. */
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
      const { what, instead } = REDIRECT_KINDS[kind];
      const problem = `has ${what}, which ${displayName} refuses in a redirect URI: ${instead}`;
      return { setting: 'OAUTH_BASE_URL', problem };
    });
}

type Given = Values<typeof PROVIDER_SETTINGS, typeof PROVIDER_CHECKS>;

/** Read from the settings, otherwise those of the profile. A missing one is a fault. */
function readEndpoints(
  reading: Reading,
  name: string,
  given: Given,
  profile: Profile | undefined,
): Pick<ProviderConfig, 'authorizeUrl' | 'tokenUrl'> {
  const { env } = reading;
  const prefix = prefixOf(name);
  // A setting overrides the profile, even if it is wrong.
  const known = {
    AUTHORIZE_URL: env[`${prefix}AUTHORIZE_URL`] ? '' : profile?.authorizeUrl,
    TOKEN_URL: env[`${prefix}TOKEN_URL`] ? '' : profile?.tokenUrl,
  };
  for (const [setting, url] of Object.entries(known)) {
    if (url !== undefined) continue;
    reject(reading, prefix + setting, `must be set: ${name} is not a known provider`);
  }
  const template = Object.values(known).find((url) => url?.includes(OWN_URL));
  checkOwnUrl(reading, `${prefix}URL`, template, profile);
  return {
    authorizeUrl: given.AUTHORIZE_URL ?? complete(known.AUTHORIZE_URL ?? '', given, profile),
    tokenUrl: given.TOKEN_URL ?? complete(known.TOKEN_URL ?? '', given, profile),
  };
}

/** Puts the address of the operator's own server into a URL of the profile. A missing one is reported separately. */
function complete(url: string, given: Given, profile: Profile | undefined): string {
  const own = withoutTrailingSlashes(given.URL ?? profile?.defaultUrl ?? '');
  // A function, because `$&` has a meaning in a replacement.
  return url.replace(OWN_URL, () => own);
}

function checkOwnUrl(
  reading: Reading,
  setting: string,
  template: string | undefined,
  profile: Profile | undefined,
): void {
  const url = reading.env[setting]?.trim();
  if (template === undefined || (url === undefined && profile?.defaultUrl)) return;
  if (url === undefined) {
    reject(
      reading,
      setting,
      `must be set to the address of the server, which replaces ${OWN_URL} in ${template}`,
    );
  } else {
    const problem = url.includes('?') ? 'must not contain a query (?)' : findUrlProblem(url);
    if (problem) reject(reading, setting, problem);
  }
}
