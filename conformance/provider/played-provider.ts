/**
 * The suite in the provider's part: `/<service>/authorize` and `/<service>/token`
 * for both services. Every authorization code carries its own planned reply and
 * its own record, so that cases running at the same time do not see each other.
 */

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Options } from '../command/options.ts';
import type { Secrets } from '../engine/secrets.ts';
import { HANG_UPS, hangUp, json, type Reply } from './replies.ts';
import { makeTokens, type TokenResult, tokenResponse } from './tokens.ts';

export interface TokenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Name and value of every form field, as sent and in order. */
  readonly form: readonly (readonly [string, string])[];
}

export interface PlayedProvider {
  listen(): Promise<void>;
  close(): void;
  /** A new authorization code, or as good a refresh token; its exchange is answered so. The suffix tests how codes are carried. */
  plan(reply: Reply, suffix?: string): string;
  /** A new code that is exchanged for new tokens, and what the device is to get. */
  grant(): Grant;
  /** Every request that carried this code, or followed a redirect given for it. */
  requests(code: string): readonly TokenRequest[];
}

export interface Grant {
  readonly code: string;
  readonly result: TokenResult;
}

interface Planned {
  readonly reply: Reply;
  readonly requests: TokenRequest[];
}

/** Larger than any form with a code in it. */
const BODY_BYTES = 65_536;

export function createPlayedProvider(options: Options, secrets: Secrets): PlayedProvider {
  const plans = new Map<string, Planned>();
  const { host, port } = options.providerListen;
  const server = createServer((request, response) => {
    // The target may hang up in the middle; what it did until then is on record.
    answer(request, response, plans, options.providerUrl).catch(() => response.destroy());
  });
  const plan = (reply: Reply, suffix = '') => {
    const code = `conformance-code-${randomBytes(12).toString('hex')}${suffix}`;
    secrets.note(code);
    plans.set(code, { reply, requests: [] });
    return code;
  };
  return {
    listen: () => listen(server, host, port),
    close() {
      server.close();
      server.closeAllConnections();
    },
    plan,
    grant() {
      const result = makeTokens();
      secrets.note(result.accessToken, result.refreshToken);
      return { code: plan(json(tokenResponse(result))), result };
    },
    requests: (code) => plans.get(code)?.requests ?? [],
  };
}

/** What carries a planned reply: a code, or a refresh token. */
const PLANNED = new Set(['code', 'refresh_token']);

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  plans: ReadonlyMap<string, Planned>,
  providerUrl: string,
): Promise<void> {
  const url = new URL(request.url ?? '/', providerUrl);
  if (url.pathname.endsWith('/authorize')) return consent(url, response);
  const form = [...new URLSearchParams(await readBody(request))];
  const code =
    url.searchParams.get('trapped') ?? form.find(([name]) => PLANNED.has(name))?.[1] ?? '';
  const planned = plans.get(code);
  if (!planned) return json({ error: 'invalid_grant' }, 400)(response, '', '');
  planned.requests.push({
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    form,
  });
  const trapUrl = `${providerUrl}/trap?${new URLSearchParams({ trapped: code })}`;
  // Whoever follows a redirect is given tokens: that makes the mistake show.
  const isOver = planned.requests.length > (planned.reply === hangUp ? HANG_UPS : 1);
  if (isOver) return json({ access_token: 'trapped' })(response, '', '');
  planned.reply(response, trapUrl, `${providerUrl}${url.pathname}`);
}

/** A person who says yes at once: what a browser brings back is `code` and `state`. */
function consent(url: URL, response: ServerResponse): void {
  const back = new URL(url.searchParams.get('redirect_uri') ?? 'about:blank');
  back.searchParams.set('code', url.searchParams.get('planned') ?? '');
  back.searchParams.set('state', url.searchParams.get('state') ?? '');
  response.writeHead(302, { Location: back.href });
  response.end();
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
