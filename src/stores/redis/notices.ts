/**
 * Messages between instances, on one channel: that the session of a poll id has changed, and
 * heartbeats. None of it is secret. In a
 * Cluster any node passes on what another one publishes.
 */
import { STALL_GRACE_MS, STALL_MS } from '../../limits.ts';
import type { Notice } from '../../sign-ins/session.ts';
import type { Listener } from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisClient } from './connect.ts';
import type { StoreHealth } from './health.ts';

/** How often an instance sends a heartbeat, and so checks that it receives messages. */
export const HEARTBEAT_MS = 300;

/** After an instance has missed this many of its own notices in a row, it replaces the subscribing connection. */
export const HEARTBEATS_TO_REBUILD = 7;

/** After this many in a row the operator is notified. */
const HEARTBEATS_TO_LOSS = 3;

/** After its start an instance takes so long to hear of others. */
const UNSURE_MS = 1_000;

/** Another instance that was silent for so long has stopped. A paused one rechecks its polls when it continues. */
const OTHERS_MS = 60_000;

const HEARTBEAT = 'heartbeat';

export interface NoticesOptions {
  readonly client: RedisClient;
  /** The store's clock is probed with every heartbeat. */
  readonly commands: RedisCommands;
  readonly clock: Clock;
  readonly channel: string;
  /** The name of this process. */
  readonly instance: string;
  readonly health: Pick<StoreHealth, 'failed' | 'lost' | 'received'>;
}

export type Notices = ReturnType<typeof createNotices>;

export function createNotices(options: NoticesOptions) {
  const { client, commands, clock, channel, instance, health } = options;
  const listeners: Listener[] = [];
  /** Own heartbeats in a row that were not received. */
  let missed = 0;
  /** A connection failed since the last heartbeat, which may have been the subscribing one. */
  let mayBeMissing = false;
  let othersSeenAtMs = clock.now() - OTHERS_MS + UNSURE_MS;
  let stopped = false;
  let cancel: () => void = () => {};
  /** After a pause of the process: when what had arrived has been read. */
  let readAtMs = 0;

  /** After a pause, waits for disconnections to be read: a poll whose device has left would take the result for nobody. */
  function onMessage(message: string): void {
    const waitMs = readAtMs - clock.now();
    if (waitMs > 0) clock.setTimer(waitMs, () => take(message));
    else take(message);
  }

  function take(message: string): void {
    const [from, what, pollId = ''] = message.split(' ');
    if (from !== instance) {
      othersSeenAtMs = clock.now();
      if (what === HEARTBEAT) return;
      notifyHere(pollId, what === 'opened' ? what : 'completed');
    } else if (what === HEARTBEAT) {
      onOwnHeartbeat();
    }
  }

  function notifyHere(pollId: string, notice: Notice): void {
    for (const each of listeners) each.notify(pollId, notice);
  }

  function onOwnHeartbeat(): void {
    health.received();
    if (missed > 1 || mayBeMissing) for (const each of listeners) each.recheckAll();
    missed = 0;
    mayBeMissing = false;
  }

  async function beat(): Promise<void> {
    missed += 1;
    if (missed === HEARTBEATS_TO_LOSS) health.lost();
    const sent = client.publish(channel, `${instance} ${HEARTBEAT}`);
    await Promise.all([commands.within(sent), commands.probeClock()]);
    // The store answers, but no message arrives: the subscribing connection has failed.
    if (!stopped && missed > 0 && missed % HEARTBEATS_TO_REBUILD === 0) await subscribe();
  }

  function beatLater(): void {
    const dueAtMs = clock.now() + HEARTBEAT_MS;
    cancel = clock.setTimer(HEARTBEAT_MS, () => {
      if (clock.now() - dueAtMs > STALL_MS) readAtMs = clock.now() + STALL_GRACE_MS;
      // The next heartbeat finds the gap.
      void beat()
        .catch(health.failed)
        .then(() => stopped || beatLater());
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

    /** Empty while this is the only instance. One that cannot hear others may have some. */
    channelToOthers(): string {
      const isAlone = missed <= 1 && clock.now() - othersSeenAtMs > OTHERS_MS;
      return isAlone ? '' : channel;
    },
    messageOf: (notice: Notice, pollId: string) => `${instance} ${notice} ${pollId}`,

    /** A connection has failed, or a command had no reply. */
    connectionFailed(): void {
      mayBeMissing = true;
    },

    /** Listens for messages, and for the own heartbeat, because a connection may be half-open. After a gap every poll looks again. */
    async start(): Promise<void> {
      await subscribe();
      // Nobody waits yet.
      mayBeMissing = false;
      await beat();
      beatLater();
    },
    stop(): void {
      stopped = true;
      cancel();
    },
  };
}
