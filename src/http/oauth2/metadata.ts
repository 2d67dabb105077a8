/** What a standard client reads first. RFC 8414 §2, RFC 8628 §4. */
import { oauthAnswer } from './answers.ts';
import { DEVICE_CODE_GRANT, REFRESH_GRANT } from './parameters.ts';

/** The same at both well-known addresses: that of RFC 8414 and that of OpenID Connect Discovery. */
export function answerMetadata(baseUrl: string, service: string): Response {
  const issuer = `${baseUrl}/oauth2/${service}`;
  return oauthAnswer({
    issuer,
    device_authorization_endpoint: `${issuer}/device_authorization`,
    token_endpoint: `${issuer}/token`,
    grant_types_supported: [DEVICE_CODE_GRANT, REFRESH_GRANT],
    // RFC 8414 §2 requires it, §3.2 would leave an empty one out; clients miss it more than they mind it.
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
  });
}
