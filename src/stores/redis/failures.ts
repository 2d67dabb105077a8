/**
 * Failures of Redis, in words for the operator: what is wrong, and what to do about it. The words
 * are chosen here, by codes: the message of an error may hold a user's name, a host or data of others.
 */
import {
  ClientOfflineError,
  ConnectionTimeoutError,
  ErrorReply,
  SocketClosedUnexpectedlyError,
} from '@redis/client';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import type { RedisTarget } from './url.ts';

/** What an error reply means, by its first word. */
const REPLIES: Readonly<Record<string, string>> = {
  OOM: 'Redis is full, so starts get a 503: raise its maxmemory, or lower MAX_SESSIONS',
  READONLY: 'this is a replica: REDIS_URL must name the primary, or its Sentinels',
  MASTERDOWN: 'this is a replica that has lost its primary: REDIS_URL must name a primary',
  NOPERM:
    'the user of REDIS_URL lacks a right, which ACL LOG names, or may not use REDIS_PREFIX: docs/scaling.md lists what suffices',
  NOREPLICAS: 'fewer replicas keep up than min-replicas-to-write requires: bring them back',
  LOADING: 'Redis is reading its data from disk: wait',
  CROSSSLOT: 'this is a node of a Cluster: REDIS_URL must name several nodes, or one twice',
  CLUSTERDOWN: 'slots of the Cluster have no node: bring the missing one back',
  MISCONF: 'Redis cannot write its snapshot to disk: set save "", since no snapshot is needed',
  BUSY: 'a script of another program blocks Redis',
  NEWER: 'a newer version of the relay started a sign-in: replace this one too (docs/upgrading.md)',
};

/** Retrying does not help against these. */
const LOGIN_REPLIES: Readonly<Record<string, string>> = {
  WRONGPASS: 'the user or the password is wrong',
  NOAUTH: 'the server requires a password',
};

const SENTINEL_LOGIN_REPLIES: Readonly<Record<string, string>> = {
  WRONGPASS: 'the Sentinels refuse REDIS_SENTINEL_USERNAME or REDIS_SENTINEL_PASSWORD',
  NOAUTH: 'the Sentinels require a password: set REDIS_SENTINEL_PASSWORD',
};

/** Replies that begin with ERR, at the connect. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/cluster support disabled/, 'the server is not a Cluster: name one host'],
  [/unknown command .?SENTINEL/i, 'the server is not a Sentinel'],
  [/accepted by Sentinel/, 'the server is a Sentinel: REDIS_URL must begin with redis+sentinel://'],
  [/No such master/, 'the Sentinels know no primary of that name'],
  [/max number of clients/, 'the server has as many connections as it may: raise its maxclients'],
  [/DB index/, 'the server has no database of that number'],
];

/** Also within a script. The server's own log does not say it. */
const UNKNOWN_COMMAND = /unknown (?:redis )?command/i;

/** Errors of a socket, by their code. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN|ENODATA|ESERVFAIL)$/, 'the host name is unknown'],
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^ERR_SSL_WRONG_VERSION_NUMBER$/, 'the server does not speak TLS'],
  [
    /CERTIFICATE_REQUIRED$/,
    'the server requires a client certificate: set its tls-auth-clients no',
  ],
  [/CERT|SIGNATURE|ISSUER/, 'the certificate is not trusted'],
  [/./, 'no connection'],
];

/** LATE is ours (commands.ts). The others are normal while a Cluster moves slots. */
export const TRANSIENT: ReadonlySet<string> = new Set(['LATE', 'TRYAGAIN', 'MOVED', 'ASK']);

