import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { BASE_URL, createTestService, SETTINGS } from '../support/test-service.ts';

describe('PKCE', () => {
  test.each(['plain', 'S256'] as const)(
    '%s: the verifier of the exchange answers the challenge of the link',
    async (pkce) => {
      const providers = SETTINGS.providers.map((provider) => ({ ...provider, pkce }));
      const { start, send, callback, exchanges } = createTestService({ providers });
      const { url, state } = await start();
      const { searchParams } = new URL((await send(url)).headers.get('location') ?? '');
      await callback(state);
      const verifier = exchanges[0]?.get('code_verifier') ?? '';
      const challenge =
        pkce === 'plain' ? verifier : createHash('sha256').update(verifier).digest('base64url');
      expect(verifier).toMatch(/^[\w.~-]{64}$/);
      expect(searchParams.get('code_challenge')).toBe(challenge);
      expect(searchParams.get('code_challenge_method')).toBe(pkce);
    },
  );
});

describe('addresses', () => {
  test('nothing of a request gets into the redirect but its state', async () => {
    const { start, send } = createTestService();
    const { state } = await start();
    const response = await send(
      `/auth/mal?state=${state}&redirect_uri=https://evil.test&client_id=x`,
      { headers: { Host: 'evil.test', 'X-Forwarded-Host': 'evil.test' } },
    );
    expect(response.headers.get('location')).toStartWith(
      `https://mal.test/authorize?response_type=code&client_id=mal-client&redirect_uri=${encodeURIComponent(`${BASE_URL}/auth/mal/callback`)}&state=${state}&`,
    );
    expect(response.headers.get('location')).not.toContain('evil');
  });

  test.each(['/relay', '/auth', '/auth/v1'])(
    'OAUTH_BASE_URL may have the path %s, whether or not the proxy removes it',
    async (basePath) => {
      const baseUrl = `https://home.test${basePath}`;
      const { start, send } = createTestService({ baseUrl });
      for (const prefix of [basePath, '']) {
        const { url, state } = await start('mal', prefix);
        expect(url).toBe(`${baseUrl}/auth/mal?state=${state}`);
        const link = await send(`${prefix}/auth/mal?state=${state}`);
        const { searchParams } = new URL(link.headers.get('location') ?? '');
        expect(searchParams.get('redirect_uri')).toBe(`${baseUrl}/auth/mal/callback`);
        const back = await send(`${prefix}/auth/mal/callback?state=${state}&code=c`);
        expect(back.status).toBe(200);
        expect((await send(`${prefix}/auth/done`)).status).toBe(200);
        expect((await send(`${prefix}/health`)).status).toBe(200);
      }
      expect((await send(`${basePath}auth/done`)).status).toBe(404);
    },
  );

  test.each(['/auth/%73tart', '/auth/%6dal', '/auth/mal%2Fcallback', '/Auth/done', '/auth/done/'])(
    '%s is nobody else written differently',
    async (path) => {
      const { send, start } = createTestService();
      const { state } = await start();
      expect((await send(`${path}?state=${state}`)).status).toBe(404);
    },
  );
});
