/** The names of all keys, and of the channel. docs/sealing.md "Records". */

export type RedisKeys = ReturnType<typeof createRedisKeys>;

/** In a Cluster all keys have one hash tag, so that they are in one slot: that of the prefix, if it has one. */
export function createRedisKeys(prefix: string, isCluster: boolean) {
  const own = isCluster && !prefix.includes('{') ? `${prefix}{0}:` : prefix;
  return {
    /** On which all instances listen. */
    channel: `${prefix}wake:all`,
    /** The index of live sessions, by when that ends. */
    live: `${own}live-sign-ins`,
    /** The record, by its link id. */
    session: (link: string) => `${own}sign-in:${link}`,
    /** These two lead to the link id. */
    poll: (id: string) => `${own}sign-in-poll:${id}`,
    code: (id: string) => `${own}sign-in-code:${id}`,
    refresh: (id: string) => `${own}refresh:${id}`,
    bucket: (limit: string, address: string) => `${own}rate:${limit}:${address}`,
    /** The key that the probe writes. */
    probe: `${own}probe`,
  };
}
