/**
 * `sign-in-relay check`: reads the settings as a start would, and tests what they name.
 * docs/operating.md "Check" explains every line.
 */
import { openRedirectUri } from '../../providers/open.ts';
import { fileDescriptorsFor, findCaWarning, readFileDescriptors } from '../../server/machine.ts';
import type { Runtime } from '../../server/runtime.ts';
import {
  type EnabledSettings,
  isEnabled,
  type Settings,
  type SettingsReading,
} from '../../settings/index.ts';
import { type Finding, fault, ok, warning } from './finding.ts';
import { checkProviders } from './providers.ts';
import { checkPublicAddress } from './public-address.ts';

export async function checkHere(read: SettingsReading, runtime: Runtime): Promise<Finding[]> {
  const environment = read.ok ? await checkEnvironment(read.settings, runtime) : [];
  return [...checkSettings(read), ...environment];
}

/** Needs no network, so it can come before each restart. */
export function checkSettings(read: SettingsReading): Finding[] {
  const faults = read.ok ? [] : read.faults;
  const wrong = faults.map(({ setting, problem }) => fault('settings', `${setting} ${problem}`));
  // Not findMachineWarnings: file descriptors have a finding of their own.
  const doubtful = [...read.warnings, ...findCaWarning(process.env)].map(({ setting, problem }) =>
    warning('settings', `${setting} ${problem}`),
  );
  return wrong.length > 0
    ? [...wrong, ...doubtful]
    : [ok('settings', 'the relay can start'), ...doubtful];
}

/** Checks what the settings name: the base URL, the providers, Redis and others. */
async function checkEnvironment(settings: Settings, runtime: Runtime): Promise<Finding[]> {
  if (!isEnabled(settings)) {
    return [fault('base URL', 'OAUTH_BASE_URL is not set', 'set it to the public URL')];
  }
  const { redis } = settings;
  const parts = await Promise.all([
    // Open sign-ins are always confirmed.
    settings.confirm === 'code' && settings.providers.length > 0 ? [CONFIRM_CODE] : [],
    checkPublicAddress(settings, runtime),
    checkProviders(settings, runtime.fetch),
    settings.openEndpoints === undefined ? [] : [describeOpen(settings)],
    // Loaded only when needed, as in a start.
    redis === undefined ? [] : import('./redis.ts').then(({ checkRedis }) => checkRedis(redis)),
    [checkFileDescriptors(settings)],
    settings.notifyUrl === undefined ? [] : checkNotification(settings, runtime),
  ]);
  return parts.flat();
}

/** docs/user-pages.md "Whom the confirmation page protects". */
const CONFIRM_CODE = warning(
  'confirmation',
  'CONFIRM is code: an attacker can start a sign-in and send its link to a victim, who sees no page of the relay before the device of the attacker has the tokens',
  'set CONFIRM=always; keep code only for the apps of a relay that you replace',
);

/** docs/open.md "For operators". */
function describeOpen({ openEndpoints, baseUrl }: EnabledSettings): Finding {
  const ends = openEndpoints === '*' ? 'any https endpoint' : openEndpoints?.join(' and ');
  const text = `anybody can start one that leads to ${ends}; clients register ${openRedirectUri(baseUrl)}`;
  return ok('open sign-ins', text);
}

async function checkNotification(settings: EnabledSettings, { fetch }: Runtime): Promise<Finding> {
  const { send } = await import('../../notify.ts');
  const problem = await send(settings, fetch, 'check', 'A test of sign-in-relay check');
  return problem === undefined
    ? ok('notification', 'one was sent to NOTIFY_URL: check whether it has arrived')
    : fault('notification', `NOTIFY_URL: ${problem}`, 'correct it, or unset it');
}

function checkFileDescriptors({ maxSessions }: Settings): Finding {
  const { max } = readFileDescriptors();
  const what = 'file descriptors';
  const needed = fileDescriptorsFor(maxSessions);
  if (max === undefined) return ok(what, 'there is no /proc to read the limit from');
  if (max >= needed) return ok(what, `${max}, for MAX_SESSIONS of ${maxSessions}`);
  const text = `the limit is ${max}, which is too low for MAX_SESSIONS (${maxSessions})`;
  return fault(what, text, `allow ${needed} (ulimit -n, LimitNOFILE), or lower MAX_SESSIONS`);
}
