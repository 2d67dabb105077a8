/** The code exchange: a code becomes tokens. `protocol.md` §4, Code exchange; RFC 6749 §4.1.3. */
import type { Provider } from './provider.ts';
import type { RequestTokens, TokenOutcome } from './token-endpoint.ts';

export interface CodeGrant {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier?: string;
}

/** Takes a code to the provider's token address, once. Never throws. */
export function exchangeCode(
  requestTokens: RequestTokens,
  provider: Provider,
  { code, redirectUri, verifier }: CodeGrant,
): Promise<TokenOutcome> {
  const grant = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    ...(verifier !== undefined && { code_verifier: verifier }),
  });
  return requestTokens(provider, grant);
}
