/**
 * `npm test`: everything. Types, lint, the tests of the code, the conformance
 * suite under Bun and under Node, a real browser, and a search of every log for
 * every secret. Nothing is skipped in silence; with CI=true a skip is a failure.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceStep, type Target } from './runner/conformance.ts';
import { searchLogs } from './runner/search-logs.ts';
import { checkStep, type StepResult } from './runner/step.ts';
import { installWhatIsMissing } from './runner/system.ts';
import { unitStep } from './runner/unit.ts';

// Bun's fetch would send even 127.0.0.1 through a proxy.
process.env.NO_PROXY = '127.0.0.1,localhost';

const bun = process.execPath;
const underBun = [bun, 'src/main.ts'];

/** The lifetime of 600 s is held by fake time elsewhere; here sessions live as long as a test can wait. */
const SHORT_LIFE_SECONDS = '20';

/** All but `confirm`, which changes what the specification's own link does. */
const EXTENSIONS = ['--with', 'user-code,wait,ack,qr,cors,device-grant'];
const ALL_BUT_EXPIRY = [...EXTENSIONS, '--except', 'expiry,device-expiry'];

const TARGETS: Target[] = [
  { name: 'bun', command: underBun, options: ALL_BUT_EXPIRY },
  { name: 'node', command: ['node', 'examples/node-server.mjs'], options: ALL_BUT_EXPIRY },
  {
    name: 'two relays on one Redis',
    command: underBun,
    options: ALL_BUT_EXPIRY,
    takingTurns: true,
  },
  {
    name: 'expiry',
    command: underBun,
    options: ['--only', 'expiry,device-expiry', '--session-seconds', SHORT_LIFE_SECONDS],
  },
  { name: 'confirm', command: underBun, options: ['--only', 'confirm'] },
];

async function runSuite(folder: string): Promise<StepResult[]> {
  const logs = join(folder, 'logs');
  const secrets = join(folder, 'planted.txt');
  mkdirSync(logs);
  writeFileSync(secrets, '');
  const results: StepResult[] = [];
  const report = (result: StepResult) => {
    results.push(result);
    show(result);
  };

  report(await checkStep('types', ['node_modules/.bin/tsc', '--noEmit']));
  report(await checkStep('lint and format', ['node_modules/.bin/biome', 'check']));
  report(await checkStep('build for Node', [bun, 'run', 'build']));
  // The conformance suites mostly wait, so they run beside each other and the rest.
  const env = { RELAY_TEST_LOGS: logs, RELAY_TEST_SECRETS: secrets };
  await Promise.all([
    unitStep(folder, env).then(report),
    ...TARGETS.map((target) => conformanceStep(target, { logs, secrets }).then(report)),
  ]);
  report(searchLogs(logs, secrets));
  return results;
}

function show({ name, passed, failed, skipped, output }: StepResult): void {
  if (failed > 0 || skipped > 0) console.log(`\n${output}\n`);
  const mark = failed > 0 ? 'FAIL' : 'ok  ';
  console.log(`${mark} ${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
}

await installWhatIsMissing();
const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-test-'));
try {
  const results = await runSuite(folder);
  const total = (of: 'passed' | 'failed' | 'skipped') =>
    results.reduce((sum, result) => sum + result[of], 0);
  const skippedInCi = process.env.CI === 'true' ? total('skipped') : 0;
  const failed = total('failed') + skippedInCi;
  console.log(`\n${total('passed')} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  // The secrets are made up, but a folder of them is not left lying about.
  rmSync(folder, { recursive: true, force: true });
}
