/** What the generator can be told to do. Arguments and results go through JSON. */
import type { Answer } from './connection.ts';
import { endSessions, holdSessions, parkPolls, sessionsAt } from './held-sessions.ts';
import { runAtRate, runMany } from './loops.ts';
import { ask } from './pool.ts';
import { connectionsSoFar, startProvider, type Tls } from './provider.ts';
import { type AnyRequest, anyRequest, getRequest, startRequest } from './requests.ts';
import { expectStatus, finish, type Relays, signIn, type Times } from './sign-in.ts';

export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

export const commands = {
  startProvider: async ({ tls }: { tls?: Tls }) => startProvider(tls),

  /** The floor: answers that cost next to nothing. */
  async exchange({ port, count, atOnce }: { port: number; count: number; atOnce: number }) {
    const request = getRequest('/');
    const ms = await runMany(count, atOnce, async () =>
      expectStatus(200, await ask(port, request), 'floor'),
    );
    return { perSecond: (count / ms) * 1_000 };
  },

  async signIns({ relays, count, atOnce }: { relays: Relays; count: number; atOnce: number }) {
    const connections = connectionsSoFar();
    const ms = await runMany(count, atOnce, () => signIn(relays));
    return {
      perSecond: (count / ms) * 1_000,
      connectionsPerSignIn: (connectionsSoFar() - connections) / count,
    };
  },

  /** The poll is parked for `personMs` before the person comes back from the provider. */
  async signInsAtRate(options: {
    relays: Relays;
    perSecond: number;
    seconds: number;
    personMs: number;
  }) {
    const { relays, perSecond, seconds, personMs } = options;
    const times: Times[] = [];
    const failed = await runAtRate(perSecond, seconds, async () => {
      times.push(await signIn(relays, personMs));
    });
    return { ...latencies(times), failed };
  },

  /** The same for sessions that were started before. */
  async finishAtRate(options: {
    relays: Relays;
    perSecond: number;
    seconds: number;
    personMs: number;
  }) {
    const { relays, perSecond, seconds, personMs } = options;
    const sessions = sessionsAt(relays.device);
    const times: Times[] = [];
    const failed = await runAtRate(perSecond, seconds, async () => {
      const started = sessions.pop();
      if (started !== undefined) times.push(await finish(relays, started, personMs));
    });
    return { ...latencies(times), failed };
  },

  /** Starts by people who want nothing but to start. Returns how many were answered how. */
  async starts(options: { port: number; count: number; atOnce: number; client?: string }) {
    const { port, count, atOnce, client } = options;
    const answers = createTally();
    await runMany(count, atOnce, async () => answers.add(await ask(port, startRequest(client))));
    return answers.counts;
  },

  /** One request again and again. Returns how many were answered how. */
  async requests(options: { port: number; request: AnyRequest; count: number; atOnce: number }) {
    const { port, request, count, atOnce } = options;
    const answers = createTally();
    await runMany(count, atOnce, async () => answers.add(await ask(port, anyRequest(request))));
    return answers.counts;
  },

  async startsAtRate(options: {
    port: number;
    perSecond: number;
    seconds: number;
    client?: string;
  }) {
    const { port, perSecond, seconds, client } = options;
    const answers = createTally();
    await runAtRate(perSecond, seconds, async () =>
      answers.add(await ask(port, startRequest(client))),
    );
    return answers.counts;
  },

  hold: ({ relays, count }: { relays: Relays; count: number }) => holdSessions(relays, count),
  park: ({ relays }: { relays: Relays }) => parkPolls(relays),
  end: ({ relays }: { relays: Relays }) => endSessions(relays),
};

export type Commands = typeof commands;

function latencies(times: readonly Times[]) {
  return {
    count: times.length,
    handOver: latencyOf(times.map(({ handOverMs }) => handOverMs)),
    whole: latencyOf(times.map(({ wholeMs }) => wholeMs)),
  };
}

function latencyOf(values: readonly number[]): Latency {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}

function createTally() {
  const counts: Record<number, number> = {};
  return {
    counts,
    add({ status }: Answer): void {
      counts[status] = (counts[status] ?? 0) + 1;
    },
  };
}
