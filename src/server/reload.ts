/**
 * At SIGHUP the relay reads the files of secrets again (`X_FILE`), so that one relay alone can
 * change a secret without a restart. docs/rotating.md.
 */
import { isatty } from 'node:tty';
import type { Admin } from '../admin/admin.ts';
import { TERMINAL_CHECK_MS } from '../limits.ts';
import { log } from '../log.ts';
import type { Service } from '../service.ts';
import type { SettingsReading, SettingWarning } from '../settings/index.ts';

export interface Reload {
  /** From now on SIGHUP has an effect; also one that came before. */
  start(service: Service, admin: Admin | undefined): void;
}

/**
 * `readAgain` reads the settings in the environment of the start. `onHangUp` is called if the
 * signal means that the terminal of the relay was closed.
 */
export function reloadAtSignal(readAgain: () => SettingsReading, onHangUp: () => void): Reload {
  let terminals = [0, 1, 2].filter((stream) => isatty(stream));
  let closed: readonly number[] = [];
  let running: { service: Service; admin: Admin | undefined } | undefined;
  let isDue = false;
  let isReloading = false;

  /** One at a time: a signal that comes meanwhile is followed by another one. */
  async function reload(): Promise<void> {
    if (isReloading || running === undefined) return;
    isReloading = true;
    while (isDue) {
      isDue = false;
      await renew(running, readAgain);
    }
    isReloading = false;
  }

  process.on('SIGHUP', () => {
    // A terminal that was closed is none any more.
    if (terminals.some((stream) => !isatty(stream))) return onHangUp();
    isDue = true;
    void reload();
  });
  // A relay that lives on (`disown`, `setsid`) is none in a terminal any more. The signal of a
  // terminal that closes comes before the second look, also if the machine slept meanwhile.
  setInterval(() => {
    terminals = terminals.filter((stream) => !closed.includes(stream));
    closed = terminals.filter((stream) => !isatty(stream));
  }, TERMINAL_CHECK_MS).unref();
  return {
    start(service, admin) {
      running = { service, admin };
      void reload();
    },
  };
}

/** If a file is missing, empty or wrong, nothing changes. */
async function renew(
  { service, admin }: { service: Service; admin: Admin | undefined },
  readAgain: () => SettingsReading,
): Promise<void> {
  const read = readAgain();
  if (!read.ok) return warnOf(read.faults);
  const { renewed, problems } = await service.renewSecrets(read.settings);
  warnOf(problems);
  const isOther = admin?.renewToken(read.settings.adminToken) ?? false;
  const all = isOther ? [...renewed, 'ADMIN_TOKEN_FILE'] : renewed;
  log.info('secrets_reloaded', { renewed: all });
}

function warnOf(problems: readonly SettingWarning[]): void {
  for (const { setting, problem } of problems) {
    log.warning('secrets_not_reloaded', { setting, problem });
  }
}
