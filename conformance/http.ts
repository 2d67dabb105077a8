/**
 * One HTTP request to the relay, on a connection of its own and from a client
 * address of its own. Nothing is followed, decoded or repeated.
 */

import { randomInt } from 'node:crypto';
import { type IncomingHttpHeaders, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { createSemaphore } from './async.ts';

export interface Call {
  readonly method?: string;
  /** Path and query exactly as they are sent, below the base URL. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly from?: ClientAddress;
  readonly timeoutMs?: number;
  /** Aborting closes the connection. */
  readonly signal?: AbortSignal;
}

/** The relay did not answer, or not to the end. */
export class NoAnswer extends Error {}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body, for pictures. */
  readonly bytes: Buffer;
  /** From sending to the last byte. */
  readonly seconds: number;
  /** `performance.now()` when it was sent. */
  readonly startedAt: number;
}

/**
 * Limits TLS handshakes at once. Bun does at most five in each iteration of its event loop, the newest
 * first (packages/bun-usockets/src/loop.c, the queue of low priority). So while new requests kept
 * coming, the first waited for 4 s, and for 12 s on a busy machine, through no fault of the relay.
 */
const acquire = createSemaphore(5);

/** Longer than the 15 s for which a relay may wait for its provider. */
const DEFAULT_TIMEOUT_MS = 25_000;

export async function send(baseUrl: string, call: Call): Promise<Answer> {
  const url = new URL(baseUrl);
  const isTls = url.protocol === 'https:';
  const release = isTls ? await acquire() : undefined;
  const startedAt = performance.now();
  const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  return new Promise<Answer>((resolve, reject) => {
    const fail = (why: string) =>
      reject(
        new NoAnswer(`${call.method ?? 'GET'} ${call.path}: expected an HTTP answer, got ${why}`),
      );
    const request = (isTls ? requestHttps : requestHttp)(requestOptions(url, call));
    const timer = setTimeout(() => {
      fail(`none within ${timeoutMs / 1000} s`);
      request.destroy();
    }, timeoutMs);
    if (release) request.on('socket', (socket) => socket.once('secureConnect', release));
    request.on('error', (error) => fail(`a broken connection: ${error.message}`));
    request.on('close', () => {
      clearTimeout(timer);
      release?.();
    });
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => fail(`a broken answer: ${error.message}`));
      // Has no effect once the answer is complete.
      response.on('close', () => fail('an answer cut short'));
      response.on('end', () => {
        clearTimeout(timer);
        const { statusCode: status = 0, headers } = response;
        const bytes = Buffer.concat(chunks);
        const seconds = (performance.now() - startedAt) / 1000;
        resolve({ status, headers, body: bytes.toString('utf8'), bytes, seconds, startedAt });
      });
    });
    const abort = () => request.destroy();
    if (call.signal?.aborted) abort();
    else call.signal?.addEventListener('abort', abort, { once: true });
    request.end(call.body);
  });
}

function requestOptions(url: URL, call: Call): RequestOptions {
  const { localAddress, forwardedFor } = call.from ?? {};
  return {
    method: call.method ?? 'GET',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || (url.protocol === 'https:' ? 443 : 80),
    path: url.pathname.replace(/\/$/, '') + call.path,
    // A connection of its own: its source address holds, and closing it harms no other request.
    agent: false,
    headers: {
      ...(call.body !== undefined && headersOfBody(call.body)),
      ...(forwardedFor !== undefined && { 'X-Forwarded-For': forwardedFor }),
      ...call.headers,
    },
    // An IPv4 source cannot reach a `localhost` that resolves to ::1.
    ...(localAddress !== undefined && { localAddress, family: localAddress.includes(':') ? 6 : 4 }),
  };
}

/** Bun's client sends no length with DELETE, and the body would be read as the next request. */
function headersOfBody(body: string): Record<string, string> {
  return { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
}

export const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

export function formCall(path: string, form: Readonly<Record<string, string>>): Call {
  return { method: 'POST', path, body: new URLSearchParams(form).toString(), headers: FORM };
}

export interface ClientAddress {
  readonly localAddress?: string;
  readonly forwardedFor?: string;
}

/** A client address that has its whole burst of starts left, so that cases do not disturb each other. */
export type NextAddress = () => ClientAddress;

export function createClientAddresses(): NextAddress {
  // A random beginning, so that two runs in a row do not use the same addresses.
  let index = randomInt(0, 200 * 254 * 254);
  return () => {
    index += 1;
    const third = 1 + (Math.floor(index / 254) % 254);
    const second = 1 + (Math.floor(index / (254 * 254)) % 250);
    // No number is 0 or 255: `127.255.…` is for proxies.
    return { localAddress: `127.${second}.${third}.${1 + (index % 254)}` };
  };
}
