/** How many file descriptors this process uses, and may use. Each connection is one. */
import { readdirSync, readFileSync } from 'node:fs';

/** For providers, Redis, files and the log. */
const OTHER_FILE_DESCRIPTORS = 100;

/** Each sign-in may have a device that waits. */
export const fileDescriptorsFor = (maxSessions: number) => maxSessions + OTHER_FILE_DESCRIPTORS;

/** Undefined where there is no /proc. */
export function readFileDescriptors(): {
  readonly open: number | undefined;
  readonly max: number | undefined;
} {
  try {
    const open = readdirSync('/proc/self/fd').length;
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return { open, max: soft === undefined ? undefined : Number(soft) };
  } catch {
    return { open: undefined, max: undefined };
  }
}
