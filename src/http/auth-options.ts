/** What the front door of the specification is made of. */
import type { EnabledProviders } from '../providers/enabled.ts';
import type { ExchangeOutcome, Grant } from '../providers/exchange.ts';
import type { Provider } from '../providers/provider.ts';
import type { Clock } from '../relay/clock.ts';
import type { RateLimiter } from '../relay/rate-limit.ts';
import type { Relay } from '../relay/relay.ts';
import type { FindClientAddress } from './client-address.ts';

export interface AuthDoorOptions {
  readonly relay: Relay;
  readonly rateLimiter: RateLimiter;
  readonly findClientAddress: FindClientAddress;
  readonly providers: EnabledProviders;
  readonly exchange: (provider: Provider, grant: Grant) => Promise<ExchangeOutcome>;
  readonly clock: Clock;
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
}
