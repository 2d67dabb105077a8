/** How the tests of this folder read settings: from an object, and from files that are only text. */
import { describe, expect, test } from 'bun:test';
import { readSettings, type Settings, type SettingsReading } from '../../src/settings/index.ts';

export type Environment = Readonly<Record<string, string>>;

/** A provider that is given by its endpoints. */
export const ACME = {
  PROVIDERS: 'acme',
  ACME_CLIENT_ID: 'id',
  ACME_AUTHORIZE_URL: 'https://acme.example/authorize',
  ACME_TOKEN_URL: 'https://acme.example/token',
};

export function read(env: Environment, files: Environment = {}): SettingsReading {
  return readSettings(env, (path) => {
    const content = files[path];
    if (content !== undefined) return content;
    throw Object.assign(new Error(`secret words about ${path}`), { code: 'ENOENT' });
  });
}

export function settingsOf(env: Environment, files?: Environment): Settings {
  const reading = read(env, files);
  if (!reading.ok) throw new Error(`faults: ${JSON.stringify(reading.faults)}`);
  return reading.settings;
}

/** `SETTING problem` for each fault: what the operator sees beside the value. */
export function faultsOf(env: Environment, files?: Environment): string[] {
  const reading = read(env, files);
  return reading.ok ? [] : reading.faults.map(({ setting, problem }) => `${setting} ${problem}`);
}

/** `SETTING problem` for each warning; a relay without a public address or a name would warn of that. */
export function warningsOf(env: Environment, files?: Environment): string[] {
  const { warnings } = read(
    { OAUTH_BASE_URL: 'https://relay.example', APP_NAME: 'Acme TV', ...env },
    files,
  );
  return warnings.map(({ setting, problem }) => `${setting} ${problem}`);
}

/** Values of a setting: an array, or a string with ` | ` between them. */
type Values = string | readonly string[];
const listed = (values: Values) => (typeof values === 'string' ? values.split(' | ') : values);

/** What a setting may hold. */
interface Rule {
  readonly setting: string;
  /** Where its value is in the settings, such as `redis.prefix`. */
  readonly path: string;
  /** What is taken as it is written. */
  readonly keeps?: Values;
  /** What becomes something else. */
  readonly reads?: Readonly<Record<string, unknown>>;
  /** How the problem begins, and what it is a problem of. */
  readonly refuses?: Readonly<Record<string, Values>>;
}

/** Tests each rule alone, in an environment where nothing else is wrong. */
export function testRules(rules: readonly Rule[], env: Environment = {}): void {
  describe.each(rules)('$setting', ({ setting, path, keeps = [], reads = {}, refuses = {} }) => {
    const kept = listed(keeps).map((written): [string, unknown] => [written, written]);
    test.each([...kept, ...Object.entries(reads)])('%j is read as %j', (written, value) => {
      expect(settingsOf({ ...env, [setting]: written })).toHaveProperty(path, value);
    });

    const refused = Object.entries(refuses).flatMap(([problem, values]) =>
      listed(values).map((written) => [written, problem] as const),
    );
    test.each(refused)('%j is refused: it %s', (written, problem) => {
      const [fault, ...others] = faultsOf({ ...env, [setting]: written });
      expect(fault).toStartWith(`${setting} ${problem}`);
      expect(others).toEqual([]);
    });
  });
}
