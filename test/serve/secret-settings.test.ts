/** What the terminal shows of settings that hold secrets: a start that fails shows nothing of them. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { malformedSecrets } from '../support/malformed-secrets.ts';
import { testSeed } from '../support/property.ts';
import { runRelay } from '../support/run-relay.ts';
import { plantSecret } from '../support/secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

let written = 0;
function writeSecret(content: string): string {
  written += 1;
  const path = join(folder, String(written));
  writeFileSync(path, content);
  return path;
}

/** A process each, so there are fewer of them than of the same property in test/settings. */
const samples = fc.sample(malformedSecrets, { seed: testSeed, numRuns: 40 });

test.concurrent.each(samples.map((sample, index) => [index, sample] as const))(
  'malformed secrets, number %d',
  async (_, { env, files, secrets }) => {
    const paths = Object.entries(files).map(([path, content]) => [path, writeSecret(content)]);
    const pathOf = Object.fromEntries(paths) as Record<string, string>;
    const settings = Object.entries(env).map(([name, value]) => [name, pathOf[value] ?? value]);
    const { exitCode, output } = await runRelay({ ...Object.fromEntries(settings), PORT: 'none' });
    expect(exitCode).toBe(1);
    expect(output).toContain('PORT = "none"');
    for (const secret of secrets) expect(output).not.toContain(secret);
  },
);

test('nor does a file of REDIS_URL that cannot be read as an address', async () => {
  const secret = plantSecret('the-password-in-a-file');
  const path = writeSecret(`relay:${secret}@redis.example:6379\n`);
  const { exitCode, output } = await runRelay({ REDIS_URL_FILE: path });
  expect([exitCode, output]).toEqual([1, expect.stringContaining('REDIS_URL = "***": must be')]);
  expect(output).not.toContain(secret);
  expect(output).not.toContain('redis.example');
});

test('nor does a fault of our own while they are read', async () => {
  const secret = plantSecret('the-password-in-an-address');
  const preload = join(import.meta.dir, '../support/broken-url.ts');
  const env = { OAUTH_BASE_URL: `https://relay.example/${secret}` };
  const { exitCode, output } = await runRelay(env, [], preload);
  expect([exitCode, output]).toEqual([1, expect.stringContaining('by a fault of its own')]);
  expect(output).toContain('checks.ts');
  expect(output).not.toContain(secret);
});
