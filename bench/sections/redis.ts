/** What sessions in Redis cost: docs/performance.md "Over Redis". */
import { startRedis } from '../../test/kit/redis/server.ts';
import { record } from '../figures.ts';
import { completeWithoutPolls, hold, park, type Session } from '../load.ts';
import { type Bench, start } from '../processes.ts';

const COLUMN = 'Redis, one relay';
const WITH_CODE = JSON.stringify({ service: 'mal', code: true, device: 'Living room' });

/** Redis's memory for a session. */
export async function measureRedis(bench: Bench): Promise<void> {
  if (bench.redis === undefined) return;
  await using redis = await startRedis();
  const { ports, stop } = await start({ ...bench, redis }, COLUMN);
  const count = bench.plan.parkedPolls;
  const usedBytes = async () =>
    Number(/used_memory:(\d+)/.exec(await redis.cli('INFO', 'memory'))?.[1]);
  async function measure(row: string, body?: string, then?: (held: Session[]) => Promise<unknown>) {
    const before = await usedBytes();
    await then?.(await hold(ports, count, body));
    const kilobytes = ((await usedBytes()) - before) / count / 1_000;
    record('Redis, memory of a live session', COLUMN, `${row}, KB`, kilobytes);
  }
  await measure('waiting', undefined, (held) => park(ports, held));
  await measure('waiting, with a user code and a device name', WITH_CODE, async () => {});
  await measure('completed, not delivered', undefined, (held) => completeWithoutPolls(ports, held));
  await stop();
}
