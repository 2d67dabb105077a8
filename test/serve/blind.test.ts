/**
 * What blind sign-ins promise (docs/security.md): no verifier and no token is in the relay's
 * log, or in any byte that its devices, users, or Redis exchange with it.
 */
import { describe, expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { acknowledge, poll, start, type Target } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { startOpenId } from '../kit/openid.ts';
import { findFreePort } from '../kit/process.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import { containsSecret, plantSecret } from '../kit/secrets.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { answerLink } from '../kit/user.ts';

const redis = has('Redis', 'a relay over Redis stores no token of a blind sign-in')
  ? await startRedis()
  : undefined;
const toRedis = redis && (await startCuttingProxy(redis.port));

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
}

/** A relay that its device and its user reach over a proxy, at a provider with S256 and a public client. */
async function startStage(env: Readonly<Record<string, string>>) {
  const port = await findFreePort();
  const proxy = await startCuttingProxy(port);
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  const provider = await startOpenId(`${baseUrl}/auth/openid/callback`);
  const settings = {
    OAUTH_BASE_URL: baseUrl,
    PROVIDERS: 'openid',
    OPENID_CLIENT_ID: provider.clientId,
    OPENID_AUTHORIZE_URL: provider.authorizeUrl,
    OPENID_TOKEN_URL: provider.tokenUrl,
    OPENID_PKCE: 'S256',
    OPENID_SCOPE: 'openid profile offline_access',
    OPENID_AUTHORIZE_PARAMS: 'prompt=consent',
  };
  const relay = await startRelay({ ...settings, ...env }, { port });
  const device: Target = {
    ask: (path, init) => fetch(new URL(path, baseUrl), { redirect: 'manual', ...init }),
  };

  /** A sign-in of the user Ada, whose device waits; returns the result. */
  async function signIn(asked: object) {
    const { session, url } = await start(device, 'openid', { ack: true, ...asked });
    const result = poll(device, session);
    const page = await answerLink('Ada', url);
    expect(page).toMatchObject({ status: 200, title: 'Signed in' });
    return { session, result: (await (await result).json()) as Record<string, string> };
  }

  return {
    baseUrl,
    provider,
    relay,
    device,
    signIn,
    /** Where the text is, in any form. */
    find(text: string): string[] {
      const places = {
        wire: proxy.bytes(),
        log: Buffer.from(relay.output()),
        redis: toRedis?.bytes() ?? Buffer.alloc(0),
      };
      return Object.entries(places).flatMap(([place, bytes]) =>
        containsSecret(bytes, text) ? [place] : [],
      );
    },
  };
}

/** Exchanges the code as a device does (RFC 6749 §4.1.3, RFC 7636 §4.5). */
async function exchangeAsDevice(result: Record<string, string>, verifier: string): Promise<Tokens> {
  const { code = '', tokenUrl = '', clientId = '', redirectUri = '' } = result;
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier: verifier,
  };
  const response = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
  expect(response.status).toBe(200);
  const tokens = (await response.json()) as Tokens;
  for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token]) {
    plantSecret(token);
  }
  return tokens;
}

describe.each([
  ['in memory', {}],
  ...(toRedis ? [['in Redis', { REDIS_URL: toRedis.url }] as const] : []),
])('sessions %s:', (_, env: Record<string, string>) => {
  test.each(['allow', 'always'])('BLIND=%s: good tokens, and the relay saw none', async (BLIND) => {
    const stage = await startStage({ ...env, BLIND });
    const { provider, device, signIn, find } = stage;
    const verifier = plantSecret(randomBytes(48).toString('base64url'));
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const { session, result } = await signIn({ challenge });
    expect(Object.keys(result)).toEqual(['code', 'tokenUrl', 'clientId', 'redirectUri']);
    expect(provider.exchanges()).toBe(0);
    const tokens = await exchangeAsDevice(result, verifier);
    expect(provider.exchanges()).toBe(1);
    expect(await provider.findOwner(tokens.access_token)).toBe('Ada');
    const refreshed = await provider.refresh(tokens.refresh_token);
    expect(await provider.findOwner(refreshed ?? '')).toBe('Ada');

    // The result is still kept, so the search meets the session in each place.
    const { access_token, refresh_token, id_token } = tokens;
    for (const secret of [verifier, access_token, refresh_token, id_token]) {
      expect(find(secret)).toEqual([]);
    }
    // The search finds what is there.
    expect(find(result.code ?? '')).toEqual(['wire']);
    expect(find(challenge)).toEqual(['wire']);
    expect((await acknowledge(device, session)).status).toBe(204);
  });

  test('not blind: the relay sees the tokens, and the same search finds them', async () => {
    const stage = await startStage(env);
    const { result } = await stage.signIn({});
    expect(stage.provider.exchanges()).toBe(1);
    expect(stage.find(result.accessToken ?? '')).toEqual(['wire']);
  });
});
