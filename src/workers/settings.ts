/** The settings of a Worker: reads them by `readSettings`, and refuses those that have no meaning there. */
import { startLog } from '../log.ts';
import { readSettings } from '../settings/index.ts';
import { type SettingFault, showValue } from '../settings/problems.ts';
import { type Environment, withoutBlank } from '../settings/reading.ts';

/** The settings that a Worker refuses, those that end in `_FILE` too, and why. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^(?:HOST|PORT)$/, 'Cloudflare listens'],
  [/^ADMIN_/, 'a Worker has no second port, and no metrics'],
  [/^TRUSTED_PROXY_CIDRS$/, 'the client address is the CF-Connecting-IP of Cloudflare'],
  [/^NOTIFY_URL/, 'no process runs that could watch'],
  [/^(?:SESSIONS_FILE$|REDIS_)/, 'sessions are in Durable Objects'],
  [/_CLIENT_SECRET_FILE$/, 'a Worker has no files; use wrangler secret put for the secret itself'],
];

/** A setting of an earlier version. */
const IGNORED = {
  setting: 'OBJECTS',
  problem: 'no longer has an effect: all sign-ins are in one object (docs/cloudflare.md)',
};

export type WorkerSettings = ReturnType<typeof readWorkerSettings>;

/** Starts the log too. `settings` is undefined if one is wrong, `baseUrl` if it is not set, or wrong. */
export function readWorkerSettings(env: object) {
  const variables = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const environment = withoutBlank(variables);
  const read = readSettings(environment, readNoFile);
  const faults = [...findRefused(environment), ...(read.ok ? [] : read.faults)];
  const { baseUrl, logLevel: level, logFormat: format = 'json' } = read.ok ? read.settings : read;
  startLog({ level, format, write: (line) => console.log(line.trimEnd()) });
  const settings = read.ok && faults.length === 0 ? read.settings : undefined;
  const ignored = environment.OBJECTS === undefined ? [] : [IGNORED];
  return { settings, baseUrl, faults, warnings: [...read.warnings, ...ignored] };
}

function findRefused(environment: Environment): SettingFault[] {
  return Object.entries(environment).flatMap(([setting, text = '']) => {
    const [, reason] = REFUSED.find(([pattern]) => pattern.test(setting)) ?? [];
    if (reason === undefined) return [];
    const problem = `must not be set on Cloudflare Workers: ${reason}`;
    return { setting, value: showValue(setting, text), problem };
  });
}

/** Reads no file: the value of `LOGO` must be the picture. */
function readNoFile(): never {
  throw Object.assign(new Error('no files'), { code: 'a Worker has none' });
}
