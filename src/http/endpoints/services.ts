/** `GET /services`: what a device can offer its user at this relay. docs/extensions.md. */
import type { BlindPolicy, Provider, Providers } from '../../providers/provider.ts';
import type { Handler } from '../app.ts';
import { jsonResponse } from '../responses.ts';

/** What this relay speaks beyond the core of the protocol. */
const EXTENSIONS = [
  ...['code', 'ack', 'device', 'wait', 'progress', 'cancel', 'details', 'challenge', 'refresh'],
];

/** An enabled provider, discovered or not. */
export interface OfferedService {
  readonly name: string;
  readonly displayName: string;
}

/** `offered` is in the order of `PROVIDERS`. */
export function createServices(
  offered: readonly OfferedService[],
  providers: Providers,
  policy: BlindPolicy,
): Handler {
  return () => {
    const services = offered.map(({ name, displayName }) => {
      const blind = describeBlind(providers.get(name), policy);
      return { service: name, name: displayName, blind };
    });
    return jsonResponse({ services, extensions: EXTENSIONS });
  };
}

/** Until its issuer has told, an undiscovered provider is not known to take a challenge. */
function describeBlind(
  provider: Provider | 'undiscovered' | undefined,
  policy: BlindPolicy,
): 'no' | 'can' | 'must' {
  if (policy === 'always') return 'must';
  const isPossible = typeof provider === 'object' && provider.takesChallenge;
  return isPossible && policy === 'allow' ? 'can' : 'no';
}
