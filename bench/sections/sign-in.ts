/** What a sign-in costs the relay, and how fast its tokens are delivered. */
import { join } from 'node:path';
import { createHeapCount } from '../../test/kit/heap.ts';
import { findFreePort } from '../../test/kit/process.ts';
import { findFigure, median, record } from '../figures.ts';
import { requests, signIns, startProvider } from '../load.ts';
import {
  type Bench,
  type Column,
  cpuOfSignIn,
  type Env,
  inTurns,
  measureCpu,
  providerEnv,
  ROOT,
  relayColumns,
  residentMegabytes,
  start,
  startWarm,
  sum,
  type Target,
  temporaryFolder,
} from '../processes.ts';

/** Start, authorize, poll, callback, and the exchange, in which the relay is the client. */
const EXCHANGES = 5;
const PER_SECOND = 'sign-ins a second';

export async function measureCost(bench: Bench): Promise<void> {
  const { plan } = bench;
  const bare = await startWarm(bench, 'bare handlers');
  const relays: Target[] = [];
  for (const column of relayColumns(bench)) relays.push(await startWarm(bench, column));
  const works = [bare, ...relays].map((target) => () => recordSignIns(bench, target));
  await inTurns(
    plan.rounds,
    [() => cpuOfStaticResponses(bench, bare), ...works],
    (staticCpu = 0, bareCpu = 0, ...relayCpus) => {
      const add = (column: Column, row: string, value: number) =>
        record('A sign-in', column, row, value);
      add('bare handlers', 'CPU of five static responses, µs', staticCpu);
      relays.forEach(({ column }, index) => {
        const cpu = relayCpus[index] ?? 0;
        add(column, 'times bare handlers', cpu / bareCpu);
        if (index > 0) add(column, 'times memory', cpu / (relayCpus[0] ?? 0));
        add(column, 'times five static responses', cpu / staticCpu);
      });
    },
  );
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const target of [bare, ...relays]) await recordDelivery(bench, target);
  }
  await Promise.all([bare, ...relays].map((target) => target.stop()));
}

/** Of the shortest responses of the runtime. */
async function cpuOfStaticResponses({ plan }: Bench, { ports, pids }: Target): Promise<number> {
  const amount = { count: plan.signInsPerRound * EXCHANGES, atOnce: plan.atOnce };
  const ask = () => requests(ports.device, { path: '/' }, amount);
  return sum((await measureCpu(pids, plan.signInsPerRound, ask)).cpu);
}

async function recordSignIns({ plan, redis }: Bench, target: Target): Promise<number> {
  const { column, ports, pids } = target;
  const add = (row: string, value: number) => record('A sign-in', column, row, value);
  const amount = { count: plan.signInsPerRound, atOnce: plan.atOnce };
  const all = [process.pid, redis?.pid ?? process.pid, ...pids];
  const { cpu, result } = await measureCpu(all, amount.count, () => signIns(ports, amount));
  const [loadCpu = 0, redisCpu = 0, ...relayCpus] = cpu;
  add('CPU of the relay, µs', sum(relayCpus));
  if (column.startsWith('Redis')) add('CPU of Redis, µs', redisCpu);
  add('CPU of the load generator, µs', loadCpu);
  add(PER_SECOND, result.perSecond);
  return sum(relayCpus);
}

/** At half the rate that the target can carry. The delays of the load generator are included. */
async function recordDelivery({ plan }: Bench, { column, ports }: Target): Promise<void> {
  const add = (row: string, value: number) => record('A sign-in', column, row, value);
  const highest = median(findFigure('A sign-in', column, PER_SECOND)?.samples ?? []);
  const amount = { perSecond: highest / 2, seconds: plan.secondsPerRound };
  const { delivery, whole, failed } = await signIns(ports, amount, plan.userMs);
  add('delivery at half that rate, p50, ms', delivery.p50);
  add('delivery at half that rate, p99, ms', delivery.p99);
  add('whole sign-in without the user, p50, ms', whole.p50);
  add('whole sign-in without the user, p99, ms', whole.p99);
  add('sign-ins that failed', failed);
}

const COUNTED_SIGN_INS = 2_000;

/** A count that the noise of the machine does not influence. No garbage is collected meanwhile. */
export async function measureObjects(bench: Bench): Promise<void> {
  const columns: Column[] = ['bare handlers', 'memory'];
  if (bench.redis !== undefined) columns.push('Redis, one relay');
  for (const column of columns) {
    const each = await countObjects(bench, column);
    record('Objects that a sign-in makes', column, 'objects', each);
  }
}

async function countObjects(bench: Bench, column: Column, more: Env = {}): Promise<number> {
  using heap = createHeapCount({ collects: false });
  const { ports, pids, stop } = await start(bench, column, { ...heap.env, ...more });
  const amount = { count: COUNTED_SIGN_INS, atOnce: bench.plan.atOnce };
  const countNow = () => heap.countObjects(pids[0] ?? 0);
  // Objects that are made only once exist after the first sign-ins.
  await signIns(ports, amount);
  const before = await countNow();
  await signIns(ports, amount);
  const each = ((await countNow()) - before) / COUNTED_SIGN_INS;
  await stop();
  return each;
}

