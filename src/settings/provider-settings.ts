import { findBuiltIn, findInCatalogue } from '../providers/catalogue.ts';
import type { ProviderToDiscover } from '../providers/discovery.ts';
import type { ProviderConfig as Provider } from '../providers/provider.ts';
import { createFault } from './faults.ts';
import { DEFAULT_CLIENT_AUTH, DEFAULT_PKCE, PROVIDER_SETTINGS, prefixOf } from './names.ts';
import { readAddresses } from './provider-addresses.ts';
import { PROVIDER_CHECKS } from './provider-checks.ts';
import { didYouMean } from './provider-list.ts';
import { withoutQuotes } from './quotes.ts';
import { type Reading, readEach } from './read-each.ts';
import { readSecretFile } from './secret-file.ts';
import { withoutUndefined } from './without-undefined.ts';

/**
 * Reads one listed provider: ready to use, to be asked of its issuer, or
 * undefined when it is disabled or at fault. Its settings are checked even
 * while it is disabled, so that setting the client id brings no surprise.
 */
export function readProvider(
  written: Reading,
  name: string,
): Provider | ProviderToDiscover | undefined {
  const prefix = prefixOf(name);
  const reading = withoutQuotes(
    written,
    PROVIDER_SETTINGS.map((setting) => prefix + setting.name),
  );
  const isSet = (setting: string) => reading.env[prefix + setting] !== undefined;
  const env = readSecretFile(reading, `${prefix}CLIENT_SECRET`);
  const given = readEach({ ...reading, env }, prefix, PROVIDER_CHECKS);
  const facts = findBuiltIn(name) ?? findInCatalogue(name);
  if (!facts && !['AUTHORIZE_URL', 'TOKEN_URL', 'ISSUER'].some(isSet)) {
    rejectUnknown(reading, name);
    return undefined;
  }
  if (!isSet('CLIENT_ID')) {
    warnDisabled(reading, name);
    return undefined;
  }
  const asked = withoutUndefined({
    name,
    displayName: given.DISPLAY_NAME ?? facts?.displayName ?? capitalised(name),
    clientId: given.CLIENT_ID ?? '',
    clientSecret: given.CLIENT_SECRET,
    authorizeUrl: given.AUTHORIZE_URL,
    tokenUrl: given.TOKEN_URL,
    scope: given.SCOPE,
    pkce: given.PKCE,
    clientAuth: given.CLIENT_AUTH,
    authorizeParams: given.AUTHORIZE_PARAMS ?? {},
  });
  // The issuer knows better than the catalogue.
  if (isSet('ISSUER')) return { ...asked, issuer: given.ISSUER ?? '' };
  const addresses = readAddresses(reading, name, given, facts);
  const provider: Provider = {
    clientAuth: facts?.clientAuth ?? DEFAULT_CLIENT_AUTH,
    pkce: facts?.pkce ?? DEFAULT_PKCE,
    ...asked,
    ...addresses,
  };
  if (provider.pkce === 'none' && env[`${prefix}CLIENT_SECRET`] === undefined) {
    const problem = `is not set, and ${name} is used without PKCE: it will probably give no tokens`;
    reading.warnings.push({ setting: `${prefix}CLIENT_SECRET`, problem });
  }
  return provider;
}

/** The best guess at how a provider of the catalogue, or one of the operator's own, writes itself. */
function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function rejectUnknown({ env, faults }: Reading, name: string): void {
  const prefix = prefixOf(name);
  const problem = `lists ${name}, which is not in the catalogue.${didYouMean(name)} Else set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL, or ${prefix}ISSUER`;
  faults.push(createFault('PROVIDERS', env.PROVIDERS, problem));
}

/** Silent only for a built-in provider that nobody mentioned. */
function warnDisabled({ env, warnings }: Reading, name: string): void {
  const prefix = prefixOf(name);
  const other = PROVIDER_SETTINGS.map((setting) => prefix + setting.name).find(
    (setting) => env[setting] !== undefined,
  );
  if (env.PROVIDERS === undefined && other === undefined) return;
  const although = other ? `, although ${other} is set` : '';
  warnings.push({
    setting: `${prefix}CLIENT_ID`,
    problem: `is not set${although}: ${name} stays disabled`,
  });
}
