/** Whole sign-ins against a running relay: device, person and provider in one process. */

/** As a provider with signed tokens grants them. */
export const TOKENS = {
  accessToken: 'a'.repeat(800),
  refreshToken: 'r'.repeat(100),
  expiresIn: 3_600,
};

const GRANT = {
  access_token: TOKENS.accessToken,
  refresh_token: TOKENS.refreshToken,
  expires_in: TOKENS.expiresIn,
};

export function startProvider() {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json(GRANT) });
  return { origin: server.url.origin, stop: () => void server.stop(true) };
}

/** Start, parked poll, authorize, callback with its exchange, hand-over. */
export async function signIn(baseUrl: string): Promise<void> {
  const started = await fetch(`${baseUrl}/auth/start`, {
    method: 'POST',
    body: JSON.stringify({ service: 'mal' }),
  });
  const { session, url } = (await started.json()) as { session: string; url: string };
  const polled = fetch(`${baseUrl}/auth/result?session=${session}`);
  const opened = await fetch(url, { redirect: 'manual' });
  if (opened.status !== 302) throw new Error(`authorize: ${opened.status}`);
  await opened.body?.cancel();
  const state = new URL(url).searchParams.get('state');
  const page = await fetch(`${baseUrl}/auth/mal/callback?state=${state}&code=code`);
  await page.text();
  const result = await polled;
  if (result.status !== 200) throw new Error(`result: ${result.status}`);
  await result.text();
}

/** `count` of `work`, so many at once. */
export async function runMany(
  count: number,
  atOnce: number,
  work: () => Promise<unknown>,
): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left > 0) {
        left -= 1;
        await work();
      }
    }),
  );
}

/** No limit bites; the log is as in production. */
export const relayEnv = (providerOrigin: string) => ({
  MAL_CLIENT_ID: 'bench',
  MAL_AUTHORIZE_URL: `${providerOrigin}/authorize`,
  MAL_TOKEN_URL: `${providerOrigin}/token`,
  MAX_SESSIONS: '1000000',
  START_BURST: '1000000',
  START_RATE: '1000000',
  LOG_LEVEL: 'info',
});
