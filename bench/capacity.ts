/**
 * The table of docs/scaling.md "Capacity planning": what an installation needs for a number of
 * sign-ins a day, from the figures of the benchmarks. `bun bench/capacity.ts` prints it.
 * test/redis/capacity.test.ts replays a minute that one machine can carry, and compares it
 * with the model.
 */

/** What one sign-in and one waiting device cost. docs/scaling.md "What it costs" says how each was measured. */
export const COSTS = {
  relayCpuMs: 0.4,
  redisCpuMs: 0.13,
  /** A poll that ends without a result. */
  pollRelayCpuMs: 0.05,
  pollRedisCpuMs: 0.015,
  pollRedisKb: 0.6,
  /** Between a relay and Redis, both ways. */
  redisKb: 4.5,
  /** A live session, between waiting and completed, with what stays of it afterwards. */
  sessionKb: 2,
  /** A poll that waits. */
  pollKb: 7,
  commands: 5,
} as const;

/** The load of a day: its busiest minute has this many times the average, and users take this long. */
export const SHAPE = {
  peakToMean: 6,
  secondsToSignIn: 60,
  neverFinish: 0.3,
  sessionSeconds: 600,
  /** A device that waits polls again after this. */
  pollSeconds: 50,
} as const;

/** The highest planned load of a core. */
const UTILIZATION = 0.5;
/** Devices that wait at one relay process. */
const POLLS_PER_RELAY = 20_000;
/** A Cluster has 16 tags, so no more masters share its sessions. */
const MOST_MASTERS = 16;

export interface Need {
  readonly startsPerSecond: number;
  readonly liveSessions: number;
  readonly relays: number;
  readonly masters: number;
  readonly redisMb: number;
  readonly megabits: number;
  readonly breaksFirst: string;
}

/** A start without a sign-in costs less than one with it, and its session lives longer. */
export function planFor(signInsPerDay: number): Need {
  const finishedPerSecond = (signInsPerDay / 86_400) * SHAPE.peakToMean;
  const startsPerSecond = finishedPerSecond / (1 - SHAPE.neverFinish);
  const abandonedPerSecond = startsPerSecond - finishedPerSecond;
  const liveSessions = Math.ceil(
    finishedPerSecond * SHAPE.secondsToSignIn + abandonedPerSecond * SHAPE.sessionSeconds,
  );
  const pollsPerSecond = liveSessions / SHAPE.pollSeconds;
  const coresFor = (startMs: number, pollMs: number) =>
    (startsPerSecond * startMs + pollsPerSecond * pollMs) / 1_000;
  const relayCores = coresFor(COSTS.relayCpuMs, COSTS.pollRelayCpuMs);
  const redisCores = coresFor(COSTS.redisCpuMs, COSTS.pollRedisCpuMs);
  const kilobytesPerSecond = startsPerSecond * COSTS.redisKb + pollsPerSecond * COSTS.pollRedisKb;
  const relays = Math.max(
    Math.ceil(relayCores / UTILIZATION),
    Math.ceil(liveSessions / POLLS_PER_RELAY),
  );
  const masters = Math.max(1, Math.ceil(redisCores / UTILIZATION));
  const byPolls = liveSessions / POLLS_PER_RELAY >= relayCores / UTILIZATION;
  return {
    startsPerSecond,
    liveSessions,
    relays,
    masters,
    redisMb: Math.ceil((2 * liveSessions * COSTS.sessionKb) / 1_000) + 50,
    megabits: (kilobytesPerSecond * 8) / 1_000,
    breaksFirst:
      masters > MOST_MASTERS
        ? 'the tags of one Cluster: run two installations'
        : masters > 1
          ? 'one core of Redis: a Cluster'
          : relays > 1
            ? byPolls
              ? 'connections of waiting devices: more relays'
              : 'one core of relay: more relays'
            : liveSessions > 5_000
              ? 'MAX_SESSIONS: raise it'
              : 'nothing',
  };
}

export const SIGN_INS_PER_DAY = [5_000, 50_000, 500_000, 5_000_000, 20_000_000, 100_000_000];

const rounded = (value: number) =>
  value < 10 ? String(Math.round(value * 10) / 10) : Math.round(value).toLocaleString('en');

export function writeTable(): string {
  const head =
    '| sign-ins a day | starts a second, steepest minute | live sessions then | relays | Redis masters | memory for Redis | between relays and Redis | what breaks first |';
  const rows = SIGN_INS_PER_DAY.map((perDay) => {
    const need = planFor(perDay);
    const memory =
      need.redisMb < 1_000 ? `${rounded(need.redisMb)} MB` : `${rounded(need.redisMb / 1_000)} GB`;
    const cells = [
      ...[perDay.toLocaleString('en'), rounded(need.startsPerSecond)],
      ...[need.liveSessions.toLocaleString('en'), String(need.relays), String(need.masters)],
      ...[memory, `${rounded(need.megabits)} Mbit/s`, need.breaksFirst],
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [head, head.replace(/[^|]+/g, '---'), ...rows].join('\n');
}

if (import.meta.main) console.log(writeTable());
