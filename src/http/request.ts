/** A request as endpoints read it: path, query, headers, body. Also the relay's URLs for users. */
import { isIP } from 'node:net';
import { readAtMost } from '../body.ts';
import { createRequestId } from '../log.ts';
import { OPEN_SERVICE } from '../providers/open.ts';
import { formatUserCode } from '../sign-ins/secrets.ts';
import { type Clock, setDeadline } from '../sign-ins/time.ts';

/**
 * How many parameters of a query or a form are read. Some providers send a dozen.
 * 16 KiB have room for 8,000, which would take a millisecond to parse.
 */
const MAX_PARAMETERS = 64;

/** How much of a form is read: enough for a code with blanks, or a choice. */
export const MAX_FORM_BYTES = 512;

/** How long a request body may take to arrive. A device sends some 30 bytes. */
export const REQUEST_BODY_DEADLINE_MS = 10_000;

/** Bun's server implements it. */
export interface Addresses {
  /** The address of the socket's peer. Null if the runtime does not know it. */
  requestIP(request: Request): { readonly address: string } | null;
}

export class RelayRequest {
  readonly method: string;
  #raw: Request | undefined;
  #id: string | undefined;

  constructor(
    raw: Request,
    private readonly url: string,
    /** The path as sent, but without the base path. */
    readonly path: string,
    /** The parameter of the route, as sent: `%6dal` is not `mal`. */
    readonly parameter: string,
    readonly addresses: Addresses,
  ) {
    this.method = raw.method;
    this.#raw = raw;
  }

  /** The request of the runtime: headers and body. */
  get raw(): Request {
    if (this.#raw === undefined) throw new Error('the request was released');
    return this.#raw;
  }

  /**
   * Releases headers and body, and returns the signal that fires when the client disconnects.
   * Each of thousands of parked polls would otherwise keep a kilobyte that nobody reads.
   */
  release(): AbortSignal {
    const { signal } = this.raw;
    this.#raw = undefined;
    return signal;
  }

  /** Identifies the request in the log. */
  get id(): string {
    this.#id ??= createRequestId();
    return this.#id;
  }

  header(name: string): string | undefined {
    return this.raw.headers.get(name) ?? undefined;
  }

  /** The first parameter of that name, decoded. */
  query(name: string): string | undefined {
    return findParameter(this.url, name);
  }

  /** The `state` of a link, without punctuation that was copied with it out of a sentence. */
  stateOfLink(): string {
    return (this.query('state') ?? '').replace(/[.,)]{1,3}$/, '');
  }

