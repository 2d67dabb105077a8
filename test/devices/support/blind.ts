/** A relay whose users agree at once, and the provider at which a device then exchanges the code itself. */
import { type Fate, startFaultProxy } from '../../kit/fault-proxy.ts';
import { plantSecret } from '../../kit/secrets.ts';

/** What the device is given if it lets the relay exchange the code. */
export const RELAYED = { accessToken: plantSecret('access-token-that-a-relay-saw') };

export const answer = (body: object | string, status = 200): Fate => ({
  response:
    typeof body === 'string' ? new Response(body, { status }) : Response.json(body, { status }),
});

/** What `/services` and the token endpoint do first, in this order. The relay then offers blind sign-ins. */
export async function startBlindRelay({
  services = [],
  token = [],
}: {
  readonly services?: readonly Fate[];
  readonly token?: readonly Fate[];
}) {
  const fates = { '/services': [...services], '/token': [...token] };
  const counts = { '/services': 0, '/token': 0 };
  const decide = (path: string): Fate => {
    if (path === '/services' || path === '/token') {
      counts[path] += 1;
      const offered = { services: [{ service: 'mal', name: 'MyAnimeList', blind: 'can' }] };
      return fates[path].shift() ?? (path === '/token' ? answer('', 500) : answer(offered));
    }
    if (path === '/auth/start') {
      const link = `${proxy.url}/L/BCDF-GHJK`;
      const session = plantSecret(`poll-secret-${crypto.randomUUID()}`);
      return answer({ session, link, userCode: 'BCDF-GHJK', qr: `${link}.png`, expiresIn: 600 });
    }
    if (path.includes('ack=1')) return { response: new Response(null, { status: 204 }) };
    const code = plantSecret(`code-${crypto.randomUUID()}`);
    const blind = { code, redirectUri: `${proxy.url}/callback`, clientId: 'mal-client' };
    return answer({ ...RELAYED, ...blind, tokenUrl: `${proxy.url}/token` });
  };
  const proxy = await startFaultProxy('', ({ path }) => decide(path));
  return { ...proxy, asked: (path: keyof typeof counts) => counts[path] };
}
