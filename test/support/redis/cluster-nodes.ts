/** Reads what CLUSTER NODES says. */

import { BUS_OFFSET } from './redis-port.ts';

export interface ClusterNode {
  readonly port: number;
  /** First and last slot of each range it owns. */
  readonly slots: readonly (readonly [number, number])[];
}

/** @see https://redis.io/docs/latest/commands/cluster-nodes/ */
export function parseClusterNodes(text: string): ClusterNode[] {
  return text.split('\n').map((line) => {
    const [, address = '', , , , , , , ...slots] = line.split(' ');
    return {
      // By its bus: the other port is the one it announces, perhaps that of a proxy.
      port: Number(/@(\d+)/.exec(address)?.[1]) - BUS_OFFSET,
      // In brackets: a slot on its way to another node.
      slots: slots.filter((range) => !range.startsWith('[')).map(parseRange),
    };
  });
}

function parseRange(range: string): [number, number] {
  const [first = Number.NaN, last = first] = range.split('-').map(Number);
  return [first, last];
}

/** The port of the node that owns the slot. */
export function ownerOfSlot(nodes: readonly ClusterNode[], slot: number): number | undefined {
  return nodes.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))
    ?.port;
}
