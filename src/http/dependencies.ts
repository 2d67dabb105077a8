/** What endpoints may use, by what they are for. No secret of the settings can be reached from any of it. */
import type { BlindPolicy } from '../providers/config.ts';
import type { OpenEndpoints } from '../providers/open.ts';
import type { Providers } from '../providers/provider.ts';
import type { Refreshes } from '../providers/refreshes.ts';
import type { Revocations } from '../providers/revocations.ts';
import type { SignIns } from '../sign-ins/sign-ins.ts';
import type { Clock } from '../sign-ins/time.ts';
import type { Admission } from './admission.ts';
import type { ContinueCookies } from './continue-cookies.ts';
import type { PageResponses } from './responses.ts';
import type { SignInLog } from './sign-in-log.ts';

export interface Dependencies {
  readonly signIns: SignIns;
  readonly refreshes: Refreshes;
  readonly revocations: Revocations;
  readonly providers: Providers;
  readonly admission: Admission;
  readonly pages: PageResponses;
  /** Used with CONFIRM=always, and in open sign-ins, which are confirmed whatever the setting says. */
  readonly cookies: ContinueCookies;
  readonly clock: Clock;
  readonly signInLog: SignInLog;
  /** Has no trailing slash. */
  readonly baseUrl: string;
  /** Path of the base URL; empty without one. */
  readonly basePath: string;
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  /** When the confirmation page is shown: always, or only after a user code. docs/user-pages.md "Whom the confirmation page protects". */
  readonly confirm: 'always' | 'code';
  /** Undefined if open sign-ins are disabled. docs/open.md. */
  readonly openEndpoints: OpenEndpoints | undefined;
  readonly maxSessions: number;
  /** Whether devices may, or must, exchange the code themselves. docs/extensions.md. */
  readonly blind: BlindPolicy;
}

type Base = 'signIns' | 'providers' | 'admission' | 'clock' | 'signInLog' | 'baseUrl';

/** What starts of sign-ins use. */
export type StartDependencies = Pick<
  Dependencies,
  Base | 'blind' | 'sessionSeconds' | 'maxSessions'
>;

/** What refreshes, revocations and polls of the device grant use. */
export type TokenDependencies = Pick<
  Dependencies,
  Base | 'blind' | 'refreshes' | 'revocations' | 'pollSeconds'
>;

/** What pages for users use. */
export type PageDependencies = Pick<
  Dependencies,
  Base | 'pages' | 'cookies' | 'confirm' | 'basePath' | 'openEndpoints'
>;
