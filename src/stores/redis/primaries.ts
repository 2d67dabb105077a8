/**
 * Servers that fail over: which one is the primary, and when it is used. Sentinels, or all
 * nodes of a Cluster, are queried twice a second. A primary that replies again after a silence
 * may have been replaced, and one that was restarted has lost its data. So it is used again
 * once one of the others has confirmed, after that, that it is the primary. docs/scaling.md
 * "When a primary fails".
 */
import { ClientOfflineError } from '@redis/client';
import { PrimaryFailure } from './failures.ts';
import {
  type Access,
  type Connection,
  type Link,
  openLink,
  RECONNECT_MS,
  readServerId,
  timeOf,
} from './link.ts';
import {
  addressOf,
  isConfirmed,
  nameOf,
  orderClaims,
  type PrimaryClaim,
  readClusterView,
  readSentinelView,
  SLOTS,
  type SlotsReply,
  type View,
} from './topology.ts';
import type { RedisAddress, RedisTarget } from './url.ts';

export type PrimaryEvent =
  /** `primary` is its host and port. Commands for it are refused. */
  | { readonly type: 'store_primary_lost'; readonly primary: string; readonly problem: string }
  /** It is used, although none has confirmed for UNCONFIRMED_MS that it is the primary. */
  | { readonly type: 'store_primary_unconfirmed'; readonly primary: string }
  /** Every primary, or its successor, is used again. */
  | { readonly type: 'store_primary_back' };

/** How often the others are queried. */
const LOOK_MS = 500;
/** A shorter loss is not logged, because connections fail now and then. */
const REPORT_MS = 1_000;
/**
 * A primary that replies but is not confirmed is used after this, if no other one is named:
 * all Sentinels may be down, or one may consider it down for long.
 */
const UNCONFIRMED_MS = 10_000;
/**
 * A primary is replaced only after a longer silence. So a relay that was paused for this
 * long queries the others before it uses any primary.
 */
const PAUSE_MS = 1_000;
const TICK_MS = 250;

interface Primary {
  readonly link: Link;
  isTrusted: boolean;
  /** The server process that is trusted, or was until its connection failed. */
  trustedId: string;
  /** When it stopped being trusted. */
  doubtedAtMs: number;
}

/** Queries one Sentinel or node. */
type Ask = (link: Link) => Promise<View>;

export interface WatchOptions {
  /** See ConnectOptions. */
  readonly onCut: (error?: unknown) => void;
  readonly onEvent: (event: PrimaryEvent) => void;
  /** Called after each query of the others. */
  readonly onLooked: () => void;
}

function askSentinels(primaryName: string): Ask {
  return async (link) => {
    const about = ['MASTER', 'SENTINELS'].map((what) => ['SENTINEL', what, primaryName]);
    const [master, sentinels] = await link.ask((connection) =>
      Promise.all(about.map((command) => connection.sendCommand(command))),
    );
    return readSentinelView(
      link.name,
      fieldsOf(master),
      (sentinels as unknown as unknown[]).map(fieldsOf),
    );
  };
}

/** A map of RESP 3 is an object, one of RESP 2 a list. */
const fieldsOf = (record: unknown) =>
  (Array.isArray(record) ? record : Object.entries(record as object).flat()) as string[];

const askNode: Ask = async (link) => {
  const [slots, nodes] = await link.ask((connection) =>
    Promise.all(['SLOTS', 'NODES'].map((what) => connection.sendCommand(['CLUSTER', what]))),
  );
  return readClusterView(addressOf(link.name), slots as unknown as SlotsReply[], String(nodes));
};

/** Runs `work` repeatedly, one run at a time, with a pause after each. */
function repeat(work: () => Promise<void>, pauseMs: () => number) {
  let isDue = false;
  let isStopped = false;
  let wake: () => void = () => {};

  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs());
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  async function run(): Promise<void> {
    while (!isStopped) {
      isDue = false;
      await work();
      if (!isDue) await pause();
    }
  }

  return {
    start: () => void run(),
    /** Runs it without a pause; once more if it is running. */
    soon(): void {
      isDue = true;
      wake();
    },
    stop(): void {
      isStopped = true;
      wake();
    },
  };
}