  /** All parameters of the query, decoded. Undefined if the query is longer than `maxCharacters`. */
  parameters(maxCharacters: number): URLSearchParams | undefined {
    const [, query = ''] = /\?([^#]*)/.exec(this.url) ?? [];
    return query.length <= maxCharacters ? parseParameters(query) : undefined;
  }
}

/**
 * Reads as URLSearchParams does, except for an escaped name, which no client sends,
 * and among the first MAX_PARAMETERS. Does not parse other parameters.
 */
function findParameter(url: string, name: string): string | undefined {
  let start = url.indexOf('?') + 1;
  if (start === 0) return undefined;
  // A client should not send a fragment.
  const fragment = url.indexOf('#', start);
  const end = fragment === -1 ? url.length : fragment;
  for (let count = 0; count < MAX_PARAMETERS && start <= end; count += 1) {
    const next = url.indexOf('&', start);
    const stop = next === -1 || next > end ? end : next;
    const nameEnd = start + name.length;
    if (url.startsWith(name, start) && (nameEnd === stop || url[nameEnd] === '=')) {
      return decodeParameter(url.slice(nameEnd + 1, stop));
    }
    start = stop + 1;
  }
  return undefined;
}

function decodeParameter(value: string): string {
  if (!value.includes('%') && !value.includes('+')) return value;
  return new URLSearchParams(`=${value}`).get('') ?? '';
}

/** Ignores what comes after the first MAX_PARAMETERS. */
export function parseParameters(text: string): URLSearchParams {
  // A parameter takes at least two characters.
  if (text.length < 2 * MAX_PARAMETERS) return new URLSearchParams(text);
  return new URLSearchParams(text.split('&', MAX_PARAMETERS).join('&'));
}

/** Path of the base URL; empty without one. */
export function basePathOf(baseUrl: string): string {
  const { pathname } = new URL(baseUrl);
  return pathname === '/' ? '' : pathname;
}

/** The link that a device shows. Both parts need no escaping. */
export function linkOf(baseUrl: string, service: string, browserState: string): string {
  const path = service === OPEN_SERVICE ? '/open' : `/auth/${service}`;
  return `${baseUrl}${path}?state=${browserState}`;
}

/** The short link, which contains the user code. */
export function shortLinkOf(baseUrl: string, userCode: string): string {
  return `${baseUrl}/L/${formatUserCode(userCode)}`;
}

/** The URL has no host in HTTP/1.0, which some health checks send. */
const PATH = /^(?:[^/]*:\/\/[^/]*)?(\/[^?#]*)?/;

/** The path as sent: not decoded, so that `%73tart` is not `start`. Empty if there is none. */
export function readPath(url: string): string {
  return PATH.exec(url)?.[1] ?? '';
}

/**
 * True for an IP address and for a name without a dot, which nobody can register. A website can
 * point its own name at this machine, and then read the responses (DNS rebinding).
 */
export const cannotBeRegistered = (hostname: string): boolean =>
  !hostname.includes('.') || isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;

/**
 * True if a page of this origin sends the request. Browsers set these headers, and no page can
 * change them. A browser that is too old to send either is accepted (docs/user-pages.md "Whom the
 * confirmation page protects"). https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
export function isSameOrigin(headers: Headers, origin: string): boolean {
  const site = headers.get('sec-fetch-site');
  return site === null ? (headers.get('origin') ?? origin) === origin : site === 'same-origin';
}

/** True if a browser loads the URL before its user opens it. https://wicg.github.io/nav-speculation/prefetch.html */
export function isPrefetch(request: RelayRequest): boolean {
  return ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /^(?:prefetch|prerender|preview)\b/.test(request.header(name) ?? ''),
  );
}

/**
 * True if no user navigates to the URL: a page of any site loads it as a picture, a frame or by `fetch`,
 * or a browser prefetches it. Only browsers send this header. https://www.w3.org/TR/fetch-metadata/#sec-fetch-dest-header
 */
export const isBackgroundRequest = (request: RelayRequest) =>
  (request.header('sec-fetch-dest') ?? 'document') !== 'document' || isPrefetch(request);

/**
 * Reads a body up to a limit, and for REQUEST_BODY_DEADLINE_MS at most. At the deadline a body of
 * unknown length ends, and one that is shorter than its Content-Length counts as empty. If the
 * client disconnects, it is empty and truncated.
 */
export async function readBody(request: Request, limitBytes: number, clock: Clock) {
  let cancelDeadline = () => {};
  const isDue = new Promise<void>((resolve) => {
    cancelDeadline = setDeadline(clock, REQUEST_BODY_DEADLINE_MS, resolve);
  });
  try {
    const length = request.headers.get('content-length');
    // A body whose Content-Length is within the limit is read as a whole: a stream costs ten times as much.
    if (length !== null && Number(length) <= limitBytes) {
      const text = await Promise.race([request.text(), isDue]);
      return { text: text ?? '', isTruncated: false };
    }
    if (request.body === null) return { text: '', isTruncated: false };
    const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
    isDue.then(() => reader.cancel()).catch(() => {});
    return await readAtMost(reader, limitBytes);
  } catch {
    return { text: '', isTruncated: true };
  } finally {
    cancelDeadline();
  }
}

/** The members of a JSON object. Empty for any other JSON, undefined for text that is not JSON. */
export function parseMembers(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return undefined;
  }
}

/** A member that is empty or of a wrong type counts as absent. */
export function textOf(member: unknown): string | undefined {
  return typeof member === 'string' && member !== '' ? member : undefined;
}
