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

/**
 * A session keeps what it was started with, a verifier or none, whatever the
 * setting is where its link is opened or its code comes back: the provider takes
 * a verifier exactly where it was sent a challenge (RFC 9700 §2.1.1).
 */
function challengeQuery(verifier: string, setting: PkceMethod): string {
  // 'plain' shows the verifier to the browser; some providers take nothing else. RFC 7636 §7.2.
  if (setting === 'plain') return `&code_challenge=${verifier}&code_challenge_method=plain`;
  const challenge = hash('sha256', verifier, 'base64url');
  return `&code_challenge=${challenge}&code_challenge_method=S256`;
}
