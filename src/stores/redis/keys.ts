/** The names of all keys, and of the channel. docs/sealing.md "Records". */
export type RedisKeys = ReturnType<typeof createRedisKeys>;

/** In a Cluster every key has the hash tag `{0}`. */
export function createRedisKeys(prefix: string, isCluster: boolean) {
  const own = isCluster ? `${prefix}{0}:` : prefix;
  return {
    /** All instances subscribe to it. */
    channel: `${prefix}wake:all`,
    /** Link ids of the live sessions, sorted by when each stops being live. */
    live: `${own}live-sign-ins`,
    /** The record of a session. */
    session: (link: string) => `${own}sign-in:${link}`,
    /** The values of these two contain the link id. */
    poll: (id: string) => `${own}sign-in-poll:${id}`,
    code: (id: string) => `${own}sign-in-code:${id}`,
    refresh: (id: string) => `${own}refresh:${id}`,
    bucket: (limit: string, address: string) => `${own}rate:${limit}:${address}`,
    /** The key that the probe writes. */
    probe: `${own}probe`,
  };
}
