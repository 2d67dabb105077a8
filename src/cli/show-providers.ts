/** `sign-in-relay providers [name]`: a table of all that can be enabled by name, or the guide to one. */
import { prefixOf } from '../providers/config.ts';
import { readGuides } from '../providers/guides.ts' with { type: 'macro' };
import { PROFILES, UNSUPPORTED } from '../providers/known.ts';
import { OWN_URL, type Profile } from '../providers/profile.ts';
import { didYouMean } from '../settings/misspelt.ts';

const GUIDES: ReadonlyMap<string, string> = new Map(Object.entries(readGuides()));

/** Shows all of them if no name is given. */
export function showProviders(name: string | undefined) {
  if (name === undefined) return { isFound: true, text: describeAll() };
  const guide = GUIDES.get(name);
  const profile = PROFILES.get(name);
  if (guide === undefined) {
    const text = `No provider is called ${JSON.stringify(name)}.${didYouMean(name)}\n\n${OTHERS}\n`;
    return { isFound: false, text };
  }
  if (profile === undefined) return { isFound: true, text: guide };
  const [beginning = '', sources = ''] = guide.split(/^(?=## Sources$)/m);
  return { isFound: true, text: beginning + describeUse(name, profile) + sources };
}

const OTHERS = `Any other provider is enabled by <NAME>_ISSUER, or by <NAME>_AUTHORIZE_URL and
<NAME>_TOKEN_URL: see docs/configuration.md.`;

/** What is the same for every provider, or in its profile. */
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

${wrap(`Not by their names: ${UNSUPPORTED.join(', ')}.`)}
sign-in-relay providers <name> says why, and what to do instead.

${OTHERS}
`;
}

function cellsOf(name: string, profile: Profile): readonly string[] {
  const { displayName, pkce, clientSecret, refreshToken, hasDeviceFlow, unverified } = profile;
  return [
    unverified ? `${name} *` : name,
    displayName,
    pkce,
    clientSecret ?? 'required',
    refreshToken,
    hasDeviceFlow ? 'of its own' : '-',
  ];
}

/** In lines of at most 80 columns. */
function wrap(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length <= 80) lines.pop();
    lines.push(longer.length <= 80 ? longer : word);
  }
  return lines.join('\n');
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(COLUMNS[index]?.[1] ?? 0))
    .join('')
    .trimEnd();
}
