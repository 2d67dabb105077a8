/** The command line: runs a command, prints help or version, or serves. */
import { fstatSync } from 'node:fs';
import type { ParseArgsConfig } from 'node:util';
import { FETCHES_AT_ONCE } from '../limits.ts';
import { createLogOutput, describeError, log, startLog } from '../log.ts';
import { codeOf } from '../providers/connect-problem.ts';
import { CannotListen } from '../server/listen.ts';
import { checkMachine, findMachineWarnings } from '../server/machine.ts';
import type { Runtime } from '../server/runtime.ts';
import { serve } from '../server/serve.ts';
import { type EnvFile, parseEnvFile } from '../settings/env-file.ts';
import {
  countWrong,
  describeFaults,
  readSettings,
  type Settings,
  type SettingsReading,
  settingsHelp,
} from '../settings/index.ts';
import { nearest } from '../settings/misspelt.ts';
import { describeFileFailure } from '../settings/reading.ts';
import { StoreUnavailable } from '../sign-ins/store.ts';
import { UnusableFile } from '../stores/sqlite/problems.ts';
import { readTextFile } from '../text-file.ts';
import { VERSION } from '../version.ts';
import { CommandError, parseOptions } from './command-line.ts';

const USAGE = `sign-in-relay ${VERSION}
OAuth 2.0 sign-in on a phone, for devices without a browser

Usage: sign-in-relay            serve, configured by the environment
       sign-in-relay COMMAND    one of these commands
       sign-in-relay --help     this text
       sign-in-relay --version

  check             test the settings and what they name (--json);
                    with --settings only the settings, in an instant;
                    with --relay URL a relay elsewhere, from outside
  health            ask the relay on this machine whether it is alive
                    (with --ready: whether it can start sign-ins)
  dev               a relay and a provider to try an app against
  login SERVICE     sign in from this terminal
  token SERVICE     print a valid access token
  logout SERVICE    revoke and delete the tokens of login
  providers [NAME]  a list of providers, or a guide to one

The relay, check and health: --env-file FILE adds settings from a file.
`;

async function main(): Promise<void> {
  raiseFetchLimit();
  bypassProxyForLoopback();
  // A pipe may be closed by its reader at any time. Each write handles its own failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const [command = '', ...args] = process.argv.slice(2);
  if (Object.hasOwn(COMMANDS, command)) {
    const exitCode = await COMMANDS[command as keyof typeof COMMANDS](args);
    if (exitCode !== undefined) process.exitCode = exitCode;
    return;
  }
  if (/^\w/.test(command)) failAsUnknown(command);
  const options = readFlags(process.argv.slice(2), {
    ...SETTINGS_OPTIONS,
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean' },
  });
  if (options.help) return print(`${USAGE}\n${settingsHelp()}`);
  const runtime = await loadRuntime();
  if (options.version) return print(`${VERSION} on ${runtime.name}\n`);
  await start(readAllSettings(options['env-file'], WRONG_SETTINGS), runtime);
}

/**
 * EX_CONFIG of sysexits.h: a supervisor need not start it again, as it would end in the same way
 * (deploy/sign-in-relay.service). A failure that may pass (Redis, the port) ends with 1.
 */
const WRONG_SETTINGS = 78;

async function start(read: SettingsReading, runtime: Runtime): Promise<void> {
  const { logLevel: level, logFormat } = read.ok ? read.settings : read;
  const format = logFormat ?? (process.stdout.isTTY ? 'text' : 'json');
  const write = createLogOutput(process.stdout, process.stderr);
  startLog({ level, format, write, hasPriorities: isJournal(process.env.JOURNAL_STREAM) });
  if (!read.ok && format === 'text') {
    fail(describeFaults(read.faults, read.warnings), WRONG_SETTINGS);
  }
  const onMachine = read.ok ? findMachineWarnings(read.settings, process.env) : [];
  for (const warning of [...read.warnings, ...onMachine]) log.warning('setting', { ...warning });
  if (!read.ok) {
    for (const fault of read.faults) log.error('setting', { ...fault });
    return failInLog(countWrong(read.faults), WRONG_SETTINGS);
  }
  try {
    await serve(read.settings, runtime);
  } catch (error) {
    const problem = describeStartFailure(error, read.settings);
    if (problem === undefined) fail(describeUnexpected(error));
    const exitCode = error instanceof UnusableFile ? WRONG_SETTINGS : 1;
    if (format === 'text') fail(`${problem}\n`, exitCode);
    failInLog(problem, exitCode);
  }
}

