import { connect } from 'node:net';

/** A connection that the test speaks and ends as it likes. */
export interface RawConnection {
  /** Resolves once the bytes are with the kernel. */
  send(bytes: string): Promise<void>;
  /** What has come back so far, as soon as it holds `text`; rejects when the connection closes before. */
  until(text: string): Promise<string>;
  /** All that came back, once the connection is closed, by whichever side and however. */
  readonly closed: Promise<string>;
  /** Half-close: nothing more will be said, but listened to. */
  sendEnd(): void;
  /** RST. */
  reset(): void;
  /** FIN, and not listened to any more. */
  leave(): void;
}

export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const waiters = new Set<() => void>();
  let answer = '';
  let isClosed = false;
  const told = () => {
    for (const look of waiters) look();
  };
  socket.on('data', (chunk) => {
    answer += chunk;
    told();
  });
  // However it ends, it is closed.
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => {
      isClosed = true;
      resolve(answer);
      told();
    });
  });

  return {
    send: (bytes) => new Promise((resolve) => socket.write(bytes, () => resolve())),
    until(text) {
      return new Promise((resolve, reject) => {
        function look(): void {
          if (answer.includes(text)) resolve(answer);
          else if (isClosed) reject(new Error(`closed before ${JSON.stringify(text)}: ${answer}`));
          else return;
          waiters.delete(look);
        }
        waiters.add(look);
        look();
      });
    },
    closed,
    sendEnd: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    leave: () => void socket.destroy(),
  };
}
