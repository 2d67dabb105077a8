/**
 * Failures of Redis, in words for the operator: why a connection could not be made, why a
 * server refuses commands, and what to do about it. The words are chosen here, by codes:
 * the message of an error may hold a user's name, a host or data of others.
 */
import {
  ClientOfflineError,
  ConnectionTimeoutError,
  ErrorReply,
  SocketClosedUnexpectedlyError,
} from '@redis/client';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import type { Script } from './scripts.ts';
import type { RedisTarget } from './url.ts';

export interface ConnectFailure {
  /** Completes a sentence that begins with REDIS_URL. */
  readonly problem: string;
  /** Retrying does not help. */
  readonly isFinal: boolean;
  /** The first word of the server's error, if it replied. */
  readonly reason?: string;
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
  if (error instanceof ErrorReply) return describeReply(error, target.type === 'sentinel');
  const problem = findProblem(error, target);
  if (problem !== undefined) return { problem, isFinal: false };
  if (!(error instanceof Error) || error.cause === undefined) return undefined;
  if (!(error instanceof PrimaryFailure)) return describeConnectFailure(error.cause, target);
  const failure = describeConnectFailure(error.cause, { ...target, type: 'single' });
  return (
    failure && { ...failure, problem: `the primary that the Sentinels name: ${failure.problem}` }
  );
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

/** Completes the sentence. Retrying does not help against a wrong login. */
function describeReply(reply: ErrorReply, isSentinel: boolean): ConnectFailure {
  const reason = reasonOf(reply);
  const isFinal = reason === 'WRONGPASS' || reason === 'NOAUTH';
  return { problem: findReplyProblem(reply, reason, isSentinel), isFinal, reason };
}

function findReplyProblem(reply: ErrorReply, reason: string, isSentinel: boolean): string {
  const { message } = reply;
  if (reason === 'WRONGPASS') {
    return isSentinel
      ? 'the Sentinels refuse REDIS_SENTINEL_USERNAME or REDIS_SENTINEL_PASSWORD (WRONGPASS)'
      : 'the user or the password is wrong (WRONGPASS)';
  }
  if (reason === 'NOAUTH') {
    return isSentinel
      ? 'the Sentinels require a password: set REDIS_SENTINEL_PASSWORD (NOAUTH)'
      : 'the server requires a password (NOAUTH)';
  }
  if (reason === 'NOPERM') return `the user ${describeMissingRight(message)} (NOPERM)`;
  if (/cluster support disabled/.test(message)) return 'the server is not a Cluster: name one host';
  if (/unknown command .?SENTINEL/i.test(message)) return 'the server is not a Sentinel';
  if (/^ERR No such master/i.test(message)) return 'the Sentinels know no primary of that name';
  if (/^ERR max number of clients/i.test(message)) {
    return 'the server has as many connections as it may: raise its maxclients (ERR)';
  }
  if (/^ERR DB index/i.test(message)) return 'the server has no database of that number';
  return `the server refuses (${reason})`;
}

/** A field of the reply to INFO. https://redis.io/docs/latest/commands/info/ */
export function infoField(info: string, name: string): string | undefined {
  const line = info.split(/\r?\n/).find((each) => each.startsWith(`${name}:`));
  return line?.slice(name.length + 1);
}

/** Settings of the server with which it may lose sessions, or write them to disk. docs/scaling.md "Set-up". */
export function describeUnfit({ info, save }: { info: string; save: string }): string[] {
  const problems: string[] = [];
  const policy = infoField(info, 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    problems.push(
      `maxmemory-policy is ${policy}: sign-ins in progress may be lost; set noeviction`,
    );
  }
  if (infoField(info, 'aof_enabled') === '1' || save !== '') {
    problems.push(
      'persistence is on: sealed sessions are written to disk; set save "" and appendonly no',
    );
  }
  return problems;
}

/** Refusals in normal operation: `LATE` is ours (commands.ts), the others come from a Cluster that moves slots. */
export const PASSING: ReadonlySet<string> = new Set(['LATE', 'TRYAGAIN', 'MOVED', 'ASK']);

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['OOM', 'Redis is full, so starts get a 503: raise its maxmemory, or lower MAX_SESSIONS'],
  ['READONLY', 'this is a replica: REDIS_URL must name the primary, or its Sentinels'],
  ['NOREPLICAS', 'fewer replicas keep up than min-replicas-to-write requires: bring them back'],
  ['NOAUTH', 'Redis requires a password: put it into REDIS_URL'],
  ['WRONGPASS', 'the user or password of REDIS_URL is wrong: correct it, and restart the relay'],
  ['MASTERDOWN', 'this is a replica that has lost its primary: REDIS_URL must name a primary'],
  ['LOADING', 'Redis is reading its data from disk: wait'],
  ['CLUSTERDOWN', 'slots of the Cluster have no node: bring the missing one back'],
  ['MISCONF', 'Redis cannot write its snapshot to disk: set save "", since no snapshot is needed'],
  ['BUSY', 'a script of another program blocks Redis'],
  [
    'NEWER',
    'a newer version of the relay started a sign-in: replace this one too (docs/upgrading.md)',
  ],
]);

