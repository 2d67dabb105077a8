/** The three kinds of Redis client behind what the store needs of them. Its parts alone know @redis/client. */
import { ClientOfflineError, ErrorReply } from '@redis/client';
import { connectCluster } from './client-cluster.ts';
import { connectSentinel } from './client-sentinel.ts';
import { connectSingle } from './client-single.ts';
import type { RedisTarget } from './url.ts';

export interface ScriptCall {
  readonly keys: string[];
  readonly arguments: string[];
}

export interface ScriptRunner {
  evalSha(sha1: string, call: ScriptCall): Promise<unknown>;
  eval(script: string, call: ScriptCall): Promise<unknown>;
}

export interface Claimer extends ScriptRunner {
  /** Whether a replica has what had been written when this claimer last asked for something. */
  isReplicated(): Promise<boolean>;
}

export interface RedisClient extends ScriptRunner {
  readonly isCluster: boolean;
  /** A replica takes over by itself, and what it does not know is undone. */
  readonly mayFailOver: boolean;
  get(key: string): Promise<string | null>;
  /** Runs scripts of which it matters whether a failover may forget them. */
  asClaimer<T>(run: (claimer: Claimer) => Promise<T>): Promise<T>;
  /** Returns how many heard it, where it was sent to. */
  publish(channel: string, message: string): Promise<number>;
  /** Called again, it begins anew on another connection: the old one may be deaf. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** The server's clock, in milliseconds; of a Cluster the one that is furthest ahead. */
  time(): Promise<number>;
  /** What one server says of itself: INFO, and its `save` where it may be asked. */
  describe(): Promise<{ info: string; save: string }>;
  close(): void;
}

/** A connection failed, with its error, or was given up; what it would have heard is lost. */
export type OnCut = (error?: unknown) => void;

/**
 * Connects; later losses are mended behind the scenes. May reject at the first
 * failure, or try on until it is told by `signal` to stop.
 */
export async function connectRedis(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  switch (target.type) {
    case 'single':
      return connectSingle(target, onCut, signal);
    case 'cluster':
      return connectCluster(target, onCut, signal);
    case 'sentinel':
      return connectSentinel(target, onCut, signal);
  }
}

/** The server said no. */
export function isAnswer(error: unknown): error is ErrorReply {
  return error instanceof ErrorReply;
}

/** The word that a server's error begins with; of a command within a script, as far as the server has it. */
export function reasonOf({ message }: ErrorReply): string {
  if (NO_RIGHT.test(message)) return 'NOPERM';
  const [, reason = 'ERR'] = REASON.exec(message) ?? [];
  return reason;
}

/** Redis 6 puts its own words before it. */
const REASON = /^(?:ERR Error running script.*? -)?([A-Z]+)\b/;
const NO_RIGHT = /^\w+ The user executing the script can't/;

/** The server said no, or was not asked. After any other failure it is unknown what became of the command. */
export function isRefusal(error: unknown): boolean {
  return isAnswer(error) || error instanceof ClientOfflineError;
}
