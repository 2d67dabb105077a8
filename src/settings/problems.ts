/** What is wrong with the settings, how much of a value may be shown, and the report for the operator. */
import { spellOutInvisible } from '../pages/shown-name.ts';
import { parseUrl } from '../providers/url.ts';
import { shownOf } from './names.ts';

/** Something wrong with one setting: the relay does not start. */
export interface SettingFault {
  readonly setting: string;
  /** The part of its value that may be shown. Undefined if it is not set. */
  readonly value: string | undefined;
  /** Continues a sentence that begins with the setting, and says what is required. */
  readonly problem: string;
}

/** Something that is probably a mistake. The relay starts anyway. */
export interface SettingWarning {
  readonly setting: string;
  /** Continues a sentence that begins with the setting. Contains no secret. */
  readonly problem: string;
}

const HIDDEN = '***';
const SHOWN_CHARACTERS = 60;

/** The part of a setting's value that may be shown. */
export function showValue(setting: string, value: string): string {
  switch (shownOf(setting)) {
    case 'nothing':
      return HIDDEN;
    case 'url':
      return shorten(hideInUrl(value.trim()));
    case 'all':
      return shorten(hideCredentials(value));
  }
}

/** Hides the query, and everything before the last @, because a password may contain any character. */
function hideInUrl(url: string): string {
  if (parseUrl(url) === undefined) return HIDDEN;
  // It is unclear where a password with one of these characters ends.
  const [address = '', ...rest] = url.split(/[?#]/);
  if (rest.join().includes('@')) return HIDDEN;
  const shown = address.replace(/^(https?:\/\/).*@/is, `$1${HIDDEN}@`);
  return rest.length === 0 ? shown : `${shown}?…`;
}

/** Hides everything before the last @, which may be a password. */
export function hideCredentials(text: string): string {
  return text.replace(/^.*@/s, `${HIDDEN}@`);
}

function shorten(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

export function countWrong(faults: readonly SettingFault[]): string {
  const wrong = new Set(faults.map(({ setting }) => setting)).size;
  return wrong === 1 ? '1 setting is wrong' : `${wrong} settings are wrong`;
}

/** One line for each fault and each warning. */
export function describeFaults(
  faults: readonly SettingFault[],
  warnings: readonly SettingWarning[],
): string {
  const lines = [`Not started: ${countWrong(faults)}`, ...faults.map(describeFault)];
  if (warnings.length > 0) {
    lines.push('Also check:', ...warnings.map(({ setting, problem }) => `  ${setting} ${problem}`));
  }
  // A problem may quote a part of a value, such as one name of a list.
  return `${lines.map(spellOutInvisible).join('\n')}\n`;
}

function describeFault({ setting, value, problem }: SettingFault): string {
  // JSON makes line breaks visible.
  const held = value === undefined ? '(not set)' : `= ${JSON.stringify(value)}`;
  return `  ${setting} ${held}: ${problem}`;
}
