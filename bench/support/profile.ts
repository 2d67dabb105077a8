/** Reads a CPU profile: in which functions its samples fell. */
import { readFileSync } from 'node:fs';

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  /** The node each sample fell in, and the microseconds since the sample before. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const SHOWN = 30;

/** A gap this long was idleness: the profiler takes no samples then. */
const IDLE_MICROSECONDS = 20_000;

/** The dearest by the time spent in themselves, what they call not counted. */
export function describeProfile(path: string): string[] {
  const profile = JSON.parse(readFileSync(path, 'utf8')) as CpuProfile;
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  return [
    ...describeShares('by file', profile, (id) => fileOf(frames.get(id))),
    ...describeShares('by function', profile, (id) => functionOf(frames.get(id))),
  ];
}

function describeShares(title: string, profile: CpuProfile, nameOf: (id: number) => string) {
  const spent = new Map<string, number>();
  let total = 0;
  profile.samples.forEach((id, index) => {
    const microseconds = profile.timeDeltas[index] ?? 0;
    if (microseconds > IDLE_MICROSECONDS) return;
    spent.set(nameOf(id), (spent.get(nameOf(id)) ?? 0) + microseconds);
    total += microseconds;
  });
  const dearest = [...spent].sort(([, one], [, other]) => other - one).slice(0, SHOWN);
  const share = (part: number) => `${((part / total) * 100).toFixed(1).padStart(5)} %`;
  return [`${title}:`, ...dearest.map(([name, part]) => `  ${share(part)}  ${name}`)];
}

function fileOf(frame: CallFrame | undefined): string {
  const file = frame?.url.replace(/^.*\/(?=(node_modules|src)\/)/, '').replace(/^file:\/\//, '');
  return file || 'the runtime itself';
}

function functionOf(frame: CallFrame | undefined): string {
  const name = frame?.functionName || '(anonymous)';
  return frame?.url ? `${name}  ${fileOf(frame)}:${frame.lineNumber + 1}` : name;
}
