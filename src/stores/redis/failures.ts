/**
 * Failures of Redis, in words for the operator: why a connection could not be made, and
 * why a server refuses commands. The words are chosen here, by codes: the message of an
 * error may hold a user's name, a host or data of others.
 */
import {
  ClientOfflineError,
  ConnectionTimeoutError,
  ErrorReply,
  SocketClosedUnexpectedlyError,
} from '@redis/client';
import { StoreUnavailable } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import type { Script } from './scripts.ts';
import type { RedisTarget } from './url.ts';

export interface ConnectFailure {
  /** Completes a sentence that begins with REDIS_URL. */
  readonly problem: string;
  /** Retrying does not help. */
  readonly isFinal: boolean;
}

/** A failure of the primary that the Sentinels name, not of a Sentinel. */
export class PrimaryFailure extends Error {
  constructor(cause: unknown) {
    super('the primary failed', { cause });
  }
}

/** Undefined for an error without a cause of its own, such as one that only wraps others. */
export function describeConnectFailure(
  error: unknown,
  target: RedisTarget,
): ConnectFailure | undefined {
  if (error instanceof ErrorReply) return describeReply(error.message, target);
  const problem = findProblem(error, target);
  if (problem !== undefined) return { problem, isFinal: false };
  if (!(error instanceof Error) || error.cause === undefined) return undefined;
  const failure = describeConnectFailure(error.cause, target);
  return failure !== undefined && error instanceof PrimaryFailure
    ? { ...failure, problem: `the primary that the Sentinels name: ${failure.problem}` }
    : failure;
}

/** Also for a server that accepts the connection and sends nothing. */
export function noAnswer({ tls }: RedisTarget): ConnectFailure {
  const hint = tls ? '; does it speak TLS?' : '';
  return { problem: `the server does not answer${hint}`, isFinal: false };
}

function findProblem(error: unknown, target: RedisTarget): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ConnectionTimeoutError) return noAnswer(target).problem;
  if (error instanceof StoreUnavailable && error.cause === undefined) {
    return noAnswer(target).problem;
  }
  if (error instanceof SocketClosedUnexpectedlyError) return closed(target);
  if (error.message.startsWith('Unknown RESP type')) return 'the server there is not Redis';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CLOSED.has(code)) return closed(target);
  if (UNKNOWN_HOST.has(code)) return `the host name is unknown (${code})`;
  if (code === 'ETIMEDOUT') return noAnswer(target).problem;
  if (code === 'ECONNREFUSED') return `nothing listens there (${code})`;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return `the server does not speak TLS (${code})`;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return `the certificate is not trusted (${code})`;
  return code === '' ? undefined : `no connection (${code})`;
}

const CLOSED = new Set(['ECONNRESET', 'EPIPE']);
const UNKNOWN_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ENODATA', 'ESERVFAIL']);

function closed({ tls }: RedisTarget): string {
  return `the server closes the connection${tls ? '' : '; one that speaks TLS requires rediss://'}`;
}

/** By the first word of the server's error. */
function describeReply(reply: string, target: RedisTarget): ConnectFailure {
  const isWrongLogin = /^(WRONGPASS|NOAUTH|ERR invalid password)/.test(reply);
  return { problem: findReplyProblem(reply, target), isFinal: isWrongLogin };
}

function findReplyProblem(reply: string, { type, password }: RedisTarget): string {
  const [code = ''] = /^[A-Z]+/.exec(reply) ?? [];
  if (/^(WRONGPASS|ERR invalid password)/.test(reply)) return 'the user or the password is wrong';
  if (code === 'NOAUTH') {
    return type === 'sentinel' && password !== undefined
      ? 'the Sentinels require a password, and the relay sends it only to the primary'
      : 'the server requires a password';
  }
  if (code === 'NOPERM') return 'the user lacks a right of those that docs/scaling.md lists';
  if (/cluster support disabled/.test(reply)) return 'the server is not a Cluster: name one host';
  if (/unknown command .?SENTINEL/i.test(reply)) return 'the server is not a Sentinel';
  if (/^ERR No such master/i.test(reply)) return 'the Sentinels know no primary of that name';
  if (/^ERR DB index/i.test(reply)) return 'the server has no database of that number';
  return `the server refuses (${code || 'an error'})`;
}

