/** Reads and checks settings by their tables, from the environment or from files. */
import { type Picture, readDataUri, readPicture } from '../pages/picture.ts';
import type { SettingsTable } from './names.ts';
import { type SettingFault, type SettingWarning, showValue } from './problems.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A function such as `readTextFile`. A picture is read as ISO 8859-1, so that each character is one byte. */
export type ReadFile = (path: string, encoding: 'utf8' | 'latin1') => string;

/** One reading of the environment, with the faults and warnings found so far. */
export interface Reading {
  /** Blank settings are left out. */
  readonly env: Environment;
  readonly readFile: ReadFile;
  readonly faults: SettingFault[];
  readonly warnings: SettingWarning[];
}

/** Compose files and systemd units set blank values, so blank means not set. */
export function withoutBlank(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
}

/** Adds a fault. */
export function reject({ env, faults }: Reading, setting: string, problem: string): void {
  const value = env[setting];
  faults.push({ setting, value: value && showValue(setting, value), problem });
}

/** Checks a setting. Its text is trimmed, except for a secret. */
export type Check<V> = (text: string) => Checked<V>;

export interface Checked<V> {
  /** Absent if nothing is valid. For a list, its valid items. */
  readonly value?: V;
  /** Each continues a sentence that begins with the setting. */
  readonly problems?: readonly string[];
}

type ValueOf<C> = C extends Check<infer V> ? V : never;

type Checks = Readonly<Record<string, Check<unknown>>>;

/** A setting that is unset or wrong has its default; without a default it is undefined. */
export type Values<T extends SettingsTable, C extends Checks> = {
  readonly [K in keyof C & keyof T]:
    | ValueOf<C[K]>
    | (T[K] extends { readonly default: string } ? never : undefined);
};

/** Reads and checks each setting of a table separately, so that no fault hides another. */
export function readTable<T extends SettingsTable, C extends Checks>(
  reading: Reading,
  prefix: string,
  table: T,
  checks: C,
): Values<T, C> {
  const values: Record<string, unknown> = {};
  for (const [name, check] of Object.entries(checks)) {
    const setting = prefix + name;
    // Blanks around a secret may belong to it.
    const isSecret = table[name]?.isSecret === true;
    const written = isSecret ? readSecret(reading, setting) : readSetting(reading, setting);
    if (VARIABLE.test(reading.env[setting] ?? '')) {
      const problem = 'contains a variable in braces, which the relay does not replace';
      reading.warnings.push({ setting, problem });
    }
    const { value, problems = [] } =
      written === undefined ? {} : check(isSecret ? written : written.trim());
    if (isSecret && value === written && /^\s|\s$/.test(written ?? '')) {
      const problem = 'begins or ends with a blank, which is part of the secret';
      reading.warnings.push({ setting, problem });
    }
    if (written !== undefined && problems.length > 0) {
      // Shown once, because a long list may have thousands of problems.
      const shown = showValue(setting, written);
      for (const problem of problems) reading.faults.push({ setting, value: shown, problem });
    }
    const standard = table[name]?.default;
    values[name] = value ?? (standard === undefined ? undefined : check(standard).value);
  }
  // The loop loses the types: each value has the type of the check of its name.
  return values as Values<T, C>;
}

/** A variable that a shell or Compose would have replaced. */
const VARIABLE = /\$\{\w+\}/;

/**
 * A shell removes the quotes around a value; `docker --env-file` and others keep them.
 * So quotes are a fault. The text inside is checked as usual.
 */
function readSetting(reading: Reading, setting: string): string | undefined {
  const value = reading.env[setting];
  const [, , inside] = /^\s*(["'])(.*)\1\s*$/s.exec(value ?? '') ?? [];
  if (inside === undefined) return value;
  reject(reading, setting, 'must not be in quotes: they would be part of the value');
  return inside.trim() === '' ? undefined : inside;
}

/** A secret has some hundred characters. A longer file was named by mistake. */
const MAX_SECRET_LENGTH = 65_536;

/** The setting itself, or the content of the file that `<setting>_FILE` names, without its last line break. */
function readSecret(reading: Reading, setting: string): string | undefined {
  const given = readSetting(reading, setting);
  const path = readSetting(reading, `${setting}_FILE`);
  if (path === undefined) return given;
  const rejectFile = (problem: string) => {
    reject(reading, `${setting}_FILE`, problem);
    return given;
  };
  if (given !== undefined) return rejectFile(`must not be set together with ${setting}`);
  try {
    const secret = reading.readFile(path, 'utf8').replace(/\r?\n$/, '');
    if (secret.length > MAX_SECRET_LENGTH) return rejectFile('must name a file of at most 64 KiB');
    return secret || rejectFile('must name a file that is not empty');
  } catch (error) {
    return rejectFile(describeUnreadable(path, error));
  }
}

/** Continues a sentence that begins with the file. The message of the error may contain a secret. */
export function describeFileFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : 'unreadable';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user';
    default:
      return `cannot be read (${code})`;
  }
}

/** The beginnings of paths that a message may show. Any other text may be a secret that was written instead of its path. */
const SHOWN_PATH = /^\/(etc|home|mnt|opt|root|run|secrets|srv|tmp|usr|var|Users)\//;

function describeUnreadable(path: string, error: unknown): string {
  const file = SHOWN_PATH.test(path) ? path : 'it';
  return `must name a file that can be read: ${file} ${describeFileFailure(error)}`;
}

/** The picture that `LOGO` names, or contains as a `data:` URI. */
export function readLogo(reading: Reading, logo: string): Picture | undefined {
  const isData = /^data:/i.test(logo);
  let bytes: string | undefined;
  try {
    bytes = isData ? readDataUri(logo) : reading.readFile(logo, 'latin1');
  } catch (error) {
    reject(reading, 'LOGO', describeUnreadable(logo, error));
    return undefined;
  }
  const picture =
    bytes === undefined
      ? { problem: 'must be a data: URI with a picture in it' }
      : readPicture(bytes);
  if (!('problem' in picture)) return picture;
  reject(reading, 'LOGO', picture.problem);
  return undefined;
}

type Present<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without the properties that are undefined: absent and undefined differ in our types. */
export function withoutUndefined<T extends object>(object: T): Present<T> {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}
