/**
 * Mock providers that require what the real ones document (docs/providers/). The
 * requirements are written here a second time, so that no profile changes by mistake.
 */
import { expect } from 'bun:test';
import { hash } from 'node:crypto';
import { BASE_URL } from '../kit/service.ts';

/** What a provider requires, and how it answers. */
export interface Documented {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** 'none': it refuses a challenge, or is not known to accept one. */
  readonly pkce: 'none' | 'plain' | 'S256';
  /** Empty: no scope may be sent. */
  readonly scope: string;
  /** Without these it gives no refresh token. */
  readonly offline?: Readonly<Record<string, string>>;
  /** 'none': it issues no secret. */
  readonly auth: 'post' | 'basic' | 'none';
  readonly body?: 'json';
  readonly headers?: Readonly<Record<string, string>>;
  readonly refreshesWithRedirectUri?: true;
  /** 'none': it never gives a refresh token. */
  readonly refreshToken: 'kept' | 'rotated' | 'none';
  /** What its responses have besides, or in another form. */
  readonly response?: Readonly<Record<string, unknown>>;
  /** How it revokes a token. Absent: it does not. */
  readonly revocation?: DocumentedRevocation;
  /** What a device is told of a refresh token that it does not know. Absent: `invalid_grant`. */
  readonly refusesRefreshAs?: 'invalid_request';
  /** What a refusal looks like. */
  readonly refusal?: { readonly status: number; readonly body: unknown };
}

interface DocumentedRevocation {
  readonly url: string;
  readonly method?: 'DELETE';
  readonly body?: 'json';
  readonly basic?: true;
  /** The token is in `Authorization`, and there is no body. */
  readonly bearer?: true;
  /** The fields of the body. */
  readonly sent?: readonly string[];
  /** It does not know refresh tokens here. */
  readonly accessOnly?: true;
}

const POST = ['client_id', 'client_secret', 'token', 'token_type_hint'];
const BASIC = ['token', 'token_type_hint'];

const AGENT = { 'user-agent': 'sign-in-relay' };
const google = {
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  pkce: 'S256',
  auth: 'post',
  refreshToken: 'kept',
  offline: { access_type: 'offline', prompt: 'consent' },
  revocation: { url: 'https://oauth2.googleapis.com/revoke', sent: ['token'] },
} as const;

/** Of those that people host themselves. */
export const OWN = 'https://own.example/path';

