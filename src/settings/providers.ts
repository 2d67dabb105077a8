/** Combines the settings of a listed provider with its profile: a provider to use, or one to discover by its issuer. */
import { prefixOf } from '../providers/config.ts';
import type { EnabledProvider } from '../providers/discovery.ts';
import { capitalized, OWN_URL, PROFILES, type Profile } from '../providers/profiles.ts';
import { findUrlProblem } from '../providers/url.ts';
import { PROVIDER_CHECKS, withoutTrailingSlashes } from './checks.ts';
import { didYouMean } from './misspelt.ts';
import { namesOf, PROVIDER_SETTINGS } from './names.ts';
import { type Reading, readTable, reject, withoutUndefined } from './reading.ts';
import { warnOfProviderHazards } from './warnings.ts';

/**
 * Undefined if the provider is disabled, or a setting is wrong. Its settings are checked even
 * while it is disabled, so that a later client id reveals no old mistakes.
 */
export function readProvider(reading: Reading, name: string): EnabledProvider | undefined {
  const { env } = reading;
  const prefix = prefixOf(name);
  const isSet = (setting: string) => env[prefix + setting] !== undefined;
  const given = readTable(reading, prefix, PROVIDER_SETTINGS, PROVIDER_CHECKS);
  const known = PROFILES.get(name);
  if (!known && !['AUTHORIZE_URL', 'TOKEN_URL', 'ISSUER'].some(isSet)) {
    const problem = `lists ${name}, which has no profile: set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL, or ${prefix}ISSUER (sign-in-relay providers ${name} may say more).${didYouMean(name)}`;
    reject(reading, 'PROVIDERS', problem);
    return undefined;
  }
  if (!isSet('CLIENT_ID')) {
    warnDisabled(reading, name);
    return undefined;
  }
  warnOfProviderHazards(reading, name, given, known);
  // What the issuer announces takes precedence over the profile.
  const profile = isSet('ISSUER') || !known ? undefined : atOwnServer(known, given.URL);
  // The profile's other endpoints get tokens and the client secret, so they are used only with its token endpoint.
  const trusted = given.TOKEN_URL === undefined ? profile : undefined;
  const quirks = { ...profile?.quirks, ...(given.USER_AGENT && { userAgent: given.USER_AGENT }) };
  const provider = withoutUndefined({
    name,
    displayName: given.DISPLAY_NAME ?? known?.displayName ?? capitalized(name),
    clientId: given.CLIENT_ID ?? '',
    clientSecret: given.CLIENT_SECRET,
    authorizeUrl: given.AUTHORIZE_URL ?? profile?.authorizeUrl,
    tokenUrl: given.TOKEN_URL ?? profile?.tokenUrl,
    refreshUrl: given.REFRESH_URL ?? trusted?.refreshUrl,
    scope: given.SCOPE ?? profile?.scope,
    pkce: given.PKCE ?? profile?.pkce,
    clientAuth: given.CLIENT_AUTH ?? profile?.clientAuth,
    authorizeParams: { ...profile?.authorizeParams, ...given.AUTHORIZE_PARAMS },
    quirks: Object.keys(quirks).length > 0 ? quirks : undefined,
    knownErrors: profile?.knownErrors,
    ...(given.REVOKE_URL === undefined
      ? { revocation: trusted?.revocation, removeAt: trusted?.removeAt }
      : // That server may run the same software as the profile's.
        { revocation: { ...profile?.revocation, url: given.REVOKE_URL } }),
  });
  if (isSet('ISSUER')) return { ...provider, issuer: given.ISSUER ?? '' };
  const unset = (['AUTHORIZE_URL', 'TOKEN_URL'] as const).filter((setting) => !isSet(setting));
  if (profile === undefined) {
    for (const setting of unset) {
      reject(reading, prefix + setting, `must be set: ${name} has no profile`);
    }
  } else if (unset.length > 0 && known?.authorizeUrl.includes(OWN_URL)) {
    checkOwnUrl(reading, `${prefix}URL`, profile);
  }
  return { clientAuth: 'post', pkce: 'none', authorizeUrl: '', tokenUrl: '', ...provider };
}

/** Puts the address of the operator's own server into the profile. `checkOwnUrl` reports a missing one. */
function atOwnServer(profile: Profile, url = profile.defaultUrl ?? ''): Profile {
  const own = withoutTrailingSlashes(url);
  // A function, because `$&` has a meaning in a replacement.
  const complete = (text: string) => text.replace(OWN_URL, () => own);
  const { authorizeUrl, tokenUrl, revocation } = profile;
  return {
    ...profile,
    authorizeUrl: complete(authorizeUrl),
    tokenUrl: complete(tokenUrl),
    ...(revocation && { revocation: { ...revocation, url: complete(revocation.url) } }),
  };
}

function checkOwnUrl(reading: Reading, setting: string, profile: Profile): void {
  const url = reading.env[setting]?.trim();
  if (url !== undefined) {
    const problem = url.includes('?') ? 'must not contain a query (?)' : findUrlProblem(url);
    if (problem) reject(reading, setting, problem);
  } else if (profile.defaultUrl === undefined) {
    reject(reading, setting, `must be set to the address of your ${profile.displayName} server`);
  }
}

/** Does not warn of a default provider that no setting mentions. */
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
