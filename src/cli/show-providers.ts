/** `sign-in-relay providers [name]`: a table of all that can be enabled by name, or the guide to one. */
import { prefixOf, USER_AGENT } from '../providers/config.ts';
import { readGuides } from '../providers/guides.ts' with { type: 'macro' };
import { capitalized, OWN_URL, PROFILES, type Profile } from '../providers/profiles.ts';
import { REDIRECT_KINDS } from '../providers/redirect-uris.ts';
import { didYouMean } from '../settings/misspelt.ts';
import { wrap } from '../settings/names.ts';
import { CommandError } from './command-line.ts';

const GUIDES: ReadonlyMap<string, string> = new Map(Object.entries(readGuides()));

/** Providers that can't be enabled by their names. Their guides say why, and what to do instead. */
const UNSUPPORTED = [...GUIDES.keys()].filter((name) => !PROFILES.has(name));

/** True if some facts in the profile may be wrong. The guide says which, and why. */
export const hasUnverified = (name: string) =>
  GUIDES.get(name)?.includes('\n## Unverified\n') === true;

/** Shows all providers if no name is given. Throws CommandError for a name without a guide. */
export function showProviders(name: string | undefined): string {
  if (name === undefined) return describeAll();
  const guide = GUIDES.get(name);
  const profile = PROFILES.get(name);
  if (guide === undefined) {
    const problem = `No provider is called ${JSON.stringify(name)}.${didYouMean(name)}`;
    throw new CommandError(problem, 1, `${OTHERS}\n`);
  }
  const displayName = profile?.displayName ?? DISPLAY_NAMES[name] ?? capitalized(name);
  const text =
    profile === undefined
      ? `${displayName} can’t be enabled by its name. ${guide}`
      : completeGuide(name, profile, guide);
  return `# ${displayName}\n\n${text}\n${CAVEAT}\n`;
}

/** How providers without a profile write their names, if a capital letter is not enough. */
const DISPLAY_NAMES: Readonly<Record<string, string>> = {
  lastfm: 'Last.fm',
  playstation: 'PlayStation',
  realdebrid: 'Real-Debrid',
  tado: 'tado',
  vk: 'VK',
};

const CAVEAT = 'Stored copies of the sources were read. Nothing was tested with an account.';

const OTHERS = `Any other provider is enabled by <NAME>_ISSUER, or by <NAME>_AUTHORIZE_URL and
<NAME>_TOKEN_URL: see docs/configuration.md.`;

