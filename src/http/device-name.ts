/** What a device calls itself, as a stranger's text that a person is to see. */
import { DEVICE_NAME_CHARACTERS } from '../limits.ts';

/**
 * One line of at most DEVICE_NAME_CHARACTERS, without what is invisible or
 * turns the direction of the text around it. Undefined when nothing is left.
 */
export function cleanDeviceName(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  const visible = given.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').replace(/\p{C}/gu, '');
  const name = [...visible.trim()].slice(0, DEVICE_NAME_CHARACTERS).join('').trim();
  return name === '' ? undefined : name;
}