const METRICS = 'What metrics cost';

/** The same relay with and without an admin port. Fresh ones, because two of the same differ by 5 %. */
export async function measureMetrics(bench: Bench): Promise<void> {
  const { plan } = bench;
  const add = (row: string, value: number) => record(METRICS, 'memory', row, value);
  const withMetrics = async () => ({ ADMIN_PORT: String(await findFreePort()) });
  for (let fresh = 0; fresh < plan.freshRelays; fresh += 1) {
    const plain = await startWarm(bench, 'memory');
    const counting = await startWarm(bench, 'memory', await withMetrics());
    const works = [plain, counting].map((target) => () => cpuOfSignIn(bench, target));
    const ratios: number[] = [];
    await inTurns(plan.rounds, works, (without = 0, counted = 0) => {
      add('CPU of a sign-in without ADMIN_PORT, µs', without);
      add('CPU of a sign-in with ADMIN_PORT, µs', counted);
      ratios.push(counted / without);
    });
    add('with, times without', median(ratios));
    await Promise.all([plain, counting].map((target) => target.stop()));
  }
  add('objects without', await countObjects(bench, 'memory'));
  add('objects with', await countObjects(bench, 'memory', await withMetrics()));
}

const ON_NODE = 'On Node';

/** The build for Node, and the sources on Bun. */
export async function measureNode(bench: Bench): Promise<void> {
  const { exitCode } = Bun.spawnSync([process.execPath, 'scripts/build.ts'], { cwd: ROOT });
  if (exitCode !== 0) throw new Error('the build for Node failed');
  const onBun = await startWarm(bench, 'memory');
  const onNode = await startWarm(bench, 'memory', {}, 'node -- dist/cli/main.js');
  const add = (row: string, value: number) => record(ON_NODE, 'memory', row, value);
  const works = [onBun, onNode].map((target) => () => cpuOfSignIn(bench, target));
  await inTurns(bench.plan.rounds, works, (bun = 0, node = 0) => {
    add('CPU of a sign-in on Bun, µs', bun);
    add('CPU of a sign-in on Node, µs', node);
    add('Node, times Bun', node / bun);
  });
  for (const [name, { pids }] of [
    ['Bun', onBun],
    ['Node', onNode],
  ] as const) {
    add(`resident after these on ${name}, MB`, residentMegabytes(pids));
  }
  await Promise.all([onBun, onNode].map((target) => target.stop()));
}

const WAKE_UP = 'Delivery from relay to relay';

/** Two relays on one Redis: the device polls one, the callback reaches the other. */
export async function measureWakeUp(bench: Bench): Promise<void> {
  const { plan } = bench;
  if (bench.redis === undefined) return;
  const column = 'Redis, two relays';
  const { ports, pids, stop } = await startWarm(bench, column);
  const add = (row: string, value: number) => record(WAKE_UP, column, row, value);
  const amount = { perSecond: plan.wakeUpsPerSecond, seconds: plan.secondsPerRound * 2 };
  for (let round = 0; round < plan.rounds; round += 1) {
    const work = () => signIns(ports, amount, plan.userMs);
    const { cpu, result } = await measureCpu(pids, amount.perSecond * amount.seconds, work);
    add('delivery, p50, ms', result.delivery.p50);
    add('delivery, p99, ms', result.delivery.p99);
    add('delivery, p99.9, ms', result.delivery.p999);
    add('sign-ins that failed', result.failed);
    add('CPU of both relays, a sign-in, µs', sum(cpu));
  }
  await stop();
}

const TLS = 'A provider over TLS';
const CERTIFICATE =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';

/** Connections to the provider: without TLS, with TLS and kept alive, with TLS and one for each exchange. */
export async function measureTls(bench: Bench): Promise<void> {
  if (Bun.which('openssl') === null) return console.log('There is no openssl: no TLS.');
  const [key, cert] = ['key', 'cert'].map((name) => join(temporaryFolder, `${name}.pem`));
  if (key === undefined || cert === undefined) return;
  Bun.spawnSync(['openssl', ...CERTIFICATE.split(' '), '-keyout', key, '-out', cert]);
  const provider = startProvider({ key: Bun.file(key), cert: Bun.file(cert) });
  const settings = { ...providerEnv(provider), NODE_EXTRA_CA_CERTS: cert };
  const targets = [
    await startWarm(bench, 'memory'),
    await startWarm(bench, 'memory', settings),
    await startWarm(bench, 'memory', { ...settings, PROVIDER_KEEP_ALIVE: 'off' }),
  ];
  const works = targets.map((target) => () => cpuOfSignIn(bench, target));
  await inTurns(bench.plan.rounds, works, (plain = 0, kept = 0, single = 0) => {
    const add = (row: string, value: number) => record(TLS, 'memory', row, value);
    add('CPU of a sign-in, plain HTTP, µs', plain);
    add('CPU of a sign-in, TLS, µs', kept);
    add('CPU of a sign-in, TLS, a connection for each exchange, µs', single);
    add('added by TLS, µs', kept - plain);
    add('added to that by a connection for each exchange, µs', single - kept);
  });
  await Promise.all(targets.map((target) => target.stop()));
}
