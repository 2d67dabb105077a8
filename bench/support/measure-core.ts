import { randomBytes } from 'node:crypto';
import type { RateLimiter } from '../../src/relay/rate-limit.ts';
import { createCapability, createVerifier } from '../../src/relay/secrets.ts';
import type { SessionStore } from '../../src/relay/store.ts';
import { startRedisCluster } from '../../test/kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../../test/kit/redis/server.ts';
import { openTestRedis } from '../../test/kit/stores.ts';
import { measureCpu } from './accounting.ts';
import { median } from './median.ts';
import { runMany, TOKENS } from './sign-ins.ts';

const PREFIX = 'sign-in-relay:';
const ROUNDS = 5;
const SIGN_INS = 10_000;
const AT_ONCE = [1, 32, 256];

/** The verbs of a sign-in, by two clients that stand for two relays. */
export async function measureCore(): Promise<string[]> {
  const redis = await startRedis();
  const cluster = await startRedisCluster();
  try {
    const lines: string[] = [];
    for (const atOnce of AT_ONCE) {
      const [cost = 0] = await measureSignIns(redis.url, [redis], atOnce);
      lines.push(`one node, ${atOnce} at once: ${describeCost(cost)}`);
    }
    // The node that counts the live sessions is the first to be full.
    const counting = await cluster.ownerOf(`${PREFIX}live`);
    const nodes = [counting, ...cluster.nodes.filter((node) => node !== counting)];
    const [counts = 0, ...others] = await measureSignIns(cluster.url, nodes, 256);
    lines.push(`Cluster, the node that counts: ${describeCost(counts)}`);
    lines.push(`Cluster, the others: ${others.map((cost) => `${cost.toFixed(0)} µs`).join(', ')}`);
    return lines;
  } finally {
    await Promise.all([redis.stop(), cluster.stop()]);
  }
}

function describeCost(microseconds: number): string {
  const rate = Math.round(1_000_000 / microseconds);
  return `${microseconds.toFixed(0)} µs, so ${rate} sign-ins a second and core`;
}

/** Microseconds of each server for one sign-in. */
async function measureSignIns(
  url: string,
  servers: readonly RedisServer[],
  atOnce: number,
): Promise<number[]> {
  const options = { prefix: PREFIX, maxSessions: 10_000_000, usesOwnTime: true };
  const [one, other] = await Promise.all([
    openTestRedis(url, options),
    openTestRedis(url, options),
  ]);
  const limiter = one.stores.createRateLimiter('start', { burst: 3, ratePerSecond: 1 });
  try {
    const rounds: number[][] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const work = () => useVerbs(one.stores.store, other.stores.store, limiter);
      const pids = servers.map(({ pid }) => pid);
      const { cpu } = await measureCpu(pids, SIGN_INS, () => runMany(SIGN_INS, atOnce, work));
      rounds.push([...cpu]);
    }
    const costs = (server: number) => rounds.slice(1).map((each) => each[server] ?? 0);
    return servers.map((_, server) => median(costs(server)));
  } finally {
    one.close();
    other.close();
  }
}

async function useVerbs(
  store: SessionStore,
  other: SessionStore,
  limiter: RateLimiter,
): Promise<void> {
  const browserState = createCapability(randomBytes);
  const pollSecret = createCapability(randomBytes);
  const verifier = createVerifier(randomBytes);
  const session = { browserState, pollSecret, verifier, service: 'mal', lifetimeMs: 600_000 };
  await limiter.take(browserState, 0);
  await store.register(session, 0);
  const woken = new Promise<void>((wake) => other.watch(pollSecret, () => wake()));
  await other.claim(pollSecret, 0);
  await store.open('mal', browserState, 0);
  await store.lease('mal', browserState, 0);
  await store.complete('mal', browserState, TOKENS, 0);
  await woken;
  const { state } = await other.claim(pollSecret, 0);
  if (state !== 'claimed') throw new Error(`claim: ${state}`);
}
