/** A relay with many live sessions, and one that refuses many requests. */
import { findFigure, record } from '../figures.ts';
import { hold, requests, type Session, signIns } from '../load.ts';
import { drawPlot } from '../plot.ts';
import { type Bench, cpuOfSignIn, inTurns, measureCpu, startWarm, sum } from '../processes.ts';

const LIVE = 'A sign-in among many live sessions';
const FEW = 1_000;
const [MANY, STILL, RATIO] = ['CPU, µs', 'the other relay, µs', 'ratio'];
const rowOf = (live: number) => `${live.toLocaleString('en')} live sessions`;

/** One relay is filled step by step. The other keeps its few sessions, for comparison in the same minute. */
export async function measureLiveSessions(bench: Bench): Promise<void> {
  const [filled, still] = [await startWarm(bench, 'memory'), await startWarm(bench, 'memory')];
  await hold(still.ports, FEW);
  let live = 0;
  for (const next of bench.plan.liveSessions) {
    await hold(filled.ports, next - live);
    live = next;
    const works = [filled, still].map((target) => () => cpuOfSignIn(bench, target));
    await inTurns(bench.plan.rounds, works, (many = 0, few = 0) => {
      record(LIVE, MANY, rowOf(next), many);
      record(LIVE, STILL, rowOf(next), few);
      record(LIVE, RATIO, rowOf(next), many / few);
    });
  }
  await Promise.all([filled.stop(), still.stop()]);
}

/** For `--plot`; undefined when the section was not measured. */
export function plotLiveSessions({ plan }: Bench): string | undefined {
  const pointsOf = (column: string) =>
    plan.liveSessions.flatMap((x) => {
      const samples = findFigure(LIVE, column, rowOf(x))?.samples;
      return samples === undefined ? [] : [{ x, samples }];
    });
  if (pointsOf(MANY).length === 0) return undefined;
  return drawPlot('CPU of a sign-in among many live sessions', 'live sessions', 'µs', [
    { label: 'a relay with 1,000 live sessions', colour: '#999', points: pointsOf(STILL) },
    { label: 'a relay with the number on the axis', colour: '#1f6feb', points: pointsOf(MANY) },
  ]);
}

const FLOOD = 'Refused requests';
const CAP = 5_000;
const START = { method: 'POST', path: '/auth/start', body: '{"service":"mal"}' };
const FROM_ONE_ADDRESS = { ...START, client: '192.0.2.1' };

/** So few that the sessions of the full relay last for all rounds. */
const SIGN_INS_PER_SECOND = 120;
const FLOOD_PER_SECOND = 3_000;

/** A refused start costs less than one that is served, and a flood of them does not slow down other users. */
export async function measureFlood(bench: Bench): Promise<void> {
  const { plan } = bench;
  const open = await startWarm(bench, 'memory');
  const full = await startWarm(bench, 'memory', { MAX_SESSIONS: String(CAP) });
  const held = await hold(full.ports, CAP);
  const add = (row: string, value: number) => record(FLOOD, 'memory', row, value);

  const cpuOfStarts = async (target: typeof open, status: number, request: typeof START) => {
    const amount = { count: plan.signInsPerRound, atOnce: plan.atOnce };
    const ask = () => requests(target.ports.device, request, amount);
    const { cpu, result } = await measureCpu(target.pids, amount.count, ask);
    // A few of one address are served: its burst, and one a second.
    if ((result[status] ?? 0) < amount.count * 0.99) throw new Error(JSON.stringify(result));
    return sum(cpu);
  };
  const kinds = [
    () => cpuOfStarts(open, 200, START),
    () => cpuOfStarts(full, 503, START),
    () => cpuOfStarts(open, 429, FROM_ONE_ADDRESS),
  ];
  await inTurns(plan.rounds, kinds, (served = 0, atCap = 0, limited = 0) => {
    add('CPU of a start that is served, µs', served);
    add('CPU of a start refused at MAX_SESSIONS (503), µs', atCap);
    add('CPU of a start refused to one address (429), µs', limited);
    add('refused at MAX_SESSIONS, times served', atCap / served);
  });

  const seconds = plan.secondsPerRound;
  const signInsOf = async (when: string, { ports }: typeof open, sessions?: Session[]) => {
    const amount = { perSecond: SIGN_INS_PER_SECOND, seconds };
    const { delivery, whole } = await signIns(ports, amount, plan.userMs, sessions);
    add(`delivery ${when}, p99, ms`, delivery.p99);
    add(`whole sign-in ${when}, p99, ms`, whole.p99);
  };
  const flood = ({ ports }: typeof open, request: typeof START) =>
    requests(ports.device, request, { perSecond: FLOOD_PER_SECOND, seconds });
  for (let round = 0; round < plan.rounds; round += 1) {
    await signInsOf('without a flood', open);
    const fromOneAddress = signInsOf('during a flood from one address', open);
    await Promise.all([fromOneAddress, flood(open, FROM_ONE_ADDRESS)]);
    const atFullRelay = signInsOf('during a flood at a full relay', full, held);
    await Promise.all([atFullRelay, flood(full, START)]);
  }
  await Promise.all([open.stop(), full.stop()]);
}
