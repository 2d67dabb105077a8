/**
 * `POST /refresh`: a device gets new tokens for its refresh token. docs/extensions.md.
 * The device grant (device-grant.ts) refreshes with the same function, so that both
 * share one limit and one request to the provider.
 */
import type { BlindPolicy } from '../../providers/config.ts';
import type { Provider, Providers } from '../../providers/provider.ts';
import type { RateLimiter } from '../../relay/rate-limit.ts';
import type { Refreshes } from '../../relay/refresh.ts';
import type { TokenResult } from '../../relay/session.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import { type BodyReader, parseMembers, type RelayRequest } from '../request.ts';
import { describeTokens, jsonResponse, type Refused, refused } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

/** Refresh tokens of 4 KB have been seen. */
export const MAX_REFRESH_BODY_BYTES = 16_384;

export interface RefreshRequest {
  readonly refreshToken: string;
  readonly scope: string | undefined;
}

/** Refreshes for both protocols. Rejects when the store is unavailable. */
export type RefreshTokens = (
  request: RelayRequest,
  provider: Provider,
  asked: RefreshRequest,
) => Promise<{ readonly ok: true; readonly tokens: TokenResult } | Refused>;

/** The relay adds the client's authentication. */
export function createRefreshTokens(
  admission: Admission,
  limiter: RateLimiter,
  refreshes: Refreshes,
  signInLog: SignInLog,
): RefreshTokens {
  return async (request, provider, { refreshToken, scope }) => {
    if (!isToken(refreshToken)) return refused('invalid_request');
    const admitted = await admission.admit(request, limiter, 'refresh');
    if (!admitted.ok) return admitted;
    const outcome = await refreshes.refresh(provider, refreshToken, scope);
    if (outcome === undefined) return refused('refresh_unavailable');
    if (outcome.ok) return outcome;
    const { failure } = outcome;
    signInLog.refreshFailed(request, provider, failure);
    return refused(failure.refusal ?? 'refresh_unavailable');
  };
}

export function createRefresh(
  bodies: BodyReader,
  providers: Providers,
  refreshTokens: RefreshTokens,
  blind: BlindPolicy,
): Handler {
  return async (request) => {
    const read = await readTokenRequest(request, bodies, providers, blind);
    if (!read.ok) return read;
    const { asked, provider } = read;
    const refreshToken = textOf(asked.refreshToken);
    if (refreshToken === undefined) return refused('invalid_request');
    const outcome = await refreshTokens(request, provider, {
      refreshToken,
      scope: textOf(asked.scope),
    });
    if (!outcome.ok) return outcome;
    return jsonResponse(describeTokens(outcome.tokens, asked.details === true));
  };
}

/** What a device asks of the relay with its tokens, and the provider that it names. */
export async function readTokenRequest(
  request: RelayRequest,
  bodies: BodyReader,
  providers: Providers,
  blind: BlindPolicy,
) {
  const asked = await readMembers(request, bodies);
  if (asked === undefined) return refused('invalid_json');
  const service = textOf(asked.service) ?? '';
  // The relay would see the tokens.
  if (blind === 'always' && providers.has(service)) return refused('unauthorized_client');
  const found = providers.find(service);
  return found.ok ? { ...found, asked } : found;
}

/** Undefined if it is not JSON, or too long. */
async function readMembers(request: RelayRequest, bodies: BodyReader) {
  try {
    const { text, isCut } = await bodies.read(request.raw, MAX_REFRESH_BODY_BYTES);
    return isCut ? undefined : parseMembers(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether a provider can have issued it: RFC 6749 appendix A.12 and A.17. In a header any other
 * character would fail here, as if the provider were unreachable.
 */
export function isToken(text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text);
}

/** A member that is empty or of a wrong type counts as absent. */
export function textOf(member: unknown): string | undefined {
  return typeof member === 'string' && member !== '' ? member : undefined;
}
