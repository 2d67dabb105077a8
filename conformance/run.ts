/**
 * The black-box conformance suite: holds any relay to `protocol.md` by speaking
 * to it over HTTP and playing the two providers. README.md says how to run it.
 * Imports nothing of the relay.
 */

import { writeFileSync } from 'node:fs';
import { environmentLines, identityOf } from './command/environment.ts';
import { junitXml } from './command/junit.ts';
import { listing, uncoveredRows } from './command/listing.ts';
import { BadOptions, type Options, parseOptions } from './command/options.ts';
import { createReport, type Report } from './command/report.ts';
import { runGroups } from './engine/run-groups.ts';
import { createSecrets } from './engine/secrets.ts';
import { GROUPS } from './groups/index.ts';
import { createPlayedProvider } from './provider/played-provider.ts';
import { send } from './wire/http.ts';
import { createLedger } from './wire/ledger.ts';
import { createRecord } from './wire/record.ts';
import { createSources } from './wire/sources.ts';
import { createTarget } from './wire/target.ts';

const PASSED = 0;
const FAILED = 1;
/** The suite itself could not do its work; nothing is said about the target. */
const ENGINE_ERROR = 2;

class EngineFault extends Error {}

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args, GROUPS);
  const uncovered = uncoveredRows(GROUPS);
  if (uncovered.length > 0) throw new EngineFault(`rows without a case: ${uncovered.join(', ')}`);
  if (options.list || options.printEnv) {
    const lines = options.list ? listing(GROUPS) : environmentLines(options);
    console.log(lines.join('\n'));
    return PASSED;
  }
  const report = await runAll(options);
  if (options.junitFile) writeFileSync(options.junitFile, junitXml(report.outcomes));
  console.log(report.closingLine());
  return exitCode(report);
}

async function runAll(options: Options): Promise<Report> {
  const secrets = createSecrets(options.secretsFile);
  secrets.note(identityOf(options, options.serviceB).clientSecret ?? '');
  const provider = createPlayedProvider(options, secrets);
  const sources = createSources(options.spread);
  const record = createRecord(options.answersFile);
  const wiring = { ...options, sources, secrets, record, ledger: createLedger() };
  await listen(provider.listen, options);
  await reach(options.baseUrl);
  if (options.unconfiguredUrl) await reach(options.unconfiguredUrl);
  const report = createReport(GROUPS, secrets.shorten, console.log);
  await runGroups({
    groups: GROUPS,
    chosen: options.groups,
    makeBench: () => ({ options, provider, target: createTarget(wiring) }),
    report: report.add,
  });
  provider.close();
  return report;
}

async function listen(start: () => Promise<void>, { providerListen }: Options): Promise<void> {
  const { host, port } = providerListen;
  await start().catch((fault: unknown) => {
    throw new EngineFault(`cannot play the provider on ${host}:${port}: ${messageOf(fault)}`);
  });
}

/** Any answer will do: what it should be is for the cases to say. */
async function reach(url: string): Promise<void> {
  await send(url, { path: '/auth/done', timeoutMs: 10_000 }).catch((fault: unknown) => {
    throw new EngineFault(`nothing to test answers at ${url}: ${messageOf(fault)}`);
  });
}

function exitCode(report: Report): number {
  if (report.count('error') > 0) return ENGINE_ERROR;
  if (report.count('fail') > 0) return FAILED;
  // Where nobody reads the output, a case that was not run must not look like one that passed.
  const strict = process.env.CI === 'true';
  return strict && report.count('skip') > 0 ? FAILED : PASSED;
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (fault: unknown) => {
    const known = fault instanceof BadOptions || fault instanceof EngineFault;
    const text = known || !(fault instanceof Error) ? messageOf(fault) : fault.stack;
    console.error(`conformance: ${text}`);
    process.exit(ENGINE_ERROR);
  },
);
