/** A provider like MyAnimeList: a public client, PKCE `plain` and no other method, one page with Allow and Deny. */
import { createWatch, describe, type RealProvider } from './openid.ts';
import { serveUpstream } from './provider.ts';
import { plantSecret } from './secrets.ts';

/** The only user of the plain provider. */
export const PLAIN_OWNER = 'Grace';

const CLIENT = { client_id: 'relay-at-plain' };

export async function startPlainPkce(redirectUri: string): Promise<RealProvider> {
  const watch = createWatch();
  const own = { ...CLIENT, redirect_uri: redirectUri };
  /** By its code. */
  const challenges = new Map<string, string | null>();
  const tokens = new Set<string>();

  function issue(): string {
    const token = plantSecret(crypto.randomUUID());
    tokens.add(token);
    return token;
  }

  function authorize(query: URLSearchParams, isAllowed: boolean): Response {
    const code = plantSecret(crypto.randomUUID());
    challenges.set(code, query.get('code_challenge'));
    for (const name of ['state', 'code_challenge']) plantSecret(query.get(name) ?? '');
    const result = isAllowed ? { code } : { error: 'access_denied' };
    const back = new URLSearchParams({ ...result, state: query.get('state') ?? '' });
    return Response.redirect(`${redirectUri}?${back}`);
  }

  /** A code and a refresh token are each good once. */
  function isGood(form: URLSearchParams): boolean {
    if (form.get('grant_type') === 'refresh_token') {
      return has(form, CLIENT) && tokens.delete(form.get('refresh_token') ?? '');
    }
    const code = form.get('code') ?? '';
    const challenge = challenges.get(code);
    return challenges.delete(code) && has(form, own) && form.get('code_verifier') === challenge;
  }

  function grant(form: URLSearchParams): Response {
    if (!isGood(form)) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    const issued = { access_token: issue(), refresh_token: issue() };
    return Response.json({ ...issued, token_type: 'Bearer', expires_in: 3_600 });
  }

  const { origin, stop } = serveUpstream(async ({ method, headers, url }, body) => {
    const { pathname, searchParams: query } = new URL(url);
    await watch.see(method, pathname, Object.fromEntries(headers));
    const form = new URLSearchParams(body);
    if (pathname === '/token') return grant(form);
    const [, token = ''] = headers.get('authorization')?.split('Bearer ') ?? [];
    if (tokens.has(token)) return Response.json({ name: PLAIN_OWNER });
    const asked = { ...own, response_type: 'code', code_challenge_method: 'plain' };
    if (pathname !== '/auth' || !has(query, asked)) return new Response('no', { status: 400 });
    return method === 'GET' ? showForm() : authorize(query, form.get('allowed') === 'true');
  });
  return describe(origin, CLIENT, watch, async () => stop());
}

const has = (sent: URLSearchParams, expected: Readonly<Record<string, string>>) =>
  Object.entries(expected).every(([name, value]) => sent.get(name) === value);

/** The form is sent to its own address, with the same query. */
function showForm(): Response {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Plain provider</title><link rel="icon" href="data:,"></head>
<body><form method="post">
<button name="allowed" value="true">Allow</button>
<button name="allowed" value="false">Deny</button>
</form></body></html>`;
  return new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } });
}
