/**
 * What strangers can make a relay do: for each public endpoint the most expensive request that
 * we know, and for everything that a client can keep open the memory that it takes.
 * docs/security.md "A stranger's cost table".
 */
import { annotate, record } from '../figures.ts';
import {
  countProviderRequests,
  encode,
  hold,
  type Request,
  requests,
  type Session,
} from '../load.ts';
import {
  type Bench,
  measureCpu,
  relayColumns,
  settledMegabytes,
  start,
  startWarm,
  sum,
  type Target,
} from '../processes.ts';

const REQUESTS = "A stranger's requests";
const HELD = 'What strangers can keep open';

/** A request line and headers have 16 KiB together, and so has the largest body that is read. */
const LONG = 15_000;
const BODY = 16_000;
const JSON_TYPE = 'application/json';

/** The longest chain that is read. A stranger behind a trusted proxy can send all of it but the last hop. */
const FORGED_HOPS = Array.from({ length: 31 }, (_, hop) => `2001:db8::${hop}:1, `).join('');

const BY_PROXY = 'the proxy';
const BY_START = '`START_BURST`, `START_RATE`, `MAX_SESSIONS`';
const BY_PROVIDER_REQUESTS = '1,000 in progress at a provider, 4,000 in all';

/** What a stranger gets by a start. */
interface Own {
  readonly state: string;
  readonly codePath: string;
}

interface Kind {
  /** Endpoint and request. */
  readonly row: string;
  readonly boundedBy: string;
  readonly status: number;
  readonly request: (own: Own) => Request;
  /** Each request needs a sign-in of its own. */
  readonly needsSession?: true;
  /** Fewer than a limit for all addresses together allows at once, and how long until it allows them again. */
  readonly atMost?: { readonly count: number; readonly pauseMs: number };
}

