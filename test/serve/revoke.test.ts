/** Revocations as they leave each runtime: methods and bodies that no other request to a provider has. */
import { expect, test } from 'bun:test';
import { serveUpstream } from '../kit/provider.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';

await buildForNode();

const upstream = serveUpstream(() => new Response(null, { status: 204 }));

const UNUSED = 'http://127.0.0.1:9/token';

test.each(RUNTIMES)(
  '%s sends a DELETE with its body, and a POST without one',
  async (_, command) => {
    const relay = await startRelay(
      {
        PROVIDERS: 'github,dropbox',
        GITHUB_CLIENT_ID: 'id',
        GITHUB_CLIENT_SECRET: 'secret',
        GITHUB_TOKEN_URL: UNUSED,
        GITHUB_REVOKE_URL: upstream.url,
        DROPBOX_CLIENT_ID: 'id',
        DROPBOX_TOKEN_URL: UNUSED,
        DROPBOX_REVOKE_URL: upstream.url,
      },
      { command },
    );
    upstream.requests.length = 0;
    // The second one finds what a body without a length would leave on the connection.
    for (const service of ['github', 'github', 'dropbox', 'github']) {
      const body = JSON.stringify({ service, accessToken: 'token-to-revoke' });
      const response = await relay.ask('/revoke', { method: 'POST', body });
      expect([response.status, await response.text()]).toEqual([200, '{}']);
    }
    const github = { method: 'DELETE', body: '{"access_token":"token-to-revoke"}' };
    const dropbox = { method: 'POST', body: '' };
    expect(upstream.requests.map(({ method, body }) => ({ method, body }))).toEqual([
      github,
      github,
      dropbox,
      github,
    ]);
    expect(upstream.requests[2]?.headers.get('authorization')).toBe('Bearer token-to-revoke');
    expect(await relay.stop()).toBe(0);
  },
);
