/** What the front doors are made of. */
import type { EnabledProviders } from '../providers/enabled.ts';
import type { CodeGrant } from '../providers/exchange.ts';
import type { Provider } from '../providers/provider.ts';
import type { RefreshGrant } from '../providers/refresh.ts';
import type { TokenOutcome } from '../providers/token-endpoint.ts';
import type { UpstreamLimit } from '../providers/upstream-limit.ts';
import type { Clock } from '../relay/clock.ts';
import type { RateLimiter } from '../relay/rate-limit.ts';
import type { RefreshAnswers } from '../relay/refresh-answers.ts';
import type { Relay } from '../relay/relay.ts';
import type { Admit, LimitPair } from './admission.ts';
import type { BeginSignIn } from './begin-sign-in.ts';

export interface AuthDoorOptions {
  readonly relay: Relay;
  /** Of those who begin a sign-in, by address. */
  readonly rateLimiter: RateLimiter;
  readonly admit: Admit;
  readonly beginSignIn: BeginSignIn;
  readonly providers: EnabledProviders;
  readonly exchange: (provider: Provider, grant: CodeGrant) => Promise<TokenOutcome>;
  readonly upstreamLimit: UpstreamLimit;
  readonly clock: Clock;
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  /** Of web apps that may ask as devices do. */
  readonly corsOrigins: readonly string[];
  /** When a person is asked before being sent to the provider. docs/person.md. */
  readonly confirm: 'always' | 'code' | 'never';
  /** What the pages call the app that people sign in to; absent: they name none. */
  readonly appName?: string;
  /** Of those who ask for pictures; in this process alone, whose time they take. */
  readonly qrLimits: LimitPair;
  /** Of those who try user codes. RFC 8628 §5.1; the arithmetic is in docs/person.md. */
  readonly codeLimits: LimitPair;
}

/** Besides: what only the door of RFC 8628 needs. */
export interface OAuthDoorOptions extends AuthDoorOptions {
  readonly refreshLimiter: RateLimiter;
  /** Of those who poll, by device code; in this process alone, as it costs nobody but it. */
  readonly pollPace: RateLimiter;
  /** For so long after its first delivery a device code gets the same tokens again; 0: once. */
  readonly deviceGrantRepeatSeconds: number;
  readonly refreshAnswers: RefreshAnswers;
  readonly refresh: (provider: Provider, grant: RefreshGrant) => Promise<TokenOutcome>;
}
