/** `GET /services`: the providers and extensions of this relay. docs/extensions.md. */
import type { BlindPolicy } from '../../providers/config.ts';
import type { Providers } from '../../providers/provider.ts';
import type { Handler } from '../app.ts';
import type { Parts } from '../parts.ts';
import { jsonResponse } from '../responses.ts';

const EXTENSIONS = [
  'code',
  'ack',
  'device',
  'wait',
  'progress',
  'cancel',
  'details',
  'challenge',
  'refresh',
  'revoke',
];

/** Lists the services in the order of `PROVIDERS`. */
export function createServices(parts: Parts): Handler {
  const { providers, openEndpoints } = parts;
  const extensions = openEndpoints === undefined ? EXTENSIONS : [...EXTENSIONS, 'open'];
  return () => {
    const services = providers.offered.map(({ name, displayName }) => {
      const blind = describeBlind(providers.find(name), parts.blind);
      return { service: name, name: displayName, blind, revoke: canRevoke(parts, name) };
    });
    return jsonResponse({ services, extensions });
  };
}

/** An undiscovered provider counts as one that takes no challenge. */
function describeBlind(
  found: ReturnType<Providers['find']>,
  policy: BlindPolicy,
): 'no' | 'can' | 'must' {
  if (policy === 'always') return 'must';
  const isPossible = found.ok && found.provider.takesChallenge;
  return isPossible && policy === 'allow' ? 'can' : 'no';
}

/** Whether the relay revokes tokens of a service. False before discovery, which tells. */
export function canRevoke({ providers, blind }: Parts, service: string): boolean {
  const found = providers.find(service);
  return blind !== 'always' && found.ok && found.provider.revokes !== undefined;
}