const KINDS: Kind[] = [
  {
    row: '`/openapi.json`, the largest document',
    boundedBy: BY_PROXY,
    status: 200,
    request: () => ({ path: '/openapi.json', headers: `X-Long: ${'x'.repeat(LONG)}` }),
  },
  {
    row: 'an unknown path: 15,000 slashes',
    boundedBy: BY_PROXY,
    status: 404,
    request: () => ({ path: `/l${'/'.repeat(LONG)}x/y` }),
  },
  {
    row: '`/`, `/link`: a code of 15,000 characters',
    boundedBy: BY_PROXY,
    status: 400,
    request: () => ({ path: `/link?code=${'%EF%BC%A2'.repeat(LONG / 9)}` }),
  },
  {
    row: '`/L/<code>`, `/l/<code>`: the page of an own code',
    boundedBy: BY_PROXY,
    status: 200,
    request: ({ codePath }) => ({ path: codePath, headers: 'Accept-Language: ar' }),
  },
  {
    row: '`/L/<code>`: a wrong code',
    boundedBy: 'wrong codes: 10, then 1 in 10 s an address; 50, then 5 a second in all',
    status: 404,
    request: () => ({ path: '/L/BCDF-GHJK' }),
    atMost: { count: 20, pauseMs: 4_000 },
  },
  {
    row: '`/auth/<service>`: an own link',
    boundedBy: BY_PROXY,
    status: 302,
    request: ({ state }) => ({ path: `/auth/mal?state=${state}&${'a&'.repeat(LONG / 2)}` }),
  },
  {
    row: '`/auth/<service>/callback`: a code for an own sign-in',
    boundedBy: `one for each start; ${BY_PROVIDER_REQUESTS}`,
    status: 200,
    request: ({ state }) => ({
      path: `/auth/mal/callback?state=${state}&code=${'c'.repeat(LONG)}`,
    }),
    needsSession: true,
  },
  {
    row: '`/auth/result`: 7,000 parameters',
    boundedBy: BY_PROXY,
    status: 410,
    request: () => ({ path: `/auth/result?${'a&'.repeat(LONG / 2)}` }),
  },
  {
    row: '`/auth/start`: a name and a code, 31 forged hops',
    boundedBy: BY_START,
    status: 200,
    request: () => ({
      method: 'POST',
      path: '/auth/start',
      // 512 bytes, which is all that is read.
      body: `{"service":"mal","code":true,"device":"${'a\\u0301'.repeat(67)}"}`.padEnd(512),
      hops: FORGED_HOPS,
    }),
  },
  {
    row: '`/oauth2/<service>/device_authorization`: 31 forged hops',
    boundedBy: BY_START,
    status: 200,
    request: () => ({
      method: 'POST',
      path: '/oauth2/mal/device_authorization',
      body: `client_id=x&${'a&'.repeat(BODY / 2 - 10)}`,
      hops: FORGED_HOPS,
    }),
  },
  {
    row: '`/oauth2/<service>/token`: nested JSON of 16 KB',
    boundedBy: BY_PROXY,
    status: 400,
    request: () => ({
      method: 'POST',
      path: '/oauth2/mal/token',
      body: `${'{"a":'.padEnd(BODY / 2, '[').padEnd(BODY, ']')}}`,
      type: JSON_TYPE,
    }),
  },
  {
    row: '`/refresh`: a token of 15,000 characters',
    boundedBy: `10, then 1 in 2 s an address; ${BY_PROVIDER_REQUESTS}`,
    status: 200,
    request: () => ({
      method: 'POST',
      path: '/refresh',
      body: JSON.stringify({ service: 'mal', refreshToken: newToken() }),
      type: JSON_TYPE,
    }),
  },
  {
    row: '`/revoke`, `/oauth2/<service>/revoke`: two tokens of 7,500 characters',
    boundedBy: `10, then 1 in 2 s an address; ${BY_PROVIDER_REQUESTS}`,
    status: 200,
    request: () => ({
      method: 'POST',
      path: '/revoke',
      body: JSON.stringify({
        service: 'mal',
        refreshToken: newToken(LONG / 2),
        accessToken: newToken(LONG / 2),
      }),
      type: JSON_TYPE,
    }),
  },
  {
    row: '`/qr/<file>`: PNG of 1,000 pixels',
    boundedBy: 'pictures: 20, then 2 a second an address; 50, then 25 a second in all',
    status: 200,
    request: ({ state }) => ({ path: `/qr/${state}.png?size=1000` }),
    atMost: { count: 40, pauseMs: 2_000 },
  },
];

let tokens = 0;

/** Never the same, because the result of a refresh is kept for a while. */
function newToken(characters = LONG): string {
  tokens += 1;
  return String(tokens).padStart(characters, 't');
}

export async function measureStranger(bench: Bench): Promise<void> {
  const MAL_REVOKE_URL = (bench.env.MAL_TOKEN_URL ?? '').replace('/token', '/revoke');
  const columns = relayColumns(bench).slice(0, 2);
  for (const column of columns) {
    const target = await startWarm(bench, column, { MAL_REVOKE_URL });
    const own = await startOwn(target);
    for (let round = 0; round <= bench.plan.rounds; round += 1) {
      for (const kind of KINDS) {
        const { cpu, asked } = await measureKind(bench, target, kind, own);
        // The code of the first round is not compiled yet.
        if (round === 0) continue;
        record(REQUESTS, column === 'memory' ? 'CPU, µs' : 'CPU with Redis, µs', kind.row, cpu);
        if (round > 1 || column !== columns.at(-1)) continue;
        record(REQUESTS, 'requests to a provider', kind.row, asked);
      }
    }
    await target.stop();
  }
  for (const { row, boundedBy } of KINDS) annotate(REQUESTS, row, boundedBy);
  await measureHeld(bench);
}

async function startOwn({ ports }: Target): Promise<Own> {
  const body = JSON.stringify({ service: 'mal', code: true, device: 'Living room' });
  const origin = `http://127.0.0.1:${ports.device}`;
  const response = await fetch(`${origin}/auth/start`, { method: 'POST', body });
  const { url, link } = (await response.json()) as { url: string; link: string };
  return { state: url.slice(url.indexOf('=') + 1), codePath: new URL(link).pathname };
}

