/** Tells systemd how far the relay is, if its unit has `Type=notify` (sd_notify(3)). */
import { spawn } from 'node:child_process';
import { log } from '../log.ts';

/**
 * By `systemd-notify`, because neither runtime can send to a Unix datagram socket. The relay serves
 * whether or not anybody was told.
 */
export function notifySupervisor(state: 'READY=1' | 'STOPPING=1'): void {
  const { NOTIFY_SOCKET, PATH } = process.env;
  if (!NOTIFY_SOCKET) return;
  const warn = (problem: string) => log.warning('supervisor_not_notified', { state, problem });
  // Not the whole environment, which may hold secrets.
  const child = spawn('systemd-notify', [state], { env: { NOTIFY_SOCKET, PATH }, stdio: 'ignore' });
  child.on('error', (error: NodeJS.ErrnoException) =>
    warn(`systemd-notify cannot be run (${error.code})`),
  );
  child.on('exit', (exitCode) => {
    if (exitCode !== 0 && exitCode !== null) warn(`systemd-notify exited with ${exitCode}`);
  });
  child.unref();
}
