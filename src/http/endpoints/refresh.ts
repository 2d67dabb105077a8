/** `POST /refresh` (docs/extensions.md), and what all requests that bring tokens share. */
import type { Provider } from '../../providers/provider.ts';
import type { Failed } from '../../providers/token-response.ts';
import type { Handler } from '../app.ts';
import type { TokenDependencies } from '../dependencies.ts';
import { parseMembers, type RelayRequest, readBody, textOf } from '../request.ts';
import { describeTokens, jsonResponse, type Refusal, refuse, undecided } from '../responses.ts';

/** The largest body of a refresh, a revocation, or a request of the device grant. Refresh tokens of 4 KB have been seen. */
export const MAX_TOKEN_REQUEST_BYTES = 16_384;

/** Admits a refresh or a revocation of either protocol, and logs its failure. Rejects when the store is unavailable. */
export async function askProvider<Done extends { readonly ok: true }>(
  { admission, signInLog }: TokenDependencies,
  request: RelayRequest,
  provider: Provider,
  grant: 'refresh' | 'revoke',
  send: () => Promise<Done | Failed | undefined>,
): Promise<Done | Refusal> {
  const admitted = await admission.admit(request, grant);
  if (!admitted.ok) return admitted;
  const outcome = await send();
  if (outcome === undefined) return undecided();
  if (outcome.ok) return outcome;
  const { failure } = outcome;
  signInLog.fail(grant, request, provider, failure);
  const { refusal, description, retryAfterMs } = failure;
  return { ...(refusal ? refuse(refusal) : undecided(retryAfterMs)), description };
}

export function createRefresh(dependencies: TokenDependencies): Handler {
  return async (request) => {
    const read = await readTokenRequest(request, dependencies);
    if (!read.ok) return read;
    const { body, provider } = read;
    const { refreshToken } = body;
    if (!isToken(refreshToken)) return refuse('invalid_request');
    const scope = textOf(body.scope);
    const outcome = await askProvider(dependencies, request, provider, 'refresh', () =>
      dependencies.refreshes.refresh(provider, refreshToken, scope),
    );
    if (!outcome.ok) return outcome;
    return jsonResponse(describeTokens(outcome.tokens, body.details === true));
  };
}

/** Reads the body of a refresh or a revocation, and finds the provider that it names. */
export async function readTokenRequest(
  request: RelayRequest,
  { clock, providers, blind }: TokenDependencies,
) {
  const { text, isTruncated } = await readBody(request.raw, MAX_TOKEN_REQUEST_BYTES, clock);
  const body = parseMembers(text);
  if (body === undefined || isTruncated) return refuse('invalid_json');
  const service = textOf(body.service) ?? '';
  // The relay would see the tokens.
  if (blind === 'always' && providers.has(service)) return refuse('unauthorized_client');
  const found = providers.find(service);
  return found.ok ? { ...found, body } : found;
}

/**
 * True if a provider can have issued it: RFC 6749 appendix A.12 and A.17. `fetch` refuses any other
 * character in a header, which would look like an unreachable provider.
 */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);
}
