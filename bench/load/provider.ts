/** A provider's token endpoint on bare sockets; it notes when it answered which code. */

/** As a provider with signed tokens grants them. */
const GRANT = JSON.stringify({
  access_token: 'a'.repeat(800),
  refresh_token: 'r'.repeat(100),
  expires_in: 3_600,
});

const HEAD_END = '\r\n\r\n';

export interface Tls {
  readonly key: string;
  readonly cert: string;
}

/** Code -> when its tokens were written to the relay. Whoever asks removes it. */
const answeredAtMs = new Map<string, number>();
let connections = 0;

/** Connections that relays have made so far: how many exchanges had one of their own. */
export const connectionsSoFar = () => connections;

export function takeAnsweredAt(code: string): number {
  const answered = answeredAtMs.get(code);
  if (answered === undefined) throw new Error('the provider was never asked');
  answeredAtMs.delete(code);
  return answered;
}

export function startProvider(tls?: Tls): number {
  const server = Bun.listen<{ text: string }>({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls !== undefined && { tls }),
    socket: {
      open(socket) {
        connections += 1;
        socket.data = { text: '' };
      },
      data(socket, chunk) {
        socket.data.text += chunk.toString('latin1');
        const request = takeRequest(socket.data);
        if (request === undefined) return;
        const keepsAlive = !/\r\nconnection: *close/i.test(request.head);
        answeredAtMs.set(request.code, performance.now());
        socket.write(answer(keepsAlive));
        if (!keepsAlive) socket.end();
      },
      error() {},
    },
  });
  return server.port;
}

function takeRequest(data: { text: string }): { head: string; code: string } | undefined {
  const headEnd = data.text.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = data.text.slice(0, headEnd);
  const bodyStart = headEnd + HEAD_END.length;
  const end = bodyStart + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (data.text.length < end) return undefined;
  const body = data.text.slice(bodyStart, end);
  data.text = data.text.slice(end);
  return { head, code: /(?:^|&)code=([^&]*)/.exec(body)?.[1] ?? '' };
}

const answer = (keepsAlive: boolean) =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: ${keepsAlive ? 'keep-alive' : 'close'}\r\nContent-Length: ${GRANT.length}\r\n\r\n${GRANT}`;
