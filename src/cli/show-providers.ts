/** `sign-in-relay providers [name]`: what docs/providers.md and docs/providers/ say, in a terminal. */
import { ENDPOINTS, type KnownEndpoints } from '../providers/endpoints.ts';
import { writeGuide } from '../providers/guide.ts';
import { PROFILES } from '../providers/known.ts';
import { findUnverified, type Profile } from '../providers/profile.ts';
import { prefixOf } from '../providers/provider.ts';
import { UNSUPPORTED, type Unsupported } from '../providers/unsupported.ts';
import { didYouMean } from '../settings/misspelt.ts';

export interface ProvidersText {
  readonly isFound: boolean;
  readonly text: string;
}

/** Without a name: all of them. */
export function showProviders(name: string | undefined): ProvidersText {
  if (name === undefined) return { isFound: true, text: describeAll() };
  const profile = PROFILES.get(name);
  if (profile) return { isFound: true, text: writeGuide(name, profile) };
  const facts = ENDPOINTS.get(name);
  if (facts) return { isFound: true, text: describeEndpoints(name, facts) };
  const unsupported = UNSUPPORTED.get(name);
  if (unsupported) return { isFound: true, text: describeUnsupported(unsupported) };
  const text = `No provider is called ${JSON.stringify(name)}.${didYouMean(name)}\n`;
  return { isFound: false, text };
}

const COLUMNS = [
  ['name', 14],
  ['provider', 14],
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

Endpoints only; you set PKCE and scopes:

${wrap([...ENDPOINTS.keys()]).join('\n')}
`;
}

function cellsOf(name: string, profile: Profile): readonly string[] {
  const { displayName, pkce, clientSecret, refreshToken, deviceFlow } = profile;
  return [
    findUnverified(profile).length > 0 ? `${name} *` : name,
    displayName,
    pkce,
    clientSecret,
    refreshToken === 'never' ? 'never' : 'yes',
    deviceFlow === 'none' ? '-' : 'of its own',
  ];
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(COLUMNS[index]?.[1] ?? 0))
    .join('')
    .trimEnd();
}

/** Lines of at most 78 characters. */
function wrap(names: readonly string[]): readonly string[] {
  return names.join(' ').match(/\S.{0,77}(?=\s|$)/g) ?? [];
}

function describeEndpoints(name: string, facts: KnownEndpoints): string {
  const prefix = prefixOf(name);
  const known = [
    `authorization endpoint   ${facts.authorizeUrl}`,
    `token endpoint           ${facts.tokenUrl}`,
    `client secret            ${facts.clientAuth === 'basic' ? 'by HTTP Basic' : 'in the body (post)'}`,
    ...(facts.quirks?.tokenRequest ? ['token requests           in JSON'] : []),
    `compared with            ${facts.source}`,
  ];
  return `Only this is known of ${name}; it was not tested with an account:

${known.join('\n')}

Set ${prefix}PKCE and ${prefix}SCOPE as its documentation says,
and ${prefix}AUTHORIZE_PARAMS if it needs one to give a refresh token.
`;
}

function describeUnsupported({ displayName, reason, instead, sources }: Unsupported): string {
  return `${displayName} cannot be enabled by its name. ${reason}

${instead}

Read in:
${sources.map((source) => `  ${source}`).join('\n')}
`;
}
