import { configOf, type RedisOptions } from './redis-options.ts';
import { makePlace } from './redis-place.ts';
import { onFreePort } from './redis-port.ts';
import { launchServer, type RedisServer } from './redis-server.ts';

/** Of the default user, where the relay has a user of its own. The same on every node of a Cluster. */
const ADMIN_PASSWORD = crypto.randomUUID();

/** A real Redis on a free port of the loopback, in a folder of its own, that keeps nothing on disk. */
export function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { user, args = [], program = 'redis-server' } = options;
  const adminPassword = options.password ?? (user ? ADMIN_PASSWORD : '');
  return onFreePort(async (port) => {
    const place = await makePlace(port, options);
    return launchServer({
      program,
      place,
      config: configOf(options, place, adminPassword),
      args,
      login: user ?? { password: adminPassword },
      adminPassword,
    });
  });
}
