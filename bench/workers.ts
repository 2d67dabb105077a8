/**
 * `bun bench/workers.ts [sign-ins]`: processor time of a sign-in on `workerd`, the runtime of
 * Cloudflare Workers, the memory of a parked poll, and its start-up. docs/cloudflare.md.
 */
import { readFileSync } from 'node:fs';
import { pollUntilDone, start } from '../test/kit/device.ts';
import { MAX_PARKED_POLLS_OF_OBJECT, MAX_POLLS_PER_SESSION } from '../test/kit/limits.ts';
import { startTokenEndpoint } from '../test/kit/provider.ts';
import { openRaw, type RawConnection } from '../test/kit/sockets.ts';
import { bringCode, decide, makeCode } from '../test/kit/user.ts';
import { inLanes } from '../test/kit/wait.ts';
import { startWorkers, type WorkersRelay } from '../test/kit/workers.ts';

const LANES = 8;
const WARM_UP = 200;
/** Of Linux: `getconf CLK_TCK`. */
const TICK_MS = 10;
/** Sessions with MAX_POLLS_PER_SESSION polls each: as many polls as an object holds. */
const POLLED_SESSIONS = MAX_PARKED_POLLS_OF_OBJECT / MAX_POLLS_PER_SESSION;
/** Until what the starts needed is free again. */
const SETTLE_MS = 5_000;

const count = Number(process.argv[2] ?? 2_000);
using provider = startTokenEndpoint();
const env = { MAL_TOKEN_URL: provider.tokenUrl, LOG_LEVEL: 'info', START_BURST: '1000000' };
const startedAtMs = performance.now();
await using relay = await startWorkers(env);
console.log(`answers ${Math.round(performance.now() - startedAtMs)} ms after its start`);
// First, because memory that sign-ins have used is used again.
await measureParkedPolls();

for (const withCode of [false, true]) {
  await signIn(WARM_UP, withCode);
  const beforeMs = usedMs(relay);
  await signIn(count, withCode);
  const eachMs = (usedMs(relay) - beforeMs) / count;
  console.log(`${withCode ? 'with' : 'without'} a user code: ${eachMs.toFixed(2)} ms a sign-in`);
}

/** Of the whole process: the Worker, the object, and a connection for each. */
async function measureParkedPolls(): Promise<void> {
  const sessions: string[] = [];
  await inLanes(LANES, Array.from({ length: POLLED_SESSIONS }), async () => {
    sessions.push((await start(relay)).session);
  });
  await Bun.sleep(SETTLE_MS);
  const before = residentKilobytes(relay);
  const polls = sessions.flatMap((session) => Array(MAX_POLLS_PER_SESSION).fill(session));
  const connections: RawConnection[] = [];
  await inLanes(LANES, polls, async (session) => {
    const connection = openRaw(relay.baseUrl);
    connections.push(connection);
    await connection.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
  });
  await Bun.sleep(SETTLE_MS);
  const each = (residentKilobytes(relay) - before) / polls.length;
  console.log(`${polls.length} parked polls: ${each.toFixed(1)} KB each`);
  for (const { leave } of connections) leave();
}

function residentKilobytes({ pid }: WorkersRelay): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024) / 1_000;
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
