/** Everything that `bun test` finds: rules of the code, the running process, the browser. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, type StepResult } from './step.ts';

export async function unitStep(folder: string, env: Record<string, string>): Promise<StepResult> {
  const report = join(folder, 'bun-test.xml');
  const result = await runCommand(
    [
      process.execPath,
      'test',
      '--timeout=30000',
      '--reporter=junit',
      `--reporter-outfile=${report}`,
    ],
    env,
  );
  // A crash leaves no report.
  const counts = existsSync(report) ? countsOf(report) : { passed: 0, failed: 1, skipped: 0 };
  // A file that does not load fails without being counted.
  const failed = counts.failed === 0 && result.exitCode !== 0 ? 1 : counts.failed;
  return { name: 'bun test', ...counts, failed, output: result.output };
}

function countsOf(report: string) {
  const [suites = ''] = /<testsuites [^>]*>/.exec(readFileSync(report, 'utf8')) ?? [];
  const read = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suites)?.[1] ?? 0);
  const failed = read('failures') + read('errors');
  return { passed: read('tests') - failed - read('skipped'), failed, skipped: read('skipped') };
}
