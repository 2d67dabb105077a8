/**
 * Revokes tokens at a provider (RFC 7009). Revocation is idempotent: a token that the provider no
 * longer knows counts as revoked (§2.2).
 */
import type { Provider } from './provider.ts';
import type { Refreshes } from './refreshes.ts';
import type { RevocationOutcome, TokenKind } from './revocation.ts';

export type Revocations = ReturnType<typeof createRevocations>;

const UNKNOWN_TOKEN = { ok: true, wasKnown: false } as const;

/** Errors of a refresh whose refresh token was not valid. */
const NO_REFRESH_TOKEN: ReadonlySet<string | undefined> = new Set([
  'invalid_grant',
  'unsupported_grant_type',
]);

export function createRevocations(refreshes: Refreshes) {
  const { track } = refreshes;

  /**
   * A provider that takes only access tokens gets a new one, which revokes the refresh token too.
   * A repeat gets the same one while the refresh's result is kept.
   */
  async function revokeRefreshToken(
    provider: Provider,
    refreshToken: string,
  ): Promise<RevocationOutcome | undefined> {
    if (provider.revokes === 'any token') return provider.revoke(refreshToken, 'refresh_token');
    const refreshed = await refreshes.refresh(provider, refreshToken, undefined);
    if (refreshed?.ok) return provider.revoke(refreshed.tokens.accessToken, 'access_token');
    return NO_REFRESH_TOKEN.has(refreshed?.failure.refusal) ? UNKNOWN_TOKEN : refreshed;
  }

  /**
   * The default hint is `refresh_token`, because some providers answer 200 for an access token that
   * they do not know.
   */
  async function revokeEitherKind(
    provider: Provider,
    token: string,
    hint: TokenKind = 'refresh_token',
  ) {
    const asKind = {
      refresh_token: () => revokeRefreshToken(provider, token),
      access_token: () => provider.revoke(token, 'access_token'),
    };
    const outcome = await asKind[hint]();
    if (!outcome?.ok || outcome.wasKnown) return outcome;
    return asKind[hint === 'refresh_token' ? 'access_token' : 'refresh_token']();
  }

  return {
    /**
     * Revokes all given tokens. Undefined if not all were sent. The refresh token comes first,
     * because with it the provider should revoke the access token too. RFC 7009 §2.1.
     */
    revoke: (
      provider: Provider,
      refreshToken: string | undefined,
      accessToken: string | undefined,
    ) =>
      track(async () => {
        const first =
          refreshToken === undefined
            ? UNKNOWN_TOKEN
            : await revokeRefreshToken(provider, refreshToken);
        if (!first?.ok || accessToken === undefined) return first;
        return provider.revoke(accessToken, 'access_token');
      }),
    /** Revokes one token, whose kind the hint may get wrong. RFC 7009 §2.1. */
    revokeOne: (provider: Provider, token: string, hint: TokenKind | undefined) =>
      track(() =>
        provider.revokes === 'any token'
          ? provider.revoke(token, hint)
          : revokeEitherKind(provider, token, hint),
      ),
  };
}
