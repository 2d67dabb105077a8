/** The address that the person's browser is sent to. RFC 6749 §4.1.1, RFC 7636 §4.3. */
import { hash } from 'node:crypto';
import type { PkceMethod, Provider } from './provider.ts';

/** Makes the authorize address for one session after another; all that stays the same is made once. */
export function createAuthorizeUrl(
  provider: Provider,
  redirectUri: string,
): (session: { browserState: string; verifier?: string }) => string {
  const fixed = new URLSearchParams({
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri,
    ...(provider.scope !== undefined && { scope: provider.scope }),
    ...provider.authorizeParams,
  });
  const separator = provider.authorizeUrl.includes('?') ? '&' : '?';
  const prefix = `${provider.authorizeUrl}${separator}${fixed}&state=`;
  return ({ browserState, verifier }) => {
    // Both are base64url: there is nothing to escape.
    const challenge = verifier === undefined ? '' : challengeQuery(verifier, provider.pkce);
    return `${prefix}${browserState}${challenge}`;
  };
}

function challengeQuery(verifier: string, method: PkceMethod): string {
  // 'plain' shows the verifier to the browser; some providers take nothing else. RFC 7636 §7.2.
  const challenge = method === 'S256' ? hash('sha256', verifier, 'base64url') : verifier;
  return `&code_challenge=${challenge}&code_challenge_method=${method}`;
}
