/**
 * The operations of a provider: authorize, exchange, refresh, revoke. All providers share one
 * flow; where they differ, the configuration (config.ts) has a field. Also finds the enabled
 * providers by name.
 */
import { hash } from 'node:crypto';
import { DISCOVERY_RETRY_MS, MAX_CALLBACK_CHARACTERS } from '../limits.ts';
import type { RandomBytes } from '../sign-ins/secrets.ts';
import type { Delivery, SessionResult } from '../sign-ins/session.ts';
import type { CodeOutcome } from '../sign-ins/sign-ins.ts';
import {
  mayTakeChallenge,
  type PkceMethod,
  type ProviderConfig,
  type Revocation,
} from './config.ts';
import { formEncode } from './credentials.ts';
import { revokeToken, type TokenKind } from './revocation.ts';
import { requestTokens, type TokenEndpoint } from './token-endpoint.ts';
import type { TokenFailure } from './token-response.ts';

export type Provider = ReturnType<typeof createProvider>;

/** They are 64 characters of base64url, all legal in a verifier. RFC 7636 §4.1. */
const VERIFIER_BYTES = 48;

/** Placeholder in the URL of GitHub's revocation endpoint. */
const CLIENT_ID = '[client id]';

/** The redirect URI, as the operator must register it at the provider. */
export function redirectUriOf(name: string, baseUrl: string): string {
  return `${baseUrl}/auth/${name}/callback`;
}

export function createProvider(
  config: ProviderConfig,
  baseUrl: string,
  tokenEndpoint: TokenEndpoint,
  randomBytes: RandomBytes,
) {
  const { name, displayName, pkce, scope } = config;
  const revocation = config.revocation && {
    ...config.revocation,
    url: config.revocation.url.replace(CLIENT_ID, encodeURIComponent(config.clientId)),
  };
  const revokes = revocation && (revocation.takes ?? ('any token' as const));
  const redirectUri = redirectUriOf(name, baseUrl);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: config.clientId,
    redirect_uri: redirectUri,
    ...(scope !== undefined && { scope }),
    ...config.authorizeParams,
  });
  // Some servers read a `+` as part of a scope. An escaped one stays.
  const escaped = query.toString().replaceAll('+', '%20');
  const separator = config.authorizeUrl.includes('?') ? '&' : '?';
  const authorizePrefix = `${config.authorizeUrl}${separator}${escaped}&state=`;
  const redirectParameter = `&redirect_uri=${formEncode(redirectUri)}`;

  /** What a device needs to exchange the code itself. */
  function codeForDevice(code: string): SessionResult {
    if (code.length > MAX_CALLBACK_CHARACTERS) return { error: 'authorization_failed' };
    const { tokenUrl, clientId } = config;
    const revocationUrl = revocation && isStandard(revocation) ? revocation.url : undefined;
    return { code, tokenUrl, clientId, redirectUri, ...(revocationUrl && { revocationUrl }) };
  }

  const withinLimit = <T>(send: () => Promise<T>) => tokenEndpoint.withinLimit(name, send);

  return {
    name,
    displayName,
    /** Host of the authorization endpoint, for users. */
    host: new URL(config.authorizeUrl).host.replace(/^www\./, ''),
    /** True if a device may bring its own challenge. */
    takesChallenge: mayTakeChallenge(config),
    /** What the operator registers at the provider. */
    redirectUri,
    /** True if its issuer announced endpoints. */
    isDiscovered: config.callbackIssuer !== undefined,
    /** Host and port of an endpoint, for the operator. */
    tokenHost: new URL(config.tokenUrl).host,
    /** Undefined if refreshes go to the token endpoint. */
    refreshHost: config.refreshUrl && new URL(config.refreshUrl).host,
    hasClientSecret: config.clientSecret !== undefined,
    clientAuth: config.clientAuth,
    /** Which tokens can be revoked there. Undefined if none. */
    revokes,
    revocationHost: revocation && new URL(revocation.url).host,
    removeAt: config.removeAt,

    /** The delivery of tokens, with a new verifier if the provider has PKCE. */
    createDelivery(details: boolean): Delivery {
      const verifier = pkce === 'none' ? undefined : randomBytes(VERIFIER_BYTES);
      const delivery = { kind: 'tokens', verifier: verifier?.toString('base64url') } as const;
      return details ? { ...delivery, details } : delivery;
    },

    /** RFC 6749 §4.1.1, RFC 7636 §4.3. */
    authorizeUrl(browserState: string, delivery: Delivery): string {
      // All are base64url, so nothing needs escaping.
      return authorizePrefix + browserState + proofOf(delivery, pkce);
    },

    /** True if a callback with this `iss` may be this provider's. RFC 9207 §2.4. */
    acceptsIssuer(iss: string | undefined): boolean {
      const { callbackIssuer: issuer } = config;
      return iss === undefined ? !issuer?.isRequired : iss === (issuer?.url ?? iss);
    },

    /** Calls `exchange`, which may call `resolveCode`. Undefined at the limit: no code is spent. */
    withinLimit,

    /**
     * Sends the code to the token endpoint, once, or passes it on to a device that exchanges it
     * itself. Never rejects. RFC 6749 §4.1.3.
     */
    async resolveCode(code: string, delivery: Delivery): Promise<CodeOutcome<TokenFailure>> {
      if (delivery.kind !== 'tokens') return { ok: true, result: codeForDevice(code) };
      const { verifier, details } = delivery;
      const grant = `grant_type=authorization_code&code=${formEncode(code)}${redirectParameter}`;
      const proof = verifier === undefined ? '' : `&code_verifier=${verifier}`;
      const answered = await requestTokens(tokenEndpoint, config, 'exchange', grant + proof);
      if (!answered.ok) return answered;
      const { tokens } = answered;
      return { ok: true, result: details ? { ...tokens, details } : tokens };
    },

    /** Sends a refresh token to the refresh or token endpoint, once. Undefined at the limit. Never rejects. RFC 6749 §6. */
    refresh(refreshToken: string, narrowerScope: string | undefined) {
      const grant = `grant_type=refresh_token&refresh_token=${formEncode(refreshToken)}`;
      const scopes = narrowerScope === undefined ? '' : `&scope=${formEncode(narrowerScope)}`;
      const redirect = config.quirks?.refreshesWithRedirectUri ? redirectParameter : '';
      const hasScope = narrowerScope !== undefined;
      const form = grant + scopes + redirect;
      return withinLimit(() => requestTokens(tokenEndpoint, config, 'refresh', form, hasScope));
    },

    /** Sends a token to the revocation endpoint, once. Undefined at the limit. Never rejects. RFC 7009 §2.1. */
    revoke(token: string, kind: TokenKind | undefined) {
      if (revocation === undefined) throw new Error(`${name} has no revocation endpoint`);
      return withinLimit(() => revokeToken(tokenEndpoint, config, revocation, token, kind));
    },
  };
}

