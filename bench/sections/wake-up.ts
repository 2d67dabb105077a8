/** Two relays on one Redis, the poll at the one and the callback at the other, at a fixed rate. */
import type { Section } from '../bench.ts';
import { cpuOfEach } from '../support/accounting.ts';
import { arrangeTwoWithRedis } from '../support/arrangements.ts';

export const measureWakeUp: Section = async (bench) => {
  const { generator, plan, figures, redis } = bench;
  if (redis === undefined) return;
  const { column, relays, pids, stop } = await arrangeTwoWithRedis(bench, redis.url);
  const options = { relays, perSecond: plan.wakeUpsPerSecond, personMs: plan.personMs };
  const seconds = plan.secondsARound * 2;
  const section = `Wake-up at ${plan.wakeUpsPerSecond} sign-ins a second`;
  const add = (name: string, unit: string, value: number) =>
    figures.add({ section, name, column, unit }, value);
  try {
    await generator.call('signInsAtRate', { ...options, seconds });
    for (let round = 0; round < plan.rounds; round += 1) {
      const measured = () => generator.call('signInsAtRate', { ...options, seconds });
      const { each, result } = await cpuOfEach(pids, plan.wakeUpsPerSecond * seconds, measured);
      add('hand-over, p50', 'ms', result.handOver.p50);
      add('hand-over, p99', 'ms', result.handOver.p99);
      add('hand-over, p99.9', 'ms', result.handOver.p999);
      add('sign-ins that failed', '', result.failed);
      add('CPU of both relays, a sign-in', 'µs', each);
    }
  } finally {
    await stop();
  }
};
