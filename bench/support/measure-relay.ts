import { startRedis } from '../../test/kit/redis/server.ts';
import { startRelay } from '../../test/kit/relay.ts';
import { cpuOfEach } from './accounting.ts';
import { median } from './median.ts';
import { relayEnv, runMany, signIn, startProvider } from './sign-ins.ts';

const ROUNDS = 9;
const SIGN_INS = 2_000;
const AT_ONCE = [1, 8, 32, 100];

/** Both relays stand beside each other and take turns, so whatever else the machine does hits both. */
export async function measureRelay(): Promise<string[]> {
  const provider = startProvider();
  const redis = await startRedis();
  const env = relayEnv(provider.origin);
  const memory = await startRelay(env);
  const shared = await startRelay({ ...env, REDIS_URL: redis.url });
  try {
    const lines: string[] = [];
    for (const atOnce of AT_ONCE) {
      const perSignIn = async ({ pid, baseUrl }: typeof memory) => {
        const work = () => runMany(SIGN_INS, atOnce, () => signIn(baseUrl));
        return (await cpuOfEach([pid], SIGN_INS, work)).each;
      };
      // The first round warms up and is thrown away.
      const rounds: { inMemory: number; inRedis: number }[] = [];
      for (let round = 0; round <= ROUNDS; round += 1) {
        rounds.push({ inMemory: await perSignIn(memory), inRedis: await perSignIn(shared) });
      }
      lines.push(describeRounds(atOnce, rounds.slice(1)));
    }
    return lines;
  } finally {
    provider.stop();
    await Promise.all([memory.stop(), shared.stop()]);
    await redis.stop();
  }
}

function describeRounds(
  atOnce: number,
  rounds: readonly { readonly inMemory: number; readonly inRedis: number }[],
): string {
  const inMemory = median(rounds.map((round) => round.inMemory));
  const inRedis = median(rounds.map((round) => round.inRedis));
  const ratios = rounds.map((round) => round.inRedis / round.inMemory).sort((a, b) => a - b);
  const spread = `${ratios.at(0)?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)}`;
  return `${atOnce} at once: ${inMemory.toFixed(0)} µs in memory, ${inRedis.toFixed(0)} µs with Redis, ratio ${median(ratios).toFixed(2)} (${spread})`;
}
