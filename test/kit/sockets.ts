/** Raw TCP: what no HTTP client would send, and connections that end as the test likes. */
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type RawConnection = ReturnType<typeof openRaw>;

/** Over TLS if the CA of the server's certificate is given. */
export function openRaw(url: string, ca?: string) {
  const { hostname, port } = new URL(url);
  const target = { host: hostname, port: Number(port) };
  const socket = ca ? connectTls({ ...target, ca }) : connect({ ...target, allowHalfOpen: true });
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  // An error is followed by a close, which is all that matters here.
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(received));
  });
  return {
    /** Resolves once the bytes are with the kernel. */
    send: (bytes: string | Buffer) =>
      new Promise<void>((resolve) => socket.write(bytes, () => resolve())),
    /** What was received so far, as soon as it contains `text`. Rejects if the connection closes before that. */
    until(text: string) {
      return new Promise<string>((resolve, reject) => {
        const check = () => {
          if (!received.includes(text)) return;
          socket.off('data', check);
          resolve(received);
        };
        socket.on('data', check);
        check();
        const tooEarly = () => new Error(`closed before ${JSON.stringify(text)}: ${received}`);
        void closed.then(() => reject(tooEarly()));
      });
    },
    /** All that was received, one character a byte, once the connection is closed, by whichever side. */
    closed,
    /** Half-close: sends FIN and keeps reading. */
    sendEnd: () => void socket.end(),
    /** Sends RST. */
    reset: () => void socket.resetAndDestroy(),
    /** Sends FIN and reads no more. */
    leave: () => void socket.destroy(),
  };
}

/** Sends the bytes and resolves with all that was received, once the server closes the connection. */
export async function sendRaw(url: string, bytes: string, ca?: string): Promise<string> {
  const connection = openRaw(url, ca);
  await connection.send(bytes);
  return connection.closed;
}

/** The statuses of all responses in what was received. */
export const statusesOf = (received: string) =>
  (received.match(/HTTP\/1\.[01] \d{3}/g) ?? []).map(statusOf);

/** The status in the first line of a response; 'closed' if there was no response. */
export function statusOf(response: string): number | 'closed' {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(response)?.[1];
  return status === undefined ? 'closed' : Number(status);
}
