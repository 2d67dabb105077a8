/**
 * Why a connection to Redis could not be made, in words for the operator. They
 * are chosen here, by codes: what an error says may hold a user's name, a host
 * or what somebody else sent.
 */
import { ConnectionTimeoutError, ErrorReply, SocketClosedUnexpectedlyError } from '@redis/client';
import { StoreUnavailable } from '../../relay/store.ts';
import type { RedisTarget } from './url.ts';

export interface ConnectFailure {
  /** As the rest of a sentence that begins with REDIS_URL. */
  readonly problem: string;
  /** Trying again does not help. */
  readonly isFinal: boolean;
}

/** Undefined for an error that says nothing, such as one that only sums up others. */
export function describeConnectFailure(
  error: unknown,
  target: RedisTarget,
): ConnectFailure | undefined {
  if (error instanceof ErrorReply) return describeReply(error.message, target);
  const problem = findProblem(error, target);
  if (problem !== undefined) return { problem, isFinal: false };
  if (!(error instanceof Error) || error.cause === undefined) return undefined;
  const failure = describeConnectFailure(error.cause, target);
  // The client puts this before what it hears from the primary, and nothing before what the Sentinels say.
  return failure !== undefined && error.message.startsWith('Master Client ')
    ? { ...failure, problem: `the primary that the Sentinels name: ${failure.problem}` }
    : failure;
}

/** Also of what was connected, and says nothing. */
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
  return `the server closes the connection${tls ? '' : '; one that speaks TLS wants rediss://'}`;
}

/** By the beginning of the server's own error. */
function describeReply(reply: string, target: RedisTarget): ConnectFailure {
  const isWrongLogin = /^(WRONGPASS|NOAUTH|ERR invalid password)/.test(reply);
  return { problem: findReplyProblem(reply, target), isFinal: isWrongLogin };
}

function findReplyProblem(reply: string, { type, password }: RedisTarget): string {
  const [code = ''] = /^[A-Z]+/.exec(reply) ?? [];
  if (/^(WRONGPASS|ERR invalid password)/.test(reply)) return 'the user or the password is wrong';
  if (code === 'NOAUTH') {
    return type === 'sentinel' && password !== undefined
      ? 'the Sentinels want a password, and the relay sends it to the primary alone'
      : 'the server wants a password';
  }
  if (code === 'NOPERM') return 'the user lacks a right of those that docs/scaling.md lists';
  if (/cluster support disabled/.test(reply)) return 'the server is no Cluster: name one host';
  if (/unknown command .?SENTINEL/i.test(reply)) return 'the server is no Sentinel';
  if (/^ERR No such master/i.test(reply)) return 'the Sentinels know no primary of that name';
  if (/^ERR DB index/i.test(reply)) return 'the server has no database of that number';
  return `the server refuses (${code || 'an error'})`;
}
