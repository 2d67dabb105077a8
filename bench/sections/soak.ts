/** An hour of mixed load with faults over every store: what grows? */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll, start, type Target } from '../../test/kit/device.ts';
import { type RedisServer, startRedis } from '../../test/kit/redis/server.ts';
import { callback } from '../../test/kit/user.ts';
import { startWorkers } from '../../test/kit/workers.ts';
import { record } from '../figures.ts';
import { drawOverTime, type Point } from '../plot.ts';
import { type Bench, residentMegabytes, startRelay, temporaryFolder } from '../processes.ts';
import type { InnerSample } from '../sample-process.ts';

const SOAK = 'Soak';
const SAMPLE_MS = 5_000;
const SLICE_SECONDS = 30;
const SIGN_INS_PER_SECOND = 1;
/** With every third sign-in something else happens. */
const FAULTY_EVERY = 3;
const USER_MS = 300;
/** A fault at the start of every such slice: every five minutes. */
const FAULT_SLICES = 10;
const PAUSE_MS = 3_000;
/** The first third of the time: caches fill, code is compiled. */
const WARM_UP_SHARE = 1 / 3;

/** Sessions expire within the minute, so many that nobody completes do so meanwhile. */
const SETTINGS = { SESSION_SECONDS: '60', POLL_SECONDS: '20', START_BURST: '1000000' };

interface Subject extends Target {
  readonly name: string;
  readonly colour: string;
  readonly pid: number;
  /** Where the process writes its own samples. workerd has no such place. */
  readonly samplesPath?: string;
  /** Something breaks for a few seconds. */
  breakShortly(): Promise<unknown>;
  stop(): Promise<unknown>;
}

interface Sample extends Partial<InnerSample> {
  readonly subject: string;
  readonly minute: number;
  readonly residentMegabytes: number;
  readonly descriptors: number;
}

const samples: Sample[] = [];
const subjects: Subject[] = [];

/** SIGUSR2 ends it early: the figures are then of the time that there was. */
export async function measureSoak(bench: Bench): Promise<void> {
  const { soakMinutes } = bench.plan;
  await using redis = bench.redis === undefined ? undefined : await startRedis();
  subjects.push(await startSubject(bench, 'memory', '#1f6feb'));
  if (redis !== undefined) subjects.push(await startSubject(bench, 'Redis', '#d1242f', redis));
  subjects.push(await startOnWorkers(bench));

  const beginMs = performance.now();
  const sampling = setInterval(
    () => takeSamples((performance.now() - beginMs) / 60_000),
    SAMPLE_MS,
  );
  let endMs = beginMs + soakMinutes * 60_000;
  process.once('SIGUSR2', () => {
    endMs = performance.now();
  });
  await Promise.all(subjects.map((subject) => load(subject, () => performance.now() < endMs)));
  clearInterval(sampling);
  for (const { name } of subjects) recordGrowth(name);
  for (const subject of subjects) await subject.stop();
}

async function startSubject(
  { env }: Bench,
  name: string,
  colour: string,
  redis?: RedisServer,
): Promise<Subject> {
  const samplesPath = join(temporaryFolder, `${name}.jsonl`);
  const relay = await startRelay(
    {
      ...{ ...env, ...SETTINGS, ...(redis !== undefined && { REDIS_URL: redis.url }) },
      ...{ BENCH_SAMPLES: samplesPath, BENCH_SAMPLE_MS: String(SAMPLE_MS) },
    },
    'bun --preload ./bench/sample-process.ts src/cli/main.ts',
  );
  let faults = 0;
  const breakShortly = async (): Promise<unknown> => {
    faults += 1;
    if (redis === undefined) return pause(relay.pid);
    if (faults % 3 === 0) return redis.restart();
    if (faults % 3 === 1) return redis.cli('CLIENT', 'KILL', 'TYPE', 'normal');
    await redis.freeze();
    await Bun.sleep(PAUSE_MS);
    return redis.thaw();
  };
  const { pid, port, stop } = relay;
  return { name, colour, pid, ask: askAt(port), samplesPath, breakShortly, stop };
}

async function startOnWorkers({ env }: Bench): Promise<Subject> {
  const relay = await startWorkers({ ...env, ...SETTINGS, LOG_LEVEL: 'error' });
  return {
    ...{ name: 'Durable Objects', colour: '#2da44e', pid: relay.pid },
    ask: askAt(relay.port),
    breakShortly: () => pause(relay.pid),
    stop: async () => await relay[Symbol.asyncDispose](),
  };
}

/** As a machine that is moved. */
async function pause(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await Bun.sleep(PAUSE_MS);
  process.kill(pid, 'SIGCONT');
}

async function load(subject: Subject, goesOn: () => boolean): Promise<void> {
  for (let slice = 0; goesOn(); slice += 1) {
    const isFault = slice % FAULT_SLICES === FAULT_SLICES - 1;
    const when = isFault ? 'with a fault' : 'without a fault';
    const fault = isFault ? subject.breakShortly() : undefined;
    let failed = 0;
    const running: Promise<unknown>[] = [];
    for (let index = 0; index < SLICE_SECONDS * SIGN_INS_PER_SECOND; index += 1) {
      const signedIn = signIn(subject).catch(() => {
        failed += 1;
      });
      running.push(signedIn);
      // Their outcome does not matter: a fault may refuse any of them.
      if (index % FAULTY_EVERY === 0) void misbehave(subject, index / FAULTY_EVERY).catch(() => {});
      await Bun.sleep(1_000 / SIGN_INS_PER_SECOND);
    }
    await Promise.all([...running, fault]);
    record(SOAK, subject.name, `sign-ins that failed in half a minute ${when}`, failed);
    record(SOAK, subject.name, 'sign-ins in half a minute', running.length);
  }
}

