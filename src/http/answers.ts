/** The three forms of an answer: text, JSON, page. */
import { DATA_HEADERS, PAGE_HEADERS } from './security-headers.ts';

const TEXT_HEADERS = { ...DATA_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' };

// Those that are always the same are checked once: a Response copies them.
const JSON_HEADERS = new Headers({ ...DATA_HEADERS, 'Content-Type': 'application/json' });
const EMPTY_HEADERS = new Headers(DATA_HEADERS);
const PLAIN_PAGE_HEADERS = new Headers(PAGE_HEADERS);

/** `protocol.md` §4: the message followed by a newline. */
export function textAnswer(
  status: number,
  text: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(`${text}\n`, { status, headers: { ...TEXT_HEADERS, ...headers } });
}

export function jsonAnswer(body: object): Response {
  return new Response(JSON.stringify(body), { status: 200, headers: JSON_HEADERS });
}

/** The headers are those of a page that asks nothing, unless others are given. */
export function pageAnswer(
  status: number,
  page: string,
  headers?: Record<string, string>,
): Response {
  const all = headers === undefined ? PLAIN_PAGE_HEADERS : { ...PAGE_HEADERS, ...headers };
  return new Response(page, { status, headers: all });
}

export function emptyAnswer(): Response {
  return new Response(null, { status: 204, headers: EMPTY_HEADERS });
}

/** A redirect that a browser follows with GET; after a POST it is 303. RFC 9700 §4.12. */
export function redirectAnswer(location: string, status: 302 | 303 = 302): Response {
  return new Response(null, { status, headers: { ...DATA_HEADERS, Location: location } });
}
