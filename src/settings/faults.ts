/** What is wrong with the settings, and how an operator is told. */
import { spellOutUnseen } from '../pages/shown-name.ts';
import { parseAddress } from '../providers/address.ts';
import { shownOf } from './names.ts';

/** One thing wrong with one setting; the relay does not start. */
export interface SettingFault {
  readonly setting: string;
  /** What of its value may be shown; undefined: it is not set. */
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

/** A fault with what of its value may be shown. */
export function createFault(
  setting: string,
  value: string | undefined,
  problem: string,
): SettingFault {
  return { setting, value: value === undefined ? undefined : shownPart(setting, value), problem };
}

function shownPart(setting: string, value: string): string {
  switch (shownOf(setting)) {
    case 'nothing':
      return HIDDEN;
    case 'address':
      return shorten(hideInAddress(value.trim()));
    case 'all':
      return shorten(hideCredentials(value));
  }
}

const HIDDEN = '***';

/** Nothing before the last @, since a password may hold any character, and no query. */
function hideInAddress(address: string): string {
  if (parseAddress(address) === undefined) return HIDDEN;
  // Of a password with one of these nobody can tell where it ends.
  if (/[?#].*@/s.test(address)) return HIDDEN;
  return address.replace(/\/\/.*@/s, `//${HIDDEN}@`).replace(/[?#].*/s, '?…');
}

/** For whatever else is shown of a setting: what stands before an @ may be a password. */
export function hideCredentials(text: string): string {
  return text.replace(/^.*@/s, `${HIDDEN}@`);
}

function shorten(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
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
