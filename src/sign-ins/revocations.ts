/**
 * Revokes tokens at a provider (RFC 7009). A revocation may be repeated: the provider no longer
 * knows the token, and that counts as success (§2.2).
 */
import type { Refreshes, RefreshFailure, TokenRefresher } from './refreshes.ts';

/** The values of `token_type_hint`. RFC 7009 §2.1. */
export type TokenKind = 'access_token' | 'refresh_token';

export type RevocationScope = 'any token' | 'access tokens';

export type RevocationOutcome<Failure> =
  /** `wasKnown`: false if the provider didn't know the token. */
  | { readonly ok: true; readonly wasKnown: boolean }
  | { readonly ok: false; readonly failure: Failure };

/** Sends revocations to the provider. Never rejects. */
export interface TokenRevoker<Failure extends RefreshFailure> extends TokenRefresher<Failure> {
  readonly revokes: RevocationScope | undefined;
  revoke(token: string, kind: TokenKind | undefined): Promise<RevocationOutcome<Failure>>;
}

export interface TokensToRevoke {
  readonly refreshToken: string | undefined;
  readonly accessToken: string | undefined;
}

export type Revocations = ReturnType<typeof createRevocations>;

const UNKNOWN_TOKEN = { ok: true, wasKnown: false } as const;

/** A refresh with this error had no valid refresh token. */
const NO_REFRESH_TOKEN: ReadonlySet<string | undefined> = new Set([
  'invalid_grant',
  'unsupported_grant_type',
]);

export function createRevocations(refreshes: Refreshes) {
  const inProgress = new Set<Promise<unknown>>();
  let draining = false;

  async function send<Failure extends RefreshFailure>(
    revoker: TokenRevoker<Failure>,
    token: string,
    kind: TokenKind | undefined,
  ): Promise<RevocationOutcome<Failure> | undefined> {
    if (!revoker.reserve()) return undefined;
    return revoker.revoke(token, kind).finally(revoker.release);
  }

  /**
   * A provider that takes only access tokens gets a new one, which revokes the refresh token too.
   * A repeat gets the same one while the refresh's result is kept.
   */
  async function revokeRefreshToken<Failure extends RefreshFailure>(
    revoker: TokenRevoker<Failure>,
    refreshToken: string,
  ): Promise<RevocationOutcome<Failure> | undefined> {
    if (revoker.revokes === 'any token') return send(revoker, refreshToken, 'refresh_token');
    const refreshed = await refreshes.refresh(revoker, refreshToken, undefined);
    if (refreshed?.ok) return send(revoker, refreshed.tokens.accessToken, 'access_token');
    return NO_REFRESH_TOKEN.has(refreshed?.failure.refusal) ? UNKNOWN_TOKEN : refreshed;
  }

  /** The refresh token comes first: with it the provider should revoke the access token too. RFC 7009 §2.1. */
  async function revokeAll<Failure extends RefreshFailure>(
    revoker: TokenRevoker<Failure>,
    { refreshToken, accessToken }: TokensToRevoke,
  ) {
    const first =
      refreshToken === undefined ? UNKNOWN_TOKEN : await revokeRefreshToken(revoker, refreshToken);
    if (!first?.ok || accessToken === undefined) return first;
    return send(revoker, accessToken, 'access_token');
  }

  /**
   * Without a hint the token counts as a refresh token, because some providers answer 200 for an
   * access token that they do not know.
   */
  async function revokeEitherKind<Failure extends RefreshFailure>(
    revoker: TokenRevoker<Failure>,
    token: string,
    hint: TokenKind = 'refresh_token',
  ) {
    const asKind = {
      refresh_token: () => revokeRefreshToken(revoker, token),
      access_token: () => send(revoker, token, 'access_token'),
    };
    const outcome = await asKind[hint]();
    if (!outcome?.ok || outcome.wasKnown) return outcome;
    return asKind[hint === 'refresh_token' ? 'access_token' : 'refresh_token']();
  }

  function track<Outcome>(revoking: Promise<Outcome>): Promise<Outcome> {
    const tracked = revoking.finally(() => inProgress.delete(tracked));
    inProgress.add(tracked);
    return tracked;
  }

  return {
    /** Revokes all that is given. Undefined if nothing was sent, or not everything. */
    async revoke<Failure extends RefreshFailure>(
      revoker: TokenRevoker<Failure>,
      tokens: TokensToRevoke,
    ) {
      if (draining) return undefined;
      return track(revokeAll(revoker, tokens));
    },
    /** Revokes one token of a kind that is not known for certain. RFC 7009 §2.1. */
    async revokeOne<Failure extends RefreshFailure>(
      revoker: TokenRevoker<Failure>,
      token: string,
      hint: TokenKind | undefined,
    ) {
      if (draining) return undefined;
      if (revoker.revokes === 'any token') return track(send(revoker, token, hint));
      return track(revokeEitherKind(revoker, token, hint));
    },
    /** From now on no revocation starts. */
    drain(): void {
      draining = true;
    },
    /** Resolves when those in progress have their response. */
    async settled(): Promise<void> {
      await Promise.allSettled(inProgress);
    },
  };
}
