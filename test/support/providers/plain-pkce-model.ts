/** What the OAuth server keeps: codes and tokens, in memory, of one client and one person. */
import type OAuth2Server from '@node-oauth/oauth2-server';
import { plantSecret } from '../secrets.ts';

export interface ModelOptions {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly owner: string;
}

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel;

export function createModel({ clientId, redirectUri, owner }: ModelOptions): Model {
  const client = {
    id: clientId,
    redirectUris: [redirectUri],
    grants: ['authorization_code', 'refresh_token'],
  };
  const user = { name: owner };
  const codes = new Map<string, OAuth2Server.AuthorizationCode>();
  const tokens = new Map<string, OAuth2Server.Token>();
  const byRefreshToken = new Map<string, OAuth2Server.RefreshToken>();

  return {
    getClient: async (id) => id === clientId && client,
    async saveAuthorizationCode(code) {
      const saved = { ...code, client, user };
      codes.set(plantSecret(code.authorizationCode), saved);
      return saved;
    },
    getAuthorizationCode: async (code) => codes.get(code),
    revokeAuthorizationCode: async ({ authorizationCode }) => codes.delete(authorizationCode),
    async saveToken(token) {
      const saved = { ...token, client, user };
      tokens.set(plantSecret(token.accessToken), saved);
      const { refreshToken } = token;
      if (refreshToken !== undefined) {
        byRefreshToken.set(plantSecret(refreshToken), { ...saved, refreshToken });
      }
      return saved;
    },
    getAccessToken: async (token) => tokens.get(token),
    getRefreshToken: async (token) => byRefreshToken.get(token),
    revokeToken: async ({ refreshToken }) => byRefreshToken.delete(refreshToken),
  };
}