/** CPU of one request, and how many requests to a provider it leads to. */
async function measureKind({ plan }: Bench, { ports, pids }: Target, kind: Kind, own: Own) {
  const count = kind.atMost?.count ?? plan.strangersRequests;
  const sessions = kind.needsSession ? await hold(ports, count) : [];
  const next = () => kind.request({ ...own, ...sessions.pop() });
  const askedBefore = countProviderRequests();
  const ask = () => requests(ports.device, next, { count, atOnce: 16 });
  const { cpu, result } = await measureCpu(pids, count, ask);
  if (result[kind.status] !== count) throw new Error(`${kind.row}: ${JSON.stringify(result)}`);
  if (kind.atMost !== undefined) await Bun.sleep(kind.atMost.pauseMs);
  return { cpu: sum(cpu), asked: (countProviderRequests() - askedBefore) / count };
}

interface HeldKind {
  /** What each connection sends, and how long the relay keeps it. */
  readonly row: string;
  readonly boundedBy: string;
  readonly text: (session: Session) => string;
}

const FILLER = `X-Long: ${'x'.repeat(LONG)}`;

const HELD_KINDS: HeldKind[] = [
  {
    row: 'a connection that is not used, for `POLL_SECONDS` and 25 s',
    boundedBy: BY_PROXY,
    text: () => encode({ path: '/health' }),
  },
  {
    row: '15 KB of headers without an end, for 10 s',
    boundedBy: BY_PROXY,
    text: () => encode({ path: '/health', headers: FILLER }).slice(0, -2),
  },
  {
    row: '16 KB of a body without an end, for 10 s',
    boundedBy: BY_PROXY,
    text: () => encode({ method: 'POST', path: '/refresh', body: 'x'.repeat(BODY) }).slice(0, -1),
  },
  {
    row: 'a poll with 15 KB of headers, for `POLL_SECONDS`',
    boundedBy: '4 of a session; 40,000 in all',
    text: ({ pollSecret }) =>
      encode({ path: `/auth/result?session=${pollSecret}`, headers: FILLER }),
  },
  {
    row: 'a refresh of 16 KB at a provider that hangs, for 15 s',
    boundedBy: BY_PROVIDER_REQUESTS,
    text: () =>
      encode({
        method: 'POST',
        path: '/refresh',
        body: JSON.stringify({ service: 'anilist', refreshToken: newToken() }),
        type: JSON_TYPE,
      }),
  },
];

/** Of a new relay each, because memory that was released before would be used again. */
async function measureHeld(bench: Bench): Promise<void> {
  const { freshRelays, strangersConnections: count, settleMs } = bench.plan;
  using hanging = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data() {} },
  });
  const settings = {
    ANILIST_CLIENT_ID: 'bench',
    ANILIST_TOKEN_URL: `http://127.0.0.1:${hanging.port}/token`,
  };
  for (let round = 0; round < freshRelays; round += 1) {
    for (const { row, boundedBy, text } of HELD_KINDS) {
      const { ports, pids, stop } = await start(bench, 'memory', settings);
      const sessions = await hold(ports, count);
      const before = await settledMegabytes(pids, settleMs);
      const close = await holdOpen(ports.device, sessions.map(text));
      const during = await settledMegabytes(pids, HELD_SETTLE_MS);
      record(HELD, 'KB', row, ((during - before) * 1_000) / count);
      annotate(HELD, row, boundedBy);
      close();
      await stop();
    }
  }
}

/** Less than the shortest time for which the relay keeps something open. */
const HELD_SETTLE_MS = 5_000;

/** Opens a connection for each text, sends it, and reads nothing. */
async function holdOpen(port: number, texts: readonly string[]): Promise<() => void> {
  const sockets = await Promise.all(
    texts.map(async (text) => {
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port,
        socket: { data() {}, error() {} },
      });
      socket.pause();
      socket.write(text);
      return socket;
    }),
  );
  return () => {
    for (const socket of sockets) socket.terminate();
  };
}
