/**
 * The three forms of an answer: text, JSON, page. Their headers are plain
 * objects, never a Headers that several share: @hono/node-server's Response
 * hands out the very one that it was given, and a cookie set there would go to all.
 */
import { DATA_HEADERS, PAGE_HEADERS } from './security-headers.ts';

const TEXT_HEADERS = { ...DATA_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' };
const JSON_HEADERS = { ...DATA_HEADERS, 'Content-Type': 'application/json' };

/** `protocol.md` §4: the message followed by a newline. */
export function textAnswer(
  status: number,
  text: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(`${text}\n`, { status, headers: { ...TEXT_HEADERS, ...headers } });
}

export function jsonAnswer(body: object): Response {
  return jsonTextAnswer(JSON.stringify(body));
}

export function jsonTextAnswer(json: string): Response {
  return new Response(json, { status: 200, headers: JSON_HEADERS });
}

/** The headers are those of a page that asks nothing, unless others are given. */
export function pageAnswer(
  status: number,
  page: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(page, { status, headers: { ...PAGE_HEADERS, ...headers } });
}

export function emptyAnswer(): Response {
  return new Response(null, { status: 204, headers: DATA_HEADERS });
}

/** A redirect that a browser follows with GET; after a POST it is 303. RFC 9700 §4.12. */
export function redirectAnswer(location: string, status: 302 | 303 = 302): Response {
  return new Response(null, { status, headers: { ...DATA_HEADERS, Location: location } });
}
