/** Writes the guide to a provider, for `sign-in-relay providers <name>` and the documentation site. */
import { prefixOf } from './config.ts';
import { OWN_URL, type Profile } from './profile.ts';
import { REDIRECT_KINDS } from './redirect-uris.ts';
import type { Unsupported } from './unsupported.ts';

/** Markdown that reads well in a terminal too. */
export function writeGuide(name: string, profile: Profile): string {
  return writeAll(name, profile)
    .replaceAll(OWN_URL, profile.defaultUrl ?? exampleUrlOf(name))
    .replaceAll(/\n{3,}/g, '\n\n');
}

/** Why a provider cannot be enabled by its name, and what to do instead. */
export function writeUnsupportedGuide({
  displayName,
  advice,
  sources,
  checked,
}: Unsupported): string {
  return `# ${displayName}

This page is for operators. ${displayName} cannot be enabled by its name. ${advice}

## Sources

${describeSources(sources, checked)}
`;
}

/** Stands for the operator's own server. */
function exampleUrlOf(name: string): string {
  return `https://${name}.example`;
}

function writeAll(name: string, profile: Profile): string {
  const { displayName, sources, checked } = profile;
  return `# ${displayName}

This page is for operators who want their users to sign in at ${displayName}. The name in \`PROVIDERS\` is \`${name}\`.

## Register

At <${profile.registration}>:

${numbered(steps(profile))}

Exactly this redirect URI, with your own \`OAUTH_BASE_URL\`:

    https://relay.example/auth/${name}/callback

The relay logs it when it starts.${describeRefusedRedirects(profile)}

${describeReview(profile)}

## Set

${settings(name, profile)}

## Test

\`check\`, with the settings of the relay, shows ${displayName} the client and a made-up code. \`login\` signs in:

    sign-in-relay check
    sign-in-relay login ${name} --relay https://relay.example

If it fails, the relay's log says why, with the status and the error of ${displayName}.

## What goes wrong

${numbered(profile.traps)}

## What the relay sends

${describeRequests(profile)}

## What the relay gets

${describeTokens(profile)}

## Signing out

${describeSigningOut(profile)}

## Its own device flow

${describeDeviceFlow(profile)}

${describeUnverified(profile)}

## Sources

${describeSources(sources, checked)}
`;
}

function numbered(items: readonly string[]): string {
  return items.map((item, index) => `${index + 1}. ${item}`).join('\n');
}

function list(items: readonly string[], mark: string): string {
  return items.map((item) => `${mark}${item}`).join('\n');
}

function describeRefusedRedirects({ displayName, refusedRedirects }: Profile): string {
  if (refusedRedirects === undefined) return '';
  const kinds = refusedRedirects.map((kind) => REDIRECT_KINDS[kind].all).join('; ');
  return `\n\n${displayName} refuses in it: ${kinds}. The relay warns of that when it starts.`;
}

function steps({ register }: Profile): readonly string[] {
  const isNamed = register.some((step) => step.includes('redirect URI'));
  return isNamed ? register : [...register, 'Enter the redirect URI below.'];
}

function describeReview({ review }: Profile): string {
  return review === undefined ? '' : `## Review\n\n${review}`;
}

function settings(name: string, profile: Profile): string {
  const prefix = prefixOf(name);
  const lines = [
    `PROVIDERS=${name}`,
    ...(isSelfHosted(profile) ? [`${prefix}URL=${exampleUrlOf(name)}`] : []),
    `${prefix}CLIENT_ID=…`,
    ...(profile.clientSecret === undefined
      ? [`${prefix}CLIENT_SECRET_FILE=/run/secrets/${name}`]
      : []),
    ...(profile.userAgentNames ? [`${prefix}USER_AGENT=…`] : []),
  ];
  const notes = [
    describeOwnUrl(prefix, profile),
    profile.clientSecret === 'optional'
      ? `If the app has a secret, set \`${prefix}CLIENT_SECRET_FILE\` too. Without one, only PKCE protects the code.`
      : '',
    profile.userAgentNames
      ? `\`${prefix}USER_AGENT\` should name ${profile.userAgentNames}. Unset, it is \`sign-in-relay\`.`
      : '',
    profile.scope === undefined
      ? `No scope is sent unless you set \`${prefix}SCOPE\`.`
      : `The scope is \`${profile.scope}\` unless you set \`${prefix}SCOPE\` to what your app needs${keepsRefreshing(profile)}.`,
  ].filter(Boolean);
  return `${list(lines, '    ')}\n\n${notes.join('\n')}`;
}

function isSelfHosted({ authorizeUrl, defaultUrl }: Profile): boolean {
  return authorizeUrl.includes(OWN_URL) && defaultUrl === undefined;
}

