/** The guides to providers: complete, and true of the profiles beside them. */
import { describe, expect, test } from 'bun:test';
import { showProviders } from '../../src/cli/show-providers.ts';
import { type ProviderConfig, prefixOf } from '../../src/providers/config.ts';
import { readGuides } from '../../src/providers/guides.ts';
import { OWN_URL, PROFILES } from '../../src/providers/profiles.ts';
import { parseEnvFile } from '../../src/settings/env-file.ts';
import { readSettings } from '../../src/settings/index.ts';
import { namesOf, PROVIDER_SETTINGS, RELAY_SETTINGS } from '../../src/settings/names.ts';

const GUIDES = Object.entries(readGuides());

/** Indented blocks of a Markdown text. */
const blocksOf = (text: string) => text.match(/^ {4}.*/gm)?.map((line) => line.trim()) ?? [];

const sectionOf = (guide: string, title: string) =>
  guide.split(/^## /m).find((section) => section.startsWith(`${title}\n`)) ?? '';

const itemsOf = (section: string) => section.match(/^- .*/gm) ?? [];

test('every provider that can be enabled by its name has a guide', () => {
  const names = GUIDES.map(([name]) => name);
  expect([...PROFILES.keys()].filter((name) => !names.includes(name))).toEqual([]);
});

test.each(GUIDES)('%s: every setting that the guide names exists', (name) => {
  const own = [name, ...PROFILES.keys()].map(prefixOf);
  const known = new Set([
    ...namesOf(RELAY_SETTINGS),
    ...own.flatMap((prefix) => namesOf(PROVIDER_SETTINGS).map((setting) => prefix + setting)),
  ]);
  const named = showProviders(name).match(/(?<=[`\s])[A-Z]+(_[A-Z]+)*(?==|`)/g) ?? [];
  expect(named.filter((setting) => !known.has(setting))).toEqual([]);
});

test.each(GUIDES)('%s: the guide has one title, and says if there is no profile', (name) => {
  const text = showProviders(name);
  expect(text.match(/^# .*/gm)).toHaveLength(1);
  expect(text.includes(' can’t be enabled by its name. ')).toBe(!PROFILES.has(name));
});

test.each(GUIDES)('%s: the guide has two sources, or says what is unverified', (name, guide) => {
  const [, sources = ''] = guide.split(/^## Sources, read on \d{4}-\d\d-\d\d\n/m);
  const isWhole = PROFILES.has(name) && !guide.includes('\n## Unverified\n');
  expect(itemsOf(sources).length).toBeGreaterThanOrEqual(isWhole ? 2 : 1);
});

describe.each([...PROFILES])('%s', (name, profile) => {
  const text = showProviders(name);
  const prefix = prefixOf(name);

  test('the guide has the redirect URI, and settings that suffice', () => {
    if (profile.clientSecret !== 'none') expect(text).toContain(`/auth/${name}/callback\``);
    const set = blocksOf(sectionOf(text, 'Set')).join('\n').replaceAll('…', 'x');
    const { environment } = parseEnvFile(
      `OAUTH_BASE_URL=https://relay.example\nAPP_NAME=Acme\n${set}`,
    );
    const { ok, warnings } = readSettings(environment, () => 'x');
    expect([ok, warnings]).toEqual([true, []]);
  });

  test('the guide says of each unverified fact why', () => {
    for (const item of itemsOf(sectionOf(text, 'Unverified'))) expect(item).toMatch(/^- [^:]+: ./);
  });

  test('the defaults that are shown are what the relay uses', () => {
    const common = `OAUTH_BASE_URL=https://relay.example\nPROVIDERS=${name}\n${prefix}CLIENT_ID=id\n`;
    const isOwnServer = profile.authorizeUrl.startsWith(OWN_URL) && !profile.defaultUrl;
    const url = isOwnServer ? `${prefix}URL=https://${name}.example` : '';
    const defaults = blocksOf(sectionOf(text, 'Defaults')).join('\n').replace(CLIENT_ID, 'id');
    expect(readProvider(common + defaults)).toEqual(readProvider(common + url));
  });
});

/** Placeholder in the URL of GitHub's revocation endpoint. */
const CLIENT_ID = '[client id]';

/** The one provider that these settings enable. */
function readProvider(lines: string): object {
  const read = readSettings(parseEnvFile(lines).environment, () => '');
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  // No setting has where users remove the app.
  const [{ removeAt: _, ...provider } = {}] = read.settings.providers as readonly ProviderConfig[];
  return JSON.parse(JSON.stringify(provider).replace(CLIENT_ID, 'id'));
}
