/** A DNS server for one name, whose IPv4 addresses a test can add, remove and change. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** RFC 1035 §3.2.2 and §4.1.1 */
const TYPE_A = 1;
const HEADER_BYTES = 12;
const ANSWER = 0x8180;
const UNKNOWN_NAME = 3;
/** The name of the question, wherever it is used again: RFC 1035 §4.1.4. */
const SAME_NAME = 0xc000 | HEADER_BYTES;

export async function startDns() {
  let addresses: readonly string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(ANSWER | (addresses.length === 0 ? UNKNOWN_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(addresses.length, 6);
    // After the name, which ends with a zero, there are its type and its class.
    const question = query.subarray(HEADER_BYTES, query.indexOf(0, HEADER_BYTES) + 5);
    socket.send(Buffer.concat([header, question, ...addresses.map(recordOf)]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    /** From now on. A name without addresses is unknown. */
    set(next: readonly string[]) {
      addresses = next;
    },
    [Symbol.dispose]: () => void socket.close(),
  };
}

/** A record that expires at once, so that only the client's own settings decide how long it is cached. */
function recordOf(address: string): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(SAME_NAME, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(4, 10);
  for (const [at, part] of address.split('.').entries()) record.writeUInt8(Number(part), 12 + at);
  return record;
}
