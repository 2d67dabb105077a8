/** A relay that says what the test wrote down, so that a device can meet every trouble there is. */

export interface Answer {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** The connection ends in the middle of the body. */
  readonly brokenOff?: boolean;
}

export interface ScriptedRelay extends Disposable {
  readonly url: string;
  /** Method and target of every request so far. */
  readonly asked: readonly string[];
}

export const json = (body: object): Answer => ({ status: 200, body: JSON.stringify(body) });
export const text = (status: number, body: string, headers = {}): Answer => {
  return { status, body: `${body}\n`, headers };
};
export const NOBODY_YET: Answer = { status: 204 };
/** A hotel's Wi-Fi answers for everybody, and says that all is well. */
export const PORTAL: Answer = { status: 200, body: '<h1>Welcome to the hotel</h1>' };
export const BROKEN_OFF: Answer = { status: 200, body: '{"accessTo', brokenOff: true };

/** Gives the answers one after the other, and the last one for ever. Has no timers of its own. */
export function startScriptedRelay(...answers: Answer[]): ScriptedRelay {
  const asked: string[] = [];
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, part) {
        const requestLine = /^(\S+ \S+) HTTP/.exec(part.toString('latin1'))?.[1];
        // The body of a request may come by itself; it has had its answer.
        if (requestLine === undefined) return;
        const answer = answers[Math.min(asked.length, answers.length - 1)] ?? NOBODY_YET;
        asked.push(requestLine);
        socket.end(write(answer));
      },
    },
  });
  return {
    url: `http://127.0.0.1:${listener.port}`,
    asked,
    [Symbol.dispose]: () => listener.stop(true),
  };
}

function write({ status, body = '', headers = {}, brokenOff = false }: Answer): string {
  const length = brokenOff ? body.length + 1 : body.length;
  const fields = Object.entries({ ...headers, Connection: 'close', 'Content-Length': length });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} as scripted\r\n${lines.join('')}\r\n${body}`;
}
