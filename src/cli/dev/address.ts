/** Finds the address at which a phone in the same network reaches this machine. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';

/** The IPv4 addresses of this machine, first the one that it uses towards the internet. Empty: it is in no network. */
export async function findLanAddresses(): Promise<string[]> {
  const all = Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
  const route = await findRouteAddress();
  return all.includes(route) ? [route, ...all.filter((each) => each !== route)] : all;
}

/** TEST-NET-1 (RFC 5737): in no network. Nothing is sent to it. */
const ANYWHERE = '192.0.2.1';

/** Connecting a datagram socket sends nothing: the kernel only chooses the address that it would send from. */
async function findRouteAddress(): Promise<string> {
  const socket = createSocket('udp4');
  try {
    const connected = once(socket, 'connect');
    socket.connect(9, ANYWHERE);
    await connected;
    return socket.address().address;
  } catch {
    return '';
  } finally {
    socket.close();
  }
}
