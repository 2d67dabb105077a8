/** What is allowed but rarely intended: warnings at a start. */
import { prefixOf } from '../providers/config.ts';
import type { Profile } from '../providers/profiles.ts';
import { REDIRECT_KINDS, redirectKindsOf } from '../providers/redirect-uris.ts';
import { isLoopback, isUnencrypted } from '../providers/url.ts';
import type { PROVIDER_CHECKS } from './checks.ts';
import type { PROVIDER_SETTINGS } from './names.ts';
import type { Reading, Values } from './reading.ts';
import type { Settings } from './settings.ts';

/** The most client ids that a hint names. */
const MAX_NAMES = 3;

/** Warns of valid settings that do not fit together. */
export function warnOfHazards(
  { env, warnings }: Reading,
  settings: Settings,
  listed: readonly string[],
): void {
  const { baseUrl, providers, trustedProxyCidrs, adminHost, adminToken } = settings;
  const warn = (setting: string, problem: string) => warnings.push({ setting, problem });
  const url = baseUrl === undefined ? undefined : new URL(baseUrl);
  if (url === undefined) {
    warn('OAUTH_BASE_URL', 'is not set: every sign-in gets a 503');
  }
  if (url && isUnencrypted(url)) {
    warn('OAUTH_BASE_URL', 'is plain http: anyone on the network path can read the tokens');
  }
  if (baseUrl?.endsWith('/auth')) {
    warn('OAUTH_BASE_URL', 'ends in /auth, so links go to /auth/auth/: is that intended?');
  }
  if (url && !isLoopback(url) && !settings.branding.appName) {
    warn('APP_NAME', `is not set: the page that asks users to continue names only ${url.host}`);
  }
  if (baseUrl && providers.length === 0 && !settings.openEndpoints) {
    const names = listed.map((name) => `${prefixOf(name)}CLIENT_ID`).slice(0, MAX_NAMES);
    const hint = names.length > 0 ? `: set ${names.join(' or ')}` : '';
    warn('PROVIDERS', `lists no provider with a client id, so nobody can sign in${hint}`);
  }
  if (trustedProxyCidrs.some((cidr) => cidr.endsWith('/0'))) {
    warn('TRUSTED_PROXY_CIDRS', 'trusts every address: anyone can forge a client address');
  }
  const isOpen = !isLoopback({ hostname: adminHost === '::1' ? '[::1]' : adminHost });
  if (env.ADMIN_PORT !== undefined && adminToken === undefined && isOpen) {
    warn('ADMIN_HOST', 'lets other machines read ADMIN_PORT, since ADMIN_TOKEN is not set');
  }
  if (settings.openEndpoints === '*') {
    const problem =
      'is *: anyone can make a link on this host that redirects to any other host (docs/open.md)';
    warn('OPEN_ENDPOINTS', problem);
  }
}

/** What documentation and templates write where a value belongs. */
const PLACEHOLDER =
  /^(?:[<[{(].*[>\]})]|[^\p{L}\p{N}]+|x{3,}|your[-_ ].*|(?:my[-_ ]?)?client[-_ ]?(?:id|secret)|change[-_ ]?(?:me|it|this).*|replace[-_ ].*|todo|placeholder|1a2b3c|a-secret)$/iu;

/** Warns of the settings of one enabled provider, and of what an operator has to set or check before it works. */
export function warnOfProviderHazards(
  { env, warnings }: Reading,
  name: string,
  /** Its settings that are set and valid. */
  given: Values<typeof PROVIDER_SETTINGS, typeof PROVIDER_CHECKS>,
  profile: Profile | undefined,
): void {
  const prefix = prefixOf(name);
  const isSet = (setting: string) => env[prefix + setting] !== undefined;
  const warn = (setting: string, problem: string) =>
    warnings.push({ setting: prefix + setting, problem });
  const shown = profile?.displayName ?? name;
  for (const setting of ['CLIENT_ID', 'CLIENT_SECRET'] as const) {
    if (!PLACEHOLDER.test(given[setting] ?? '')) continue;
    warn(setting, `is a placeholder: write what ${shown} shows at your registration`);
  }
  if (given.ISSUER?.includes('/.well-known/')) {
    warn('ISSUER', 'contains /.well-known/, which the relay adds: write only what precedes it');
  }
  const { SCOPE: scope = '' } = given;
  const takesCommas = profile?.scopeSeparator === ',';
  const [wrong] = (takesCommas ? /\s/ : /[,;+]|%20/).exec(scope) ?? [];
  if (wrong !== undefined) {
    const [separator, right] = takesCommas ? ['spaces', 'commas'] : [wrong, 'spaces'];
    const isKnown = profile !== undefined || given.ISSUER !== undefined;
    const taker = isKnown ? `${shown} takes` : `check that ${shown} wants that, since most take`;
    warn('SCOPE', `has ${separator} between scopes: ${taker} ${right}`);
  }
  // The rest is what the issuer decides.
  if (isSet('ISSUER')) return;
  const pkce = isSet('PKCE') ? given.PKCE : (profile?.pkce ?? 'none');
  if (!isSet('CLIENT_SECRET') && !isSet('CLIENT_SECRET_FILE')) {
    if (profile && profile.clientSecret === undefined) {
      warn('CLIENT_SECRET', `is not set: ${profile.displayName} issues no tokens without it`);
    } else if (profile?.clientSecret !== 'none' && pkce === 'none') {
      const problem = `is not set, and ${name} uses no PKCE: it will probably issue no tokens`;
      warn('CLIENT_SECRET', problem);
    }
  }
  if (profile === undefined) return;
  const { displayName, userAgentNames, refusedRedirects = [] } = profile;
  if (userAgentNames && !isSet('USER_AGENT')) {
    warn('USER_AGENT', `is not set: ${displayName} wants it to name ${userAgentNames}`);
  }
  // With an endpoint that the operator sets, it is another server, whose rules are unknown.
  if (isSet('AUTHORIZE_URL')) return;
  for (const kind of redirectKindsOf(env.OAUTH_BASE_URL?.trim() ?? '')) {
    if (!refusedRedirects.includes(kind)) continue;
    const { what, instead } = REDIRECT_KINDS[kind];
    const problem = `has ${what}, which ${displayName} refuses in a redirect URI: ${instead}`;
    warnings.push({ setting: 'OAUTH_BASE_URL', problem });
  }
}
