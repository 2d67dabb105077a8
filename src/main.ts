#!/usr/bin/env bun
/** The command line: help and version, or reads the environment and serves. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { createLogOutput, describeError, log, startLog } from './log.ts';
import { StoreUnavailable } from './relay/store.ts';
import { AdminPortError, fetchUpstream, serve } from './serve.ts';
import { describeFaults, readSettings, type Settings, settingsHelp } from './settings/index.ts';

const USAGE = `sign-in-relay ${packageJson.version}: ${packageJson.description}

Usage: npm start                 serve, configured by the environment
       npm start -- health       ask the relay on this machine whether it is alive (--ready: ready)
       npm start -- check        check the settings and what they lead to (--json)
       npm start -- --help       this text
       npm start -- --version
`;

async function main(): Promise<void> {
  // Whoever reads them may close them at any time. Each write handles its own failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const { options, command } = readArguments();
  if (options.help) return print(`${USAGE}\n${settingsHelp()}`);
  if (options.version) return print(`${packageJson.version}\n`);

  const read = readSettings(process.env, (path) => readFileSync(path, 'utf8'));
  if (command === 'check') {
    const { check } = await import('./check/check.ts');
    return end(await check({ read, fetch: fetchUpstream, asJson: options.json === true }));
  }
  if (!read.ok) return fail(describeFaults(read.faults, read.warnings));
  const { settings, warnings } = read;
  if (command === 'health') {
    const { askHealth } = await import('./health.ts');
    return end(await askHealth(settings, options.ready ? '/ready' : '/health'));
  }
  startLog({
    level: settings.logLevel,
    format: settings.logFormat ?? (process.stdout.isTTY ? 'text' : 'json'),
    write: createLogOutput(process.stdout, process.stderr),
  });
  for (const warning of warnings) log.warning('setting', { ...warning });
  try {
    await serve(settings);
  } catch (error) {
    fail(describeStartFailure(error, settings) ?? describeUnexpected(error));
  }
}

/** The setting that this machine cannot satisfy. Undefined when no setting is the cause. */
function describeStartFailure(error: unknown, settings: Settings): string | undefined {
  if (error instanceof AdminPortError) {
    const { adminHost, adminPort } = settings;
    return describeListenFailure(error.cause, 'ADMIN_', adminHost, adminPort);
  }
  if (error instanceof StoreUnavailable) return `REDIS_URL: ${error.message}\n`;
  return describeListenFailure(error, '', settings.host, settings.port);
}

function describeListenFailure(
  error: unknown,
  prefix: '' | 'ADMIN_',
  host = 'every address',
  port = 0,
): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return `${prefix}PORT is ${port}: another program listens there already\n`;
  if (code === 'EACCES') return `${prefix}PORT is ${port}: only root may listen below 1024\n`;
  return typeof code === 'string' && NO_SUCH_ADDRESS.has(code)
    ? `${prefix}HOST is ${host}: this machine has no such address\n`
    : undefined;
}

/** Errors of listening, and of resolving the host name. */
const NO_SUCH_ADDRESS = new Set([
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EINVAL',
  'ENOTFOUND',
  'ESERVFAIL',
  'EAI_AGAIN',
]);

/** An unexpected error, without its message, which may contain a setting. */
function describeUnexpected(error: unknown): string {
  const { error: name, at = [] } = describeError(error);
  return [`The relay did not start because of a fault of its own: ${name}`, ...at, ''].join('\n  ');
}

/** Options of each command besides `--help` and `--version`. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  serve: [],
  health: ['ready'],
  check: ['json'],
};

function readArguments() {
  try {
    const flag = { type: 'boolean' } as const;
    const { values, positionals } = parseArgs({
      options: { help: { ...flag, short: 'h' }, version: flag, ready: flag, json: flag },
      allowPositionals: true,
    });
    const [command = 'serve', more] = positionals;
    const allowed = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    if (allowed === undefined || more !== undefined) {
      return fail(`There is no command ${positionals.join(' ')}\n\n${USAGE}`);
    }
    const wrong = (['ready', 'json'] as const).find(
      (name) => values[name] && !allowed.includes(name),
    );
    if (wrong !== undefined) return fail(`${command} has no option --${wrong}\n\n${USAGE}`);
    return { options: values, command };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

/** Ends at once: nothing of a command goes on after its answer. */
function end({ text, exitCode }: { readonly text: string; readonly exitCode: number }): void {
  process.stdout.write(`${text}\n`, () => process.exit(exitCode));
}

function print(text: string): void {
  process.stdout.write(text);
}

function fail(text: string): never {
  process.stderr.write(text);
  process.exit(1);
}

await main().catch((error: unknown) => fail(describeUnexpected(error)));