/** Adds to each section what its profile says, and what is the same for every provider. */
function completeGuide(name: string, profile: Profile, guide: string): string {
  const { deviceFlow } = profile;
  const [register = '', ...sections] = guide.split(/^(?=## )/m);
  const completed = sections.map((section) => {
    if (section.startsWith('## What goes wrong')) {
      const after = deviceFlow === undefined ? '' : `## Its own device flow\n\n${deviceFlow}\n\n`;
      return describeSettings(name, profile) + describeTokens(name, profile) + section + after;
    }
    return section.startsWith('## Sources') ? describeUse(name, profile) + section : section;
  });
  const uris = addRedirectUri(name, register) + describeRefusedRedirects(profile);
  return `## Register\n\n${uris}${completed.join('')}`;
}

/** Writes the redirect URI in its place, or as the last step. */
function addRedirectUri(name: string, register: string): string {
  const uri = `\`https://relay.example/auth/${name}/callback\`, with your own \`OAUTH_BASE_URL\``;
  const { length } = register.match(/^\d\. /gm) ?? [];
  if (register.includes(PLACE) || !length) return register.replace(PLACE, uri);
  return `${register.trimEnd()}\n${length + 1}. Enter the redirect URI: ${uri}.\n\n`;
}

const PLACE = '[redirect URI]';

function describeRefusedRedirects({ displayName, refusedRedirects }: Profile): string {
  if (refusedRedirects === undefined) return '';
  const kinds = refusedRedirects.map((kind) => {
    const { what, instead } = REDIRECT_KINDS[kind];
    return `${what} (${instead})`;
  });
  const exception = refusedRedirects.includes('http') ? ', except on the machine itself' : '';
  return `${displayName} refuses a redirect URI with ${kinds.join(' or with ')}${exception}.\n\n`;
}

function describeSettings(name: string, profile: Profile): string {
  const { displayName, authorizeUrl, defaultUrl, clientSecret, userAgentNames } = profile;
  const prefix = prefixOf(name);
  const isOwnServer = authorizeUrl.startsWith(OWN_URL);
  const needsUrl = isOwnServer && defaultUrl === undefined;
  const lines = [
    `PROVIDERS=${name}`,
    needsUrl && `${prefix}URL=https://${name}.example`,
    `${prefix}CLIENT_ID=…`,
    clientSecret === undefined && `${prefix}CLIENT_SECRET_FILE=/run/secrets/${name}`,
    userAgentNames && `${prefix}USER_AGENT=…`,
  ];
  const notes = [
    needsUrl &&
      `\`${prefix}URL\` is the address of your ${displayName}. The relay and the users’ browsers must be able to reach it. It must be https, or on this machine.`,
    isOwnServer &&
      !needsUrl &&
      `For a ${displayName} of your own, set \`${prefix}URL\` to its address.`,
    clientSecret === 'optional' &&
      `If your app has a client secret, set \`${prefix}CLIENT_SECRET_FILE\` too. Otherwise only PKCE protects the code.`,
    userAgentNames &&
      `\`${prefix}USER_AGENT\` should name ${userAgentNames}. If unset, it is \`${USER_AGENT}\`.`,
  ];
  const block = lines.filter(Boolean).map((line) => `    ${line}`);
  return ['## Set', block.join('\n'), ...notes.filter(Boolean), ''].join('\n\n');
}

function describeTokens(name: string, profile: Profile): string {
  const items = [
    describeRefresh(profile),
    describeOffline(name, profile),
    `Access tokens last ${profile.lifetime}.`,
    describeRevocation(profile),
  ];
  const list = items.filter(Boolean).map((item) => `- ${item}\n`);
  return `## Tokens\n\n${list.join('')}\n`;
}

function describeRefresh({ displayName, refreshToken, rotation }: Profile): string {
  if (refreshToken === 'never') {
    return `${displayName} gives no refresh token. When the access token no longer works, the user signs in again.`;
  }
  const first = refreshToken === undefined ? 'Each sign-in gives' : 'Some sign-ins give';
  const next = rotation === undefined ? 'Each refresh gives' : 'A refresh may give';
  const second =
    rotation === 'never'
      ? 'A refresh gives no new one.'
      : `${next} a new one, which the app must store before it refreshes again.`;
  return `${first} a refresh token. ${second}`;
}

/** What a sign-in must ask for to get a refresh token. OpenID Connect Core §11. */
function describeOffline(name: string, profile: Profile): string | undefined {
  const { scope = '', authorizeParams = {}, paramsGiveRefreshToken } = profile;
  const word = scope.split(' ').find((each) => each.startsWith('offline'));
  if (word !== undefined) {
    return `A refresh token comes only with \`${word}\` in the scope: keep it in \`${prefixOf(name)}SCOPE\`.`;
  }
  if (!paramsGiveRefreshToken) return undefined;
  const params = Object.entries(authorizeParams).map((pair) => `\`${pair.join('=')}\``);
  return `A refresh token comes only with ${params.join(' and ')}, which the relay sends.`;
}

function describeRevocation({ displayName, revocation, removeAt, refreshToken }: Profile): string {
  const isUrl = removeAt?.startsWith('https:');
  const place = isUrl ? `at <${removeAt}>` : `in ${removeAt ?? 'the settings of the account'}`;
  if (revocation === undefined) {
    return `The relay can’t revoke tokens, because it knows no revocation endpoint that it can use. They work until they expire, or until the user removes the app ${place}.`;
  }
  const refreshesFirst = revocation.takes && refreshToken !== 'never';
  return [
    'The relay revokes the tokens of a user who signs out.',
    refreshesFirst &&
      `${displayName} revokes only access tokens, so for a refresh token the relay refreshes, and revokes the new one.`,
    removeAt && `The user can also remove the app ${place}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function describeUse(name: string, profile: Profile): string {
  const { displayName, scope } = profile;
  const advice = scope ? ` Set \`${prefixOf(name)}SCOPE\` to what your app needs.` : '';
  return `## Test

    sign-in-relay check
    sign-in-relay login ${name} --relay https://relay.example

\`check\`, with the settings of the relay, sends the client and a made-up code to ${displayName}. \`login\` signs in. If it fails, the relay’s log says why.

## Defaults

The relay uses these unless you set them.${advice}

${listDefaults(name, profile)}

`;
}

function listDefaults(name: string, profile: Profile): string {
  const { clientAuth = 'post', authorizeParams = {}, defaultUrl } = profile;
  const values = {
    URL: defaultUrl,
    AUTHORIZE_URL: profile.authorizeUrl,
    TOKEN_URL: profile.tokenUrl,
    REFRESH_URL: profile.refreshUrl,
    REVOKE_URL: profile.revocation?.url,
    PKCE: profile.pkce,
    CLIENT_AUTH: profile.clientSecret === 'none' ? undefined : clientAuth,
    SCOPE: profile.scope,
    AUTHORIZE_PARAMS: new URLSearchParams(authorizeParams).toString(),
  };
  return Object.entries(values)
    .filter(([, value]) => value)
    .map(([setting, value]) => `    ${prefixOf(name)}${setting}=${value}`)
    .join('\n')
    .replaceAll(OWN_URL, defaultUrl ?? `https://${name}.example`);
}

const COLUMNS = [
  ['name', 15],
  ['provider', 16],
  ['PKCE', 8],
  ['secret', 11],
  ['refresh token', 16],
  ['device flow', 0],
] as const;

function describeAll(): string {
  const profiles = [...PROFILES].map(([name, profile]) => row(cellsOf(name, profile)));
  return `${row(COLUMNS.map(([heading]) => heading))}
${profiles.join('\n')}

* Some facts are unverified.
sign-in-relay providers <name> shows the guide to one: where to register,
what to enter there, what to set, how to test, and what goes wrong.

${wrap(`Not by their names: ${UNSUPPORTED.join(', ')}.`).join('\n')}
sign-in-relay providers <name> says why, and what to do instead.

${OTHERS}
`;
}

function cellsOf(name: string, profile: Profile): readonly string[] {
  const { displayName, pkce, clientSecret, refreshToken, deviceFlow } = profile;
  return [
    hasUnverified(name) ? `${name} *` : name,
    displayName,
    pkce,
    clientSecret ?? 'required',
    refreshToken ?? 'yes',
    deviceFlow === undefined ? '-' : 'of its own',
  ];
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(COLUMNS[index]?.[1] ?? 0))
    .join('')
    .trimEnd();
}