export const DOCUMENTED: Readonly<Record<string, Documented>> = {
  mal: {
    authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
    tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
    ...{ pkce: 'plain', scope: '', auth: 'post', refreshToken: 'rotated' },
    refusal: { status: 400, body: { error: 'invalid_request', hint: 'Token has been revoked' } },
  },
  anilist: {
    authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
    tokenUrl: 'https://anilist.co/api/v2/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'none' },
    response: { expires_in: 31_536_000, refresh_token: null },
  },
  shikimori: {
    authorizeUrl: 'https://shikimori.io/oauth/authorize',
    tokenUrl: 'https://shikimori.io/oauth/token',
    ...{ pkce: 'none', scope: 'user_rates', auth: 'post', refreshToken: 'rotated' },
    headers: AGENT,
    response: { created_at: 1 },
  },
  bangumi: {
    authorizeUrl: 'https://bgm.tv/oauth/authorize',
    tokenUrl: 'https://bgm.tv/oauth/access_token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'rotated' },
    ...{ headers: AGENT, refreshesWithRedirectUri: true },
    response: { scope: null },
  },
  simkl: {
    authorizeUrl: 'https://simkl.com/oauth/authorize',
    tokenUrl: 'https://api.simkl.com/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'post', refreshToken: 'none' },
    headers: AGENT,
    response: { scope: 'public', expires_in: 157_680_000 },
  },
  trakt: {
    authorizeUrl: 'https://auth.trakt.tv/oauth/authorize',
    tokenUrl: 'https://auth.trakt.tv/oauth/token',
    ...{ pkce: 'S256', scope: '', auth: 'post', body: 'json', refreshToken: 'rotated' },
    headers: { ...AGENT, 'trakt-api-key': 'client' },
    refreshesWithRedirectUri: true,
    response: { scope: 'public', created_at: 1 },
    revocation: {
      url: 'https://auth.trakt.tv/oauth/revoke',
      ...{ body: 'json', sent: ['client_id', 'client_secret', 'token'], accessOnly: true },
    },
  },
  spotify: {
    authorizeUrl: 'https://accounts.spotify.com/authorize',
    tokenUrl: 'https://accounts.spotify.com/api/token',
    ...{ pkce: 'S256', scope: 'user-read-email', auth: 'basic', refreshToken: 'kept' },
  },
  google: { ...google, scope: 'openid email profile', response: { id_token: 'id-token' } },
  youtube: { ...google, scope: 'https://www.googleapis.com/auth/youtube.readonly' },
  twitch: {
    authorizeUrl: 'https://id.twitch.tv/oauth2/authorize',
    tokenUrl: 'https://id.twitch.tv/oauth2/token',
    ...{ pkce: 'none', scope: 'user:read:email', auth: 'post', refreshToken: 'rotated' },
    response: { scope: ['user:read:email', 'channel:read:polls'] },
    refusal: { status: 400, body: { status: 400, message: 'Invalid refresh token' } },
    revocation: {
      url: 'https://id.twitch.tv/oauth2/revoke',
      ...{ sent: ['client_id', 'token'], accessOnly: true },
    },
  },
  vimeo: {
    authorizeUrl: 'https://api.vimeo.com/oauth/authorize',
    tokenUrl: 'https://api.vimeo.com/oauth/access_token',
    ...{ pkce: 'none', scope: 'public', auth: 'basic', refreshToken: 'none' },
    response: { expires_in: undefined, user: { name: 'x'.repeat(2_000) } },
    revocation: {
      url: 'https://api.vimeo.com/tokens',
      method: 'DELETE',
      bearer: true,
      accessOnly: true,
    },
  },
  soundcloud: {
    authorizeUrl: 'https://secure.soundcloud.com/authorize',
    tokenUrl: 'https://secure.soundcloud.com/oauth/token',
    ...{ pkce: 'S256', scope: '', auth: 'post', refreshToken: 'rotated' },
    response: { scope: '' },
    revocation: {
      url: 'https://secure.soundcloud.com/sign-out',
      ...{ body: 'json', sent: ['access_token'], accessOnly: true },
    },
  },
  patreon: {
    authorizeUrl: 'https://www.patreon.com/oauth2/authorize',
    tokenUrl: 'https://www.patreon.com/api/oauth2/token',
    ...{ pkce: 'none', scope: 'identity', auth: 'post', refreshToken: 'rotated' },
    headers: AGENT,
  },
  discord: {
    authorizeUrl: 'https://discord.com/api/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    ...{ pkce: 'S256', scope: 'identify', auth: 'post', refreshToken: 'rotated' },
    revocation: { url: 'https://discord.com/api/oauth2/token/revoke', sent: POST },
  },
  reddit: {
    authorizeUrl: 'https://www.reddit.com/api/v1/authorize',
    tokenUrl: 'https://www.reddit.com/api/v1/access_token',
    ...{ pkce: 'none', scope: 'identity', auth: 'basic', refreshToken: 'kept' },
    ...{ offline: { duration: 'permanent' }, headers: AGENT },
    refusal: { status: 200, body: { error: 'invalid_grant' } },
    revocation: { url: 'https://www.reddit.com/api/v1/revoke_token', basic: true, sent: BASIC },
  },
  github: {
    authorizeUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    ...{ pkce: 'S256', scope: 'read:user', auth: 'post', refreshToken: 'rotated' },
    headers: { accept: 'application/json' },
    response: { expires_in: '28800', refresh_token_expires_in: '15811200', scope: '' },
    refusal: { status: 200, body: { error: 'bad_refresh_token' } },
    revocation: {
      url: 'https://api.github.com/applications/client/token',
      ...{ method: 'DELETE', basic: true, body: 'json', sent: ['access_token'], accessOnly: true },
    },
  },
  gitlab: {
    authorizeUrl: 'https://gitlab.com/oauth/authorize',
    tokenUrl: 'https://gitlab.com/oauth/token',
    ...{ pkce: 'S256', scope: 'read_user', auth: 'post', refreshToken: 'rotated' },
    refreshesWithRedirectUri: true,
    response: { created_at: 1 },
    revocation: { url: 'https://gitlab.com/oauth/revoke', sent: POST },
  },
  microsoft: {
    authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    ...{ pkce: 'S256', auth: 'post', refreshToken: 'rotated' },
    scope: 'openid profile offline_access User.Read',
    response: { ext_expires_in: 3_600, id_token: 'id-token' },
  },
  facebook: {
    authorizeUrl: 'https://www.facebook.com/v22.0/dialog/oauth',
    tokenUrl: 'https://graph.facebook.com/v22.0/oauth/access_token',
    ...{ pkce: 'none', scope: 'public_profile', auth: 'post', refreshToken: 'none' },
    refusal: { status: 400, body: { error: { message: 'no', type: 'OAuthException', code: 1 } } },
  },
  x: {
    authorizeUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
    ...{ pkce: 'S256', auth: 'basic', refreshToken: 'rotated' },
    scope: 'tweet.read users.read offline.access',
    revocation: { url: 'https://api.x.com/2/oauth2/revoke', basic: true, sent: BASIC },
  },
  dropbox: {
    authorizeUrl: 'https://www.dropbox.com/oauth2/authorize',
    tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
    ...{ pkce: 'S256', scope: 'account_info.read', auth: 'post', refreshToken: 'kept' },
    offline: { token_access_type: 'offline' },
    response: { uid: '1', account_id: 'dbid:1' },
    revocation: {
      url: 'https://api.dropboxapi.com/2/auth/token/revoke',
      ...{ bearer: true, accessOnly: true },
    },
  },
  mangabaka: {
    authorizeUrl: 'https://mangabaka.org/auth/oauth2/authorize',
    tokenUrl: 'https://mangabaka.org/auth/oauth2/token',
    ...{ pkce: 'S256', scope: 'openid profile library.read offline_access', auth: 'post' },
    refreshToken: 'kept',
    response: { id_token: 'id-token' },
    revocation: { url: 'https://mangabaka.org/auth/oauth2/revoke', sent: POST },
  },
  kick: {
    authorizeUrl: 'https://id.kick.com/oauth/authorize',
    tokenUrl: 'https://id.kick.com/oauth/token',
    ...{ pkce: 'S256', scope: 'user:read', auth: 'post', refreshToken: 'rotated' },
    response: { expires_in: '7200' },
  },
  tidal: {
    authorizeUrl: 'https://login.tidal.com/authorize',
    tokenUrl: 'https://auth.tidal.com/v1/oauth2/token',
    ...{ pkce: 'S256', scope: 'user.read', auth: 'post', refreshToken: 'kept' },
    response: { user_id: 1 },
  },
  battlenet: {
    authorizeUrl: 'https://oauth.battle.net/authorize',
    tokenUrl: 'https://oauth.battle.net/token',
    ...{ pkce: 'none', scope: 'openid', auth: 'post', refreshToken: 'none' },
    response: { expires_in: 86_399, sub: '1' },
  },
  notion: {
    authorizeUrl: 'https://api.notion.com/v1/oauth/authorize',
    tokenUrl: 'https://api.notion.com/v1/oauth/token',
    ...{ pkce: 'none', scope: '', auth: 'basic', body: 'json', refreshToken: 'rotated' },
    offline: { owner: 'user' },
    response: { expires_in: undefined, bot_id: '1', owner: { type: 'user' } },
    revocation: {
      url: 'https://api.notion.com/v1/oauth/revoke',
      ...{ body: 'json', basic: true, sent: ['token'], accessOnly: true },
    },
  },
  nextcloud: {
    authorizeUrl: `${OWN}/apps/oauth2/authorize`,
    tokenUrl: `${OWN}/apps/oauth2/api/v1/token`,
    ...{ pkce: 'S256', scope: '', auth: 'post', refreshToken: 'rotated' },
    response: { user_id: 'a' },
    refusal: { status: 400, body: { error: 'invalid_request' } },
    refusesRefreshAs: 'invalid_request',
  },
  homeassistant: {
    authorizeUrl: `${OWN}/auth/authorize`,
    tokenUrl: `${OWN}/auth/token`,
    ...{ pkce: 'none', scope: '', auth: 'none', refreshToken: 'kept' },
    response: { expires_in: 1_800 },
    revocation: { url: `${OWN}/auth/revoke`, sent: ['token'] },
  },
  mastodon: {
    authorizeUrl: `${OWN}/oauth/authorize`,
    tokenUrl: `${OWN}/oauth/token`,
    ...{ pkce: 'S256', scope: 'read', auth: 'post', refreshToken: 'none' },
    response: { expires_in: undefined, created_at: 1 },
    revocation: {
      url: `${OWN}/oauth/revoke`,
      ...{ sent: ['client_id', 'client_secret', 'token'], accessOnly: true },
    },
  },
  strava: {
    authorizeUrl: 'https://www.strava.com/oauth/authorize',
    tokenUrl: 'https://www.strava.com/oauth/token',
    ...{ pkce: 'none', scope: 'read', auth: 'post', refreshToken: 'rotated' },
    response: { expires_at: 1, athlete: { id: 1 } },
    revocation: { url: 'https://www.strava.com/oauth/revoke', basic: true, sent: BASIC },
  },
};

