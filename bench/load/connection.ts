/**
 * An HTTP/1.1 client on a bare socket that is kept alive: one request at a time.
 * `fetch` would cost the generator more than the relay spends on the answer.
 */
import { createAnswerReader } from './answer-reader.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Connection {
  /** Sends a whole request as it stands, and resolves with its answer. */
  send(request: string): Promise<Answer>;
  readonly isOpen: boolean;
  close(): void;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export async function connect(port: number): Promise<Connection> {
  let waiting: Waiting | undefined;
  let isOpen = true;
  const read = createAnswerReader();

  function end(reason: string): void {
    isOpen = false;
    waiting?.reject(new Error(reason));
    waiting = undefined;
  }

  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_, chunk) {
        const answer = read(chunk);
        if (answer === undefined) return;
        const answered = waiting;
        waiting = undefined;
        answered?.resolve(answer);
      },
      close: () => end('the connection was closed before its answer'),
      error: (_, error) => end(error.message),
    },
  });

  return {
    send(request) {
      return new Promise((resolve, reject) => {
        if (!isOpen || waiting !== undefined)
          return reject(new Error('the connection is not free'));
        waiting = { resolve, reject };
        // Requests are shorter than any socket's buffer.
        if (socket.write(request) !== request.length) end('the request did not fit');
      });
    },
    get isOpen() {
      return isOpen;
    },
    close() {
      waiting = undefined;
      isOpen = false;
      socket.end();
    },
  };
}
