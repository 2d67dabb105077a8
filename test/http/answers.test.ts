import { afterEach, expect, test } from 'bun:test';
import {
  emptyAnswer,
  jsonAnswer,
  pageAnswer,
  redirectAnswer,
  textAnswer,
} from '../../src/http/answers.ts';

/** As that of @hono/node-server: what it was given is what it hands out. */
class KeepingResponse {
  readonly headers: Headers;

  constructor(_body: unknown, { headers }: { headers: Headers | Record<string, string> }) {
    this.headers = headers instanceof Headers ? headers : new Headers(headers);
  }
}

const { Response } = globalThis;
afterEach(() => Object.assign(globalThis, { Response }));

test.each([
  ['text', () => textAnswer(200, 'text')],
  ['JSON', () => jsonAnswer({})],
  ['a page', () => pageAnswer(200, 'page')],
  ['nothing', emptyAnswer],
  ['a redirect', () => redirectAnswer('/')],
])(
  'a cookie set on one answer is on no other, whatever the runtime makes of headers: %s',
  (_, answer) => {
    Object.assign(globalThis, { Response: KeepingResponse });
    answer().headers.append('Set-Cookie', 'one=1');
    expect(answer().headers.get('Set-Cookie')).toBeNull();
  },
);
