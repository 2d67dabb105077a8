/** What cases expect of answers. Imported as `expect`. */

import { between, equal, holds, Mismatch, matches, present } from './expect.ts';
import { type Page, readPage } from './html.ts';
import type { Answer } from './http.ts';
import { slowSecondsSince } from './slowness.ts';

export function status(answer: Answer, expected: number): void {
  const got = `${answer.status} ${answer.body}`.trim();
  holds('status', answer.status === expected, String(expected), got);
}

/**
 * Besides what the machine itself takes (`slowSecondsSince`). It tells an answer at its time from
 * one at the default hold of 50 s, also on a machine that is busy.
 */
const LATE_SECONDS = 15;

/** An answer that was not held. */
export function atOnce(answer: Answer): void {
  const latest = LATE_SECONDS + slowSecondsSince(answer.startedAt);
  holds('seconds', answer.seconds < latest, `less than ${latest.toFixed(1)}`, answer.seconds);
}

/** An answer that was held for this long. */
export function held(answer: Answer, seconds: number, earlySeconds = 0.5): void {
  const latest = seconds + LATE_SECONDS + slowSecondsSince(answer.startedAt);
  between('seconds', answer.seconds, seconds - earlySeconds, latest);
}

export function noStore(answer: Answer): void {
  equal('Cache-Control', answer.headers['cache-control'], 'no-store, private');
}

/** A plain-text error: the message and a newline. */
export function text(answer: Answer, wanted: number, message: string): void {
  status(answer, wanted);
  matches('Content-Type', answer.headers['content-type'], /^text\/plain\s*(;|$)/i);
  equal('body', answer.body, `${message}\n`);
}

export function notFound(answer: Answer): void {
  text(answer, 404, '404 page not found');
}

export function sessionNotFound(answer: Answer): void {
  text(answer, 410, 'Session not found');
}

export function notAllowed(answer: Answer, method = 'GET'): void {
  // The answer to a HEAD has no body.
  if (method === 'HEAD') status(answer, 405);
  else text(answer, 405, 'Method not allowed');
}

/** Status 200 and a JSON object, of exactly these fields if they are given. */
export function json(answer: Answer, fields?: object): Readonly<Record<string, unknown>> {
  status(answer, 200);
  const type = answer.headers['content-type'];
  matches('Content-Type', type, /^application\/json\s*(;\s*charset=utf-8)?$/i);
  const members = object(answer);
  if (fields !== undefined) equal('JSON fields', members, fields);
  return members;
}

export function object({ body }: Answer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {}
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Mismatch('body', 'a JSON object', body);
}

/** Where a redirect goes. */
export function location(answer: Answer, wanted = 302): URL {
  status(answer, wanted);
  const location = present('Location', answer.headers.location);
  holds('Location', URL.canParse(location), 'an absolute URL', location);
  return new URL(location);
}

export function retryAfter(answer: Answer): void {
  matches('Retry-After', answer.headers['retry-after'], /^[1-9]\d*$/);
}

export function html(answer: Answer): Page {
  matches('Content-Type', answer.headers['content-type'], /^text\/html; ?charset=utf-8$/i);
  return readPage(answer.body);
}

/** The pages for a sign-in that failed; their wording is part of the protocol. */
export const CANCELLED = { status: 200, message: 'Sign-in was cancelled.' };
export const FAILED = { status: 200, message: 'Sign-in failed. Please try again.' };
export const INCOMPLETE = {
  status: 400,
  message: 'Sign-in response was incomplete. Please try again.',
};
export const EXCHANGE_FAILED = {
  status: 502,
  message: "Couldn't complete sign-in. Please try again.",
};

export type FailurePage = typeof FAILED;

export function failurePage(answer: Answer, page: FailurePage): void {
  const { paragraphs } = readFailurePage(answer, page.status);
  const isSaid = paragraphs.includes(page.message);
  holds('paragraphs', isSaid, `one that says '${page.message}'`, paragraphs);
}

/** The 404 page: the link is no longer valid, start again from the app. Its wording is free. */
export function invalidLink(answer: Answer): void {
  const message = readFailurePage(answer, 404).paragraphs.join(' ');
  matches('the message', message, /\blink\b/i);
  matches('the message', message, /no longer valid/i);
  matches('the message', message, /\bagain\b/i);
  matches('the message', message, /\bapp\b/i);
}

/** The callback came in another browser than the one that continued: the page says so. */
export function otherBrowser(answer: Answer): void {
  const message = readFailurePage(answer, 404).paragraphs.join(' ');
  matches('the message', message, /another browser/i);
}

function readFailurePage(answer: Answer, wanted: number): Page {
  status(answer, wanted);
  const page = html(answer);
  equal('title', page.title, 'Sign-in failed');
  equal('heading', page.headings[0] ?? 'none', 'Sign-in failed');
  return page;
}

/** Titled "Signed in", with a heading that says so and a line to close the tab and go back. */
export function successPage(answer: Answer): Page {
  status(answer, 200);
  const page = html(answer);
  equal('title', page.title, 'Signed in');
  const heading = page.headings.join(' ');
  matches('heading', heading, /signed in|sign(ed)?[ -]?in (has )?(succe|complete|work)|success/i);
  for (const said of [/close /i, /tab/i, /(return|back) /i, /app/i]) {
    matches('text', page.text, said);
  }
  return page;
}

/** JSON that no cache may keep (RFC 6749 §5.1). */
export function oauth(answer: Answer, wanted: number): Readonly<Record<string, unknown>> {
  status(answer, wanted);
  matches('Content-Type', answer.headers['content-type'], /^application\/json\s*(;|$)/i);
  matches('Cache-Control', answer.headers['cache-control'], /\bno-store\b/);
  return object(answer);
}

/** The characters that a description may have (RFC 6749 §5.2). */
const DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** An error as a standard client reads it, without a challenge that the client would look at first. */
export function oauthError(answer: Answer, error: string | RegExp, wanted = 400): void {
  const fields = oauth(answer, wanted);
  if (typeof error === 'string') equal('error', fields.error, error);
  else matches('error', String(fields.error), error);
  matches('error_description', String(fields.error_description ?? ''), DESCRIPTION);
  equal('WWW-Authenticate', answer.headers['www-authenticate'], undefined);
}
