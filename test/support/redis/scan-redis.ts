/** Looks for a secret in all that a store of Redis servers holds. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsAdmin } from './admin-client.ts';
import { bytesIn, type Finding, readKeyspace } from './keyspace.ts';
import { pollUntil } from './poll-until.ts';
import type { RedisServer } from './redis-server.ts';
import { formsOf } from './secret-forms.ts';
import type { ChannelWatch } from './watch-channels.ts';

export interface RedisScan {
  /**
   * Where the secret is, and in which form: itself, hex, base64 or base64url, the
   * bytes it was made of, and each of them escaped. Empty when it is nowhere.
   */
  find(secret: string): string[];
  /** How many pieces were searched: 0 would find nothing either. */
  readonly size: number;
}

/**
 * Reads the keys, values and slow log of every server and every file it has, a
 * dump made for this among them; and the messages, when they were watched.
 */
export async function scanRedis(
  servers: RedisServer | readonly RedisServer[],
  watch?: ChannelWatch,
): Promise<RedisScan> {
  const atRest = await Promise.all([servers].flat().map(readServer));
  const findings = [...atRest.flat(), ...((await watch?.messages()) ?? [])];
  return {
    size: findings.length,
    find(secret) {
      const forms = formsOf(secret);
      const places = findings.flatMap(({ where, bytes }) => {
        const form = forms.find((each) => bytes.includes(each.bytes));
        return form ? [`${where} (${form.name})`] : [];
      });
      return [...new Set(places)];
    },
  };
}

async function readServer(server: RedisServer): Promise<Finding[]> {
  const client = await connectAsAdmin(server);
  try {
    // What is slow enough is remembered with its arguments.
    const slow = bytesIn(await client.sendCommand<unknown>(['SLOWLOG', 'GET', '-1']));
    const findings = [
      ...(await readKeyspace(client)),
      ...slow.map((bytes) => ({ where: 'the slow log', bytes })),
      ...(await readFiles(server)),
    ];
    return findings.map(({ where, bytes }) => ({ where: `${server.url}: ${where}`, bytes }));
  } finally {
    client.destroy();
  }
}

async function readFiles(server: RedisServer): Promise<Finding[]> {
  const dump = join(server.folder, 'dump.rdb');
  const isItsOwn = existsSync(dump);
  await pollUntil('a dump can be made', () => save(server));
  const files = readdirSync(server.folder, { recursive: true, withFileTypes: true });
  const findings = files
    .filter((file) => file.isFile())
    .map((file) => ({
      where: `the file ${file.name}`,
      bytes: readFileSync(join(file.parentPath, file.name)),
    }));
  // A server that keeps nothing would load it at its next start.
  if (!isItsOwn) rmSync(dump);
  return findings;
}

/** Not while the server is making another, for a replica for example. */
async function save(server: RedisServer): Promise<true | undefined> {
  try {
    await server.cli('SAVE');
    return true;
  } catch (error) {
    if (String(error).includes('in progress')) return undefined;
    throw error;
  }
}
