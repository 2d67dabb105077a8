/** Finds the address at which a phone in the same network reaches this machine. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** The IPv4 addresses of this machine, the likeliest first. Empty: it is in no network. */
export async function findLanAddresses(): Promise<string[]> {
  return sortAddresses(networkInterfaces(), await findRouteAddress());
}

/** Interfaces of virtual machines, containers and VPNs: a phone is not in these networks. */
const VIRTUAL =
  /^(docker|br-|veth|virbr|vmnet|vboxnet|vEthernet|lxc|cni|flannel|podman|tun|tap|utun|wg|tailscale|zt|ppp)/i;

export function sortAddresses(interfaces: Interfaces, routeAddress: string | undefined): string[] {
  const rankOf = (name: string, address: string) =>
    (VIRTUAL.test(name) ? 4 : 0) +
    // A network without a DHCP server has no router either. RFC 3927.
    (address.startsWith('169.254.') ? 2 : 0) +
    (address === routeAddress ? 0 : 1);
  const ranked = Object.entries(interfaces).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => ({ address, rank: rankOf(name, address) })),
  );
  return ranked.sort((a, b) => a.rank - b.rank).map(({ address }) => address);
}

/** TEST-NET-1 (RFC 5737): in no network. Nothing is sent to it. */
const ANYWHERE = '192.0.2.1';

/** Connecting a datagram socket sends nothing: the kernel only chooses the address that it would send from. */
async function findRouteAddress(): Promise<string | undefined> {
  const socket = createSocket('udp4');
  try {
    const connected = once(socket, 'connect');
    socket.connect(9, ANYWHERE);
    await connected;
    return socket.address().address;
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}