/** True if stdout is the journal itself, and not a pipe that begins there. systemd.exec(5) */
function isJournal(stream: string | undefined): boolean {
  if (!stream) return false;
  const { dev, ino } = fstatSync(1);
  return stream === `${dev}:${ino}`;
}

/** Exits once the log is written. */
function failInLog(problem: string, exitCode: number): void {
  log.error('not_started', { problem });
  process.stdout.write('', () => process.exit(exitCode));
}

/** The options of the commands that read the settings. */
const SETTINGS_OPTIONS = { 'env-file': { type: 'string' } } as const;

/** How long `login` waits for the response to its last request. After Ctrl-C the user waits too. */
const [ACKNOWLEDGE_MS, CANCEL_MS] = [15_000, 1_000];

/** Each is loaded only when it is run: a relay in production needs none of them. */
const COMMANDS = {
  dev: async (args: readonly string[]) =>
    (await import('./dev/command.ts')).dev(args, await loadRuntime()),
  async login(args: readonly string[]) {
    const exitCode = await (await import('./login/login.ts')).login(args);
    const waitsMs = exitCode === 0 ? ACKNOWLEDGE_MS : CANCEL_MS;
    setTimeout(() => process.exit(exitCode), waitsMs).unref();
    return exitCode;
  },
  token: async (args: readonly string[]) => (await import('./login/token.ts')).token(args),
  logout: async (args: readonly string[]) => (await import('./login/logout.ts')).logout(args),
  async providers([name, ...others]: readonly string[]) {
    const [extra] = others;
    if (extra !== undefined)
      throw new CommandError(`Unexpected argument ${JSON.stringify(extra)}`, 1, USAGE);
    const { showProviders } = await import('./show-providers.ts');
    print(showProviders(name));
  },
  async check(args: readonly string[]) {
    const options = readFlags(args, {
      ...SETTINGS_OPTIONS,
      json: { type: 'boolean' },
      relay: { type: 'string' },
      settings: { type: 'boolean' },
    });
    const { json, relay, 'env-file': file } = options;
    const { checkHere, checkSettings } = await import('./check/check.ts');
    const { report } = await import('./check/finding.ts');
    if (options.settings) {
      if (relay !== undefined)
        fail('--settings checks the settings of this machine: leave out --relay\n');
      const findings = checkSettings(readAllSettings(file, WRONG_SETTINGS));
      return end(report(findings, json, WRONG_SETTINGS));
    }
    const runtime = await loadRuntime();
    const findings =
      relay === undefined
        ? await checkHere(readAllSettings(file), runtime)
        : await (await import('./check/relay.ts')).checkRelay(relay, runtime.fetch);
    end(report(findings, json));
  },
  async health(args: readonly string[]) {
    const options = readFlags(args, { ...SETTINGS_OPTIONS, ready: { type: 'boolean' } });
    const { environment } = readEnvironment(options['env-file']);
    // Reads nothing else: a secret that cannot be read now does not affect a relay that runs.
    const { HOST, PORT } = environment;
    const read = readSettings({ HOST, PORT }, readTextFile);
    if (!read.ok) return fail(describeFaults(read.faults, read.warnings));
    const { askHealth } = await import('./health.ts');
    end(await askHealth(read.settings, options.ready ? '/ready' : '/health'));
  },
} as const;

function failAsUnknown(command: string): never {
  const near = nearest(command, Object.keys(COMMANDS));
  const problem = `There is no command ${JSON.stringify(command)}`;
  if (near === undefined) throw new CommandError(problem, 1, USAGE);
  throw new CommandError(`${problem}: did you mean ${near}?`);
}

/** Bun if it runs this, otherwise Node. The other one is not loaded. */
async function loadRuntime(): Promise<Runtime> {
  return 'Bun' in globalThis
    ? (await import('../server/runtime-bun.ts')).bun
    : (await import('../server/runtime-node.ts')).node;
}