/** True if a device can revoke without the relay: with `token` and `client_id` in a form. */
function isStandard({ takes, method, tokenIn, body }: Revocation): boolean {
  return !takes && !method && !tokenIn && !body;
}

/**
 * A session keeps the verifier or the challenge with which it was started, even if the setting
 * has changed before its link is opened or its code exchanged: a provider requires a verifier
 * if and only if it got a challenge (RFC 9700 §2.1.1).
 */
function proofOf(delivery: Delivery, method: PkceMethod): string {
  if (delivery.kind === 'code') return s256Query(delivery.challenge);
  const verifier = delivery.kind === 'tokens' ? delivery.verifier : undefined;
  if (verifier === undefined) return '';
  // With 'plain' the browser sees the verifier, but some providers support nothing else. RFC 7636 §7.2.
  if (method === 'plain') return `&code_challenge=${verifier}&code_challenge_method=plain`;
  return s256Query(hash('sha256', verifier, 'base64url'));
}

function s256Query(challenge: string): string {
  return `&code_challenge=${challenge}&code_challenge_method=S256`;
}

export type Providers = ReturnType<typeof createProviders>;

export type ProviderLookup =
  | { readonly ok: true; readonly provider: Provider }
  | { readonly ok: false; readonly refusal: 'unknown_service' }
  /** Discovery is tried again after `retryAfterMs`. */
  | { readonly ok: false; readonly refusal: 'undiscovered'; readonly retryAfterMs: number };

export function createProviders(offered: readonly Pick<ProviderConfig, 'name' | 'displayName'>[]) {
  const byName = new Map<string, ProviderLookup>();
  for (const { name } of offered) {
    byName.set(name, { ok: false, refusal: 'undiscovered', retryAfterMs: DISCOVERY_RETRY_MS });
  }
  return {
    /** The services, in the order of `PROVIDERS`, and no secret of their configuration. */
    offered: offered.map(({ name, displayName }) => ({ name, displayName })),
    has: (name: string) => byName.has(name),
    /** A provider that is not discovered yet is known, but cannot be used. */
    find: (name: string): ProviderLookup =>
      byName.get(name) ?? { ok: false, refusal: 'unknown_service' },
    /** Called once the provider's endpoints are known. */
    add: (provider: Provider) => void byName.set(provider.name, { ok: true, provider }),
  };
}
