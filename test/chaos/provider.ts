/** A provider that grants tokens for a code once, and is slow or fails for some codes. Connections that break: test/serve/provider-connections.test.ts. */
import { randomUUID } from 'node:crypto';
import { serveUpstream } from '../kit/provider.ts';
import { pickFrom } from '../kit/random.ts';
import { plantSecret } from '../kit/secrets.ts';
import { digestOf, type History, nowMs } from './history.ts';

export type Behaviour = 'good' | 'slow' | 'too slow' | 'fails';

/** How many in a hundred. */
const BEHAVIOURS = Object.entries({
  good: 74,
  slow: 12,
  'too slow': 1,
  fails: 13,
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

export type Provider = ReturnType<typeof startProvider>;

export function startProvider(history: History) {
  const behaviours = new Map<string, Behaviour>();
  const used = new Set<string>();
  const { url: tokenUrl, ...stop } = serveUpstream(async (_, body) => {
    const code = new URLSearchParams(body).get('code') ?? '';
    const receivedAtMs = nowMs();
    const about = { code: digestOf(code) };
    history.record({ type: 'exchange', atMs: receivedAtMs, ...about });
    // RFC 6749 §4.1.2: a code is good for one use.
    if (used.has(code)) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    used.add(code);
    const delayMs = DELAYS_MS[behaviours.get(code) ?? 'fails'];
    if (delayMs === undefined) return Response.json({ error: 'server_error' }, { status: 500 });
    await Bun.sleep(delayMs);
    const token = plantSecret(`token-${randomUUID()}`);
    const [atMs, afterMs] = [nowMs(), nowMs() - receivedAtMs];
    history.record({ type: 'granted', atMs, ...about, token: digestOf(token), afterMs });
    return Response.json({ access_token: token, expires_in: 3600 });
  });
  return {
    ...stop,
    tokenUrl,
    /** A code of a user who signed in. */
    makeCode(behaviour: Behaviour) {
      const code = plantSecret(`code-${randomUUID()}`);
      behaviours.set(code, behaviour);
      return code;
    },
  };
}