/** The setting that this machine cannot satisfy. Undefined when no setting is the cause. */
function describeStartFailure(error: unknown, settings: Settings): string | undefined {
  if (error instanceof StoreUnavailable) {
    return `${settings.sessionsFile === undefined ? 'REDIS_URL:' : 'SESSIONS_FILE'} ${error.message}`;
  }
  return error instanceof CannotListen ? error.message : undefined;
}

/** An unexpected error, without its message, which may contain a setting. */
function describeUnexpected(error: unknown): string {
  const { error: name, at = [] } = describeError(error);
  return [`sign-in-relay ended because of a bug: ${name}`, ...at, ''].join('\n  ');
}

const readFlags = <const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) => parseOptions({ args: [...args], options }, USAGE).values;

/** `file`: what `--env-file` was given. */
function readAllSettings(file: string | undefined, failureCode = 1): SettingsReading {
  const { environment, ofFile, warnings } = readEnvironment(file, failureCode);
  const read = checkMachine(readSettings(environment, readTextFile, ofFile));
  return { ...read, warnings: [...warnings, ...read.warnings] };
}

/** The environment takes precedence over the file, even where it sets an empty value. */
function readEnvironment(file: string | undefined, failureCode = 1) {
  const { environment, warnings } =
    file === undefined ? parseEnvFile('') : readEnvFile(file, failureCode);
  const ofFile = new Set(Object.keys(environment));
  return { environment: { ...environment, ...process.env }, ofFile, warnings };
}

function readEnvFile(file: string, failureCode: number): EnvFile {
  const option = `--env-file ${JSON.stringify(file)}`;
  let text: string;
  try {
    text = readTextFile(file, 'utf8');
  } catch (error) {
    return fail(`${option} ${describeFileFailure(error)}\n`, failureCode);
  }
  const read = parseEnvFile(text);
  if (read.faults.length === 0) return read;
  return fail(`${[`${option} is wrong:`, ...read.faults].join('\n  ')}\n`, failureCode);
}

/**
 * Bun reads its limit of outgoing requests when it starts. An executable has no launcher
 * that could set it (bin/sign-in-relay.cjs), so it starts itself again, in the same process.
 */
function raiseFetchLimit(): void {
  const { execPath, argv, env } = process;
  const isExecutable = argv[1]?.startsWith('/$bunfs/') ?? false;
  if (!isExecutable || env.BUN_CONFIG_MAX_HTTP_REQUESTS) return;
  const raised = { ...env, BUN_CONFIG_MAX_HTTP_REQUESTS: String(FETCHES_AT_ONCE) };
  try {
    process.execve?.(execPath, [execPath, ...argv.slice(2)], raised);
  } catch {
    // The lower limit then applies (`fetchesAtOnce` in server/runtime-bun.ts).
  }
}

/** Otherwise Bun sends requests to this machine through the proxy of the environment too. */
function bypassProxyForLoopback(): void {
  for (const name of ['NO_PROXY', 'no_proxy']) {
    process.env[name] = [process.env[name], 'localhost,127.0.0.1,[::1]'].filter(Boolean).join();
  }
}

/** Exits once the output is written. The reader may close the pipe early, as `head` does. */
function end({ text, exitCode }: { readonly text: string; readonly exitCode: number }): void {
  process.stdout.write(`${text}\n`, (error) => {
    const code = error ? codeOf(error) : 'EPIPE';
    if (code !== 'EPIPE') fail(`The output cannot be written (${code})\n`);
    process.exit(exitCode);
  });
}

const print = (text: string) => end({ text: text.trimEnd(), exitCode: 0 });

function fail(text: string, exitCode = 1): never {
  process.stderr.write(text);
  process.exit(exitCode);
}

await main().catch(async (error: unknown) => {
  if (!(error instanceof CommandError)) fail(describeUnexpected(error));
  const { message, usage, exitCode } = error;
  const { printable } = await import('./terminal.ts');
  const lines = message.split('\n').map(printable).join('\n');
  fail(usage === '' ? `${lines}\n` : `${lines}\n\n${usage}`, exitCode);
});
