/** `sign-in-relay logout` as a user and as a script run it, against a dev relay and against hostile ones. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf } from '../../client/src/storage.ts';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { MAIN } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';

const dev = await startDev();
const folder = newFolder();

const SECRET = plantSecret(`token-${crypto.randomUUID()}`);
const TOKENS = JSON.stringify({ accessToken: SECRET, refreshToken: SECRET });
/** Where the user removes the app. */
const APPS = 'https://mal.example/apps';
const ENV = { NO_PROXY: '127.0.0.1' };

const pathOf = (relay: string, service = 'dev') =>
  join(folder, `${keyOf({ relay, service })}.json`);

const run = (name: string, ...args: string[]) =>
  runChild([process.execPath, MAIN, name, ...args], { env: ENV });
const logout = (relay: string, service = 'dev') =>
  run('logout', service, '--relay', relay, '--tokens', folder);

test('the tokens of login are deleted, and no longer work', async () => {
  await dev.plan({ ending: 'approve', auto: true });
  const at = ['dev', '--relay', dev.relayUrl, '--tokens', folder];
  const signedIn = await run('login', ...at);
  expect(signedIn.exitCode).toBe(EXIT_CODES.signedIn);
  const { output: printed } = await run('token', ...at);
  const headers = { Authorization: `Bearer ${printed.trim()}` };
  expect((await dev.askProvider('/userinfo', { headers })).status).toBe(200);

  const { exitCode, output } = await logout(dev.relayUrl);
  expect([exitCode, output]).toEqual([0, 'Signed out of dev: the tokens no longer work.\n']);
  expect(existsSync(pathOf(dev.relayUrl))).toBe(false);
  expect((await dev.askProvider('/userinfo', { headers })).status).toBe(401);
  const again = await logout(dev.relayUrl);
  expect([again.exitCode, again.output]).toEqual([0, 'Nobody is signed in to dev.\n']);
});

test.each([
  [
    'unsupported',
    `mal has no way to revoke tokens that the relay knows.*remove the app at mal: ${APPS}\n`,
  ],
  ['invalid_client', 'the tokens were not revoked \\(.*They may work until they expire'],
])('tokens that were not revoked are deleted, and it says so: %s', async (error, words) => {
  using there = serveUpstream(() => Response.json({ error, removeAt: APPS }, { status: 400 }));
  writeFileSync(pathOf(there.origin, 'mal'), TOKENS);
  const { exitCode, output } = await logout(there.origin, 'mal');
  expect([exitCode, existsSync(pathOf(there.origin, 'mal'))]).toEqual([EXIT_CODES.failed, false]);
  expect(output).toMatch(new RegExp(words, 's'));
  expect(output).not.toContain(SECRET);
});

test('tokens that cannot be read are named, and nothing is sent', async () => {
  using there = serveUpstream(() => Response.json({}));
  mkdirSync(pathOf(there.origin));
  const { exitCode, output } = await logout(there.origin);
  expect([exitCode, there.requests]).toEqual([EXIT_CODES.storage, []]);
  expect(output).toContain('EISDIR');
});
