/** What may stand between a device and the relay: a proxy that fails in the ways of the field. */
import { type Fate, startFaultProxy } from '../../kit/fault-proxy.ts';
import { createRandom, testSeed } from '../../kit/random.ts';
import { plantIfLong, plantSecret } from '../../kit/secrets.ts';

/** It mentions what programs look for. */
const PAGE = '<script>p={"session":"a","link":"b","accessToken":"c"}</script>';
const HTML = { 'Content-Type': 'text/html' };

const random = createRandom(testSeed);

/** `torn`: the response is cut anywhere, also in its headers. `held`: the network is gone, and nobody says so. */
const FATES = {
  'html 503': () => ({ response: new Response(PAGE, { status: 503, headers: HTML }) }),
  'html 200': () => ({ response: new Response(PAGE, { headers: HTML }) }),
  'deep json 200': () => ({ response: new Response('['.repeat(16_000)) }),
  'json 503': () => ({
    response: Response.json({ error: 'a', link: 'b', accessToken: 'c' }, { status: 503 }),
  }),
  'other json 200': () => ({
    response: Response.json({ data: { access_token: plantSecret('access-token-nested') } }),
  }),
  '429': () => ({ response: new Response('', { status: 429, headers: { 'Retry-After': '1' } }) }),
  '429 for a minute': () => ({
    response: new Response('', { status: 429, headers: { 'Retry-After': '60' } }),
  }),
  // To where no program has anything to ask.
  redirect: () => ({ response: new Response('', { status: 302, headers: { Location: '/away' } }) }),
  lost: () => ({ losesRequest: true }),
  held: () => ({ losesRequest: true, staysOpen: true }),
  torn: () => ({ cutAfter: random() }),
} satisfies Record<string, () => Fate>;

/** In the middle of a body with tokens `cut` ends the connection; with `stall` nothing more comes. */
type Fault = keyof typeof FATES | 'cut' | 'stall';
type Route = 'away' | 'services' | 'start' | 'poll' | 'ack' | 'cancel' | 'refresh';

export type DeviceProxy = Awaited<ReturnType<typeof startProxy>>;

/** Each proxy is a client of its own to a relay that trusts it, with rate limits of its own. */
let clients = 0;

export async function startProxy(relayUrl: string) {
  clients += 1;
  const clientAddress = `198.51.100.${clients}`;
  const faults = new Map<Route, Fault[]>();
  const answers: { readonly route: Route; readonly status: number }[] = [];
  let session = '';

  function decide(path: string): Fate {
    const url = new URL(path, relayUrl);
    const route = routeOf(url);
    session = plantIfLong(url.searchParams.get('session') ?? session);
    const waiting = faults.get(route) ?? [];
    const [fault] = waiting;
    if (fault !== undefined && fault !== 'cut' && fault !== 'stall') {
      waiting.shift();
      return { clientAddress, ...FATES[fault]() };
    }
    const onAnswer = (status: number) => void answers.push({ route, status });
    if (fault === undefined) return { onAnswer, clientAddress };
    const cutAfter = (message: string) => {
      if (waiting[0] !== fault || !message.startsWith('HTTP/1.1 200')) return message.length;
      waiting.shift();
      return Math.floor((message.indexOf('\r\n\r\n') + message.length) / 2);
    };
    return { onAnswer, clientAddress, cutAfter, staysOpen: fault === 'stall' };
  }

  const proxy = await startFaultProxy(relayUrl, ({ path }) => decide(path));
  return {
    ...proxy,
    /** The next requests of that route meet these faults, in this order; `cut` and `stall` wait for an answer with tokens. */
    fail: (route: Route, ...more: Fault[]) =>
      void faults.set(route, [...(faults.get(route) ?? []), ...more]),
    /** The statuses that the relay itself answered. */
    answers: (route: Route) =>
      answers.filter((each) => each.route === route).map(({ status }) => status),
    /** The poll secret that was seen last. */
    session: () => session,
  };
}

function routeOf({ pathname, searchParams }: URL): Route {
  if (pathname === '/away') return 'away';
  if (pathname === '/services') return 'services';
  if (pathname === '/refresh') return 'refresh';
  if (pathname === '/auth/start') return 'start';
  if (searchParams.has('ack')) return 'ack';
  return searchParams.has('cancel') ? 'cancel' : 'poll';
}
