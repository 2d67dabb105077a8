/** Where the store keeps what. In a Cluster each of these lies in a slot of its own. */
import type { Derived } from './seal.ts';

export interface RedisKeys {
  /** Live sessions, by when they expire. */
  readonly live: string;
  /** A script that knows a session's id finds it by this. */
  readonly sessionPrefix: string;
  /** The instance's name follows. */
  readonly channelPrefix: string;
  session(session: Derived): string;
  poll(poll: Derived): string;
  code(id: string): string;
  refresh(refresh: Derived): string;
}

export function createRedisKeys(prefix: string): RedisKeys {
  const sessionPrefix = `${prefix}session:`;
  return {
    live: `${prefix}live`,
    sessionPrefix,
    channelPrefix: `${prefix}wake:`,
    session: ({ id }) => sessionPrefix + id,
    poll: ({ id }) => `${prefix}poll:${id}`,
    code: (id) => `${prefix}code:${id}`,
    refresh: ({ id }) => `${prefix}refresh:${id}`,
  };
}
