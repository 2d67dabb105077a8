/** New tokens for a refresh token, with the client secret that a device cannot hold. RFC 6749 §6. */
import type { Provider } from './provider.ts';
import type { RequestTokens, TokenOutcome } from './token-endpoint.ts';

export interface RefreshGrant {
  readonly refreshToken: string;
  /** Fewer scopes than were granted; as the device wrote them. */
  readonly scope?: string;
}

/** Takes a refresh token to the provider's token address, once. Never throws. */
export function refreshTokens(
  requestTokens: RequestTokens,
  provider: Provider,
  { refreshToken, scope }: RefreshGrant,
): Promise<TokenOutcome> {
  const grant = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    ...(scope !== undefined && { scope }),
  });
  return requestTokens(provider, grant);
}
