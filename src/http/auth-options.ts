/** What the front door of the specification is made of. */
import type { EnabledProviders } from '../providers/enabled.ts';
import type { ExchangeOutcome, Grant } from '../providers/exchange.ts';
import type { Provider } from '../providers/provider.ts';
import type { Clock } from '../relay/clock.ts';
import type { RateLimiter } from '../relay/rate-limit.ts';
import type { Relay } from '../relay/relay.ts';
import type { Admit } from './admission.ts';
import type { BeginSignIn } from './begin-sign-in.ts';

export interface AuthDoorOptions {
  readonly relay: Relay;
  /** Of those who begin a sign-in, by address. */
  readonly rateLimiter: RateLimiter;
  readonly admit: Admit;
  readonly beginSignIn: BeginSignIn;
  readonly providers: EnabledProviders;
  readonly exchange: (provider: Provider, grant: Grant) => Promise<ExchangeOutcome>;
  readonly clock: Clock;
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
}
