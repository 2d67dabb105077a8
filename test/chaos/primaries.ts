/** Which server of Redis is a primary, and since when: a failover, planned or not, is an event of the history. */
import type { RedisGroup } from '../kit/redis/groups.ts';
import type { RedisServer } from '../kit/redis/server.ts';
import { openRaw, type RawConnection } from '../kit/sockets.ts';
import { type History, nowMs } from './history.ts';

const LOOK_MS = 150;

/** Records when another server takes over, also where nobody meant it to. Resolves once all primaries of the beginning are known. */
export async function watchPrimaries(
  { nodes }: RedisGroup,
  history: History,
): Promise<AsyncDisposable> {
  const known = new Set<string>();
  let isOver = false;
  const infos = await Promise.all(nodes.map((node) => node.cli('INFO', 'replication')));
  for (const info of infos) known.add(replicationIdOf(info));
  async function watch(server: RedisServer, node: number): Promise<void> {
    let connection: RawConnection | undefined;
    for (let nth = 0; !isOver; nth += 1) {
      connection ??= openRaw(server.url);
      try {
        const end = `look-${nth}.`;
        await connection.send(`INFO replication\r\nPING ${end}\r\n`);
        const info = (await connection.until(end)).split(`look-${nth - 1}.`).at(-1) ?? '';
        const id = replicationIdOf(info);
        if (info.includes('role:master') && !known.has(id)) {
          known.add(id);
          history.record({ type: 'new primary', atMs: nowMs(), node });
        }
      } catch {
        connection = undefined;
      }
      await Bun.sleep(LOOK_MS);
    }
    connection?.leave();
  }
  const watching = Promise.all(nodes.map(watch));
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await watching;
    },
  };
}

/** A server has a new one when it is promoted, or starts empty as a primary. */
const replicationIdOf = (info: string) => /master_replid:(\w+)/.exec(info)?.[1] ?? '';
