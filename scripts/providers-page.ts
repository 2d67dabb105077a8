import { PROFILES } from '../src/providers/known.ts';
import { findUnverified, type Profile } from '../src/providers/profile.ts';
import { UNSUPPORTED } from '../src/providers/unsupported.ts';

/** Returns the text of docs/providers/unsupported.md. */
export function writeUnsupportedPage(): string {
  const sections = [...UNSUPPORTED.values()].map(
    ({ displayName, reason, instead, sources }) => `## ${displayName}

${reason}

${instead}

Read on 2026-11-22: ${sources.map((source) => `<${source}>`).join(', ')}`,
  );
  return `# Providers that cannot be enabled by name

This page is for operators: which providers the relay does not sign in at, why, and what to do instead. The others are in [providers.md](../providers.md).

${sections.join('\n\n')}
`;
}

/** Returns the text of docs/providers.md. */
export function writeProvidersPage(): string {
  const profiled = [...PROFILES].map(([name, profile]) => profileRow(name, profile));
  return `# Providers

This page is for operators: which providers you can enable by naming them in \`PROVIDERS\`. Settings are in [configuration.md](configuration.md#providers). In a terminal, \`sign-in-relay providers\` prints the first table, and \`sign-in-relay providers spotify\` the guide to one.

## With a profile

For these ${profiled.length} the relay knows what to send. Set a client id, and a secret where the table says so. Each name links to a guide: where to register, what to enter there, what to set, how to test, and what goes wrong.

| name | provider | PKCE | secret | scope unless you set one | refresh token | own device flow | unverified |
|---|---|---|---|---|---|---|---|
${profiled.join('\n')}

- **Facts** are from the provider's own documentation, or from what maintained libraries send. Each guide lists the sources and the day on which stored copies of them were read. None was tested with an account; tests sign in and refresh at mock providers that behave as documented.
- **Unverified** is a fact for which sources differ or none was found. The relay logs it when it starts.
- **Own device flow**: if a provider has one and your app only needs that provider, you may not need the relay.

## Not by name

${[...UNSUPPORTED.values()].map(({ displayName }) => displayName).join(', ')}: [why, and what to do instead](providers/unsupported.md).

## Any other provider

By its [issuer](configuration.md#by-issuer), if it has discovery, or by its [two endpoints](configuration.md#by-endpoints).
`;
}

function profileRow(name: string, profile: Profile): string {
  const { displayName, pkce, clientSecret, scope, refreshToken, deviceFlow } = profile;
  const cells = [
    `[\`${name}\`](providers/${name}.md)`,
    displayName,
    pkce,
    clientSecret,
    scope === undefined ? '–' : `\`${scope}\``,
    refreshToken === 'never' ? 'never' : 'yes',
    deviceFlow === 'none' ? '–' : 'yes',
    findUnverified(profile).join(', ') || '–',
  ];
  return `| ${cells.join(' | ')} |`;
}