function describeOwnUrl(prefix: string, profile: Profile): string {
  const { authorizeUrl, defaultUrl, displayName } = profile;
  if (!authorizeUrl.includes(OWN_URL)) return '';
  return defaultUrl === undefined
    ? `\`${prefix}URL\` is the address of your ${displayName}, on which the endpoints below depend. The relay and the users’ browsers have to reach it. It must be https, or on this machine.`
    : `For a ${displayName} of your own set \`${prefix}URL\` to its address.`;
}

function keepsRefreshing({ refreshToken, scope }: Profile): string {
  return refreshToken !== 'never' && refreshToken.given === 'with the scope above'
    ? `; keep \`${findOfflineScope(scope)}\` in it, or there is no refresh token`
    : '';
}

function findOfflineScope(scope = ''): string {
  return scope.split(' ').find((each) => each.startsWith('offline')) ?? scope;
}

function describeParameters(parameters: Profile['authorizeParams'] = {}): string {
  const each = Object.entries(parameters).map(([name, value]) => `\`${name}=${value}\``);
  return each.join(' and ');
}

function describeRequests(profile: Profile): string {
  const { authorizeParams, quirks = {} } = profile;
  const { tokenRequest, clientIdHeader, refreshesWithRedirectUri } = quirks;
  const rows = [
    ['authorization endpoint', profile.authorizeUrl],
    ['token endpoint', profile.tokenUrl],
    ...(profile.refreshUrl ? [['refresh endpoint', profile.refreshUrl]] : []),
    ['PKCE', profile.pkce],
    ['scope', profile.scope === undefined ? 'none' : `\`${profile.scope}\``],
    ['parameters', describeParameters(authorizeParams) || 'none'],
    ['client secret', describeAuthentication(profile)],
    ['token request', tokenRequest ? 'JSON' : 'a form'],
    ['revocation endpoint', profile.revocation?.url ?? 'none'],
    ...(clientIdHeader ? [['client id also in', `the header \`${clientIdHeader}\``]] : []),
    ...(refreshesWithRedirectUri ? [['a refresh also has', '`redirect_uri`']] : []),
  ];
  return ['| | |', '|---|---|', ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
}

function describeAuthentication({ clientAuth, clientSecret }: Profile): string {
  if (clientSecret === 'none') return 'none';
  const how = clientAuth === 'basic' ? 'HTTP Basic' : 'in the body (`post`)';
  return `${clientSecret ?? 'required'}, ${how}`;
}

function describeTokens(profile: Profile): string {
  const lines = [...describeRefreshToken(profile), `Lifetime: ${profile.lifetime}.`];
  return list(lines, '- ');
}

function describeRefreshToken({ refreshToken, authorizeParams, scope }: Profile): string[] {
  if (refreshToken === 'never') {
    return ['Refresh token: never. When the access token has expired, the user signs in again.'];
  }
  const given = {
    always: 'with every sign-in',
    'with the parameters above': `only with ${describeParameters(authorizeParams)}`,
    'with the scope above': `only with \`${findOfflineScope(scope)}\` in the scope`,
    sometimes: 'sometimes',
  };
  const store = refreshToken.rotates === 'no' ? '' : ' Store it before you refresh again.';
  return [
    `Refresh token: ${given[refreshToken.given]}.`,
    `A refresh gives another refresh token: ${refreshToken.rotates}.${store}`,
  ];
}

function describeSigningOut({ displayName, revocation, removeAt }: Profile): string {
  if (revocation !== undefined) {
    const { url, takes, method = 'POST' } = revocation;
    const detail = takes
      ? ' It takes only access tokens, so the relay first refreshes one that has expired.'
      : '';
    return `The relay revokes the tokens of a user who signs out, by ${method} to ${url}.${detail}`;
  }
  const forgets = `No revocation endpoint of ${displayName} that the relay can use is known, so an app that signs its user out can only forget the tokens. They work until they expire`;
  return removeAt === undefined
    ? `${forgets}, or until the user removes the app in the settings of the account.`
    : `${forgets}, or until the user removes the app: ${removeAt}.`;
}

function describeDeviceFlow({ displayName, deviceFlow }: Profile): string {
  if (deviceFlow === undefined) return 'None was found.';
  return `${deviceFlow}

If your app signs in only at ${displayName}, it may not need the relay.`;
}

function describeUnverified({ unverified = {} }: Profile): string {
  const doubts = Object.entries(unverified).map(([fact, reason]) => `${fact}: ${reason}.`);
  return doubts.length === 0 ? '' : `## Unverified\n\n${list(doubts, '- ')}`;
}

function describeSources(sources: readonly string[], checked: string): string {
  const urls = sources.map((url) => `<${url}>`);
  return `Stored copies of these were read on ${checked}. Nothing was tested with an account.\n\n${list(urls, '- ')}`;
}
