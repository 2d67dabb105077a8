/** `GET /services`: the providers and extensions of this relay. docs/extensions.md. */
import type { BlindPolicy } from '../../providers/config.ts';
import type { Providers } from '../../providers/provider.ts';
import type { Handler } from '../app.ts';
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

/** In the order of `PROVIDERS`. */
export function createServices(
  providers: Providers,
  policy: BlindPolicy,
  canRevoke: (service: string) => boolean,
): Handler {
  return () => {
    const services = providers.offered.map(({ name, displayName }) => {
      const blind = describeBlind(providers.find(name), policy);
      return { service: name, name: displayName, blind, revoke: canRevoke(name) };
    });
    return jsonResponse({ services, extensions: EXTENSIONS });
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
