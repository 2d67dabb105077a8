/** The settings of a Worker: those of `readSettings`, and those that have no meaning there are refused. */
import { startLog } from '../log.ts';
import { readSettings } from '../settings/index.ts';
import { type SettingFault, showValue } from '../settings/problems.ts';
import { type Environment, withoutBlank } from '../settings/reading.ts';

const ON_WORKERS = 'must not be set on Cloudflare Workers';

const NO_SECOND_PORT = 'a Worker has no second port, and no metrics';
const IN_OBJECTS = 'sessions are in Durable Objects';

const WITHOUT_MEANING: Readonly<Record<string, string>> = {
  HOST: 'Cloudflare listens',
  PORT: 'Cloudflare listens',
  ADMIN_PORT: NO_SECOND_PORT,
  ADMIN_HOST: NO_SECOND_PORT,
  ADMIN_NAMES: NO_SECOND_PORT,
  ADMIN_TOKEN: NO_SECOND_PORT,
  TRUSTED_PROXY_CIDRS: 'the client address is the CF-Connecting-IP of Cloudflare',
  NOTIFY_URL: 'no process runs that could watch',
  SESSIONS_FILE: IN_OBJECTS,
  REDIS_URL: IN_OBJECTS,
  REDIS_PREFIX: IN_OBJECTS,
  REDIS_SENTINEL_USERNAME: IN_OBJECTS,
  REDIS_SENTINEL_PASSWORD: IN_OBJECTS,
};

export type WorkerSettings = ReturnType<typeof readWorkerSettings>;

/** Starts the log too. `settings` is undefined if one is wrong, `baseUrl` if it is not set, or wrong. */
export function readWorkerSettings(env: object) {
  const variables = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const environment = withoutBlank(variables);
  const read = readSettings(environment, readNoFile);
  const faults = [...findWithoutMeaning(environment), ...(read.ok ? [] : read.faults)];
  const { baseUrl, logLevel: level, logFormat: format = 'json' } = read.ok ? read.settings : read;
  startLog({ level, format, write: (line) => console.log(line.trimEnd()) });
  const settings = read.ok && faults.length === 0 ? read.settings : undefined;
  return { settings, baseUrl, faults, warnings: read.warnings };
}

function findWithoutMeaning(environment: Environment): SettingFault[] {
  return Object.entries(environment).flatMap(([setting, text = '']) => {
    const reason =
      WITHOUT_MEANING[setting.replace(/_FILE$/, '')] ??
      (/^\w+_CLIENT_SECRET_FILE$/.test(setting)
        ? `a Worker has no files; use wrangler secret put ${setting.replace(/_FILE$/, '')}`
        : undefined);
    if (reason === undefined) return [];
    const value = showValue(setting, text);
    return { setting, value, problem: `${ON_WORKERS}: ${reason}` };
  });
}

/** For `LOGO`, which may also contain the picture. */
function readNoFile(): never {
  throw Object.assign(new Error('no files'), { code: 'a Worker has none' });
}
