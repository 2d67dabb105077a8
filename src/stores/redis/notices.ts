/**
 * Messages between instances, on one channel: that the session of a poll id has changed, and
 * heartbeats. None of it is secret. In a Cluster every node passes on what another one publishes.
 */
import { STALL_GRACE_MS, STALL_MS, STORE_LATEST_MS } from '../../limits.ts';
import type { Notice } from '../../sign-ins/session.ts';
import type { Listener } from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisClient } from './connect.ts';
import type { StoreHealth } from './health.ts';

/** How often an instance sends a heartbeat. If it receives its own, it receives other messages too. */
const HEARTBEAT_MS = 300;

/** How many own heartbeats in a row must be missed before an instance replaces the subscribing connection. */
const HEARTBEATS_TO_RESUBSCRIBE = 7;

/** How many must be missed, or be received too late, before Redis counts as unreachable, in the log and for `/ready`. */
const HEARTBEATS_TO_LOSS = 3;

/** How long after its start an instance assumes that there are others. */
const ASSUME_OTHERS_MS = 1_000;

/** An instance that was silent for this long has stopped. A paused one rechecks its polls when it continues. */
const OTHERS_SILENT_MS = 60_000;

const HEARTBEAT = 'heartbeat';

export interface NoticesOptions {
  readonly client: RedisClient;
  /** The store's clock is probed with every heartbeat. */
  readonly commands: RedisCommands;
  readonly clock: Clock;
  readonly channel: string;
  /** The name of this process. */
  readonly instance: string;
  readonly health: Pick<StoreHealth, 'failed' | 'late' | 'lost' | 'received'>;
  /** Ends the heartbeats. */
  readonly signal: AbortSignal;
}

export type Notices = ReturnType<typeof createNotices>;

export function createNotices(options: NoticesOptions) {
  const { client, commands, clock, channel, instance, health, signal } = options;
  const listeners: Listener[] = [];
  /** Own heartbeats in a row that were not received. */
  let missed = 0;
  /** Own heartbeats in a row that were not received in time. A server that is this slow refuses all commands as too late. */
  let missedOrLate = 0;
  /** True if a connection has failed since the last heartbeat: if it was the subscribing one, messages are lost. */
  let mayBeMissing = false;
  let othersSeenAtMs = clock.now() - OTHERS_SILENT_MS + ASSUME_OTHERS_MS;
  let cancel = () => {};
  signal.addEventListener('abort', () => cancel());
  /** When the sockets will have been read, after a pause of the process. */
  let readAtMs = 0;

  /**
   * After a pause of the process a message may be read before the end of a device's connection,
   * and the poll of a device that has left would take the result. So the message waits.
   */
  function onMessage(message: string): void {
    const waitMs = readAtMs - clock.now();
    if (waitMs > 0) clock.setTimer(waitMs, () => handle(message));
    else handle(message);
  }

  function handle(message: string): void {
    // In a heartbeat the third word is the time at which it was sent.
    const [from, what, pollId = ''] = message.split(' ');
    if (from === instance) {
      if (what === HEARTBEAT) onOwnHeartbeat(Number(pollId));
      return;
    }
    othersSeenAtMs = clock.now();
    if (what !== HEARTBEAT) notifyHere(pollId, what === 'opened' ? what : 'completed');
  }

  function notifyHere(pollId: string, notice: Notice): void {
    for (const each of listeners) each.notify(pollId, notice);
  }

  function onOwnHeartbeat(sentAtMs: number): void {
    if (clock.now() - sentAtMs <= STORE_LATEST_MS) {
      missedOrLate = 0;
      health.received();
    } else {
      health.late();
    }
    if (missed > 1 || mayBeMissing) for (const each of listeners) each.recheckAll();
    missed = 0;
    mayBeMissing = false;
  }

  async function beat(): Promise<void> {
    missed += 1;
    missedOrLate += 1;
    if (missedOrLate === HEARTBEATS_TO_LOSS) health.lost();
    const sent = client.send(['PUBLISH', channel, `${instance} ${HEARTBEAT} ${clock.now()}`]);
    await Promise.all([commands.within(sent), commands.probeClock()]);
    // The store answers, but no message arrives: the subscribing connection has failed.
    if (!signal.aborted && missed > 0 && missed % HEARTBEATS_TO_RESUBSCRIBE === 0)
      await subscribe();
  }

  function beatLater(): void {
    const dueAtMs = clock.now() + HEARTBEAT_MS;
    cancel = clock.setTimer(HEARTBEAT_MS, () => {
      if (clock.now() - dueAtMs > STALL_MS) readAtMs = clock.now() + STALL_GRACE_MS;
      // If it failed, the next one notices that messages were lost.
      void beat()
        .catch(health.failed)
        .then(() => signal.aborted || beatLater());
    });
  }

  async function subscribe(): Promise<void> {
    await commands.within(client.subscribe(channel, onMessage));
    // Set last: a heartbeat on the old connection does not cover the gap between the two.
    mayBeMissing = true;
  }

  return {
    listen: (listener: Listener) => void listeners.push(listener),
    notifyHere,

    /** Empty while this is the only instance, which notifies its own polls directly. One that misses heartbeats assumes that there are others. */
    channelToOthers(): string {
      const isAlone = missed <= 1 && clock.now() - othersSeenAtMs > OTHERS_SILENT_MS;
      return isAlone ? '' : channel;
    },
    messageOf: (notice: Notice, pollId: string) => `${instance} ${notice} ${pollId}`,

    /** A connection has failed, or a command had no reply. */
    connectionFailed(): void {
      mayBeMissing = true;
    },

    /** Subscribes, and sends heartbeats from now on. */
    async start(): Promise<void> {
      await subscribe();
      // No poll waits yet, so no message can have been missed.
      mayBeMissing = false;
      await beat();
      beatLater();
    },
  };
}
