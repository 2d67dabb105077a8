/**
 * The mock provider: `/<service>/authorize` and `/<service>/token` for both
 * services, and `/<service>/revoke` for service B. Each code has its own reply and its own record of requests, so
 * cases that run at the same time do not see each other.
 */

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { sleep } from './async.ts';
import type { Options } from './options.ts';
import type { Secrets } from './secrets.ts';

/** What the token endpoint answers. `trapUrl` is a URL that no relay may request. */
export type Reply = (response: ServerResponse, trapUrl: string, tokenUrl: string) => void;

export function json(value: unknown, status = 200): Reply {
  return text(JSON.stringify(value), status);
}

export function text(body: string, status = 200, type = 'application/json'): Reply {
  return (response) => {
    response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
    response.end(body);
  };
}

/** Accepts the request and never answers. */
export const silence: Reply = () => {};

/** Closes the connection without an answer. */
export const hangUp: Reply = (response) => {
  response.socket?.destroy();
};

/**
 * How often a request that meets `hangUp` may be sent. A relay that keeps
 * connections alive cannot tell it from a connection that was closed before.
 */
export const HANG_UP_REQUESTS = 2;

/** Announces more than it sends, then closes. */
export function cutShort(body: string): Reply {
  return (response) => {
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body) + 100),
    });
    response.write(body, () => response.socket?.destroy());
  };
}

/** Headers at once, then a space every half second until the relay closes the connection. */
export const drip: Reply = (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 500);
  response.on('close', () => clearInterval(timer));
};

export function after(ms: number, reply: Reply): Reply {
  return (response, trapUrl, tokenUrl) => {
    void sleep(ms).then(() => reply(response, trapUrl, tokenUrl));
  };
}

/** Redirects to a URL that would answer with tokens: the trap, or the token endpoint once more. */
export function redirect(status: number, to: 'trap' | 'token'): Reply {
  return (response, trapUrl, tokenUrl) => {
    response.writeHead(status, { Location: to === 'trap' ? trapUrl : tokenUrl });
    response.end();
  };
}

/** What the device gets of a token response. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresIn: number;
}

/** A token response with more members than the relay passes on to the device. */
export function tokenResponse({ accessToken, refreshToken, expiresIn }: Tokens) {
  return {
    token_type: 'Bearer',
    expires_in: expiresIn,
    access_token: accessToken,
    refresh_token: refreshToken,
    scope: 'everything',
  };
}

export interface TokenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Name and value of every form field, as sent and in order. */
  readonly form: readonly (readonly [string, string])[];
}

interface Issued {
  readonly reply: Reply;
  readonly requests: TokenRequest[];
}

/** The form fields that hold what was issued. */
const ISSUED_FIELDS = ['code', 'refresh_token', 'token'];

/** Larger than any form that a relay sends. */
const BODY_BYTES = 65_536;

export type MockProvider = ReturnType<typeof createMockProvider>;

export function createMockProvider(options: Options, secrets: Secrets) {
  const { host, port } = options.providerListen;
  const issued = new Map<string, Issued>();
  const server = createServer((request, response) => {
    // The relay may close the connection early. What it did until then is on record.
    answer(request, response, issued, options.providerUrl).catch(() => response.destroy());
  });
  const secret = (kind: string, suffix = '') => {
    const value = `conformance-${kind}-${randomBytes(18).toString('hex')}${suffix}`;
    secrets.note(value);
    return value;
  };
  const makeTokens = (): Tokens => ({
    accessToken: secret('access'),
    refreshToken: secret('refresh'),
    expiresIn: 2_678_400,
  });
  /** A new authorization code or token; the token or revocation endpoint answers it with this reply. */
  const issue = (reply: Reply, suffix?: string) => {
    const code = secret('code', suffix);
    issued.set(code, { reply, requests: [] });
    return code;
  };
  /** All that a device gets of a token response with the device grant (RFC 6749 §5.1). */
  const makeOAuthTokens = () => ({
    access_token: secret('access'),
    refresh_token: secret('refresh'),
    id_token: secret('id-token'),
    token_type: 'bearer',
    scope: 'read write',
    expires_in: 3_599,
  });
  return {
    makeTokens,
    makeOAuthTokens,
    issue,
    /** A further request with this token gets tokens, however often the relay has sent those before. */
    recover(token: string): void {
      issued.set(token, { reply: json(makeOAuthTokens()), requests: [] });
    },
    /** A new code that is exchanged for new tokens. */
    issueCode() {
      const tokens = makeTokens();
      return { code: issue(json(tokenResponse(tokens))), tokens };
    },
    /** Every request with this code, and every one that followed a redirect given for it. */
    requests: (code: string): readonly TokenRequest[] => issued.get(code)?.requests ?? [],
    listen: () =>
      new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => resolve());
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  issued: ReadonlyMap<string, Issued>,
  providerUrl: string,
): Promise<void> {
  const url = new URL(request.url ?? '/', providerUrl);
  if (url.pathname.endsWith('/authorize')) return signIn(url, response);
  const form = [...new URLSearchParams(await readBody(request))];
  const field = form.find(([name]) => ISSUED_FIELDS.includes(name));
  const code = url.searchParams.get('trapped') ?? field?.[1] ?? '';
  const known = issued.get(code);
  if (!known) return json({ error: 'invalid_grant' }, 400)(response, '', '');
  known.requests.push({
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    form,
  });
  const trapUrl = `${providerUrl}/trap?${new URLSearchParams({ trapped: code })}`;
  // A relay that follows a redirect or repeats a request gets tokens, so that the mistake shows.
  const allowed = known.reply === hangUp ? HANG_UP_REQUESTS : 1;
  const isTooMany = known.requests.length > allowed;
  if (isTooMany) return json({ access_token: 'trapped' })(response, '', '');
  known.reply(response, trapUrl, `${providerUrl}${url.pathname}`);
}

/** The user agrees at once: the browser is redirected back with the code that the suite chose. */
function signIn(url: URL, response: ServerResponse): void {
  const back = new URL(url.searchParams.get('redirect_uri') ?? 'about:blank');
  back.searchParams.set('code', url.searchParams.get('chosen_code') ?? '');
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
