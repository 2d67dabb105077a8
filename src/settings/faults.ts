/** What is wrong with the settings, and how an operator is told. */
import { spellOutUnseen } from '../pages/shown-name.ts';

/** One thing wrong with one setting; the relay does not start. */
export interface SettingFault {
  readonly setting: string;
  /** What it holds, shortened, and masked where it is a secret; undefined: it is not set. */
  readonly value: string | undefined;
  /** What would be right, as the rest of a sentence that begins with the setting. */
  readonly problem: string;
}

/** One thing that is likely a mistake; the relay starts all the same. */
export interface SettingWarning {
  readonly setting: string;
  /** The rest of a sentence that begins with the setting. Holds no secret. */
  readonly problem: string;
}

const SHOWN_CHARACTERS = 60;

/** A fault with its value made fit to show: no password of an address, nothing endless. */
export function createFault(
  setting: string,
  value: string | undefined,
  problem: string,
): SettingFault {
  return { setting, value: value === undefined ? undefined : shown(setting, value), problem };
}

function shown(setting: string, value: string): string {
  if (setting.endsWith('_CLIENT_SECRET')) return '***';
  // Where a path belongs, the secret itself is a common slip.
  if (setting.endsWith('_FILE') && !/^\.{0,2}\//.test(value)) return '***';
  // To the last @: a password may hold any character.
  const masked = value.replace(/\/\/.*@/su, '//***@');
  return masked.length > SHOWN_CHARACTERS ? `${masked.slice(0, SHOWN_CHARACTERS)}…` : masked;
}

/** One line for each fault, then one for each warning: name, what it holds, what would be right. */
export function describeFaults(
  faults: readonly SettingFault[],
  warnings: readonly SettingWarning[] = [],
): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  const lines = [
    `${count} in the settings, so the relay did not start:`,
    ...faults.map(describeFault),
  ];
  if (warnings.length > 0) {
    lines.push(
      'Perhaps also:',
      ...warnings.map(({ setting, problem }) => `  ${setting} ${problem}`),
    );
  }
  return `${lines.join('\n')}\n`;
}

function describeFault({ setting, value, problem }: SettingFault): string {
  // JSON shows line breaks.
  const held = value === undefined ? '(not set)' : `= ${spellOutUnseen(JSON.stringify(value))}`;
  return `  ${setting} ${held}: ${problem}`;
}
