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
const ENV = { NO_PROXY: '127.0.0.1' };

const pathOf = (relay: string, service = 'dev') =>
  join(folder, `${keyOf({ relay, service })}.json`);

function writeTokens(relay: string, service = 'dev', text = TOKENS): string {
  writeFileSync(pathOf(relay, service), text);
  return pathOf(relay, service);
}

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

test('where tokens cannot be revoked it says where to remove the app', async () => {
  const removeAt = 'https://mal.example/apps';
  using there = serveUpstream(() =>
    Response.json({ error: 'unsupported', removeAt }, { status: 400 }),
  );
  const path = writeTokens(there.origin, 'mal');
  const { exitCode, output } = await logout(there.origin, 'mal');
  expect(exitCode).toBe(EXIT_CODES.failed);
  expect(output).toContain('mal has no way to revoke tokens that the relay knows');
  expect(output).toContain(`remove the app at mal: ${removeAt}\n`);
  expect(existsSync(path)).toBe(false);
});

test('tokens that were not revoked: the file is deleted, and it says they may work', async () => {
  using there = serveUpstream(() => Response.json({ error: 'invalid_client' }, { status: 400 }));
  const path = writeTokens(there.origin);
  const { exitCode, output } = await logout(there.origin);
  expect(exitCode).toBe(EXIT_CODES.failed);
  expect(output).toContain('the tokens were not revoked (');
  expect(output).not.toContain(SECRET);
  expect(existsSync(path)).toBe(false);
});

test('tokens that cannot be read are named, and nothing is sent', async () => {
  using there = serveUpstream(() => Response.json({}));
  mkdirSync(pathOf(there.origin));
  const { exitCode, output } = await logout(there.origin);
  expect([exitCode, there.requests]).toEqual([EXIT_CODES.storage, []]);
  expect(output).toContain('EISDIR');
});
