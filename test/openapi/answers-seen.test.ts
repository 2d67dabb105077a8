import { describe, expect, test } from 'bun:test';
import { describeApi } from '../../src/http/openapi/document.ts';
import { createFindProblems, type Seen } from '../support/answers-seen.ts';
import { BASE_URL } from '../support/test-service.ts';

const find = createFindProblems(describeApi(BASE_URL));

const HEADERS = {
  'cache-control': 'no-store, private',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const DENIED: Seen = {
  method: 'GET',
  path: '/auth/result',
  status: 200,
  headers: { ...HEADERS, 'content-type': 'application/json' },
  body: '{"error":"access_denied"}',
};

const LIMITED: Seen = {
  method: 'POST',
  path: '/auth/start',
  status: 429,
  headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' },
  body: 'Rate limited\n',
};

describe('an answer is held to the API document', () => {
  test.each([DENIED, LIMITED])('$path $status: as it should be', (seen) => {
    expect(find(seen)).toEqual([]);
  });

  test.each<[string, Seen]>([
    ['a status', { ...DENIED, status: 202 }],
    ['a path', { ...DENIED, path: '/auth/results/now' }],
    ['a method', { ...LIMITED, method: 'PUT' }],
    ['a value', { ...DENIED, body: '{"error":"tired"}' }],
    ['a member', { ...DENIED, body: '{"error":"access_denied","why":""}' }],
    ['a type', { ...DENIED, headers: { ...HEADERS, 'content-type': 'text/html' } }],
    ['a text', { ...LIMITED, body: 'Rate limited' }],
    ['a body', { ...DENIED, status: 204 }],
    ['a header', { ...LIMITED, headers: { ...LIMITED.headers, 'retry-after': 'soon' } }],
    ['no header', { ...DENIED, headers: { 'content-type': 'application/json' } }],
  ])('%s that the document lacks is a problem', (_what, seen) => {
    expect(find(seen)).not.toEqual([]);
  });
});
