/** Requests to providers' revocation endpoints (RFC 7009), some of which are older than the standard. */
import type { ProviderConfig, Revocation } from './config.ts';
import { formEncode } from './credentials.ts';
import {
  credentialsInBody,
  encodeBody,
  headersFor,
  type TokenEndpoint,
  type TokenRequest,
} from './token-endpoint.ts';
import {
  describeErrors,
  type Failed,
  failed,
  parseObject,
  type TokenResponse,
} from './token-response.ts';

/** The values of `token_type_hint`. RFC 7009 §2.1. */
export type TokenKind = 'access_token' | 'refresh_token';

/** `wasKnown`: false if the provider didn't know the token. */
export type RevocationOutcome = { readonly ok: true; readonly wasKnown: boolean } | Failed;

/** Sends a token to the revocation endpoint, once. Never rejects. RFC 7009 §2.1. */
export function revokeToken(
  endpoint: TokenEndpoint,
  provider: ProviderConfig,
  revocation: Revocation,
  token: string,
  tokenKind: TokenKind | undefined,
): Promise<RevocationOutcome> {
  const send = (request: Pick<TokenRequest, 'headers' | 'body'>) =>
    endpoint.send(provider, { url, grant: 'revoke', method, ...request }, (answer) =>
      parseAnswer(provider, revocation, answer),
    );
  const { clientAuth = provider.clientAuth, tokenIn, takes, body, url } = revocation;
  const { method = 'POST' } = revocation;
  const client = asClient(provider, clientAuth, body);
  const headers = headersFor(client);
  if (tokenIn === 'bearer') {
    // Dropbox refuses a content type without a body.
    const { 'Content-Type': _, ...others } = headers;
    return send({ headers: { ...others, Authorization: `Bearer ${token}` } });
  }
  // An endpoint for one kind of token, or without authentication, does not know the parameter.
  const takesHint = tokenKind !== undefined && takes === undefined && clientAuth !== 'none';
  const hint = takesHint ? `&token_type_hint=${tokenKind}` : '';
  const credentials = clientAuth === 'none' ? '' : credentialsInBody(client);
  const form = `${tokenIn ?? 'token'}=${formEncode(token)}${hint}${credentials}`;
  return send({ headers, body: encodeBody(client, form) });
}

/** The client with the authentication that the revocation endpoint expects. */
function asClient(
  { clientSecret, ...provider }: ProviderConfig,
  clientAuth: NonNullable<Revocation['clientAuth']>,
  tokenRequest: Revocation['body'],
): ProviderConfig {
  const withBody = tokenRequest && { quirks: { ...provider.quirks, tokenRequest } };
  if (clientAuth === 'client_id' || clientAuth === 'none') return { ...provider, ...withBody };
  const withSecret = clientSecret !== undefined && { clientSecret };
  return { ...provider, ...withBody, ...withSecret, clientAuth };
}

/** RFC 7009 §2.2: what the body of a success says does not matter. Some report an error with 200. */
function parseAnswer(
  provider: ProviderConfig,
  revocation: Revocation,
  answer: TokenResponse,
): RevocationOutcome {
  const { status, text } = answer;
  const json = text === undefined ? undefined : parseObject(text);
  const errors = describeErrors(answer, json, provider, { grant: 'revoke', hasScope: false });
  if (errors.refusal === 'invalid_grant' || isUnknownToken(revocation, status, json)) {
    return { ok: true, wasKnown: false };
  }
  if (status >= 200 && status < 300 && !json?.error) return { ok: true, wasKnown: true };
  return failed({ reason: 'status', status, ...errors });
}

/** True if the provider does not know the token. One that follows RFC 7009 §2.2 answers 200 instead. */
function isUnknownToken(
  { method, clientAuth, tokenIn }: Revocation,
  status: number,
  json: Record<string, unknown> = {},
): boolean {
  // Google; Twitch.
  if (json.error === 'invalid_token') return true;
  if (status === 400 && json.message === 'Invalid token') return true;
  // If the client doesn't authenticate, a 401 is about the token.
  if (status === 401) return clientAuth === 'none' || tokenIn === 'bearer';
  return status === 404 && method === 'DELETE';
}
