/**
 * Signing out: `POST /revoke` (docs/extensions.md) and `/oauth2/<service>/revoke` (RFC 7009,
 * docs/device-grant.md). The relay adds the client's authentication.
 */

import type { TokenKind } from '../../providers/revocation.ts';
import type { Handler } from '../app.ts';
import type { TokenDependencies } from '../dependencies.ts';
import {
  missingParameter,
  oauthErrorResponse,
  oauthResponseTo,
  revokedResponse,
} from '../oauth-responses.ts';
import { textOf } from '../request.ts';
import { JSON_ERROR, jsonResponse, refuse } from '../responses.ts';
import { readParameters } from './device-grant.ts';
import { askProvider, isToken, readTokenRequest } from './refresh.ts';

const PARAMETERS = ['token', 'token_type_hint'];
const KINDS: readonly TokenKind[] = ['access_token', 'refresh_token'];

export function createRevoke(dependencies: TokenDependencies): Handler {
  return async (request) => {
    const read = await readTokenRequest(request, dependencies);
    if (!read.ok) return read;
    const { body, provider } = read;
    const refreshToken = textOf(body.refreshToken);
    const accessToken = textOf(body.accessToken);
    const given = [refreshToken, accessToken].filter((token) => token !== undefined);
    if (given.length === 0 || !given.every(isToken)) return refuse('invalid_request');
    if (provider.revokes === undefined) {
      const { removeAt } = provider;
      return jsonResponse({ error: 'unsupported', removeAt }, JSON_ERROR);
    }
    const outcome = await askProvider(dependencies, request, provider, 'revoke', () =>
      dependencies.revocations.revoke(provider, refreshToken, accessToken),
    );
    return outcome.ok ? jsonResponse({}) : outcome;
  };
}

/** RFC 7009 §2.1. The client id is ignored, as at the token endpoint. */
export function createRevocation(dependencies: TokenDependencies): Handler {
  const { clock, providers, revocations } = dependencies;
  return async (request) => {
    const parameters = await readParameters(request.raw, clock, PARAMETERS);
    if (parameters === undefined) return refuse('invalid_request');
    const found = providers.find(request.parameter);
    if (!found.ok) return found;
    const { provider } = found;
    const token = parameters.get('token');
    if (token === undefined) return missingParameter('token');
    if (!isToken(token)) return refuse('invalid_request');
    if (provider.revokes === undefined) return oauthErrorResponse('unsupported_token_type');
    // RFC 7009 §2.2.1: an unknown hint is ignored.
    const hint = KINDS.find((kind) => kind === parameters.get('token_type_hint'));
    const outcome = await askProvider(dependencies, request, provider, 'revoke', () =>
      revocations.revokeOne(provider, token, hint),
    );
    return outcome.ok ? revokedResponse() : oauthResponseTo(outcome, 429);
  };
}
