import { readFileSync } from 'node:fs';
import { createClient, RESP_TYPES } from '@redis/client';
import type { RedisServer } from './redis-server.ts';

/** A connection with every right, to this node alone, that gives strings as the bytes they are. */
export async function connectAsAdmin({ adminUrl, caFile }: RedisServer) {
  const client = createClient({
    url: adminUrl,
    RESP: 2,
    socket: {
      reconnectStrategy: false,
      ...(caFile !== undefined && { tls: true, ca: readFileSync(caFile) }),
    },
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  });
  // What fails rejects the command; an event without a listener would end the test.
  client.on('error', () => {});
  await client.connect();
  return client;
}

export type AdminClient = Awaited<ReturnType<typeof connectAsAdmin>>;
