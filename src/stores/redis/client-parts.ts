/** What the three kinds of client have in common. */
import { ErrorReply } from '@redis/client';
import type { ScriptRunner } from './client.ts';
import type { RedisTarget } from './url.ts';

/** Constant and short: a store that is back is used within a second. */
export const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 2_000;
/**
 * The client's own, which would not stop a command that is written, costs a tenth
 * of the relay's processor time. commands.ts has one that costs nothing.
 */
export const NO_TIMEOUT = { commandOptions: { timeout: 0 } };

/** For clients that wait for no replica: docs/scaling.md "What can be lost". */
export const isReplicated = async () => true;

export function optionsOf({ tls, username, password, database }: RedisTarget) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    // While the store is unreachable, a command fails at once and does not wait for it.
    disableOfflineQueue: true,
    // From Redis 7.2 on it would say what it is: one right more that an ACL has to give.
    disableClientInfo: true,
    ...NO_TIMEOUT,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy: () => RECONNECT_MS,
      ...(tls && { tls: true as const }),
    },
  };
}

/** Bound, because the clients' methods are not. */
export function runnerOf(client: ScriptRunner): ScriptRunner {
  return {
    evalSha: (sha1, call) => client.evalSha(sha1, call),
    eval: (script, call) => client.eval(script, call),
  };
}

export async function timeOf(client: { time(): Promise<readonly string[]> }): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

export async function describe(client: {
  info(): Promise<string>;
  configGet(name: string): Promise<Record<string, string>>;
}) {
  const info = await client.info();
  const { save = '' } = await client.configGet('save').catch((error: unknown) => {
    // An ACL may forbid CONFIG; then nothing is known, so there is no warning.
    if (error instanceof ErrorReply) return { save: '' };
    throw error;
  });
  return { info, save };
}
