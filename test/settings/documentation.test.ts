import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { writeProvidersPage } from '../../scripts/providers-page.ts';
import { readCatalogue } from '../../scripts/update-catalogue.ts';
import { settingsHelp } from '../../src/settings/help.ts';
import {
  PROVIDER_SETTINGS,
  RELAY_SETTINGS,
  type SettingDescription,
} from '../../src/settings/names.ts';
import { read } from './read.ts';

const docs = `${import.meta.dir}/../../docs`;
const all: readonly (readonly [string, SettingDescription])[] = [
  ...RELAY_SETTINGS.map((setting) => [setting.name, setting] as const),
  ...PROVIDER_SETTINGS.map((setting) => [`<NAME>_${setting.name}`, setting] as const),
];

describe('--help', () => {
  const help = settingsHelp();

  test('fits a terminal of 80 columns', () => {
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test.each(all)('tells of %s with its meaning and default', (name, setting) => {
    const words = help.replace(/\s+/g, ' ');
    const ending = setting.default === undefined ? '' : ` Default: ${setting.default}.`;
    expect(words).toContain(`${name} ${setting.meaning}${ending}`);
  });
});

describe('docs/configuration.md', () => {
  const page = readFileSync(`${docs}/configuration.md`, 'utf8');

  test.each(all)('has the row of %s', (name, { default: value, meaning, example }) => {
    expect(page.split('\n')).toContain(
      `| \`${name}\` | ${meaning} | ${value === undefined ? '–' : `\`${value}\``} | \`${example}\` |`,
    );
  });
});

test('docs/providers.md is in step with the catalogue', () => {
  expect(readFileSync(`${docs}/providers.md`, 'utf8')).toBe(writeProvidersPage(readCatalogue()));
});

describe('the examples are right', () => {
  const files = {
    '/run/secrets/acme': 'secret',
    '/run/secrets/redis-url': 'redis://redis.example:6379',
  };
  const acme = {
    PROVIDERS: 'acme',
    ACME_CLIENT_ID: 'id',
    ACME_AUTHORIZE_URL: 'https://acme.example/a',
    ACME_TOKEN_URL: 'https://acme.example/t',
  };
  const spotify = { SPOTIFY_CLIENT_ID: 'id' };

  test.each(RELAY_SETTINGS.map(({ name, example }) => [name, example]))(
    '%s=%s',
    (name, example) => {
      expect(read({ ...acme, ...spotify, [name]: example }, files)).toMatchObject({ ok: true });
    },
  );

  test.each(PROVIDER_SETTINGS.map(({ name, example }) => [`ACME_${name}`, example]))(
    '%s=%s',
    (name, example) => {
      expect(read({ ...acme, [name]: example }, files)).toMatchObject({ ok: true });
    },
  );
});
