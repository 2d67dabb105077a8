/**
 * `bun bench/workers.ts [sign-ins]`: processor time of a sign-in on `workerd`, the runtime of
 * Cloudflare Workers, and its start-up. docs/cloudflare.md "What it costs".
 */
import { readFileSync } from 'node:fs';
import { pollUntilDone, start } from '../test/kit/device.ts';
import { startTokenEndpoint } from '../test/kit/provider.ts';
import { bringCode, decide, makeCode } from '../test/kit/user.ts';
import { inLanes } from '../test/kit/wait.ts';
import { startWorkers, type WorkersRelay } from '../test/kit/workers.ts';

const LANES = 8;
const WARM_UP = 200;
/** Of Linux: `getconf CLK_TCK`. */
const TICK_MS = 10;

const count = Number(process.argv[2] ?? 2_000);
using provider = startTokenEndpoint();
const env = { MAL_TOKEN_URL: provider.tokenUrl, LOG_LEVEL: 'info', START_BURST: '1000000' };
const startedAtMs = performance.now();
await using relay = await startWorkers(env);
console.log(`answers ${Math.round(performance.now() - startedAtMs)} ms after its start`);

for (const withCode of [false, true]) {
  await signIn(WARM_UP, withCode);
  const beforeMs = usedMs(relay);
  await signIn(count, withCode);
  const eachMs = (usedMs(relay) - beforeMs) / count;
  console.log(`${withCode ? 'with' : 'without'} a user code: ${eachMs.toFixed(2)} ms a sign-in`);
}

/** User and system time of all its threads. */
function usedMs({ pid }: WorkersRelay): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function signIn(times: number, withCode: boolean): Promise<void> {
  await inLanes(LANES, Array.from({ length: times }), async () => {
    const { session, state, link } = await start(relay, 'mal', { code: withCode });
    const polled = pollUntilDone([relay], session);
    if (withCode) await relay.ask(link);
    if (withCode) await decide(relay, link);
    else await relay.ask(`/auth/mal?state=${state}`);
    await bringCode(relay, state, makeCode());
    await polled;
  });
}
