/** The Valkey of deploy/ has two users: the relays, and an administrator. */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { pollUntilDone, start } from '../kit/device.ts';
import { runChild } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { startDeployedValkey } from '../kit/redis/deployed.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const README = readFileSync(`${ROOT}deploy/README.md`, 'utf8');
const [, PROGRAM = '', PASSWORD = ''] =
  /exec -T valkey (valkey-cli .+) INFO memory (< \S+)`/.exec(README) ?? [];

test('the administrator replaces the password of the relays in the middle of a sign-in', async () => {
  await using valkey = await startDeployedValkey();
  const administer = async (command: string, password = PASSWORD) => {
    const line = PROGRAM.replace('valkey-cli', `valkey-cli -e -p ${valkey.port}`);
    const ran = ['sh', '-c', `${line} ${command} ${password}`];
    const { exitCode, output } = await runChild(ran, { cwd: valkey.folder });
    return `${exitCode} ${output.trim()}`;
  };
  const changeUsers = async (from: string, to: string) => {
    const users = readFileSync(valkey.usersFile, 'utf8');
    writeFileSync(valkey.usersFile, users.replace(from, to));
    expect(await administer('ACL LOAD')).toBe('0 OK');
  };
  using provider = startTokenEndpoint();
  const env = { REDIS_URL_FILE: valkey.urlFile, MAL_TOKEN_URL: provider.tokenUrl };
  const first = await startRelay(env);
  const { session, state } = await start(first);

  const url = new URL(readFileSync(valkey.urlFile, 'utf8').trim());
  const old = url.password;
  url.password = plantSecret(crypto.randomUUID());
  await changeUsers(`>${old}`, `>${old} >${url.password}`);
  writeFileSync(valkey.urlFile, `${url}\n`);
  await using second = await startRelay(env);
  await first.stop();
  await changeUsers(`>${old} `, '');
  expect(await administer('CLIENT KILL USER relay')).not.toBe('0 0');

  // A poll that finds no connection gets a 204, and the device polls again.
  const polled = pollUntilDone([second], session);
  const code = makeCode();
  // Until the relay is connected again, the user gets a 503 and reloads the page.
  await pollUntil(
    'the user is signed in',
    async () => (await bringCode(second, state, code)).status === 200,
  );
  expect(await polled).toMatchObject(tokensFor(code));
  expect(await administer('CONFIG SET maxmemory 512mb')).toBe('0 OK');
});

test('who has no password, or that of the relays, may not administer', async () => {
  await using valkey = await startDeployedValkey();
  const { username, password } = new URL(readFileSync(valkey.urlFile, 'utf8').trim());
  for (const [login, refusal] of [
    [[], 'NOAUTH'],
    [['--no-auth-warning', '--user', username, '--pass', password], 'NOPERM'],
  ] as const) {
    const command = ['valkey-cli', '-p', `${valkey.port}`, ...login, 'ACL', 'LOAD'];
    expect((await runChild(command)).output).toStartWith(refusal);
  }
});
