/** `sign-in-relay providers [name]`: a table of all that can be enabled by name, or the guide to one. */
import { writeGuide, writeUnsupportedGuide } from '../providers/guide.ts';
import { PROFILES } from '../providers/known.ts';
import type { Profile } from '../providers/profile.ts';
import { UNSUPPORTED } from '../providers/unsupported.ts';
import { didYouMean } from '../settings/misspelt.ts';

/** Shows all of them if no name is given. */
export function showProviders(name: string | undefined) {
  if (name === undefined) return { isFound: true, text: describeAll() };
  const profile = PROFILES.get(name);
  if (profile) return { isFound: true, text: writeGuide(name, profile) };
  const unsupported = UNSUPPORTED.get(name);
  if (unsupported) return { isFound: true, text: writeUnsupportedGuide(unsupported) };
  const text = `No provider is called ${JSON.stringify(name)}.${didYouMean(name)}\n\n${OTHERS}\n`;
  return { isFound: false, text };
}

const OTHERS = `Any other provider is enabled by <NAME>_ISSUER, or by <NAME>_AUTHORIZE_URL and
<NAME>_TOKEN_URL: see docs/configuration.md.`;

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

${wrap(`Not by their names: ${[...UNSUPPORTED.keys()].join(', ')}.`)}
sign-in-relay providers <name> says why, and what to do instead.

${OTHERS}
`;
}

const REFRESH_TOKENS = {
  always: 'yes',
  'with the parameters above': 'yes',
  'with the scope above': 'yes',
  sometimes: 'sometimes',
};

function cellsOf(name: string, profile: Profile): readonly string[] {
  const { displayName, pkce, clientSecret, refreshToken, deviceFlow, unverified } = profile;
  return [
    unverified ? `${name} *` : name,
    displayName,
    pkce,
    clientSecret ?? 'required',
    refreshToken === 'never' ? 'never' : REFRESH_TOKENS[refreshToken.given],
    deviceFlow === undefined ? '-' : 'of its own',
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
