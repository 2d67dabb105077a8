import type { ClientAuthentication, PkceMethod } from './provider.ts';

/** What is known of a provider before an operator registers with it. */
export interface ProviderFacts {
  /** How the provider writes itself. Absent: its name with a capital must do. */
  readonly displayName?: string;
  /** May hold SUBDOMAIN, which an operator must fill in. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Absent: `post`. */
  readonly clientAuth?: ClientAuthentication;
  /** Absent: not known, so none is used. */
  readonly pkce?: PkceMethod;
  /** Where its flow leaves the standard and the relay does not follow. Completes "this provider …". */
  readonly departure?: string;
}

/** Stands in an address for the part that differs between customers of a provider. */
export const SUBDOMAIN = '[subdomain]';
