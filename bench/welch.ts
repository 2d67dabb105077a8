/**
 * Whether two kinds of request take equally long: Welch's t-test, as dudect does it
 * (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?", 2017).
 */

/** Below it two distributions count as the same. By chance it is exceeded once in 150,000 tests. */
export const SAME_BELOW = 4.5;

/**
 * The shares of the fastest samples that are tested, besides all of them: an interrupt or a
 * collection of garbage makes a sample many times slower, and says nothing of either kind.
 */
const KEPT_SHARES = [1, 0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3];

/** Of one kind of request. */
type Samples = readonly number[];

interface Comparison {
  /** At the share at which it is greatest, whatever its sign. Positive: the first kind is slower. */
  readonly t: number;
  /** Of the means, without the slowest tenth. */
  readonly difference: number;
  /** The difference that would have been found there. */
  readonly foundFrom: number;
}

/** The share of samples by which a difference is described. */
const DESCRIBED_SHARE = 0.9;

export function compare(first: Samples, second: Samples): Comparison {
  const all = Float64Array.from([...first, ...second]).sort();
  const tests = new Map(
    KEPT_SHARES.map((share) => {
      const longest = all[Math.ceil(share * all.length) - 1] ?? 0;
      const keep = (samples: Samples) => samples.filter((sample) => sample <= longest);
      return [share, welch(keep(first), keep(second))];
    }),
  );
  const { difference = 0, error = 0 } = tests.get(DESCRIBED_SHARE) ?? {};
  const ts = [...tests.values()].map((each) =>
    each.error === 0 ? 0 : each.difference / each.error,
  );
  const t = ts.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most));
  return { t, difference, foundFrom: SAME_BELOW * error };
}

function welch(first: Samples, second: Samples) {
  const [a, b] = [describe(first), describe(second)];
  return {
    difference: a.mean - b.mean,
    error: Math.sqrt(a.variance / first.length + b.variance / second.length),
  };
}

function describe(samples: Samples) {
  const mean = samples.reduce((total, sample) => total + sample, 0) / samples.length;
  const squares = samples.reduce((total, sample) => total + (sample - mean) ** 2, 0);
  return { mean, variance: squares / (samples.length - 1) };
}