/** A device gives up a request after this time. It is longer than a poll is held. */
const REQUEST_MS = 40_000;

const askAt =
  (port: number): Target['ask'] =>
  (path, init = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...{ redirect: 'manual', signal: AbortSignal.timeout(REQUEST_MS) },
      ...init,
    });

async function signIn(subject: Subject): Promise<void> {
  const { session, state } = await start(subject);
  const polled = poll(subject, session).then((answer) => answer.text());
  const [result] = await Promise.all([polled, browse(subject, state)]);
  if (!result.includes('accessToken')) throw new Error('the device got no tokens');
}

async function browse(subject: Subject, state: string): Promise<void> {
  await (await subject.ask(`/auth/mal?state=${state}`)).text();
  await Bun.sleep(USER_MS);
  await comeBack(subject, state, 'code=good');
}

const comeBack = async (subject: Subject, state: string, query: string) =>
  (await callback(subject, state, query)).text();

/** What clients, users and providers do besides signing in. */
const MISBEHAVIOURS: readonly ((subject: Subject) => Promise<unknown>)[] = [
  // Nobody opens the link, and the device is switched off: the session expires.
  (subject) => start(subject),
  // The device disconnects from its parked poll.
  async (subject) => {
    const { session } = await start(subject);
    await poll(subject, session, { signal: AbortSignal.timeout(PAUSE_MS) });
  },
  // Nobody asks for the result.
  ...['error=access_denied', 'code=hang', 'code=cut'].map(
    (query) => async (subject: Subject) => comeBack(subject, (await start(subject)).state, query),
  ),
  // Requests that are refused.
  async (subject) => {
    await (await poll(subject, 'unknown')).text();
    await (await subject.ask('/auth/start', { method: 'POST', body: '{' })).text();
    await (await subject.ask('/auth/nobody?state=unknown')).text();
  },
];

const misbehave = async (subject: Subject, index: number) =>
  MISBEHAVIOURS[index % MISBEHAVIOURS.length]?.(subject);

function takeSamples(minute: number): void {
  for (const { name, pid, samplesPath } of subjects) {
    const sample: Sample = {
      ...{ subject: name, minute, residentMegabytes: residentMegabytes([pid]) },
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      ...(samplesPath !== undefined && readLastLine(samplesPath)),
    };
    samples.push(sample);
  }
}

function readLastLine(path: string): Partial<InnerSample> {
  try {
    const last = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '';
    return JSON.parse(last) as InnerSample;
  } catch {
    return {}; // Before the first sample.
  }
}

const QUANTITIES = [
  ['residentMegabytes', 'resident memory, MB'],
  ['heapMegabytes', 'heap with garbage, MB'],
  ['descriptors', 'file descriptors'],
  ['timers', 'timers, with those that have ended and are not collected'],
  ['loopDelayMs', 'longest event-loop delay in 5 s, ms'],
] as const;

function pointsOf(name: string, quantity: (typeof QUANTITIES)[number][0]): Point[] {
  return samples.flatMap(({ subject, minute, [quantity]: y }) =>
    subject === name && y !== undefined ? [{ x: minute, y }] : [],
  );
}

function recordGrowth(name: string): void {
  const lastMinute = samples.at(-1)?.minute ?? 0;
  for (const [quantity, label] of QUANTITIES) {
    const points = pointsOf(name, quantity).filter(({ x }) => x >= lastMinute * WARM_UP_SHARE);
    if (points.length < BLOCKS) continue;
    const { mean, slope, uncertainty } = fitLine(points);
    record(SOAK, name, `${label}: mean`, mean);
    record(SOAK, name, `${label}: growth an hour`, slope * 60);
    record(SOAK, name, `${label}: ± of it (95 %)`, uncertainty * 60);
  }
}

/** Neighbouring samples are alike, so they are averaged: 20 blocks count as independent. */
const BLOCKS = 20;
/** Of Student's t for 18 degrees of freedom, both sides together 5 %. */
const T_95 = 2.101;

/** Least squares through the means of the blocks. */
function fitLine(points: readonly Point[]) {
  const blocks = Array.from({ length: BLOCKS }, (_, block) => {
    const [from, to] = [block, block + 1].map((edge) => (edge * points.length) / BLOCKS);
    const own = points.slice(Math.floor(from ?? 0), Math.floor(to ?? 0));
    return { x: average(own.map(({ x }) => x)), y: average(own.map(({ y }) => y)) };
  });
  const [centre, mean] = [average(blocks.map(({ x }) => x)), average(blocks.map(({ y }) => y))];
  const spread = total(blocks.map(({ x }) => (x - centre) ** 2));
  const slope = total(blocks.map(({ x, y }) => (x - centre) * (y - mean))) / spread;
  const residual = total(blocks.map(({ x, y }) => (y - mean - slope * (x - centre)) ** 2));
  return { mean, slope, uncertainty: T_95 * Math.sqrt(residual / (BLOCKS - 2) / spread) };
}

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const average = (values: readonly number[]) => total(values) / values.length;

/** For `--plot`; undefined when the section was not measured. */
export function drawSoak(): string | undefined {
  if (samples.length === 0) return undefined;
  const legend = subjects.map(({ name, colour }) => ({ label: name, colour }));
  const panels = QUANTITIES.map(([quantity, title]) => ({
    title,
    lines: subjects.map(({ name, colour }) => ({ colour, points: pointsOf(name, quantity) })),
  }));
  return drawOverTime('Mixed load with a fault every five minutes', legend, panels);
}
