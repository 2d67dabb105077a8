/** What may stand between a device and the relay: a proxy that fails in the ways of the field. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { plantIfLong } from '../../kit/secrets.ts';

/** `lost` closes the connection before the relay is asked, `cut` in the middle of the relay's answer. */
export type Fault = 'html 503' | 'html 200' | '429' | 'lost' | 'cut';

export type Route = 'start' | 'poll' | 'ack' | 'cancel' | 'refresh';

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** The next requests of that route meet these faults, in this order; `cut` waits for an answer with tokens. */
  fail(route: Route, ...faults: Fault[]): void;
  /** The statuses that the relay itself answered. */
  answers(route: Route): readonly number[];
  /** The poll secret that was seen last. */
  session(): string;
}

export async function startProxy(relayUrl: string): Promise<Proxy> {
  const faults = new Map<Route, Fault[]>();
  const answers: { readonly route: Route; readonly status: number }[] = [];
  let session = '';

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', relayUrl);
    const route = routeOf(url);
    session = plantIfLong(url.searchParams.get('session') ?? session);
    const waiting = faults.get(route) ?? [];
    if (waiting[0] !== undefined && waiting[0] !== 'cut') {
      failNow(waiting.shift() as Fault, response);
      return;
    }
    const left = new AbortController();
    response.on('close', () => left.abort());
    const answer = await fetch(url, {
      method: request.method ?? 'GET',
      headers: headersOf(request),
      body: request.method === 'POST' ? await bodyOf(request) : null,
      signal: left.signal,
      redirect: 'manual',
    });
    const body = Buffer.from(await answer.arrayBuffer());
    answers.push({ route, status: answer.status });
    const isCut = answer.status === 200 && waiting[0] === 'cut';
    if (isCut) waiting.shift();
    const headers = Object.fromEntries(answer.headers);
    for (const name of ['connection', 'keep-alive', 'content-encoding', 'transfer-encoding']) {
      delete headers[name];
    }
    if (answer.status !== 204) headers['content-length'] = String(body.length);
    response.writeHead(answer.status, headers);
    if (!isCut) {
      response.end(body);
      return;
    }
    response.write(body.subarray(0, body.length / 2), () => response.destroy());
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fail: (route, ...more) => void faults.set(route, [...(faults.get(route) ?? []), ...more]),
    answers: (route) => answers.filter((each) => each.route === route).map(({ status }) => status),
    session: () => session,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function routeOf({ pathname, searchParams }: URL): Route {
  if (pathname === '/refresh') return 'refresh';
  if (pathname === '/auth/start') return 'start';
  if (searchParams.has('ack')) return 'ack';
  return searchParams.has('cancel') ? 'cancel' : 'poll';
}

function failNow(fault: Fault, response: ServerResponse): void {
  const page = '<!doctype html><title>A page of a proxy</title>';
  switch (fault) {
    case 'html 503':
      response.writeHead(503, { 'Content-Type': 'text/html' }).end(page);
      break;
    case 'html 200':
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
      break;
    case '429':
      response.writeHead(429, { 'Retry-After': '1' }).end('Rate limited\n');
      break;
    default:
      response.destroy();
  }
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && !['host', 'connection', 'content-length'].includes(name)) {
      headers.set(name, value);
    }
  }
  return headers;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
