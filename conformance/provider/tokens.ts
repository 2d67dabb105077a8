/** Tokens, as the device gets them and as a provider writes them: `protocol.md` §2. */

import { randomBytes } from 'node:crypto';

/** The three fields of a successful poll. */
export interface TokenResult {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresIn: number;
}

export function makeTokens(): TokenResult {
  return {
    accessToken: `conformance-access-${randomBytes(18).toString('hex')}`,
    refreshToken: `conformance-refresh-${randomBytes(18).toString('hex')}`,
    expiresIn: 2_678_400,
  };
}

/** A provider says more than the relay reads; none of the rest may reach the device. */
export function tokenResponse(result: TokenResult): Readonly<Record<string, unknown>> {
  return {
    token_type: 'Bearer',
    expires_in: result.expiresIn,
    access_token: result.accessToken,
    refresh_token: result.refreshToken,
    scope: 'everything',
  };
}
