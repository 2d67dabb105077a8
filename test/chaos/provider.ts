/** A provider that grants tokens for a code once, and is slow, fails, is cut off or sends garbage for some codes. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pickWeighted } from '../kit/random.ts';
import { plantSecret } from '../kit/secrets.ts';
import { digestOf, type History, nowMs } from './history.ts';

export type Mood =
  | 'good'
  | 'slow'
  | 'too slow'
  | 'fails'
  | 'busy'
  | 'garbage'
  | 'no token'
  | 'cut off'
  | 'cut in the middle';

/** How many in a hundred. */
const MOODS: readonly (readonly [mood: Mood, weight: number])[] = [
  ['good', 74],
  ['slow', 12],
  ['too slow', 1],
  ['fails', 3],
  ['busy', 2],
  ['garbage', 2],
  ['no token', 2],
  ['cut off', 2],
  ['cut in the middle', 2],
];

export const moodFor = (random: () => number): Mood => pickWeighted(random, MOODS);

/** After which tokens are granted. The relay waits 15 s (docs/protocol.md §8). */
const DELAYS_MS: Readonly<Partial<Record<Mood, number>>> = {
  good: 0,
  slow: 2_500,
  'too slow': 17_000,
};

export interface Provider extends Disposable {
  readonly tokenUrl: string;
  /** A code of a user who signed in. */
  makeCode(mood: Mood): string;
}

export async function startProvider(history: History): Promise<Provider> {
  const moods = new Map<string, Mood>();
  const used = new Set<string>();

  async function answer(form: URLSearchParams, response: ServerResponse): Promise<void> {
    const code = form.get('code') ?? '';
    const receivedAtMs = nowMs();
    const about = { code: digestOf(code) };
    history.record({ type: 'exchange', atMs: receivedAtMs, ...about });
    const mood = moods.get(code) ?? 'fails';
    // RFC 6749 §4.1.2: a code is good for one use.
    if (used.has(code)) return send(response, 400, { error: 'invalid_grant' });
    used.add(code);
    const token = plantSecret(`token-${randomUUID()}`);
    const delayMs = DELAYS_MS[mood];
    if (delayMs === undefined) return misbehave(mood, response, token);
    if (delayMs > 0) await Bun.sleep(delayMs);
    const [atMs, afterMs] = [nowMs(), nowMs() - receivedAtMs];
    history.record({ type: 'granted', atMs, ...about, token: digestOf(token), afterMs });
    send(response, 200, { access_token: token, expires_in: 3600 });
  }
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => void answer(new URLSearchParams(body), response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    tokenUrl: `http://127.0.0.1:${port}/token`,
    makeCode(mood) {
      const code = plantSecret(`code-${randomUUID()}`);
      moods.set(code, mood);
      return code;
    },
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function misbehave(mood: Mood, response: ServerResponse, token: string): void {
  const whole = JSON.stringify({ access_token: token });
  if (mood === 'busy') send(response, 503, { error: 'temporarily_unavailable' });
  else if (mood === 'no token') send(response, 200, { access_token: '', token_type: 'Bearer' });
  else if (mood === 'cut off') response.destroy();
  else if (mood === 'garbage') response.end(`<html>${whole.slice(3)}`);
  else if (mood === 'cut in the middle') {
    response.writeHead(200, { 'Content-Length': whole.length });
    response.write(whole.slice(0, 20), () => response.destroy());
  } else send(response, 500, { error: 'server_error' });
}
