/**
 * Whoever gives a name is somebody: the account is the name itself, written so
 * that it may stand in a `sub` (ASCII: OpenID Connect Core §2), and nothing is kept.
 */

export function accountIdOf(name: string): string {
  return Buffer.from(
    name
      .replace(/\p{Cc}/gu, '')
      .trim()
      .slice(0, 60),
    'utf8',
  ).toString('base64url');
}

export function nameOf(accountId: string): string {
  return Buffer.from(accountId, 'base64url').toString('utf8');
}

/** What oidc-provider asks for: who this is, and what is told of them. */
export function findAccount(_context: unknown, accountId: string) {
  return {
    accountId,
    claims: async () => ({ sub: accountId, name: nameOf(accountId) }),
  };
}
