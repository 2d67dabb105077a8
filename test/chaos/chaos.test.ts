/**
 * Devices sign in while relays are killed, suspended and updated, Redis fails over, is cut
 * off, full and read-only, responses are lost and the provider misbehaves. All that
 * happened is a history, and a checker that knows only the promises reads it. Only with
 * SOAK=true (`npm run soak`): 10,000 sign-ins for each kind of Redis, or TEST_SIGN_INS.
 * TEST_SEED replays the habits and the order of faults, though not their timing.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { type Fate, startFaultProxy } from '../kit/fault-proxy.ts';
import { createRandom, IS_SOAK, testSeed } from '../kit/random.ts';
import { eachLimit } from '../kit/wait.ts';
import { checkHistory, type Report } from './check.ts';
import { runFaults, TOPOLOGIES, type Topology } from './faults.ts';
import { type History, nowMs } from './history.ts';
import { watchPrimaries } from './primaries.ts';
import { startProvider } from './provider.ts';
import { createRelays } from './relays.ts';
import { habitsFor, REQUEST_ID, signIn } from './sign-in.ts';

setDefaultTimeout(7_200_000);

const SIGN_INS = Number(process.env.TEST_SIGN_INS ?? 10_000);
/** At once. The runtime sends 256 requests at once; a sign-in has mostly one, and the load balancer sends it on. */
const LANES = 60;

function fateFor(random: () => number): Fate {
  if (random() < 0.01) return { losesRequest: true };
  return random() < 0.02 ? { cutAfter: Math.floor(random() * 800) } : {};
}

async function run(startStore: Topology[1], history: History): Promise<readonly string[]> {
  const random = createRandom(testSeed);
  await using store = await startStore();
  using provider = await startProvider(history);
  // A load balancer: each connection to the next relay, and some of them cut.
  let relay = 0;
  const nextUrl = () => {
    const { nth, url } = relays.next();
    relay = nth;
    return url;
  };
  using front = await startFaultProxy(nextUrl, ({ headers }) => {
    const fate = fateFor(random);
    const id = headers[REQUEST_ID] ?? '';
    if (!fate.losesRequest) history.push({ type: 'forwarded', id, relay, atMs: nowMs() });
    return fate;
  });
  await using relays = await createRelays({
    OAUTH_BASE_URL: front.url,
    REDIS_URL: store.url,
    MAL_TOKEN_URL: provider.tokenUrl,
    // Longer than any fault lasts; short, since some users leave.
    SESSION_SECONDS: '120',
  });
  await using _watching = await watchPrimaries(store, history);
  let isOver = false;
  const faults = runFaults({ relays, store, front, history, random }, () => isOver);
  const world = { baseUrl: front.url, provider, history };
  await eachLimit(LANES, Array.from({ length: SIGN_INS }).keys(), async (nth) => {
    await signIn(world, nth, habitsFor(random));
  });
  isOver = true;
  await faults;
  return relays.bugs();
}

function print(name: string, report: Report): void {
  const { documented, faults, ...rest } = report;
  const counts = Object.entries(rest).map(([key, value]) => [
    key,
    typeof value === 'number' ? value : value.length,
  ]);
  console.log(`\n${name}`);
  console.table(Object.fromEntries([...counts, ...Object.entries(documented)]));
  console.table(faults);
}

// One after the other: both at once would be more requests than the runtime sends.
test.each(IS_SOAK ? TOPOLOGIES : [])(
  'with %s: nothing is delivered twice or elsewhere, lost without a rule, or hangs',
  async (name, startStore) => {
    const history: History = [];
    const bugs = await run(startStore, history);
    const report = checkHistory(history);
    print(name, report);
    expect(bugs).toEqual([]);
    expect(report).toMatchObject({
      signIns: SIGN_INS,
      deliveredTwice: [],
      deliveredToAnother: [],
      lostWithLiveStore: [],
      hung: [],
      deadEnds: [],
    });
  },
);
