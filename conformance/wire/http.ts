/** One HTTP request to the target over a connection of its own, with nothing followed, decoded or repeated. */

import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { Mismatch } from '../engine/expect.ts';
import type { Source } from './sources.ts';

export interface Call {
  readonly method?: string;
  /** Path and query exactly as they go on the wire, below the base URL. */
  readonly path: string;
  /** The path is that of the whole address: well-known ones come before the base URL's own path. */
  readonly isWhole?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly from?: Source;
  readonly timeoutMs?: number;
  /** Aborting closes the connection. */
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of what is no text. */
  readonly bytes: Buffer;
  /** From sending to the last byte. */
  readonly seconds: number;
}

/** Longer than the 15 s a relay may wait for its provider. */
const DEFAULT_TIMEOUT_MS = 25_000;

export function send(baseUrl: string, call: Call): Promise<Answer> {
  const url = new URL(baseUrl);
  const startedAt = performance.now();
  const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const answer = new Promise<Answer>((resolve, reject) => {
    const fail = (why: string) =>
      reject(new Mismatch(`${call.method ?? 'GET'} ${call.path}`, 'an HTTP answer', why));
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      requestOptions(url, call),
    );
    const timer = setTimeout(() => {
      fail(`none within ${timeoutMs / 1000} s`);
      request.destroy();
    }, timeoutMs);
    request.on('error', (error) => fail(`a broken connection: ${error.message}`));
    request.on('close', () => clearTimeout(timer));
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => fail(`a broken answer: ${error.message}`));
      // After the end of an answer this says nothing more.
      response.on('close', () => fail('an answer cut short'));
      response.on('end', () => {
        clearTimeout(timer);
        const seconds = (performance.now() - startedAt) / 1000;
        resolve(answerOf(response, Buffer.concat(chunks), seconds));
      });
    });
    call.signal?.addEventListener('abort', () => request.destroy(), { once: true });
    request.end(call.body);
  });
  // A case that has failed for another reason does not look at what else it sent.
  answer.catch(() => undefined);
  return answer;
}

function answerOf(response: IncomingMessage, body: Buffer, seconds: number): Answer {
  const { statusCode, headers } = response;
  return { status: statusCode ?? 0, headers, body: body.toString('utf8'), bytes: body, seconds };
}

function requestOptions(url: URL, call: Call): RequestOptions {
  const { localAddress, forwardedFor } = call.from ?? {};
  return {
    method: call.method ?? 'GET',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || (url.protocol === 'https:' ? 443 : 80),
    path: call.isWhole ? call.path : url.pathname.replace(/\/+$/, '') + call.path,
    // No connection is shared, so a source address holds and a closed one hurts nobody else.
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

/** The length is said here: Bun's client leaves it out with DELETE, and the body would be the next request. */
function headersOfBody(body: string): Record<string, string> {
  return { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
}
