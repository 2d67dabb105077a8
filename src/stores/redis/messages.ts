/**
 * What instances tell one another, each on a channel of its own: that a session
 * completed or was cancelled, or that a claim of it was undone (the message is the
 * poll id), that its user has opened the link, and what became of a claim. None of
 * it is secret.
 */
import { CLAIM_DECISION_MS, STORE_PATIENCE_MS, STORE_RETRY_MS } from '../../limits.ts';
import { type Clock, createDeadlineQueue, type Deadline, pause } from '../../relay/time.ts';
import type { RedisClient } from './client.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';

export interface PublishOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
}

/** Returns how many received it, 0 when that is unknown. Never rejects. */
export type Publish = (instance: string, message: string) => Promise<number>;

export function createPublish({ client, commands, keys }: PublishOptions): Publish {
  return (instance, message) =>
    commands.within(client.publish(keys.channelPrefix + instance, message)).catch(() => 0);
}

/** Wakes the polls of a session that wait at another instance. The message is a poll id, or OPENED and one. */
export type Wake = (instance: string, message: string) => Promise<void>;

/**
 * While the slot of a channel moves in a Cluster nobody listens, and the sender is
 * not told of it. So what nobody received is sent again for a while. Lost for good,
 * it costs those who wait no more than their hold.
 */
export function createWake(publish: Publish, clock: Clock): Wake {
  return async (instance, message) => {
    const untilMs = clock.now() + STORE_PATIENCE_MS;
    while ((await publish(instance, message)) === 0 && clock.now() < untilMs) {
      await pause(clock, STORE_RETRY_MS);
    }
  };
}

/**
 * A claim is open from when it is asked for until its relay knows that a device
 * has the result, or that the claim was undone. Other polls must not be answered
 * 410 before that, so they ask the relay whose claim it is.
 */
export interface OpenClaims {
  open(claim: string): void;
  close(claim: string): void;
  /**
   * Of a claim of any instance. Returns false when its relay does not say so
   * within CLAIM_DECISION_MS. Where the claim still has the session after this, it
   * was delivered.
   */
  untilClosed(claim: string): Promise<boolean>;
  /** Takes a message of another instance. Returns false when it is about something else. */
  receive(message: string): boolean;
}

export interface OpenClaimsOptions {
  readonly instance: string;
  readonly publish: Publish;
  readonly clock: Clock;
}

const ASKED = 'open?';
const CLOSED = 'closed';

/** A claim is `<instance>.<random>.`. */
export function createOpenClaims({ instance, publish, clock }: OpenClaimsOptions): OpenClaims {
  const open = new Set<string>();
  const listeners = new Map<string, Set<() => void>>();
  const deadlines = createDeadlineQueue(clock, CLAIM_DECISION_MS);

  function listen(claim: string, listener: () => void): void {
    const others = listeners.get(claim) ?? new Set();
    listeners.set(claim, others.add(listener));
  }

  function stopListening(claim: string, listener: () => void): void {
    const others = listeners.get(claim);
    others?.delete(listener);
    if (others?.size === 0) listeners.delete(claim);
  }

  function tellClosed(claim: string): void {
    const told = listeners.get(claim);
    listeners.delete(claim);
    for (const listener of told ?? []) listener();
  }

  function answer(claim: string, asker: string): void {
    const reply = () => void publish(asker, `${CLOSED} ${claim}`);
    if (open.has(claim)) listen(claim, reply);
    else reply();
  }

  return {
    open: (claim) => void open.add(claim),
    close(claim) {
      open.delete(claim);
      tellClosed(claim);
    },
    async untilClosed(claim) {
      const [holder = ''] = claim.split('.');
      if (holder === instance && !open.has(claim)) return true;
      return new Promise((resolve) => {
        const deadline: Deadline = {
          dueAtMs: 0,
          onDue() {
            stopListening(claim, listener);
            resolve(false);
          },
        };
        const listener = () => {
          deadlines.cancel(deadline);
          resolve(true);
        };
        deadlines.add(deadline);
        listen(claim, listener);
        if (holder !== instance) void publish(holder, `${ASKED} ${claim} ${instance}`);
      });
    },
    receive(message) {
      const [kind, claim = '', asker = ''] = message.split(' ');
      if (kind === ASKED) answer(claim, asker);
      else if (kind === CLOSED) tellClosed(claim);
      else return false;
      return true;
    },
  };
}
