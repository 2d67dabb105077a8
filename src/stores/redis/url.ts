/** REDIS_URL: one server, several of a Cluster, or a primary that Sentinels know. */

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisTarget {
  readonly type: 'single' | 'cluster' | 'sentinel';
  readonly addresses: readonly RedisAddress[];
  /** The Sentinels' name of the primary. */
  readonly primaryName?: string;
  readonly tls: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  /** REDIS_SENTINEL_USERNAME and REDIS_SENTINEL_PASSWORD: the others are for the data. */
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
}

const DEFAULT_PORTS = { server: 6379, sentinel: 26_379 };

/** The scheme, the credentials to the last @, the addresses, the path. `new URL` takes only one address. */
const FORM = /^(rediss?)(\+sentinel)?:\/\/(?:([^/]*)@)?([^/@?#]+)(?:\/([^?#]*))?$/;

/** Undefined for any other URL. */
export function parseRedisUrl(text: string): RedisTarget | undefined {
  const [, scheme, sentinel, credentials, hosts = '', path = ''] = FORM.exec(text) ?? [];
  if (scheme === undefined) return undefined;
  const defaultPort = sentinel ? DEFAULT_PORTS.sentinel : DEFAULT_PORTS.server;
  const addresses = hosts.split(',').map((host) => parseAddress(host, defaultPort));
  if (!addresses.every((address) => address !== undefined)) return undefined;
  const access = parseCredentials(credentials);
  if (access === undefined) return undefined;
  const common = { addresses, tls: scheme === 'rediss', ...access };
  if (sentinel) {
    return path === '' ? undefined : { ...common, type: 'sentinel', primaryName: path };
  }
  // A Cluster has no numbered databases.
  if (addresses.length > 1) return path === '' ? { ...common, type: 'cluster' } : undefined;
  if (!/^\d*$/.test(path)) return undefined;
  return { ...common, type: 'single', ...(path !== '' && { database: Number(path) }) };
}

function parseAddress(text: string, defaultPort: number): RedisAddress | undefined {
  const [, host, port] = /^(\[[0-9a-f:]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  if (host === undefined || Number(port ?? 0) > 65_535) return undefined;
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: port === undefined ? defaultPort : Number(port),
  };
}

function parseCredentials(text: string | undefined) {
  if (text === undefined) return {};
  const [, username = '', password = ''] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? [];
  try {
    return {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
    };
  } catch {
    return undefined;
  }
}
