/** A proxy that does to a connection what a bad network does. Each connection carries one exchange. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Exchange {
  /** From 0, in the order of arrival. */
  readonly nth: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a message ends early, given all of it. */
type Cut = (message: string) => number;

export interface Fate {
  /** The request never arrives. */
  readonly losesRequest?: boolean;
  /** How many bytes of the request arrive. */
  readonly cutRequestAt?: Cut;
  /** How many bytes of the response are passed on; below 1, which part of them. */
  readonly cutAfter?: number | Cut;
  /** The connection stays open after what was lost or cut. */
  readonly staysOpen?: boolean;
  /** The client, as a relay sees it that trusts this proxy. */
  readonly clientAddress?: string;
  /** Answers instead of the relay. */
  readonly response?: Response;
  /** Called with the status of the response. */
  readonly onAnswer?: (status: number) => void;
}

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

export async function startFaultProxy(
  /** Asked for each exchange, before its fate is decided. */
  target: string | (() => string),
  decide: (exchange: Exchange) => Fate,
) {
  const sockets = new Set<Socket>();
  const counts = { exchanges: 0, cut: 0 };

  async function carry(socket: Socket, received: RawRequest): Promise<void> {
    const { method, path, headers, body, raw } = received;
    const origin = typeof target === 'string' ? target : target();
    const asked = { nth: counts.exchanges++, method, path, headers };
    const { losesRequest, cutRequestAt, cutAfter, staysOpen = false, ...fate } = decide(asked);
    if (losesRequest || cutRequestAt || cutAfter !== undefined) counts.cut += 1;
    if (losesRequest) return staysOpen ? undefined : void socket.destroy();
    if (cutRequestAt !== undefined) {
      const onward = connect(Number(new URL(origin).port), '127.0.0.1');
      onward.on('error', () => {});
      onward.end(raw.slice(0, cutRequestAt(raw)), 'latin1', () => socket.destroy());
      return;
    }
    const left = new AbortController();
    socket.once('close', () => left.abort());
    const { clientAddress } = fate;
    const forwarded = clientAddress && { 'x-forwarded-for': clientAddress };
    const request = {
      method,
      redirect: 'manual',
      signal: left.signal,
      headers: { ...headers, ...forwarded },
      ...(body !== '' && { body }),
    } as const;
    const answer = fate.response ?? (await fetch(origin + path, request));
    fate.onAnswer?.(answer.status);
    const bytes = await toBytes(answer);
    if (cutAfter === undefined) return void socket.end(bytes, 'latin1');
    const at = typeof cutAfter === 'number' ? cutAfter : cutAfter(bytes);
    const length = at > 0 && at < 1 ? Math.floor(at * bytes.length) : at;
    socket.write(bytes.slice(0, length), 'latin1', () => {
      if (!staysOpen || length >= bytes.length) socket.destroy();
    });
  }

  const server = createServer((socket) => {
    let received = '';
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const request = parseRequest(received);
      if (request === undefined) return;
      socket.removeAllListeners('data');
      socket.resume();
      carry(socket, request).catch(() => socket.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  function cutAll(): void {
    for (const socket of sockets) socket.destroy();
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Exchanges so far, and how many of them were cut or lost. */
    counts,
    /** Cuts every connection. */
    cutAll,
    [Symbol.dispose]() {
      server.close();
      cutAll();
    },
  };
}

type RawRequest = NonNullable<ReturnType<typeof parseRequest>>;

/** Undefined until the whole request is there. */
function parseRequest(received: string) {
  const [head = '', ...rest] = received.split('\r\n\r\n');
  if (rest.length === 0) return undefined;
  const [line = '', ...fields] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const [name = '', value = ''] = field.split(/: ?(.*)/);
    headers[name.toLowerCase()] = value;
  }
  const body = rest.join('\r\n\r\n');
  if (body.length < Number(headers['content-length'] ?? 0)) return undefined;
  const [method = '', path = ''] = line.split(' ');
  for (const name of ['host', 'connection', 'content-length', 'accept-encoding', 'expect']) {
    delete headers[name];
  }
  return { method, path, headers, body, raw: received };
}

/** One character a byte. */
async function toBytes(response: Response): Promise<string> {
  const body = Buffer.from(await response.arrayBuffer()).toString('latin1');
  const fields = [...response.headers]
    .filter(([name]) => !/^(connection|content-length|transfer-encoding|keep-alive)$/.test(name))
    .map(([name, value]) => `${name}: ${value}`);
  const length = response.status === 204 ? [] : [`content-length: ${body.length}`];
  return [
    `HTTP/1.1 ${response.status} X`,
    'connection: close',
    ...fields,
    ...length,
    '',
    body,
  ].join('\r\n');
}
