/** A relay in a process of its own, started as its operator starts it: `npm start`'s command and an environment. */
import { join } from 'node:path';
import { findFreePort } from '../../demo/free-port.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type Launched, launch } from './processes.ts';
import { HEALTH, untilAnswered } from './until-answered.ts';

export const ROOT = join(import.meta.dir, '../..');

export interface Relay extends Launched {
  readonly port: number;
  /** From the command to the first answer. */
  readonly startedInMs: number;
}

/** `exec`: the shell becomes the relay, as under npm. */
export const START_COMMAND: readonly string[] = ['/bin/sh', '-c', packageJson.scripts.start];

/** Resolves once it answers. */
export async function startRelay(
  env: Readonly<Record<string, string>>,
  command: readonly string[] = START_COMMAND,
): Promise<Relay> {
  const port = await findFreePort();
  const begunMs = performance.now();
  const relay = launch(command, {
    measured: true,
    cwd: ROOT,
    env: {
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH ?? ''}`,
      HOST: '127.0.0.1',
      PORT: String(port),
      OAUTH_BASE_URL: `http://127.0.0.1:${port}`,
      // The generator is the proxy, and says who its clients are.
      TRUSTED_PROXY_CIDRS: '127.0.0.1',
      ...env,
    },
  });
  await Promise.race([untilAnswered(port, HEALTH), relay.failed]);
  return { ...relay, port, startedInMs: performance.now() - begunMs };
}

/** A provider on loopback takes the place of MyAnimeList. */
export function providerEnv(port: number, scheme: 'http' | 'https' = 'http') {
  const origin = `${scheme}://127.0.0.1:${port}`;
  return {
    MAL_CLIENT_ID: 'bench',
    MAL_AUTHORIZE_URL: `${origin}/authorize`,
    MAL_TOKEN_URL: `${origin}/token`,
  };
}
