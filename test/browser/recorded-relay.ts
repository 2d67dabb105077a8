/**
 * The relay, the provider and the network of test/browser/random-walk.test.ts. A browser says
 * in a header which walk it belongs to; what that walk asked and was answered is recorded.
 */
import type { Target } from '../kit/device.ts';
import { type Fate, startFaultProxy } from '../kit/fault-proxy.ts';
import { tokensFor } from '../kit/provider.ts';
import { pickFrom } from '../kit/random.ts';
import { createTestService, SETTINGS, type TestService } from '../kit/service.ts';
import { makeCode } from '../kit/user.ts';

/** The share of requests to which something happens: most pages arrive. */
const FAULTY = 0.35;

/** Sent by every request of a browser. The account is the one that its user has at the provider. */
export const WALK = 'x-walk';
export const ACCOUNT = 'x-account';
export const ACCOUNTS = ['ada', 'eve'] as const;
export type Account = (typeof ACCOUNTS)[number];

/** What the relay was asked in one walk, and what it answered. */
export interface Seen {
  readonly service: TestService;
  readonly random: () => number;
  /** The network loses and delays nothing any more. */
  isHealed: boolean;
  /** Of the callbacks that were answered with the success page. */
  readonly successes: string[];
  /** Who pressed Continue, and was redirected. */
  readonly continued: Set<string>;
  /** Whose code is whose. */
  readonly codes: Map<string, string>;
  /** A user has declined, here or at the provider. */
  isDeclined: boolean;
}

const PROVIDER_PAGE = `<!doctype html><title>Provider</title><link rel="icon" href="data:,">
<form method="post"><button name="allowed" value="1">Allow</button><button name="allowed" value="">Deny</button></form>`;

export async function startWorld(confirm: 'code' | 'always') {
  const walks = new Map<string, Seen>();
  const walkOf = ({ headers }: Request) => walks.get(headers.get(WALK) ?? '');

  /** Who is signed in there is known by the browser. */
  const provider = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const html = { headers: { 'Content-Type': 'text/html' } };
      if (request.method === 'GET') return new Response(PROVIDER_PAGE, html);
      const query = new URL(request.url).searchParams;
      const isAllowed = (await request.text()) === 'allowed=1';
      const code = makeCode();
      walkOf(request)?.codes.set(code, request.headers.get(ACCOUNT) ?? '');
      const answer = isAllowed ? { code } : { error: 'access_denied' };
      const back = new URLSearchParams({ ...answer, state: query.get('state') ?? '' });
      return Response.redirect(`${query.get('redirect_uri')}?${back}`, 302);
    },
  });

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, peer) {
      const seen = walkOf(request);
      if (seen === undefined) return new Response(null, { status: 404 });
      const sent = request.method === 'POST' ? await request.clone().text() : '';
      const response = await seen.service.handle(request, peer);
      const { pathname, searchParams } = new URL(request.url);
      const code = searchParams.get('code');
      if (pathname.endsWith('/callback')) {
        if (searchParams.has('error')) seen.isDeclined = true;
        if (/You’re signed in/.test(await response.clone().text())) seen.successes.push(code ?? '');
      }
      if (sent.includes('decline')) seen.isDeclined = true;
      if (response.status === 303) seen.continued.add(request.headers.get(ACCOUNT) ?? '');
      return response;
    },
  });

  const proxy = await startFaultProxy(server.url.origin, ({ headers }) => {
    const seen = walks.get(headers[WALK] ?? '');
    return seen === undefined || seen.isHealed ? {} : drawFate(seen.random);
  });

  function open(walk: string, random: () => number) {
    const [mal] = SETTINGS.providers;
    if (mal === undefined) throw new Error('no provider');
    const authorizeUrl = `${provider.url.origin}/authorize`;
    const settings = { baseUrl: proxy.url, confirm, providers: [{ ...mal, authorizeUrl }] };
    const service = createTestService(settings, {
      fetch: async (_, { body }) => {
        const code = new URLSearchParams(String(body)).get('code') ?? '';
        return Response.json({ access_token: tokensFor(code).accessToken });
      },
    });
    const seen: Seen = {
      ...{ service, random, isHealed: false, successes: [] },
      ...{ continued: new Set(), codes: new Map(), isDeclined: false },
    };
    walks.set(walk, seen);
    const device: Target = {
      ask: (path, init) => fetch(new URL(path, server.url), { ...init, headers: { [WALK]: walk } }),
    };
    return { seen, device };
  }

  return {
    url: proxy.url,
    open,
    async stop() {
      proxy[Symbol.dispose]();
      await Promise.all([provider.stop(true), server.stop(true)]);
    },
  };
}

export type World = Awaited<ReturnType<typeof startWorld>>;

function drawFate(random: () => number): Fate {
  if (random() > FAULTY) return {};
  const part = random();
  const fates: readonly Fate[] = [
    { losesRequest: true },
    { cutRequestAt: (request) => Math.floor(request.length * part) },
    { cutAfter: (response) => cutAsWithTls(response, part) },
    { cutAfter: 0 },
    { isDoubled: true },
    { delayMs: 200 * part },
    { arrivesAfterMs: 200 * part },
  ];
  return pickFrom(random, fates);
}

/**
 * Over HTTPS a browser ignores a response whose headers are not whole. Over HTTP, as here, Chromium
 * takes what there is, and follows half of a Location to an address where nobody can go on.
 */
function cutAsWithTls(response: string, part: number): number {
  const at = Math.floor(response.length * part);
  return at < response.indexOf('\r\n\r\n') + 4 ? 0 : at;
}
