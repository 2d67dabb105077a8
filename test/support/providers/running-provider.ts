/** What the tests ask of a provider, whichever it is. */
import type { Gate } from '../gate.ts';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface TestProvider {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Every request so far, without its query. */
  readonly requests: readonly SeenRequest[];
  /** Closed, it holds every request to the token endpoint. */
  readonly tokenGate: Gate;
  /** Asks the provider itself: the name of the token's owner, undefined when it takes no such token. */
  findOwner(accessToken: string): Promise<string | undefined>;
  /** Redeems the refresh token; the new access token, undefined when the provider refuses. */
  refresh(refreshToken: string): Promise<string | undefined>;
  stop(): Promise<void>;
}

export function countExchanges({ requests, tokenUrl }: TestProvider): number {
  const { pathname } = new URL(tokenUrl);
  return requests.filter(({ method, path }) => method === 'POST' && path === pathname).length;
}