/** What the operator should do about a refusal. `script`: the one that was refused. */
export function remedyFor(reply: ErrorReply, script: Script | undefined): string {
  const reason = reasonOf(reply);
  if (reason === 'NOPERM') {
    return `the user of REDIS_URL ${describeMissingRight(reply.message, script)}`;
  }
  return REMEDIES.get(reason) ?? 'the log of Redis may say more';
}

/** Passes on only the name of a command, nothing else of the error. */
function describeMissingRight(message: string, script?: Script): string {
  const [, named] = /'([a-z|-]+)' command/i.exec(message) ?? [];
  const command = named ?? commandAt(message, script);
  if (command !== undefined && !PLACE.test(message)) {
    return `lacks +${command.toLowerCase()}: docs/scaling.md lists the rights that suffice`;
  }
  const [place] = PLACE.exec(message) ?? [];
  if (place === undefined) return 'lacks a right: docs/scaling.md lists those that suffice';
  const granted = place === 'key' ? '~<REDIS_PREFIX>*' : '&<REDIS_PREFIX>wake:*';
  return `may not use ${place}s that begin with REDIS_PREFIX: correct that, or grant ${granted} (docs/scaling.md)`;
}

/** What the user may not use, in the words of Redis 6 to 8 and of Valkey. */
const PLACE =
  /(?<=\b(?:access a|access at least one of the|access one of the|publish to the) )(?:key|channel)/;

/** The command on the line of the script that the error names. */
function commandAt(message: string, script: Script | undefined): string | undefined {
  const [, line] = /@user_script:\s?(\d+)/.exec(message) ?? [];
  const text = script?.text.split('\n')[Number(line) - 1] ?? '';
  return /redis\.call\('(\w+)'/.exec(text)?.[1];
}

/** The server accepts nothing at all while it refuses like this. */
export function stopsEverything(reply: ErrorReply): boolean {
  const reason = reasonOf(reply);
  // A full server refuses new sessions only. Scripts work that do not use the command for which a right is missing.
  return reason !== 'OOM' && !(reason === 'NOPERM' && IN_SCRIPT.test(reply.message));
}

/** The reply that caused an error, if there was one. */
export function replyIn(error: unknown): ErrorReply | undefined {
  if (isAnswer(error)) return error;
  return error instanceof Error && error.cause !== undefined ? replyIn(error.cause) : undefined;
}

/** The server answered with an error. */
export function isAnswer(error: unknown): error is ErrorReply {
  return error instanceof ErrorReply;
}

/** The first word of a server's error. For a command within a script: of that command's error, if the server passes it on. */
export function reasonOf({ message }: ErrorReply): string {
  if (NO_RIGHT.test(message)) return 'NOPERM';
  if (message.startsWith('ERR invalid password')) return 'WRONGPASS';
  const [, reason = 'ERR'] = REASON.exec(message) ?? [];
  return reason;
}

/** Redis 6 puts a text of its own before it. */
const REASON = /^(?:ERR Error running script.*? -)?([A-Z]+)\b/;
const NO_RIGHT = /^\w+ The user executing the script can't/;
const IN_SCRIPT = /\bscript\b/;

/** The server refused, or was not asked. After any other failure it is unknown whether the command was carried out. */
export function isRefusal(error: unknown): boolean {
  return isAnswer(error) || error instanceof ClientOfflineError;
}
