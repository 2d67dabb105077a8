/** `GET /services`: the providers and extensions of this relay. docs/extensions.md. */
import type { BlindPolicy } from '../../providers/config.ts';
import type { Providers } from '../../providers/provider.ts';
import type { Handler } from '../app.ts';
import { jsonResponse } from '../responses.ts';

export const EXTENSIONS = [
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

const TOKEN_EXTENSIONS = ['refresh', 'revoke'];

/** Lists the services in the order of `PROVIDERS`. */
export function createServices(
  providers: Providers,
  blind: BlindPolicy,
  hasOpenSignIns: boolean,
): Handler {
  // With BLIND=always the relay must not see tokens, so it takes none.
  const own = EXTENSIONS.filter((name) => blind !== 'always' || !TOKEN_EXTENSIONS.includes(name));
  const extensions = hasOpenSignIns ? [...own, 'open'] : own;
  return () => {
    const services = providers.offered.map(({ name, displayName }) => {
      return {
        service: name,
        name: displayName,
        blind: describeBlind(providers.find(name), blind),
        revoke: canRevoke(providers, blind, name),
      };
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

/** True if the relay revokes tokens of this service. False until discovery reports an endpoint. */
export function canRevoke(providers: Providers, blind: BlindPolicy, service: string): boolean {
  const found = providers.find(service);
  return blind !== 'always' && found.ok && found.provider.revokes !== undefined;
}
