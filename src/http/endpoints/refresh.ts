/**
 * `POST /refresh`: a device gets new tokens for its refresh token. docs/extensions.md.
 * The device grant refreshes by the same function (device-grant.ts), so that both
 * share one limit and one request to the provider.
 */
import type { BlindPolicy, Provider, Providers } from '../../providers/provider.ts';
import type { ProviderError } from '../../providers/token-endpoint.ts';
import type { RateLimiter } from '../../relay/rate-limit.ts';
import type { Refreshes } from '../../relay/refresh.ts';
import type { TokenResult } from '../../relay/session.ts';
import type { Admission, Refused } from '../admission.ts';
import type { Handler } from '../app.ts';
import { type BodyReader, parseMembers, type RelayRequest } from '../request.ts';
import {
  describeTokens,
  jsonErrorResponse,
  jsonResponse,
  RETRY_DISCOVERY,
  refuse,
  retryAfter,
} from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

/** Refresh tokens of 4 KB have been seen. */
export const MAX_REFRESH_BODY_BYTES = 16_384;

/** When a device may try again what was not the provider's decision. */
const RETRY_REFRESH = retryAfter(5_000);

export interface RefreshParts {
  readonly admission: Admission;
  readonly refreshLimiter: RateLimiter;
  readonly bodies: BodyReader;
  readonly providers: Providers;
  readonly refreshes: Refreshes;
  readonly signInLog: SignInLog;
  readonly blind: BlindPolicy;
}

export type RefreshOutcome =
  | { readonly state: 'refreshed'; readonly tokens: TokenResult }
  | { readonly state: 'not_admitted'; readonly refused: Refused }
  /** The provider has decided. */
  | { readonly state: 'refused'; readonly error: ProviderError }
  /** Nothing is known of the token: the device keeps it. */
  | { readonly state: 'unavailable' };

/** The relay adds what the device cannot keep. May throw: the store is unavailable. */
export async function refreshTokens(
  request: RelayRequest,
  provider: Provider,
  { refreshToken, scope }: { readonly refreshToken: string; readonly scope: string | undefined },
  { admission, refreshLimiter, refreshes, signInLog }: RefreshParts,
): Promise<RefreshOutcome> {
  const refused = await admission.admit(request, refreshLimiter, 'refresh');
  if (refused !== undefined) return { state: 'not_admitted', refused };
  const outcome = await refreshes.refresh(provider, refreshToken, scope);
  if (outcome === undefined) return { state: 'unavailable' };
  if (outcome.ok) return { state: 'refreshed', tokens: outcome.tokens };
  const { failure } = outcome;
  signInLog.refreshFailed(request, provider, failure);
  return failure.refusal === undefined
    ? { state: 'unavailable' }
    : { state: 'refused', error: failure.refusal };
}

export function createRefresh(parts: RefreshParts): Handler {
  const { bodies, providers, blind } = parts;
  return async (request) => {
    const asked = await readMembers(request, bodies);
    if (asked === undefined) return refuse('invalid_json');
    const provider = providers.get(textOf(asked.service) ?? '');
    if (provider === undefined) return refuse('unknown_service');
    // The relay would see the tokens.
    if (blind === 'always') return jsonErrorResponse('unauthorized_client');
    if (provider === 'undiscovered') return refuse('busy', RETRY_DISCOVERY);
    const refreshToken = textOf(asked.refreshToken);
    if (refreshToken === undefined) return jsonErrorResponse('invalid_request');
    const sent = { refreshToken, scope: textOf(asked.scope) };
    const outcome = await refreshTokens(request, provider, sent, parts);
    switch (outcome.state) {
      case 'refreshed':
        return jsonResponse(describeTokens(outcome.tokens, asked.details === true));
      case 'refused':
        return jsonErrorResponse(outcome.error);
      case 'unavailable':
        return refuseUnavailable();
      case 'not_admitted': {
        const { refused } = outcome;
        if (refused.refusal !== 'rate_limited') return refuse(refused.refusal);
        return refuse('rate_limited', retryAfter(refused.retryAfterMs));
      }
    }
  };
}

/** Also after a fault: the token may be good, so the device keeps it. */
export function refuseUnavailable(): Response {
  return refuse('busy', RETRY_REFRESH);
}

/** Undefined for what is no JSON, or too long. */
async function readMembers(request: RelayRequest, bodies: BodyReader) {
  try {
    const { text, isCut } = await bodies.read(request.raw, MAX_REFRESH_BODY_BYTES);
    return isCut ? undefined : parseMembers(text);
  } catch {
    return undefined;
  }
}

/** A member that is empty or of a wrong type counts as left out. */
function textOf(member: unknown): string | undefined {
  return typeof member === 'string' && member !== '' ? member : undefined;
}