/** Settings of the server with which it may lose sessions, or write them to disk. docs/scaling.md "Set-up". */
export function describeUnfit({ info, save }: { info: string; save: string }): string[] {
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const problems: string[] = [];
  const policy = field('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    problems.push(
      `maxmemory-policy is ${policy}: sign-ins in progress may be lost; set noeviction`,
    );
  }
  if (field('aof_enabled') === '1' || save !== '') {
    problems.push(
      'persistence is on: sealed sessions are written to disk; set save "" and appendonly no',
    );
  }
  return problems;
}

/*
 * Each kind of refusal is reported to the operator when it begins and when it ends.
 * Heartbeats do not find it: they work on a full server, on a replica, and without the
 * rights to run scripts.
 */

export type RefusalEvent =
  /** `reason` is the first word of the server's error. */
  | { readonly type: 'store_refuses'; readonly reason: string; readonly remedy: string }
  | { readonly type: 'store_accepts'; readonly reason: string };

export interface Refusals {
  refused(script: Script, reason: string): void;
  accepted(script: Script): void;
}

/** A refusal that has not ended, by its reason. */
interface Refusing {
  /** The scripts that were refused: others may work all the time. */
  readonly scripts: Set<Script>;
  lastMs: number;
}

/**
 * How long no command of a kind must have been refused before an accepted one means
 * that the store accepts them again: in a Cluster one node may refuse what others accept.
 */
export const STORE_REFUSAL_QUIET_MS = 5_000;

export function createRefusals(clock: Clock, onEvent: (event: RefusalEvent) => void): Refusals {
  const byReason = new Map<string, Refusing>();
  return {
    refused(script, reason) {
      if (PASSING.has(reason)) return;
      const known = byReason.get(reason);
      if (known === undefined) {
        const remedy = REMEDIES.get(reason) ?? 'the log of Redis may say more';
        onEvent({ type: 'store_refuses', reason, remedy });
      }
      const scripts = known?.scripts ?? new Set();
      byReason.set(reason, { scripts: scripts.add(script), lastMs: clock.now() });
    },
    accepted(script) {
      if (byReason.size === 0) return;
      for (const [reason, { scripts, lastMs }] of byReason) {
        // In a Cluster one node may refuse what others accept.
        if (!scripts.has(script) || clock.now() - lastMs < STORE_REFUSAL_QUIET_MS) continue;
        byReason.delete(reason);
        onEvent({ type: 'store_accepts', reason });
      }
    },
  };
}

/** Refusals in normal operation: `LATE` is ours (commands.ts), the others come from a Cluster that moves slots. */
const PASSING: ReadonlySet<string> = new Set(['LATE', 'TRYAGAIN', 'MOVED', 'ASK']);

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['OOM', 'Redis is full, so starts get a 503: raise its maxmemory, or lower MAX_SESSIONS'],
  ['READONLY', 'this is a replica: REDIS_URL must name the primary, or its Sentinels'],
  ['NOREPLICAS', 'fewer replicas keep up than min-replicas-to-write requires: bring them back'],
  ['NOPERM', 'the user of REDIS_URL lacks a right: docs/scaling.md lists those that suffice'],
  ['NOAUTH', 'Redis requires a password: put it into REDIS_URL'],
  ['MASTERDOWN', 'this is a replica that has lost its primary: REDIS_URL must name a primary'],
  ['LOADING', 'Redis is reading its data from disk: wait'],
  ['CLUSTERDOWN', 'slots of the Cluster have no node: bring the missing one back'],
  ['MISCONF', 'Redis cannot write its snapshot to disk: set save "", since no snapshot is needed'],
  ['BUSY', 'a script of another program blocks Redis'],
]);

/** The server answered with an error. */
export function isAnswer(error: unknown): error is ErrorReply {
  return error instanceof ErrorReply;
}

/** The first word of a server's error. For a command within a script: of that command's error, if the server passes it on. */
export function reasonOf({ message }: ErrorReply): string {
  if (NO_RIGHT.test(message)) return 'NOPERM';
  const [, reason = 'ERR'] = REASON.exec(message) ?? [];
  return reason;
}

/** Redis 6 puts a text of its own before it. */
const REASON = /^(?:ERR Error running script.*? -)?([A-Z]+)\b/;
const NO_RIGHT = /^\w+ The user executing the script can't/;

/** The server refused, or was not asked. After any other failure it is unknown whether the command was carried out. */
export function isRefusal(error: unknown): boolean {
  return isAnswer(error) || error instanceof ClientOfflineError;
}
