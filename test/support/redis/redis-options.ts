/** What a test asks of a Redis server, and what that means in its configuration. */
import { type Place, type PlaceOptions, placeLines } from './redis-place.ts';

export interface RedisOptions extends PlaceOptions {
  /** Not said: Redis. */
  readonly program?: 'valkey-server';
  /** Of the default user. */
  readonly password?: string;
  /** An ACL user, whose name and password go into the address. Without rules it may do everything. */
  readonly user?: { readonly name: string; readonly password: string; readonly rules?: string };
  /** As Redis writes it, `8mb`. */
  readonly maxMemory?: string;
  readonly evictionPolicy?: string;
  /** What redis-server understands besides, `['--appendonly', 'yes']`. */
  readonly args?: readonly string[];
}

/**
 * Dumps are not compressed, or a secret in them could not be found. A replica
 * begins at once and keeps no dump, so what is started again is empty.
 */
const ALWAYS = [
  'save ""',
  'appendonly no',
  'rdbcompression no',
  'rdb-del-sync-files yes',
  'repl-diskless-sync-delay 0',
];

/** The lines of redis.conf. */
export function configOf(options: RedisOptions, place: Place, adminPassword: string): string[] {
  const { user, maxMemory, evictionPolicy } = options;
  const config = [...placeLines(place), ...ALWAYS];
  if (adminPassword !== '') {
    const quoted = JSON.stringify(adminPassword);
    config.push(`requirepass ${quoted}`, `masterauth ${quoted}`);
  }
  if (user) {
    const rules = user.rules ?? '~* &* +@all';
    config.push(`user ${user.name} on ${JSON.stringify(`>${user.password}`)} ${rules}`);
  }
  if (maxMemory) config.push(`maxmemory ${maxMemory}`);
  if (evictionPolicy) config.push(`maxmemory-policy ${evictionPolicy}`);
  return config;
}
