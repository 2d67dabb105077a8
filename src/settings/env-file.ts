/**
 * Reads the file of `--env-file`, in the same way on every runtime. Bun and Node silently skip what
 * they do not understand, and differ in that. This reader follows EnvironmentFile of
 * systemd.exec(5), and reports what systemd or Docker would not read.
 */
import type { SettingWarning } from './problems.ts';
import type { Environment } from './reading.ts';

export interface EnvFile {
  readonly environment: Environment;
  /** Texts such as `line 3 is not NAME=value`, which show nothing of the line: it may hold a secret. */
  readonly faults: readonly string[];
  readonly warnings: readonly SettingWarning[];
}

const NAME = /^[A-Za-z_]\w*$/;

/** Never throws. If a name occurs twice, the last value counts. */
export function parseEnvFile(text: string): EnvFile {
  const environment: Record<string, string> = {};
  const faults: string[] = [];
  const warnings: SettingWarning[] = [];
  const lines = new Map<string, number>();
  // Text in UTF-16 would otherwise be one fault for each line.
  if (text.includes('\0')) return { environment, faults: ['it must be text in UTF-8'], warnings };
  for (const [index, untrimmed] of text.split('\n').entries()) {
    const line = untrimmed.trim();
    if (line === '' || line.startsWith('#')) continue;
    const where = `line ${index + 1}`;
    const equals = line.indexOf('=');
    const setting = line.slice(0, Math.max(equals, 0)).trim();
    const written = line.slice(equals + 1).trim();
    const value = unquote(written);
    if (!NAME.test(setting)) {
      faults.push(`${where} ${/^export\s/.test(line) ? EXPORT : 'is not NAME=value'}`);
    } else if (value === undefined) {
      faults.push(`${where} has a value that begins with a quote, but does not end with it`);
    } else {
      environment[setting] = value;
      const before = lines.get(setting);
      if (before !== undefined) {
        const problem = `is set in line ${before} and line ${index + 1}: the last one counts`;
        warnings.push({ setting, problem });
      }
      lines.set(setting, index + 1);
      const [mark] = (value === written && /[#\\]/.exec(value)) || [];
      if (mark) {
        warnings.push({ setting, problem: `has ${mark} without quotes (${where}): ${HINT}` });
      }
    }
  }
  return { environment, faults, warnings };
}

const EXPORT = 'begins with export, which systemd and Docker do not understand: remove it';

/** systemd and Docker keep a #, some programs do not. systemd drops a backslash, and Docker does not. */
const HINT =
  'some programs drop it, so put the value in single quotes, or a comment on a line of its own';

/** Removes the quotes around a value, as systemd does. Undefined if they don't enclose the whole value. */
function unquote(value: string): string | undefined {
  if (value.startsWith("'")) return /^'([^']*)'$/.exec(value)?.[1];
  if (!value.startsWith('"')) return value;
  const [, inside] = /^"((?:[^"\\]|\\.)*)"$/.exec(value) ?? [];
  return inside?.replace(/\\(["\\$`])/g, '$1');
}