function watchPauses(onEnd: () => void) {
  let tickedAtMs = performance.now();
  let endMs = 0;

  function tick(): void {
    const nowMs = performance.now();
    const wasPaused = nowMs - tickedAtMs > PAUSE_MS;
    tickedAtMs = nowMs;
    if (!wasPaused) return;
    endMs = nowMs;
    onEnd();
  }

  const timer = setInterval(tick, TICK_MS);
  return {
    /** By `performance.now()`. After a pause a request may be read before any timer runs. */
    lastEndMs(): number {
      tick();
      return endMs;
    },
    stop: () => clearInterval(timer),
  };
}

function sentinelAccess({ tls, sentinelUsername, sentinelPassword }: RedisTarget): Access {
  return {
    tls,
    ...(sentinelUsername !== undefined && { username: sentinelUsername }),
    ...(sentinelPassword !== undefined && { password: sentinelPassword }),
  };
}

/** Keeps a connection to each primary, and decides which of them may be used. */
export function watchPrimaries(target: RedisTarget, { onCut, onEvent, onLooked }: WatchOptions) {
  const isCluster = target.type === 'cluster';
  const ask = isCluster ? askNode : askSentinels(target.primaryName ?? '');
  const witnessAccess = isCluster ? target : sentinelAccess(target);
  /** All nodes of a Cluster, the primaries too. */
  const witnesses = new Map<string, Link>();
  const primaries = new Map<string, Primary>();
  /** Keyed by slot. */
  let owners: (Primary | undefined)[] = [];
  let claimed = '';
  let lookedAtMs = 0;
  const onceLooked: (() => void)[] = [];
  const reported = new Set<string>();
  const starting = { onUsable: () => {}, onFailure: (_: unknown) => {} };
  const looking = repeat(look, () => (isSettled() ? LOOK_MS : RECONNECT_MS));
  const pauses = watchPauses(looking.soon);
  let turn = Math.floor(Math.random() * SLOTS);
  let isClosed = false;

  const isSettled = () =>
    primaries.size > 0 && [...primaries.values()].every(({ isTrusted }) => isTrusted);

  const hasLooked = () => lookedAtMs >= pauses.lastEndMs();

  function open(access: Access, address: RedisAddress): Link {
    const name = nameOf(address);
    function onLost(error: unknown): void {
      const primary = primaries.get(name);
      if (primary === undefined) return;
      const failure = isCluster ? error : new PrimaryFailure(error);
      starting.onFailure(failure);
      if (primary.isTrusted) primary.doubtedAtMs = performance.now();
      primary.isTrusted = false;
      onCut(failure);
      looking.soon();
    }
    function onOpened(): void {
      const primary = primaries.get(name);
      if (primary !== undefined) trustAgain(primary);
      looking.soon();
    }
    // A Sentinel may refuse INFO, and its process does not matter.
    const isSentinel = !isCluster && access !== target;
    const identify = isSentinel ? async () => '' : readServerId;
    return openLink(access, address, { identify, onOpened, onLost });
  }

  function witnessAt(address: RedisAddress): Link {
    const link = witnesses.get(nameOf(address)) ?? open(witnessAccess, address);
    witnesses.set(link.name, link);
    return link;
  }

  function primaryAt(name: string): Primary {
    const address = addressOf(name);
    const primary = primaries.get(name) ?? {
      link: isCluster ? witnessAt(address) : open(target, address),
      isTrusted: false,
      trustedId: '',
      doubtedAtMs: performance.now(),
    };
    primaries.set(name, primary);
    return primary;
  }

  /** Messages published meanwhile may be missed. */
  function remove(name: string, { link }: Primary): void {
    primaries.delete(name);
    if (!isCluster) link.close();
    onCut();
  }

  function take(claims: readonly PrimaryClaim[]): void {
    const text = JSON.stringify(claims);
    if (text === claimed) return;
    claimed = text;
    const names: (string | undefined)[] = Array.from({ length: SLOTS });
    for (const { name, ranges } of claims) {
      for (const [first, last] of ranges) names.fill(name, first, last + 1);
    }
    const byName = new Map([...new Set(names)].map((name) => [name, name && primaryAt(name)]));
    for (const [name, primary] of primaries) if (!byName.has(name)) remove(name, primary);
    owners = names.map((name) => byName.get(name) || undefined);
  }

  function keepWitnesses(views: readonly View[]): void {
    const listed = [...target.addresses, ...views.flatMap((view) => view.witnesses)];
    const names = new Set(listed.map(nameOf));
    for (const address of listed) witnessAt(address);
    for (const [name, link] of witnesses) {
      if (names.has(name) || (isCluster && primaries.has(name))) continue;
      witnesses.delete(name);
      link.close();
    }
  }

  /** Trusts the same process again after a silence too short for a failover. */
  function trustAgain(primary: Primary): void {
    const { serverId, silentMs } = primary.link;
    const isSame = serverId !== '' && serverId === primary.trustedId;
    primary.isTrusted = isSame && silentMs < PAUSE_MS;
    if (!primary.isTrusted) primary.trustedId = '';
  }

  /** Trusts a primary that is confirmed by views that were requested after its connection was made. */
  function trustIfConfirmed(primary: Primary, views: readonly View[], askedAtMs: number): void {
    const { link } = primary;
    if (primary.isTrusted || link.connection === undefined || link.openedAtMs > askedAtMs) return;
    const isNamed = isConfirmed(link.name, views);
    if (!isNamed && performance.now() - link.openedAtMs < UNCONFIRMED_MS) return;
    primary.isTrusted = true;
    primary.trustedId = link.serverId;
    if (!isNamed) onEvent({ type: 'store_primary_unconfirmed', primary: link.name });
  }

  function report(): void {
    for (const [name, { isTrusted, doubtedAtMs, link }] of primaries) {
      const isBrief = performance.now() - doubtedAtMs < REPORT_MS;
      if (isTrusted || isBrief || reported.has(name)) continue;
      reported.add(name);
      const problem = link.connection === undefined ? SILENT : UNCONFIRMED;
      onEvent({ type: 'store_primary_lost', primary: name, problem });
    }
    if (reported.size === 0 || !isSettled()) return;
    reported.clear();
    onEvent({ type: 'store_primary_back' });
  }

  async function look(): Promise<void> {
    const askedAtMs = performance.now();
    const connected = [...witnesses.values()].filter(({ connection }) => connection !== undefined);
    if (!isCluster) for (const { link } of primaries.values()) link.ask(timeOf).catch(() => {});
    const answers = await Promise.allSettled(connected.map(ask));
    if (isClosed) return;
    const views = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    if (views.length > 0) {
      take(orderClaims(views));
      keepWitnesses(views);
    } else if (primaries.size === 0) {
      const [first] = answers.flatMap((each) => (each.status === 'rejected' ? each.reason : []));
      starting.onFailure(first ?? new ClientOfflineError());
    }
    for (const primary of primaries.values()) trustIfConfirmed(primary, views, askedAtMs);
    lookedAtMs = askedAtMs;
    if (hasLooked()) for (const resolve of onceLooked.splice(0)) resolve();
    report();
    onLooked();
    if (isSettled()) starting.onUsable();
  }

  /** The links to primaries that may be used. */
  function links(): Link[] {
    return [...primaries.values()].filter(({ isTrusted }) => isTrusted).map(({ link }) => link);
  }

  return {
    async start(): Promise<void> {
      const opened = target.addresses.map((address) => witnessAt(address).opened);
      await Promise.any(opened).catch(({ errors }: AggregateError) => {
        throw errors[0];
      });
      await new Promise<void>((resolve, reject) => {
        starting.onUsable = resolve;
        starting.onFailure = reject;
        looking.start();
      });
    },
    lookSoon: looking.soon,
    /** Since the last pause of the process. */
    hasLooked,
    untilLooked: () => new Promise<void>((resolve) => void onceLooked.push(resolve)),
    /** To an address that a primary has redirected to. */
    connectionAt: (name: string): Promise<Connection> => witnessAt(addressOf(name)).opened,
    /** Undefined while it must not be used. */
    connectionFor(slot: number): Connection | undefined {
      const owner = owners[slot];
      return owner?.isTrusted ? owner.link.connection : undefined;
    },
    links,
    /** Any node of a Cluster passes on messages. Another one each time, because one may be down. */
    anyLink(): Link {
      const usable = links();
      turn += 1;
      const link = usable[turn % usable.length];
      if (link === undefined) throw new ClientOfflineError();
      return link;
    },
    close(): void {
      isClosed = true;
      looking.stop();
      pauses.stop();
      for (const link of witnesses.values()) link.close();
      for (const { link } of primaries.values()) link.close();
    },
  };
}

const SILENT =
  'it does not answer: what needs it gets a 503, polls 204, until it answers or a replica is promoted';
const UNCONFIRMED = `it answers, but it may have been replaced or have lost its data: what needs it gets a 503, polls 204, until the others confirm it, or ${UNCONFIRMED_MS / 1_000} s have passed`;
