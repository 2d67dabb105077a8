/**
 * What cases expect: first of any value, then of answers. A `Mismatch` fails
 * the case and a `Skip` skips it. Any other error is a fault of the suite.
 */

import { isDeepStrictEqual } from 'node:util';
import { type Page, readPage } from './html.ts';
import type { Answer } from './http.ts';
import { slowSecondsSince } from './slowness.ts';

/** The relay broke a rule. */
export class Mismatch extends Error {
  constructor(
    readonly subject: string,
    readonly expected: string,
    readonly got: string,
  ) {
    super(`${subject}: expected ${expected}, got ${got}`);
  }
}

/** The case cannot be run against this relay as it was started. The message says why. */
export class Skip extends Error {}

export function equal(subject: string, got: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(got, expected)) throw new Mismatch(subject, show(expected), show(got));
}

export function matches(subject: string, got: string | undefined, pattern: RegExp): void {
  if (got === undefined || !pattern.test(got)) {
    throw new Mismatch(subject, `text like ${pattern}`, show(got));
  }
}

/** `expected` is in words, since the condition is not a plain comparison. */
export function holds(subject: string, condition: boolean, expected: string, got: unknown): void {
  if (!condition) throw new Mismatch(subject, expected, show(got));
}

export function present<T>(subject: string, value: T | undefined): T {
  if (value === undefined) throw new Mismatch(subject, 'a value', 'none');
  return value;
}

export function between(subject: string, got: number, least: number, most: number): void {
  const round = (value: number) => Math.round(value * 100) / 100;
  if (got < least || got > most) {
    throw new Mismatch(subject, `${round(least)} to ${round(most)}`, String(round(got)));
  }
}

const SHOWN_CHARACTERS = 400;

function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value));
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

export function expectStatus(answer: Answer, status: number): void {
  const got = `${answer.status} ${answer.body}`.trim();
  holds('status', answer.status === status, String(status), got);
}

/**
 * Besides what the machine itself takes (`slowSecondsSince`). It tells an answer at its time from
 * one at the default hold of 50 s, also on a machine that is busy.
 */
const LATE_SECONDS = 15;

/** An answer that was not held. */
export function expectAtOnce(answer: Answer): void {
  const latest = LATE_SECONDS + slowSecondsSince(answer.startedAt);
  holds('seconds', answer.seconds < latest, `less than ${latest.toFixed(1)}`, answer.seconds);
}

/** An answer that was held for so long. */
export function expectHeld(answer: Answer, seconds: number, earlySeconds = 0.5): void {
  const latest = seconds + LATE_SECONDS + slowSecondsSince(answer.startedAt);
  between('seconds', answer.seconds, seconds - earlySeconds, latest);
}

export function expectNoStore(answer: Answer): void {
  equal('Cache-Control', answer.headers['cache-control'], 'no-store, private');
}

/** A plain-text error: the message and a newline. */
export function expectText(answer: Answer, status: number, message: string): void {
  expectStatus(answer, status);
  matches('Content-Type', answer.headers['content-type'], /^text\/plain\s*(;|$)/i);
  equal('body', answer.body, `${message}\n`);
}

export function expectNotFound(answer: Answer): void {
  expectText(answer, 404, '404 page not found');
}

export function expectSessionNotFound(answer: Answer): void {
  expectText(answer, 410, 'Session not found');
}

export function expectNotAllowed(answer: Answer, method = 'GET'): void {
  // The answer to a HEAD has no body.
  if (method === 'HEAD') expectStatus(answer, 405);
  else expectText(answer, 405, 'Method not allowed');
}

/** Status 200 and exactly these fields. */
export function expectJson(answer: Answer, fields: object): void {
  equal('JSON fields', readJson(answer), fields);
}

/** The fields of a 200 JSON object. */
export function readJson(answer: Answer): Readonly<Record<string, unknown>> {
  expectStatus(answer, 200);
  const type = answer.headers['content-type'];
  matches('Content-Type', type, /^application\/json\s*(;\s*charset=utf-8)?$/i);
  return parseObject(answer);
}

export function parseObject({ body }: Answer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {}
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Mismatch('body', 'a JSON object', body);
}

/** Where a redirect goes. */
export function readLocation(answer: Answer, status = 302): URL {
  expectStatus(answer, status);
  const location = present('Location', answer.headers.location);
  holds('Location', URL.canParse(location), 'an absolute URL', location);
  return new URL(location);
}

export function expectRetryAfter(answer: Answer): void {
  matches('Retry-After', answer.headers['retry-after'], /^[1-9]\d*$/);
}

export function readHtml(answer: Answer): Page {
  matches('Content-Type', answer.headers['content-type'], /^text\/html\s*(;|$)/i);
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

export function expectFailurePage(answer: Answer, { status, message }: FailurePage): void {
  const { paragraphs } = readFailurePage(answer, status);
  holds('paragraphs', paragraphs.includes(message), `one that says '${message}'`, paragraphs);
}

/** The 404 page: the link is no longer valid, start again from the app. Its wording is free. */
export function expectInvalidLink(answer: Answer): void {
  const message = readFailurePage(answer, 404).paragraphs.join(' ');
  matches('the message', message, /\blink\b/i);
  matches('the message', message, /no longer valid/i);
  matches('the message', message, /\bagain\b/i);
  matches('the message', message, /\bapp\b/i);
}

/** The callback came in another browser than the one that continued: the page says so. */
export function expectOtherBrowser(answer: Answer): void {
  const message = readFailurePage(answer, 404).paragraphs.join(' ');
  matches('the message', message, /another browser/i);
}

function readFailurePage(answer: Answer, status: number): Page {
  expectStatus(answer, status);
  const page = readHtml(answer);
  equal('title', page.title, 'Sign-in failed');
  equal('heading', page.headings[0] ?? 'none', 'Sign-in failed');
  return page;
}

/** Titled "Signed in", with a heading that says so and a line to close the tab and go back. */
export function expectSuccessPage(answer: Answer): Page {
  expectStatus(answer, 200);
  const page = readHtml(answer);
  equal('title', page.title, 'Signed in');
  const heading = page.headings.join(' ');
  matches('heading', heading, /signed in|sign(ed)?[ -]?in (has )?(succe|complete|work)|success/i);
  for (const said of [/close /i, /tab/i, /(return|back) /i, /app/i]) {
    matches('text', page.text, said);
  }
  return page;
}
