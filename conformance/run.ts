/**
 * The black-box conformance suite: checks any relay against docs/protocol.md
 * over HTTP, with a mock provider behind it. It imports nothing of the relay.
 * README.md says how to run it.
 */

import { GROUPS } from './groups/index.ts';
import { createClientAddresses, send } from './http.ts';
import { createMockProvider } from './mock-provider.ts';
import {
  BadOptions,
  environmentLines,
  type Options,
  parseOptions,
  registrationAt,
  SERVICE_B,
} from './options.ts';
import { createRelay } from './relay.ts';
import { createReport, type Report } from './report.ts';
import { runGroups } from './runner.ts';
import { createSecrets } from './secrets.ts';
import { noteControl } from './slowness.ts';

const PASSED = 0;
const FAILED = 1;
/** The suite itself could not do its work, so it says nothing about the relay. */
const SUITE_ERROR = 2;

/** How often it is measured how slow the machine is. */
const CONTROL_MS = 500;

class CannotRun extends Error {}

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args, GROUPS);
  if (options.printEnv) {
    console.log(environmentLines(options).join('\n'));
    return PASSED;
  }
  const report = await runAll(options);
  console.log(report.closingLine());
  return exitCode(report);
}

async function runAll(options: Options): Promise<Report> {
  const secrets = createSecrets(options.secretsFile);
  secrets.note(registrationAt(options, SERVICE_B).clientSecret ?? '');
  const shared = {
    options,
    secrets,
    nextAddress: createClientAddresses(),
  };
  const provider = createMockProvider(options, secrets);
  await listen(provider.listen, options);
  await expectAnswer(options.baseUrl);
  if (options.unconfiguredUrl) await expectAnswer(options.unconfiguredUrl);
  const report = createReport(GROUPS, secrets.shorten, console.log);
  const control = setInterval(
    () => noteControl(send(options.baseUrl, { path: '/auth/done' })),
    CONTROL_MS,
  );
  await runGroups({
    groups: GROUPS,
    options,
    createKit: () => ({ options, provider, relay: createRelay(shared) }),
    report: report.add,
  });
  clearInterval(control);
  provider.close();
  return report;
}

async function listen(start: () => Promise<void>, { providerListen }: Options): Promise<void> {
  const { host, port } = providerListen;
  await start().catch((error: unknown) => {
    throw new CannotRun(`the mock provider cannot listen on ${host}:${port}: ${messageOf(error)}`);
  });
}

/** Any answer will do: the cases check whether it is right. */
async function expectAnswer(url: string): Promise<void> {
  await send(url, { path: '/auth/done', timeoutMs: 10_000 }).catch((error: unknown) => {
    throw new CannotRun(`no relay answers at ${url}: ${messageOf(error)}`);
  });
}

function exitCode(report: Report): number {
  if (report.count('error') > 0) return SUITE_ERROR;
  if (report.count('fail') > 0) return FAILED;
  // CI looks at the exit code alone: a case that did not run must not look like one that passed.
  const isStrict = process.env.CI === 'true';
  return isStrict && report.count('skip') > 0 ? FAILED : PASSED;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A case that fails early never awaits the other requests that it sent, and why it failed is reported.
process.on('unhandledRejection', () => {});

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const isKnown = error instanceof BadOptions || error instanceof CannotRun;
    const text = isKnown || !(error instanceof Error) ? messageOf(error) : error.stack;
    console.error(`conformance: ${text}`);
    process.exit(SUITE_ERROR);
  },
);
