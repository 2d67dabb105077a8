/** Searches everything that Redis servers hold, and every message that passes through them, for a secret. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, RESP_TYPES } from '@redis/client';
import { formsOf } from '../secrets.ts';
import { pollUntil } from '../wait.ts';
import type { RedisServer } from './server.ts';

/** Bytes that are stored or sent, and where. */
interface Piece {
  readonly where: string;
  readonly bytes: Buffer;
}

export interface RedisScan {
  /** Where the secret is, and in which of its forms (secrets.ts). Empty if it is nowhere. */
  find(secret: string): string[];
  /** How many pieces were searched: a scan of nothing finds nothing. */
  readonly size: number;
}

/**
 * Reads the keys, values and slow log of every server and every file it has, a
 * dump made for this among them; and the messages, if they were watched.
 */
export async function scanRedis(
  servers: readonly RedisServer[],
  watch?: ChannelWatch,
): Promise<RedisScan> {
  const atRest = await Promise.all(servers.map(readServer));
  const pieces = [...atRest.flat(), ...((await watch?.messages()) ?? [])];
  return {
    size: pieces.length,
    find(secret) {
      const forms = formsOf(secret);
      const places = pieces.flatMap(({ where, bytes }) => {
        const form = forms.find((each) => bytes.includes(each.bytes));
        return form ? [`${where} (${form.name})`] : [];
      });
      return [...new Set(places)];
    },
  };
}

async function readServer(server: RedisServer): Promise<Piece[]> {
  const client = await connectAsAdmin(server);
  try {
    // A slow command is recorded with its arguments.
    const slow = bytesIn(await client.sendCommand<unknown>(['SLOWLOG', 'GET', '-1']));
    const pieces = [
      ...(await readKeyspace(client)),
      ...slow.map((bytes) => ({ where: 'the slow log', bytes })),
      ...(await readFiles(server)),
    ];
    return pieces.map(({ where, bytes }) => ({ where: `${server.url}: ${where}`, bytes }));
  } finally {
    client.destroy();
  }
}

/** A connection with every right, to this node alone, that returns strings as bytes. */
async function connectAsAdmin({ adminUrl, caFile }: RedisServer) {
  const client = createClient({
    url: adminUrl,
    RESP: 2,
    socket: {
      reconnectStrategy: false,
      ...(caFile !== undefined && { tls: true, ca: readFileSync(caFile) }),
    },
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  });
  // A failure rejects the command; an event without a listener would end the test.
  client.on('error', () => {});
  await client.connect();
  return client;
}

type AdminClient = Awaited<ReturnType<typeof connectAsAdmin>>;

const READ: Readonly<Record<string, (key: Buffer) => readonly (string | Buffer)[]>> = {
  string: (key) => ['GET', key],
  hash: (key) => ['HGETALL', key],
  zset: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
};

/** Every database of the server. */
async function readKeyspace(client: AdminClient): Promise<Piece[]> {
  const info = String(await client.sendCommand(['INFO']));
  // A replica of a Cluster shows its keys only when asked to.
  const isCluster = info.includes('cluster_enabled:1');
  if (isCluster) await client.sendCommand(['READONLY']);
  const pieces: Piece[] = [];
  for (const [, database = '0'] of info.matchAll(/^db(\d+):/gm)) {
    if (!isCluster) await client.sendCommand(['SELECT', database]);
    let cursor = '0';
    do {
      const scan = ['SCAN', cursor, 'COUNT', '1000'];
      const [next, keys] = await client.sendCommand<[Buffer, Buffer[]]>(scan);
      cursor = String(next);
      const read = await Promise.all(keys.map((key) => readKey(client, key)));
      pieces.push(...read.flat());
    } while (cursor !== '0');
  }
  return pieces;
}

async function readKey(client: AdminClient, key: Buffer): Promise<Piece[]> {
  const name = JSON.stringify(key.toString('latin1'));
  const type = String(await client.sendCommand(['TYPE', key]));
  // A type that is not listed is searched as it would be dumped.
  const reply = await client.sendCommand<unknown>(READ[type]?.(key) ?? ['DUMP', key]);
  return [
    { where: `the name of ${type} ${name}`, bytes: key },
    ...bytesIn(reply).map((bytes) => ({ where: `the value of ${type} ${name}`, bytes })),
  ];
}

/** All strings of a reply, however it nests them. */
function bytesIn(reply: unknown): Buffer[] {
  if (Array.isArray(reply)) return reply.flatMap(bytesIn);
  if (Buffer.isBuffer(reply)) return [reply];
  return reply === null || reply === undefined ? [] : [Buffer.from(String(reply))];
}

async function readFiles(server: RedisServer): Promise<Piece[]> {
  const dump = join(server.folder, 'dump.rdb');
  const isItsOwn = existsSync(dump);
  await pollUntil('a dump can be made', () => save(server));
  const files = readdirSync(server.folder, { recursive: true, withFileTypes: true });
  const pieces = files
    .filter((file) => file.isFile())
    .map((file) => ({
      where: `the file ${file.name}`,
      bytes: readFileSync(join(file.parentPath, file.name)),
    }));
  // A server that persists nothing would load it at its next start.
  if (!isItsOwn) rmSync(dump);
  return pieces;
}

/** Not while the server makes another dump, for a replica for example. */
async function save(server: RedisServer): Promise<boolean> {
  try {
    await server.cli('SAVE');
    return true;
  } catch (error) {
    if (String(error).includes('in progress')) return false;
    throw error;
  }
}

export interface ChannelWatch {
  /** All that was published since the start of the watch, up to now. */
  messages(): Promise<readonly Piece[]>;
  stop(): void;
}

/** Resolves when no later message is missed. It does not survive a restart of a server. */
export async function watchChannels(servers: readonly RedisServer[]): Promise<ChannelWatch> {
  const watches = await Promise.all(servers.map(watchServer));
  return {
    messages: async () => (await Promise.all(watches.map((watch) => watch.messages()))).flat(),
    stop() {
      for (const watch of watches) watch.stop();
    },
  };
}

async function watchServer(server: RedisServer): Promise<ChannelWatch> {
  const [sender, listener] = await Promise.all([connectAsAdmin(server), connectAsAdmin(server)]);
  const pieces: Piece[] = [];
  /** Texts of our own: once one arrives, all messages before it have arrived. */
  const marks = new Map<string, () => void>();

  function take(message: Buffer, channel: Buffer): void {
    const arrived = marks.get(message.toString('latin1'));
    if (arrived) {
      arrived();
      return;
    }
    const name = JSON.stringify(channel.toString('latin1'));
    pieces.push(
      { where: `${server.url}: the name of channel ${name}`, bytes: channel },
      { where: `${server.url}: a message on channel ${name}`, bytes: message },
    );
  }
  await listener.pSubscribe('*', take, true);
  return {
    async messages() {
      const { promise: arrived, resolve } = Promise.withResolvers<void>();
      const mark = crypto.randomUUID();
      marks.set(mark, resolve);
      await sender.sendCommand(['PUBLISH', 'mark', mark]);
      await arrived;
      return pieces;
    },
    stop() {
      for (const client of [sender, listener]) client.destroy();
    },
  };
}
