/** The kinds of answers that `protocol.md` §4 knows, as expectations. */

import { equal, holds, Mismatch, matches, present } from '../engine/expect.ts';
import { type Page, readPage } from './html.ts';
import type { Answer } from './http.ts';
import { METHOD_NOT_ALLOWED } from './messages.ts';

/** "Plain text": the message followed by a newline, content type plain text. §4. */
export function expectText(answer: Answer, status: number, message: string): void {
  expectStatus(answer, status);
  matches('Content-Type', answer.headers['content-type'], /^text\/plain\s*(;|$)/i);
  equal('body', answer.body, `${message}\n`);
}

/** Every answer of start and result, errors included. §4. */
export function expectNoStore(answer: Answer): void {
  equal('Cache-Control', answer.headers['cache-control'], 'no-store, private');
}

/** A HEAD has no body to look at. */
export function expectNotAllowed(answer: Answer, method: string): void {
  if (method === 'HEAD') expectStatus(answer, 405);
  else expectText(answer, 405, METHOD_NOT_ALLOWED);
}

/** Status 200 and exactly these fields. §2. */
export function expectJson(answer: Answer, fields: Readonly<Record<string, unknown>>): void {
  equal('JSON fields', readJson(answer), fields);
}

/** The fields of a 200 JSON object. */
export function readJson(answer: Answer): Readonly<Record<string, unknown>> {
  expectStatus(answer, 200);
  const type = answer.headers['content-type'];
  matches('Content-Type', type, /^application\/json\s*(;\s*charset=utf-8)?$/i);
  const value = parse(answer.body);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) throw new Mismatch('body', 'a JSON object', answer.body);
  return { ...value };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Where a 302 leads. */
export function readLocation(answer: Answer): URL {
  expectStatus(answer, 302);
  const location = present('Location', answer.headers.location);
  holds('Location', URL.canParse(location), 'an absolute URL', location);
  return new URL(location);
}

/** Title and heading "Sign-in failed" and a paragraph with the message. §4. */
export function expectErrorPage(answer: Answer, status: number, message: string): void {
  const page = expectPage(answer, status);
  expectFailedHead(page);
  holds('paragraphs', page.paragraphs.includes(message), `one that says '${message}'`, [
    ...page.paragraphs,
  ]);
}

/** The 404 page: the link is no longer valid, start again from the app. The wording is free. §4. */
export function expectDeadLink(answer: Answer): void {
  const page = expectPage(answer, 404);
  expectFailedHead(page);
  const said = page.paragraphs.join(' ');
  matches('the message', said, /\blink\b/i);
  matches('the message', said, /no longer valid/i);
  matches('the message', said, /again\b.*\bapp\b|\bapp\b.*again\b/i);
}

/** Titled "Signed in", a heading that says so, a line to close the tab and go back. §4. */
export function expectSuccessPage(answer: Answer): Page {
  const page = expectPage(answer, 200);
  equal('title', page.title, 'Signed in');
  const heading = page.headings.join(' ');
  matches('heading', heading, /signed in|sign(ed)?[ -]?in (has )?(succe|complete|work)|success/i);
  matches('text', page.text, /close .*tab/i);
  matches('text', page.text, /(return|back) .*app/i);
  return page;
}

export function expectStatus(answer: Answer, status: number): void {
  const got = `${answer.status} ${answer.body}`.trim();
  holds('status', answer.status === status, String(status), got);
}

function expectFailedHead(page: Page): void {
  equal('title', page.title, 'Sign-in failed');
  equal('heading', page.headings[0] ?? 'none', 'Sign-in failed');
}

function expectPage(answer: Answer, status: number): Page {
  expectStatus(answer, status);
  return readHtml(answer);
}

export function readHtml(answer: Answer): Page {
  const type = answer.headers['content-type'];
  matches('Content-Type', type, /^text\/html\s*(;|$)/i);
  return readPage(answer.body);
}
