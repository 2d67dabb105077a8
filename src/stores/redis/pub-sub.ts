/**
 * Messages between instances. Each has one channel, on which it is notified that a
 * session changed (the message is the poll id), that a user has opened a link, and
 * whether a claim is closed. None of it is secret. A claim that finds its session
 * pending registers its instance as a waiter, in the same script, and the script that
 * completes the session publishes, so no completion is missed. In a Cluster any node
 * passes on what another one publishes.
 */
import { STALL_GRACE_MS, STALL_MS } from '../../limits.ts';
import type { Clock } from '../../relay/time.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisClient } from './connect.ts';
import type { StoreHealth } from './health.ts';
import type { LocalPolls } from './local-polls.ts';
import { OPENED } from './scripts.ts';

/** How often an instance sends itself a message, to check that it receives messages. */
export const HEARTBEAT_MS = 300;

/** After this many heartbeats in a row that were not received, the subscribing connection is replaced. */
export const HEARTBEATS_TO_REBUILD = 7;

/** After this many in a row the operator is notified. */
const HEARTBEATS_TO_LOSS = 3;

const HEARTBEAT = 'heartbeat';

export interface SubscriberOptions {
  readonly client: RedisClient;
  /** Its clock is probed with every heartbeat. */
  readonly commands: RedisCommands;
  readonly clock: Clock;
  readonly localPolls: LocalPolls;
  /**
   * Since the last heartbeat a connection failed or was given up, which may have
   * been the subscribing one, or a command, which may have registered a waiter.
   */
  readonly messages: { mayBeMissing: boolean };
  readonly channel: string;
  readonly health: Pick<StoreHealth, 'failed' | 'lost' | 'received'>;
}

/**
 * Listens for messages, and for a heartbeat of its own, because a connection may be
 * half-open. After a gap every waiter is notified, to claim for itself.
 */
export async function listen(options: SubscriberOptions): Promise<() => void> {
  const { client, commands, clock, localPolls, messages, channel, health } = options;
  let missed = 0;
  let stopped = false;
  let cancel: () => void = () => {};
  /** After a pause of the process: when what had arrived has been read. */
  let readAtMs = 0;

  /** A device that has left during a pause must not be notified: its claim would be for nobody. */
  function onMessage(message: string): void {
    const waitMs = readAtMs - clock.now();
    if (waitMs > 0) clock.setTimer(waitMs, () => take(message));
    else take(message);
  }

  function take(message: string): void {
    if (message === HEARTBEAT) onHeartbeat();
    else if (message.startsWith(OPENED)) localPolls.opened(message.slice(OPENED.length));
    else localPolls.changed(message);
  }

  function onHeartbeat(): void {
    health.received();
    if (missed > 1 || messages.mayBeMissing) localPolls.recheckAll();
    missed = 0;
    messages.mayBeMissing = false;
  }

  async function beat(): Promise<void> {
    missed += 1;
    if (missed === HEARTBEATS_TO_LOSS) health.lost();
    await Promise.all([commands.within(client.publish(channel, HEARTBEAT)), commands.probeClock()]);
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
    messages.mayBeMissing = true;
  }

  await subscribe();
  // There are no waiters yet.
  messages.mayBeMissing = false;
  await beat();
  beatLater();
  return () => {
    stopped = true;
    cancel();
  };
}
