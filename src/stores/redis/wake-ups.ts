/**
 * Polls parked here wake when any instance completes their session. Each
 * instance has one channel; a claim that finds its session pending registers
 * the instance as a waiter, in the same script, so no completion is missed. A message
 * carries the id of a poll pointer, which is no secret, or is about a claim
 * (messages.ts).
 */
import { HEARTBEAT_MS, HEARTBEATS_TO_REBUILD } from '../../limits.ts';
import type { Clock } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import type { RedisClient } from './client.ts';
import type { StoreClock } from './clock.ts';
import type { RedisCommands } from './commands.ts';
import type { OpenClaims } from './messages.ts';
import { OPENED } from './script.ts';

const HEARTBEAT = 'heartbeat';

/** So many in a row and the operator is told. */
const HEARTBEATS_TO_LOSS = 3;

export interface WakeUpOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly clock: Clock;
  /** Looked at with every heartbeat. */
  readonly storeClock: StoreClock;
  readonly waiters: Waiters;
  readonly openClaims: OpenClaims;
  /**
   * Since the last heartbeat a connection failed or was given up, which may have
   * been the one that listens, or a command, which may have registered a waiter.
   */
  readonly line: { wasCut: boolean };
  readonly channel: string;
  readonly onLost: () => void;
  readonly onBack: () => void;
}

/**
 * Listens for completions, and to a heartbeat of its own: a connection may be
 * up and yet deaf. After a gap everybody is woken, to look for themselves.
 */
export async function listenForWakeUps(options: WakeUpOptions): Promise<() => void> {
  const { client, commands, clock, storeClock, waiters, openClaims, line, channel } = options;
  let missed = 0;
  let stopped = false;
  let cancel: () => void = () => {};

  function onMessage(message: string): void {
    if (message.startsWith(OPENED)) {
      waiters.notify(message.slice(OPENED.length), 'opened');
      return;
    }
    if (message !== HEARTBEAT) {
      if (!openClaims.receive(message)) waiters.notify(message, 'completed');
      return;
    }
    if (missed >= HEARTBEATS_TO_LOSS) options.onBack();
    if (missed > 1 || line.wasCut) waiters.notifyAll();
    missed = 0;
    line.wasCut = false;
  }

  async function beat(): Promise<void> {
    missed += 1;
    if (missed === HEARTBEATS_TO_LOSS) options.onLost();
    await Promise.all([commands.within(client.publish(channel, HEARTBEAT)), storeClock.look()]);
    // The store answers and yet nothing is heard: the connection that listens is the one to blame.
    if (!stopped && missed > 0 && missed % HEARTBEATS_TO_REBUILD === 0) await subscribe();
  }

  function beatLater(): void {
    cancel = clock.setTimer(HEARTBEAT_MS, () => {
      // Away, when it fails; the gap is seen by the heartbeat that comes after it.
      void beat()
        .catch(() => {})
        .then(() => stopped || beatLater());
    });
  }

  async function subscribe(): Promise<void> {
    await commands.within(client.subscribe(channel, onMessage));
    // Set last: what the old connection has just heard says nothing of the gap between the two.
    line.wasCut = true;
  }

  await subscribe();
  await beat();
  beatLater();
  return () => {
    stopped = true;
    cancel();
  };
}
