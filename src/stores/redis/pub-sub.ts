/**
 * What instances tell one another. Each has one channel, on which it is notified that
 * a session completed or was cancelled, or that a claim of it was undone (the message
 * is the poll id), that a user has opened a link, and what became of a claim. None of
 * it is secret. A claim that finds its session pending registers its instance as a
 * waiter, in the same script, and the script that completes the session publishes, so
 * no completion is missed. In a Cluster any node passes on what another one publishes.
 */
import {
  CLAIM_DECISION_MS,
  HEARTBEAT_MS,
  HEARTBEATS_TO_REBUILD,
  KNOWN_PENDING_MS,
} from '../../limits.ts';
import { type Clock, createDeadlineQueue, type Deadline } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import type { RedisCommands, StoreClock } from './commands.ts';
import type { RedisClient } from './connect.ts';
import type { RedisKeys } from './records.ts';
import { OPENED } from './scripts.ts';

export interface PublishOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
}

/** Never rejects: whoever waits for an answer has a deadline. */
export type Publish = (instance: string, message: string) => Promise<void>;

export function createPublish({ client, commands, keys }: PublishOptions): Publish {
  return async (instance, message) => {
    await commands.within(client.publish(keys.channelPrefix + instance, message)).catch(() => {});
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

/** Sessions that an instance remembers by their poll ids, at least, and twice as many at most: 12 MB. */
const KNOWN_POLLS = 20_000;

interface KnownPoll {
  readonly pointer: string;
  /** Until then it counts as pending. */
  readonly pendingUntilMs: number;
  /** When its session expires. */
  readonly endsAtMs: number;
}

/**
 * What this process knows of sessions whose devices poll here: where a poll secret
 * leads, and whether it is still pending. That is known for a while after a
 * registration, or a claim, that has also asked for this process to be notified, until
 * the session expires, something is heard of it, or something may have been missed.
 */
export interface KnownPolls {
  get(pollId: string): KnownPoll | undefined;
  /** With `endsInMs` it is pending, and expires after so long. */
  add(pollId: string, pointer: string, endsInMs?: number): void;
  delete(pollId: string): void;
  /** Of a session that is known to be pending: how long until it expires. */
  endsInMs(pollId: string): number | undefined;
  /** A claim found it pending that was asked for when this was known. */
  found(pollId: string, when: KnownPoll | undefined, endsInMs: number): void;
  /** Something happened to the session. What was asked for before says nothing of it. */
  heard(pollId: string): void;
  /** Forgets every session: something may have happened to any. */
  clear(): void;
}

export function createKnownPolls(clock: Clock): KnownPolls {
  // Two, because to remove the oldest of one is slow where that happens for each new one.
  let recent = new Map<string, KnownPoll>();
  let older = new Map<string, KnownPoll>();

  const get = (pollId: string) => recent.get(pollId) ?? older.get(pollId);

  function add(pollId: string, pointer: string, endsInMs = 0): void {
    if (recent.size >= KNOWN_POLLS) {
      older = recent;
      recent = new Map();
    }
    const nowMs = clock.now();
    const pendingUntilMs = nowMs + Math.min(endsInMs, KNOWN_PENDING_MS);
    recent.set(pollId, { pointer, pendingUntilMs, endsAtMs: nowMs + endsInMs });
  }

  return {
    get,
    add,
    delete(pollId) {
      recent.delete(pollId);
      older.delete(pollId);
    },
    endsInMs(pollId) {
      const known = get(pollId);
      const nowMs = clock.now();
      return known && nowMs < known.pendingUntilMs ? known.endsAtMs - nowMs : undefined;
    },
    found(pollId, when, endsInMs) {
      const known = get(pollId);
      if (known !== undefined && known === when) add(pollId, known.pointer, endsInMs);
    },
    heard(pollId) {
      const known = get(pollId);
      if (known !== undefined) add(pollId, known.pointer);
    },
    clear() {
      recent.clear();
      older.clear();
    },
  };
}

const HEARTBEAT = 'heartbeat';

/** So many in a row and the operator is told. */
const HEARTBEATS_TO_LOSS = 3;

export interface WakeUpOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly clock: Clock;
  /** Probed with every heartbeat. */
  readonly storeClock: StoreClock;
  readonly waiters: Waiters;
  readonly openClaims: OpenClaims;
  readonly knownPolls: KnownPolls;
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
 * up and yet deaf. After a gap everybody is notified, to claim for themselves.
 */
export async function listenForWakeUps(options: WakeUpOptions): Promise<() => void> {
  const { client, commands, clock, storeClock, waiters, openClaims, knownPolls } = options;
  const { line, channel } = options;
  let missed = 0;
  let stopped = false;
  let cancel: () => void = () => {};

  function onMessage(message: string): void {
    if (message.startsWith(OPENED)) {
      waiters.notify(message.slice(OPENED.length), 'opened');
      return;
    }
    if (message !== HEARTBEAT) {
      if (openClaims.receive(message)) return;
      knownPolls.heard(message);
      waiters.notify(message, 'completed');
      return;
    }
    if (missed >= HEARTBEATS_TO_LOSS) options.onBack();
    if (missed > 1 || line.wasCut) {
      knownPolls.clear();
      waiters.notifyAll();
    }
    missed = 0;
    line.wasCut = false;
  }

  async function beat(): Promise<void> {
    missed += 1;
    if (missed === HEARTBEATS_TO_LOSS) options.onLost();
    await Promise.all([commands.within(client.publish(channel, HEARTBEAT)), storeClock.probe()]);
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
  // Nobody waits yet.
  line.wasCut = false;
  await beat();
  beatLater();
  return () => {
    stopped = true;
    cancel();
  };
}
