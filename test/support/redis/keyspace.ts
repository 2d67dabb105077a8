/** Reads every key of a server, whatever its type, as bytes. */
import type { AdminClient } from './admin-client.ts';

/** Something that is at rest, and where. */
export interface Finding {
  readonly where: string;
  readonly bytes: Buffer;
}

const READ: Readonly<Record<string, (key: Buffer) => readonly (string | Buffer)[]>> = {
  string: (key) => ['GET', key],
  hash: (key) => ['HGETALL', key],
  list: (key) => ['LRANGE', key, '0', '-1'],
  set: (key) => ['SMEMBERS', key],
  zset: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
  // Its groups and consumers have names too.
  stream: (key) => ['XINFO', 'STREAM', key, 'FULL', 'COUNT', '0'],
};

/** Every database of the server. */
export async function readKeyspace(client: AdminClient): Promise<Finding[]> {
  const info = String(await client.sendCommand(['INFO']));
  // A replica of a Cluster speaks of its keys only when asked to.
  const isCluster = info.includes('cluster_enabled:1');
  if (isCluster) await client.sendCommand(['READONLY']);
  const findings: Finding[] = [];
  for (const [, database = '0'] of info.matchAll(/^db(\d+):/gm)) {
    if (!isCluster) await client.sendCommand(['SELECT', database]);
    for await (const keys of scanKeys(client)) {
      const read = await Promise.all(keys.map((key) => readKey(client, key)));
      findings.push(...read.flat());
    }
  }
  return findings;
}

async function* scanKeys(client: AdminClient): AsyncGenerator<Buffer[]> {
  let cursor = '0';
  do {
    const reply = await client.sendCommand<[Buffer, Buffer[]]>(['SCAN', cursor, 'COUNT', '1000']);
    cursor = String(reply[0]);
    yield reply[1];
  } while (cursor !== '0');
}

async function readKey(client: AdminClient, key: Buffer): Promise<Finding[]> {
  const name = JSON.stringify(key.toString('latin1'));
  const type = String(await client.sendCommand(['TYPE', key]));
  // A type nobody here knows is searched in the form it would be dumped in.
  const command = READ[type]?.(key) ?? ['DUMP', key];
  const reply = await client.sendCommand<unknown>(command);
  return [
    { where: `the name of ${type} ${name}`, bytes: key },
    ...bytesIn(reply).map((bytes) => ({ where: `the value of ${type} ${name}`, bytes })),
  ];
}

/** All texts of an answer, however it nests them. */
export function bytesIn(reply: unknown): Buffer[] {
  if (Array.isArray(reply)) return reply.flatMap(bytesIn);
  if (Buffer.isBuffer(reply)) return [reply];
  return reply === null || reply === undefined ? [] : [Buffer.from(String(reply))];
}
