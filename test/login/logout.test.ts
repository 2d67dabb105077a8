/** `sign-in-relay logout` as a user and as a script run it, against a dev relay and against hostile ones. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { startDev } from '../kit/dev.ts';
import { runChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';

setDefaultTimeout(60_000);

const dev = await startDev();
const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-logout-'));
afterAll(async () => {
  await dev.stop();
  rmSync(folder, { recursive: true });
});

const SECRET = plantSecret(`token-${crypto.randomUUID()}`);
const TOKENS = JSON.stringify({ accessToken: SECRET, refreshToken: SECRET });
const ENV = { NO_PROXY: '127.0.0.1' };

let files = 0;
function writeTokens(text = TOKENS): string {
  files += 1;
  const path = join(folder, `tokens-${files}.json`);
  writeFileSync(path, text);
  return path;
}

const run = (name: string, ...args: string[]) =>
  runChild([process.execPath, MAIN, name, ...args], { env: ENV });
const logout = (relay: string, input: string, service = 'dev') =>
  run('logout', service, '--relay', relay, '--input', input);

/** A relay that answers every request so. */
function serve(answer: () => Response) {
  const requests: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      requests.push(`${new URL(request.url).pathname} ${await request.text()}`);
      return answer();
    },
  });
  const stop = () => void server.stop(true);
  return { relay: server.url.origin, requests, [Symbol.dispose]: stop };
}

test('the file of login is deleted, and its tokens no longer work', async () => {
  const path = join(folder, 'dev.json');
  await dev.plan({ scenario: 'approve', auto: true });
  const signedIn = await run('login', 'dev', '--relay', dev.relayUrl, '--output', path);
  expect(signedIn.exitCode).toBe(EXIT_CODES.signedIn);
  const { accessToken } = JSON.parse(readFileSync(path, 'utf8'));
  const headers = { Authorization: `Bearer ${accessToken}` };
  expect((await dev.askProvider('/userinfo', { headers })).status).toBe(200);

  const { exitCode, output } = await logout(dev.relayUrl, path);
  expect([exitCode, output]).toEqual([0, 'Signed out of dev: the tokens no longer work.\n']);
  expect(existsSync(path)).toBe(false);
  expect((await dev.askProvider('/userinfo', { headers })).status).toBe(401);
  const again = await logout(dev.relayUrl, path);
  expect([again.exitCode, again.output]).toEqual([
    EXIT_CODES.output,
    `${path} cannot be read: ENOENT\n`,
  ]);
});

test('tokens in a pipe are revoked', async () => {
  using there = serve(() => Response.json({}));
  const child = Bun.spawn([process.execPath, MAIN, 'logout', 'dev', '--relay', there.relay], {
    env: { PATH: process.env.PATH ?? '', ...ENV },
    stdio: [new Blob([TOKENS]), 'pipe', 'pipe'],
  });
  expect(await child.exited).toBe(0);
  expect(there.requests).toEqual([
    `/revoke ${JSON.stringify({ service: 'dev', refreshToken: SECRET, accessToken: SECRET })}`,
  ]);
});

test('where tokens cannot be revoked it says so, and where to remove the app, without what could control the terminal', async () => {
  const removeAt = 'https://mal.example/apps';
  using there = serve(() => Response.json({ error: 'unsupported', removeAt }, { status: 400 }));
  const path = writeTokens();
  const { exitCode, output } = await logout(there.relay, path, 'mal');
  expect(exitCode).toBe(EXIT_CODES.failed);
  expect(output).toContain('mal has no way to revoke tokens that the relay knows');
  expect(output).toContain(`remove the app at mal: ${removeAt}\n`);
  expect(existsSync(path)).toBe(false);

  using hostile = serve(() =>
    Response.json({ error: 'unsupported', removeAt: '\u001b[2J\u202e' }, { status: 400 }),
  );
  const shown = await logout(hostile.relay, writeTokens(), 'mal');
  for (const character of ['\u001b', '\u202e']) expect(shown.output).not.toContain(character);
  expect(shown.output).toContain('see the settings of the account there');
});

test('tokens that were not revoked: the file is deleted, and it says that they may work', async () => {
  using there = serve(() => Response.json({ error: 'invalid_client' }, { status: 400 }));
  const path = writeTokens();
  const { exitCode, output } = await logout(there.relay, path);
  expect(exitCode).toBe(EXIT_CODES.failed);
  expect(output).toContain('the tokens were not revoked (');
  expect(output).not.toContain(SECRET);
  expect(existsSync(path)).toBe(false);
});

test.each([
  ['no JSON', `{"accessToken":"${SECRET}`],
  ['JSON without tokens', '{"precious":true}'],
  ['tokens of another type', '{"accessToken":1}'],
  ['null', 'null'],
  ['far too much', `{"accessToken":"${'x'.repeat(400_000)}"}`],
])('a file with %s is not touched, and nothing is sent', async (_, text) => {
  using there = serve(() => Response.json({}));
  const path = writeTokens(text);
  const { exitCode, output } = await logout(there.relay, path);
  expect(exitCode).toBe(EXIT_CODES.output);
  expect(output).not.toContain(SECRET);
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(there.requests).toEqual([]);
});

test('of a link, the file with the tokens is deleted', async () => {
  using there = serve(() => Response.json({}));
  const path = writeTokens();
  const link = join(folder, 'link.json');
  symlinkSync(path, link);
  expect((await logout(there.relay, link)).exitCode).toBe(0);
  expect(existsSync(path)).toBe(false);
});

test.each([
  [[]],
  [['dev', 'more']],
  [['dev', '--relay', 'ftp://relay.example']],
  [['dev', '--nonsense']],
])('wrong options: %p', async (args) => {
  expect((await run('logout', ...args)).exitCode).toBe(EXIT_CODES.usage);
});
