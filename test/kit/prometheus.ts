/** What Prometheus makes of metrics: scrapes become a timeline for `promtool test rules`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './folder.ts';
import { runChild } from './process.ts';
import { ROOT } from './relay.ts';

const RULES_FILE = join(ROOT, 'deploy/alerts.yaml');

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const { groups } = Bun.YAML.parse(readFileSync(RULES_FILE, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
};

/** The rules of deploy/alerts.yaml. */
export const RULES = groups.flatMap(({ rules }) => rules);

/** One minute passes between two scrapes. */
const INTERVAL = '1m';

/** After the last scrape its values stay, for longer than any rule looks back. */
const QUIET_MINUTES = 75;

/** One target of Prometheus, which is scraped each minute. */
interface Watch {
  readonly instance: string;
  /** Undefined: the relay did not answer. */
  readonly scrapes: readonly (string | undefined)[];
}

/** Series, as a sample has it -> value. */
function readSamples(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => /^\w/.test(line));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

type Labels = Readonly<Record<string, string>>;

/** The labels of each alert besides `alertname` and `severity`. */
export type Fired = Readonly<Record<string, Labels>>;

interface InputSeries {
  readonly series: string;
  readonly values: string;
}

const FIRED =
  'count without (alertstate, severity) (count_over_time(ALERTS{alertstate="firing"}[1d]))';

/**
 * Throws unless exactly these alerts of deploy/alerts.yaml fire, at any time. `others` are
 * series of other programs.
 */
export async function expectAlerts(
  watches: readonly Watch[],
  fired: Fired,
  others: readonly InputSeries[] = [],
): Promise<void> {
  const expected = Object.entries(fired).map(([alert, labels]) => ({
    labels: writeSeries('', { alertname: alert, ...labels }),
    value: 1,
  }));
  const minutes = Math.max(0, ...watches.map(({ scrapes }) => scrapes.length)) + QUIET_MINUTES;
  const rulesTest = {
    rule_files: [RULES_FILE],
    evaluation_interval: INTERVAL,
    tests: [
      {
        interval: INTERVAL,
        input_series: [...watches.flatMap((watch) => seriesOf(watch, minutes)), ...others],
        promql_expr_test: [{ expr: FIRED, eval_time: `${minutes}m`, exp_samples: expected }],
      },
    ],
  };
  const file = join(newFolder(), 'rules-test.json');
  writeFileSync(file, JSON.stringify(rulesTest));
  const { exitCode, output } = await runChild(['promtool', 'test', 'rules', file]);
  if (exitCode !== 0) throw new Error(output);
}

/** As Prometheus stores them: with the labels of the target, and with `up`. */
function seriesOf({ instance, scrapes: texts }: Watch, minutes: number): InputSeries[] {
  const target = { job: 'sign-in-relay', instance };
  const scrapes = texts.map((text) => readSamples(text === undefined ? 'up 0' : `${text}\nup 1`));
  const last = Array.from({ length: minutes - scrapes.length }, () => scrapes.at(-1));
  const filled = [...scrapes, ...last];
  const names = new Set(scrapes.flatMap((samples) => [...samples.keys()]));
  return [...names].map((name) => ({
    series: addLabels(name, target),
    // A series ends with the scrape that lacks it.
    values: filled.map((samples) => samples?.get(name) ?? 'stale').join(' '),
  }));
}

function writeSeries(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.join(',')}}`;
}

function addLabels(series: string, labels: Labels): string {
  const added = writeSeries('', labels).slice(1, -1);
  return series.endsWith('}') ? `${series.slice(0, -1)},${added}}` : `${series}{${added}}`;
}
