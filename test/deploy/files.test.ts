/** What the files of deploy/ say of each other and of the relay. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { DEFAULT_POLL_SECONDS } from '../../src/limits.ts';
import { RELAY_SETTINGS } from '../../src/settings/names.ts';
import { readAcl } from '../stores/support/acl.ts';

const read = (file: string) => readFileSync(join(import.meta.dir, '../../deploy', file), 'utf8');

interface Compose {
  readonly services: Record<
    string,
    { readonly environment?: Record<string, string>; readonly stop_grace_period?: string }
  >;
  readonly networks: { readonly relays: { readonly ipam: unknown } };
}

const compose = Bun.YAML.parse(read('compose.yaml')) as Compose;

test('both relays are the same, and set nothing that the relay does not know', () => {
  const { 'relay-1': one, 'relay-2': other } = compose.services;
  expect(one).toEqual(other);
  const known = new Set(Object.keys(RELAY_SETTINGS));
  const unknown = Object.keys(one?.environment ?? {}).filter((name) => !known.has(name));
  expect(unknown).toEqual(['MAL_CLIENT_ID', 'ANILIST_CLIENT_ID', 'ANILIST_CLIENT_SECRET']);
});

test('the relays trust the network that the proxy is in', () => {
  const trusted = compose.services['relay-1']?.environment?.TRUSTED_PROXY_CIDRS;
  expect(compose.networks.relays.ipam).toEqual({ config: [{ subnet: trusted }] });
});

test('the proxy waits longer than a poll is held', () => {
  const [, seconds] = /proxy_read_timeout (\d+)s;/.exec(read('nginx.conf')) ?? [];
  expect(Number(seconds)).toBeGreaterThan(DEFAULT_POLL_SECONDS + 10);
});

test('there is one recipe for nginx: documents name the file, and have none of their own', () => {
  const folder = join(import.meta.dir, '../../docs');
  for (const page of readdirSync(folder).filter((name) => name.endsWith('.md'))) {
    expect(readFileSync(join(folder, page), 'utf8')).not.toMatch(
      /proxy_pass |log_format |```nginx/,
    );
  }
  expect(readFileSync(join(folder, 'operating.md'), 'utf8')).toContain('../deploy/nginx.conf');
});

test('the image has the Bun that the tests ran with', () => {
  expect(read('Dockerfile')).toContain(`FROM oven/bun:${packageJson.devDependencies.bun}-slim`);
});

test('the user in Valkey may do what docs/scaling.md says, and no more', () => {
  const { places, commands } = readAcl('single');
  const user = read('valkey-users.acl')
    .split('\n')
    .find((line) => line.startsWith('user relay '));
  expect(user).toBe(['user relay on >PASSWORD', ...places, ...commands].join(' '));
});