export const ID = 'client';
export const SECRET = 'secret/of=the+client';

const basicOf = () => `Basic ${btoa([ID, SECRET].map(encodeURIComponent).join(':'))}`;

/** A provider that requires what is documented of it. It says what is missing. */
export function playProvider(name: string, documented: Documented) {
  const { authorizeUrl, tokenUrl, pkce, scope, offline = {}, auth, body } = documented;
  const redirectUri = `${BASE_URL}/auth/${name}/callback`;
  const codes = new Map<string, { readonly challenge: string; readonly offline: boolean }>();
  const refreshTokens = new Set<string>();
  const revoked: string[] = [];
  let granted = 0;

  /** The page where the user signs in: what the browser returns with. Throws what is wrong with the request. */
  function authorize(address: string): { readonly state: string; readonly code: string } {
    const url = new URL(address);
    const sent = Object.fromEntries(url.searchParams);
    const { state = '', code_challenge: challenge = '', ...rest } = sent;
    expect(`${url.origin}${url.pathname}`).toBe(authorizeUrl);
    expect(rest).toMatchObject({ response_type: 'code', client_id: ID, redirect_uri: redirectUri });
    expect(sent.scope).toBe(scope === '' ? undefined : scope);
    expect(sent.code_challenge_method).toBe(pkce === 'none' ? undefined : pkce);
    expect(challenge === '').toBe(pkce === 'none');
    granted += 1;
    const code = `code-${granted}`;
    const asked = Object.entries(offline).every(([parameter, value]) => sent[parameter] === value);
    codes.set(code, { challenge, offline: asked });
    return { state, code };
  }

  async function answer(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const text = String(init.body);
    const type = headers.get('content-type');
    const refuse = () => {
      const { status, body: refusal } = documented.refusal ?? {
        status: 400,
        body: { error: 'invalid_grant' },
      };
      return Response.json(refusal, { status });
    };
    if (url === documented.revocation?.url) return revoke(documented.revocation, init);
    if (url !== tokenUrl) return new Response(null, { status: 404 });
    if (type !== (body ? 'application/json' : 'application/x-www-form-urlencoded')) {
      return Response.json({ error: 'invalid_request' }, { status: 415 });
    }
    const sent: Record<string, string> = body
      ? JSON.parse(text)
      : Object.fromEntries(new URLSearchParams(text));
    for (const [header, value] of Object.entries(documented.headers ?? {})) {
      if (headers.get(header) !== value) return new Response('who are you?', { status: 403 });
    }
    const knows =
      auth === 'basic'
        ? headers.get('authorization') === basicOf() && !('client_secret' in sent)
        : sent.client_id === ID &&
          sent.client_secret === (auth === 'none' ? undefined : SECRET) &&
          !headers.has('authorization');
    if (!knows) return Response.json({ error: 'invalid_client' }, { status: 401 });

    if (sent.grant_type === 'refresh_token') {
      const { refresh_token: presented = '', redirect_uri: redirect } = sent;
      if (documented.refreshesWithRedirectUri && redirect !== redirectUri) return refuse();
      if (!refreshTokens.has(presented)) return refuse();
      if (documented.refreshToken === 'kept') return grant({});
      refreshTokens.delete(presented);
      return grant({ refresh_token: issueRefreshToken() });
    }
    const { code = '', code_verifier: verifier = '' } = sent;
    const authorized = codes.get(code);
    codes.delete(code);
    if (!authorized || sent.redirect_uri !== redirectUri) return refuse();
    const expected = { none: '', plain: verifier, S256: hash('sha256', verifier, 'base64url') };
    if (authorized.challenge !== expected[pkce] || (pkce === 'none' && verifier)) return refuse();
    const refreshes = documented.refreshToken !== 'none' && authorized.offline;
    return grant(refreshes ? { refresh_token: issueRefreshToken() } : {});
  }

  /** Throws what is wrong with the request. */
  function revoke(revocation: DocumentedRevocation, { method, headers, body: sent }: RequestInit) {
    const { authorization = '', ...rest } = Object.fromEntries(new Headers(headers));
    expect(rest).toMatchObject(documented.headers ?? {});
    expect(method).toBe(revocation.method ?? 'POST');
    if (revocation.bearer) {
      expect(sent).toBeUndefined();
      revoked.push(authorization.replace('Bearer ', ''));
      return new Response(null, { status: 204 });
    }
    expect(authorization).toBe(revocation.basic ? basicOf() : '');
    const fields: Record<string, string> =
      revocation.body === 'json'
        ? JSON.parse(String(sent))
        : Object.fromEntries(new URLSearchParams(String(sent)));
    expect(rest['content-type']).toContain(revocation.body ?? 'form');
    expect(Object.keys(fields).toSorted()).toEqual([...(revocation.sent ?? [])]);
    expect(fields).toMatchObject({
      ...('client_id' in fields && { client_id: ID }),
      ...('client_secret' in fields && { client_secret: SECRET }),
    });
    revoked.push(fields.token ?? fields.access_token ?? '');
    return new Response('');
  }

  function issueRefreshToken(): string {
    granted += 1;
    refreshTokens.add(`refresh-${granted}`);
    return `refresh-${granted}`;
  }

  function grant(tokens: object): Response {
    granted += 1;
    const usual = { access_token: `access-${granted}`, token_type: 'bearer', expires_in: 3_600 };
    return Response.json({ ...usual, scope, ...documented.response, ...tokens });
  }

  return { authorize, answer, refreshTokens, revoked };
}