export interface ConnectFailure {
  /** Completes a sentence that begins with REDIS_URL. */
  readonly problem: string;
  /** True if retrying does not help, because the login is wrong. */
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

/** Undefined for an error without information, such as one that only wraps others. */
export function describeConnectFailure(
  error: unknown,
  target: RedisTarget,
): ConnectFailure | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ErrorReply) return describeReply(error, target.type === 'sentinel');
  const problem = describeSocket(error, target);
  if (problem !== undefined) return { problem, isFinal: false };
  if (!(error instanceof PrimaryFailure)) return describeConnectFailure(error.cause, target);
  const failure = describeConnectFailure(error.cause, { ...target, type: 'single' });
  return (
    failure && { ...failure, problem: `the primary that the Sentinels name: ${failure.problem}` }
  );
}

/** A server that accepts the connection and sends nothing. */
export function noAnswer({ tls }: RedisTarget): ConnectFailure {
  const hint = tls ? '; does it speak TLS?' : '';
  return { problem: `the server does not answer${hint}`, isFinal: false };
}

function describeReply(reply: ErrorReply, isSentinel: boolean): ConnectFailure {
  const reason = reasonOf(reply);
  const known = MESSAGES.find(([pattern]) => pattern.test(reply.message));
  const login = (isSentinel ? SENTINEL_LOGIN_REPLIES : LOGIN_REPLIES)[reason];
  const problem = known?.[1] ?? `${login ?? remedyForReply(reply)} (${reason})`;
  return { problem, isFinal: login !== undefined, reason };
}

function describeSocket(error: Error, target: RedisTarget): string | undefined {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const isClosed =
    error instanceof SocketClosedUnexpectedlyError || /^(ECONNRESET|EPIPE)$/.test(code);
  if (isClosed) {
    const hint = target.tls ? '' : '; one that speaks TLS requires rediss://';
    return `the server closes the connection${hint}`;
  }
  const isSilent =
    error instanceof ConnectionTimeoutError ||
    (error instanceof StoreUnavailable && error.cause === undefined);
  if (isSilent || code === 'ETIMEDOUT') return noAnswer(target).problem;
  if (error.message.startsWith('Unknown RESP type')) return 'the server there is not Redis';
  const known = CODES.find(([pattern]) => pattern.test(code));
  return known && `${known[1]} (${code})`;
}

/** What the operator should do about an error reply. */
export function remedyForReply(reply: ErrorReply): string {
  const reason = reasonOf(reply);
  const login = LOGIN_REPLIES[reason];
  if (login !== undefined) return `${login}: correct REDIS_URL, and restart the relay`;
  if (UNKNOWN_COMMAND.test(reply.message)) {
    return 'the server lacks a command that docs/scaling.md lists: undo its rename-command';
  }
  return REPLIES[reason] ?? 'the log of Redis may say more';
}

/** The error of a script whose user lacks a right, on Redis 6 and 7, and on Redis 8 and Valkey. */
const MISSING_IN_SCRIPT = /The user executing the script can't|^ERR ACL failure in script/;

/** The first word of an error reply; within a script, that of the failed command's error if the server passes it on. */
export function reasonOf({ message }: ErrorReply): string {
  if (MISSING_IN_SCRIPT.test(message)) return 'NOPERM';
  if (message.startsWith('ERR invalid password')) return 'WRONGPASS';
  // Redis 6 adds a prefix.
  const [, reason = 'ERR'] = /^(?:ERR Error running script.*? -)?([A-Z]+)\b/.exec(message) ?? [];
  return reason;
}

/** True if the server accepts nothing. A full server refuses only starts, and a missing right stops only one script. */
export function stopsEverything(reply: ErrorReply): boolean {
  const reason = reasonOf(reply);
  return reason !== 'OOM' && !(reason === 'NOPERM' && /\bscript\b/.test(reply.message));
}

/** The reply that caused an error, if there was one. */
export function replyIn(error: unknown): ErrorReply | undefined {
  if (error instanceof ErrorReply) return error;
  return error instanceof Error ? replyIn(error.cause) : undefined;
}

/** True if the command was not executed: the server refused it, or it was not sent. After any other failure that is unknown. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ErrorReply || error instanceof ClientOfflineError;
