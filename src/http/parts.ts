/** What the endpoints are made of: the settings, the relay, and what they share. Made once. */
import type { Monitor } from '../monitor.ts';
import { type Branding, createPages } from '../pages/pages.ts';
import type { BlindPolicy } from '../providers/config.ts';
import type { OpenEndpoints } from '../providers/open.ts';
import type { Providers } from '../providers/provider.ts';
import type { RateLimiter, RateLimitPair } from '../relay/rate-limit.ts';
import type { Refreshes } from '../relay/refresh.ts';
import type { Relay } from '../relay/relay.ts';
import type { Revocations } from '../relay/revoke.ts';
import type { SessionStore } from '../relay/store.ts';
import type { Clock } from '../relay/time.ts';
import { createAdmission } from './admission.ts';
import type { FindClientAddress } from './client-address.ts';
import { createContinueCookies } from './continue-cookies.ts';
import type { Health } from './health.ts';
import { basePathOf, createBodyReader } from './request.ts';
import { createPageResponses } from './responses.ts';
import type { SignInLog } from './sign-in-log.ts';

export interface HttpSettings {
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly branding: Branding;
  /** Names of the providers, for the home page. */
  readonly providerNames: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  /** When users must confirm before the provider: docs/person.md "Whom the confirmation page protects". */
  readonly confirm: 'always' | 'code';
  /** Undefined: no open sign-ins. docs/open.md. */
  readonly openEndpoints?: OpenEndpoints | undefined;
  readonly maxSessions: number;
  /** Whether devices may, or must, exchange the code themselves: docs/extensions.md. */
  readonly blind: BlindPolicy;
}

export interface RateLimits {
  readonly startLimiter: RateLimiter;
  readonly openLimiter: RateLimiter;
  readonly refreshLimiter: RateLimiter;
  readonly revokeLimiter: RateLimiter;
  /** Limits polls of the device grant, by device code. It is local, because they load only this instance. */
  readonly pollLimiter: RateLimiter;
  /** Limits wrong user codes. RFC 8628 §5.1, docs/person.md "Guessing codes". */
  readonly codeLimits: RateLimitPair;
  /** Limits QR codes. It is local, because they load only this instance. */
  readonly qrLimits: RateLimitPair;
}

export interface RelayParts extends RateLimits {
  readonly relay: Relay;
  readonly store: SessionStore;
  readonly refreshes: Refreshes;
  readonly revocations: Revocations;
  readonly providers: Providers;
  readonly clock: Clock;
  readonly monitor: Monitor;
  readonly signInLog: SignInLog;
  readonly findClientAddress: FindClientAddress;
  readonly health: Health;
}

/** Every endpoint takes this one object, and uses what it needs. */
export type Parts = ReturnType<typeof createParts>;

export function createParts(settings: HttpSettings, relayParts: RelayParts) {
  const { baseUrl, branding, providerNames: providers, confirm } = settings;
  const { origin, host } = new URL(baseUrl);
  const basePath = basePathOf(baseUrl);
  return {
    ...settings,
    ...relayParts,
    /** Path of the base URL; empty without one. */
    basePath,
    pages: createPageResponses(createPages({ branding, host, basePath, providers })),
    admission: createAdmission(
      relayParts.findClientAddress,
      [origin, ...settings.corsOrigins],
      relayParts.startLimiter,
      relayParts.monitor,
    ),
    bodies: createBodyReader(relayParts.clock),
    cookies: createContinueCookies(baseUrl, settings.sessionSeconds, confirm === 'always'),
    /** Open sign-ins are confirmed as with CONFIRM=always, whatever the setting says. */
    openCookies: createContinueCookies(baseUrl, settings.sessionSeconds, true),
  };
}
