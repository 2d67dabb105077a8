/**
 * What sessions in Redis cost: the relay's processor time beside that of the
 * memory store, traffic, memory, Redis's own processor time. The figures of
 * docs/scaling.md. Wants redis-server, Linux, and a machine that does nothing else.
 */
import { measureCore } from './support/measure-core.ts';
import { measureMemory } from './support/measure-memory.ts';
import { measureRelay } from './support/measure-relay.ts';
import { measureTraffic } from './support/measure-traffic.ts';

for (const [title, measure] of [
  ['Relay process: processor time a sign-in, beside the memory store', measureRelay],
  ['Traffic with Redis, a sign-in', measureTraffic],
  ['Memory in Redis, a live session', measureMemory],
  ['Redis process: processor time a sign-in', measureCore],
] as const) {
  console.log(`\n${title}`);
  for (const line of await measure()) console.log(`  ${line}`);
}
process.exit(0);
