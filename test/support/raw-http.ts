import { connect } from 'node:net';

/**
 * Sends bytes as they are and returns what comes back, once the server closes
 * or `until` is seen in the answer.
 */
export function sendRaw(url: string, bytes: string, until?: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
      if (until !== undefined && answer.includes(until)) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.write(bytes);
  });
}

/** The status of an answer's first line; 'closed' when there was none. */
export function statusOf(answer: string): number | 'closed' {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1];
  return status === undefined ? 'closed' : Number(status);
}
