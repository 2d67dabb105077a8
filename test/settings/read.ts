/** How the tests of this folder read settings: from an object and from files that are only text. */
import { readSettings, type Settings, type SettingsReading } from '../../src/settings.ts';

type Environment = Readonly<Record<string, string>>;

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

/** `SETTING problem` for each warning; a relay without a public address would warn of that. */
export function warningsOf(env: Environment): string[] {
  const { warnings } = read({ OAUTH_BASE_URL: 'https://relay.example', ...env });
  return warnings.map(({ setting, problem }) => `${setting} ${problem}`);
}
