/** The Valkey of deploy/, with the passwords that the commands of deploy/README.md make. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '../folder.ts';
import { runChild } from '../process.ts';
import { ROOT } from '../relay.ts';
import { plantSecret } from '../secrets.ts';
import { launchServer } from './server.ts';

/** What README.md does before it writes `.env`. */
const [, COMMANDS = ''] =
  /(# Passwords for .+?)\ncat > \.env/s.exec(readFileSync(`${ROOT}deploy/README.md`, 'utf8')) ?? [];

/** Resolves when it answers. Its folder is as `deploy` is on the machine of an operator. */
export async function startDeployedValkey() {
  const folder = newFolder();
  copyFileSync(`${ROOT}deploy/valkey-users.acl`, join(folder, 'valkey-users.acl'));
  const { exitCode, output } = await runChild(['sh', '-euc', COMMANDS], { cwd: folder });
  if (exitCode !== 0) throw new Error(output);
  const usersFile = join(folder, 'secrets/valkey/users.acl');
  const urlFile = join(folder, 'secrets/relay/redis-url');
  const config = readFileSync(`${ROOT}deploy/valkey.conf`, 'utf8');
  const server = await launchServer({
    program: 'valkey-server',
    config: [config.replace('/run/secrets/valkey/users.acl', usersFile)],
    args: [],
    adminPassword: '',
  });
  const url = readFileSync(urlFile, 'utf8').replace('valkey:6379', `127.0.0.1:${server.port}`);
  plantSecret(new URL(url).password);
  writeFileSync(urlFile, url);
  return { ...server, folder, usersFile, urlFile };
}
