import { PROVIDER_SETTINGS, RELAY_SETTINGS, type SettingDescription } from './names.ts';

const TERMINAL_COLUMNS = 80;
const NAME_COLUMNS = 30;

/** Every setting with its meaning and default, for a terminal of 80 columns. */
export function settingsHelp(): string {
  return `Settings come from the environment; an empty one counts as not set.

${RELAY_SETTINGS.map((setting) => describeSetting('', setting)).join('\n')}

For each provider in PROVIDERS, under its name in capitals, - as _:

${PROVIDER_SETTINGS.map((setting) => describeSetting('<NAME>_', setting)).join('\n')}
`;
}

function describeSetting(prefix: string, setting: SettingDescription): string {
  const ending = setting.default === undefined ? '' : ` Default: ${setting.default}.`;
  const name = `  ${prefix}${setting.name}`.padEnd(NAME_COLUMNS);
  return name + wrap(`${setting.meaning}${ending}`).join(`\n${' '.repeat(NAME_COLUMNS)}`);
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line && NAME_COLUMNS + line.length + 1 + word.length > TERMINAL_COLUMNS) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return [...lines, line];
}
