/**
 * Replies of Sentinels, or of the nodes of a Cluster, about who is the primary. Each
 * reply is one view. Views may differ for a while; the highest configuration epoch is the
 * newest.
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
 */
import type { RedisAddress } from './url.ts';

export const SLOTS = 16_384;

/** One primary, according to one view. */
export interface PrimaryClaim {
  readonly name: string;
  /** The first and last slot of each range, inclusive. Under Sentinel it has all. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly epoch: number;
  /** It answers, and is not about to be replaced. */
  readonly isWell: boolean;
}

export interface View {
  /** The Sentinel or node that replied. */
  readonly by: string;
  readonly claims: readonly PrimaryClaim[];
  /** All Sentinels or nodes that this one knows. */
  readonly witnesses: readonly RedisAddress[];
}

export const nameOf = ({ host, port }: RedisAddress) => `${host}:${port}`;

export function addressOf(name: string): RedisAddress {
  const colon = name.lastIndexOf(':');
  return { host: name.slice(0, colon), port: Number(name.slice(colon + 1)) };
}

/** Oldest first: a later claim wins the slot. Claims on which views agree are listed once. */
export function orderClaims(views: readonly View[]): PrimaryClaim[] {
  const byText = new Map<string, PrimaryClaim>();
  for (const claim of views.flatMap(({ claims }) => claims)) {
    byText.set(`${claim.epoch} ${claim.name} ${claim.ranges.join(' ')}`, claim);
  }
  return [...byText.values()].toSorted((one, other) => one.epoch - other.epoch);
}

/** Others than the primary itself name it, and all of them consider it well. */
export function isConfirmed(name: string, views: readonly View[]): boolean {
  const others = views.filter(({ by }) => by !== name);
  const named = others.flatMap(({ claims }) => claims.filter((claim) => claim.name === name));
  if (named.length > 0) return named.every(({ isWell }) => isWell);
  // A Cluster of one node has no others.
  return views.some(({ by, witnesses }) => by === name && witnesses.length === 1);
}

/** The fields of a Sentinel's record: names and values, alternating. */
type Fields = readonly string[];

/** `master` and `sentinels` are what SENTINEL MASTER and SENTINEL SENTINELS reply. */
export function readSentinelView(by: string, master: Fields, sentinels: readonly Fields[]): View {
  const flags = field(master, 'flags').split(',');
  const claim: PrimaryClaim = {
    name: nameOf(readAddress(master)),
    ranges: [[0, SLOTS - 1]],
    epoch: Number(field(master, 'config-epoch')),
    isWell: flags.every((flag) => flag === 'master'),
  };
  return { by, claims: [claim], witnesses: [addressOf(by), ...sentinels.map(readAddress)] };
}

const readAddress = (record: Fields): RedisAddress => ({
  host: field(record, 'ip'),
  port: Number(field(record, 'port')),
});

function field(record: Fields, name: string): string {
  for (let at = 0; at < record.length; at += 2) {
    if (record[at] === name) return record[at + 1] ?? '';
  }
  return '';
}

/** First and last slot, then the master and its replicas: host, port, id. */
export type SlotsReply = readonly [number, number, ...(readonly [string | null, number, string])[]];

/**
 * CLUSTER SLOTS has the addresses that clients should use, CLUSTER NODES the epochs and
 * which nodes are considered down.
 */
export function readClusterView(
  asked: RedisAddress,
  slots: readonly SlotsReply[],
  nodes: string,
): View {
  const witnesses = new Map<string, RedisAddress>();
  for (const [, , ...listed] of slots) {
    // Without a host: the host that was asked.
    for (const [host, port, id] of listed) witnesses.set(id, { host: host || asked.host, port });
  }
  const claims: PrimaryClaim[] = [];
  let by = nameOf(asked);
  for (const line of nodes.trimEnd().split('\n')) {
    const [id = '', , flagged = '', , , , epoch, link, ...owned] = line.split(' ');
    const address = witnesses.get(id);
    if (address === undefined) continue;
    const flags = new Set(flagged.split(','));
    if (flags.has('myself')) by = nameOf(address);
    const ranges = owned.flatMap(readRange);
    if (!flags.has('master') || ranges.length === 0) continue;
    const isDown = flags.has('fail') || flags.has('fail?') || link !== 'connected';
    claims.push({ name: nameOf(address), ranges, epoch: Number(epoch), isWell: !isDown });
  }
  return { by, claims, witnesses: [...witnesses.values()] };
}

/** `7`, `0-5460`; in brackets a slot that is moving. */
function readRange(text: string): (readonly [number, number])[] {
  if (text.startsWith('[')) return [];
  const [first = 0, last = first] = text.split('-').map(Number);
  return [[first, last]];
}

/** The slot of a key in a Cluster: CRC-16/XMODEM of its hash tag. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
export function slotOf(key: string): number {
  const [, tag = key] = /^[^{]*\{([^}]+)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
    }
  }
  return crc % 16_384;
}
