/** Compares the settings with what this machine and runtime allow the process. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import type { Settings, SettingsReading, SettingWarning } from '../settings/index.ts';
import { describeFileFailure, type Environment } from '../settings/reading.ts';
import { findPathProblem } from '../stores/sqlite/problems.ts';

/** Adds a fault if this runtime, or this machine, cannot have the sessions file. */
export function checkMachine(read: SettingsReading): SettingsReading {
  if (!read.ok || read.settings.sessionsFile === undefined) return read;
  const { sessionsFile: value, baseUrl, logLevel, logFormat } = read.settings;
  const problem = isBuiltin('node:sqlite')
    ? findPathProblem(value)
    : `needs Bun, or Node 22.13 or newer: this is Node ${process.versions.node}`;
  if (problem === undefined) return read;
  const faults = [{ setting: 'SESSIONS_FILE', value, problem }];
  const { warnings } = read;
  return { ok: false, faults, warnings, baseUrl, logLevel, logFormat };
}

export function findMachineWarnings(settings: Settings, environment: Environment) {
  return [...findCaWarning(environment), ...findFileDescriptorWarning(settings)];
}

/** A warning is needed because the runtime silently ignores a NODE_EXTRA_CA_CERTS that it cannot read. */
export function findCaWarning({ NODE_EXTRA_CA_CERTS: path }: Environment): SettingWarning[] {
  if (!path) return [];
  try {
    // A pipe would block, or be empty for the runtime.
    if (!statSync(path).isFIFO()) readFileSync(path);
    return [];
  } catch (error) {
    const problem = `names ${path}, which ${describeFileFailure(error)}: its certificates are not trusted`;
    return [{ setting: 'NODE_EXTRA_CA_CERTS', problem }];
  }
}

function findFileDescriptorWarning({ maxSessions }: Settings): SettingWarning[] {
  const { max = Number.POSITIVE_INFINITY } = readFileDescriptors();
  const needed = fileDescriptorsFor(maxSessions);
  if (max >= needed) return [];
  const problem = `is ${maxSessions}, and this process may open only ${max} files and connections: allow ${needed} (ulimit -n, LimitNOFILE)`;
  return [{ setting: 'MAX_SESSIONS', problem }];
}

/** File descriptors that providers, Redis, files and the log need. */
const OTHER_FILE_DESCRIPTORS = 100;

/** Each sign-in may have a device that waits, and each connection is a file descriptor. */
export const fileDescriptorsFor = (maxSessions: number) => maxSessions + OTHER_FILE_DESCRIPTORS;

/** How many file descriptors this process uses, and may use. Undefined where there is no /proc. */
export function readFileDescriptors() {
  try {
    const open = readdirSync('/proc/self/fd').length;
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return { open, max: soft === undefined ? undefined : Number(soft) };
  } catch {
    return { open: undefined, max: undefined };
  }
}
