/** Which server of Redis is a primary, and since when: a failover, planned or not, is an event of the history. */
import { createClient } from '@redis/client';
import type { RedisGroup } from '../kit/redis/groups.ts';
import type { RedisServer } from '../kit/redis/server.ts';
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
    const socket = { reconnectStrategy: LOOK_MS };
    const client = createClient({ url: server.url, disableOfflineQueue: true, socket });
    client.on('error', () => {});
    await client.connect();
    while (!isOver) {
      const info = await client.info('replication').catch(() => '');
      const id = replicationIdOf(info);
      if (info.includes('role:master') && !known.has(id)) {
        known.add(id);
        history.push({ type: 'new primary', atMs: nowMs(), node });
      }
      await Bun.sleep(LOOK_MS);
    }
    client.destroy();
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
