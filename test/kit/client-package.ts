/** The client as `npm install` leaves it in an app's folder. */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from './process.ts';
import { ROOT } from './relay.ts';

/** Builds the client into this `node_modules`. */
export async function installClient(modules: string): Promise<void> {
  const client = join(modules, 'sign-in-relay-client');
  mkdirSync(client, { recursive: true });
  cpSync(`${ROOT}client/package.json`, join(client, 'package.json'));
  const command = [process.execPath, `${ROOT}client/build.ts`, join(client, 'dist')];
  const { exitCode, output } = await runChild(command);
  if (exitCode !== 0) throw new Error(output);
}
