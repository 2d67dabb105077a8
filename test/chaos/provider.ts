/** A provider that grants tokens for a code once, and is slow, fails or is cut off for some codes. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pickFrom } from '../kit/random.ts';
import { plantSecret } from '../kit/secrets.ts';
import { type History, nowMs } from './history.ts';

export type Behaviour = 'good' | 'slow' | 'too slow' | 'fails' | 'cut off' | 'cut in the middle';

/** How many in a hundred. */
const BEHAVIOURS = Object.entries({
  good: 74,
  slow: 12,
  'too slow': 1,
  fails: 6,
  'cut off': 4,
  'cut in the middle': 3,
} satisfies Record<Behaviour, number>).flatMap(([behaviour, weight]) =>
  Array<Behaviour>(weight).fill(behaviour as Behaviour),
);

export const behaviourFor = (random: () => number): Behaviour => pickFrom(random, BEHAVIOURS);

/** After which tokens are granted. The relay waits 15 s (docs/protocol.md §8). */
const DELAYS_MS: Readonly<Partial<Record<Behaviour, number>>> = {
  good: 0,
  slow: 2_500,
  'too slow': 17_000,
};

export type Provider = Awaited<ReturnType<typeof startProvider>>;

export async function startProvider(history: History) {
  const behaviours = new Map<string, Behaviour>();
  const used = new Set<string>();

  async function answer(form: URLSearchParams, response: ServerResponse): Promise<void> {
    const code = form.get('code') ?? '';
    const receivedAtMs = nowMs();
    history.push({ type: 'exchange', atMs: receivedAtMs, code });
    const behaviour = behaviours.get(code) ?? 'fails';
    // RFC 6749 §4.1.2: a code is good for one use.
    if (used.has(code)) return send(response, 400, { error: 'invalid_grant' });
    used.add(code);
    const token = plantSecret(`token-${randomUUID()}`);
    const delayMs = DELAYS_MS[behaviour];
    if (delayMs === undefined) return misbehave(behaviour, response, token);
    if (delayMs > 0) await Bun.sleep(delayMs);
    const [atMs, afterMs] = [nowMs(), nowMs() - receivedAtMs];
    history.push({ type: 'granted', atMs, code, token, afterMs });
    send(response, 200, { access_token: token, expires_in: 3600 });
  }
  const server = createServer(async (request, response) => {
    await answer(new URLSearchParams(await text(request)), response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    tokenUrl: `http://127.0.0.1:${port}/token`,
    /** A code of a user who signed in. */
    makeCode(behaviour: Behaviour) {
      const code = plantSecret(`code-${randomUUID()}`);
      behaviours.set(code, behaviour);
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

function misbehave(behaviour: Behaviour, response: ServerResponse, token: string): void {
  const whole = JSON.stringify({ access_token: token });
  if (behaviour === 'cut off') response.destroy();
  else if (behaviour === 'cut in the middle') {
    response.writeHead(200, { 'Content-Length': whole.length });
    response.write(whole.slice(0, 20), () => response.destroy());
  } else send(response, 500, { error: 'server_error' });
}
