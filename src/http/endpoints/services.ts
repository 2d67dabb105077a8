/** `GET /services`: the providers and extensions of this relay. docs/extensions.md. */
import type { BlindPolicy } from '../../providers/config.ts';
import type { ProviderLookup } from '../../providers/provider.ts';
import type { Handler } from '../app.ts';
import type { Dependencies } from '../dependencies.ts';
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
export function createServices({ providers, blind, openEndpoints }: Dependencies): Handler {
  // With BLIND=always the relay must not see tokens, so it takes none.
  const own = EXTENSIONS.filter((name) => blind !== 'always' || !TOKEN_EXTENSIONS.includes(name));
  const extensions = openEndpoints === undefined ? own : [...own, 'open'];
  return () => {
    const services = providers.offered.map(({ name, displayName }) => {
      const found = providers.find(name);
      // An undiscovered provider counts as one that takes no challenge.
      const takesChallenge = found.ok && found.provider.takesChallenge && blind === 'allow';
      return {
        service: name,
        name: displayName,
        blind: blind === 'always' ? 'must' : takesChallenge ? 'can' : 'no',
        revoke: canRevoke(found, blind),
      };
    });
    return jsonResponse({ services, extensions });
  };
}

/** True if the relay revokes tokens of this service. False until discovery reports an endpoint. */
export function canRevoke(found: ProviderLookup, blind: BlindPolicy): boolean {
  return blind !== 'always' && found.ok && found.provider.revokes !== undefined;
}
