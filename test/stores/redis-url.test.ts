import { expect, test } from 'bun:test';
import { parseRedisUrl } from '../../src/stores/redis-url.ts';

const at = (host: string, port: number) => ({ host, port });

test.each([
  ['redis://localhost', { type: 'single', tls: false, addresses: [at('localhost', 6379)] }],
  ['redis://127.0.0.1:7000/3', { type: 'single', database: 3, addresses: [at('127.0.0.1', 7000)] }],
  ['rediss://[::1]:7000', { type: 'single', tls: true, addresses: [at('::1', 7000)] }],
  ['redis://:p%40ss@h', { password: 'p@ss' }],
  ['redis://user:p:a@ss@h', { username: 'user', password: 'p:a@ss' }],
  ['redis://a:1,b:2,c', { type: 'cluster', addresses: [at('a', 1), at('b', 2), at('c', 6379)] }],
  [
    'redis+sentinel://u:p@a,b:5/main',
    {
      type: 'sentinel',
      primaryName: 'main',
      username: 'u',
      addresses: [at('a', 26_379), at('b', 5)],
    },
  ],
  ['rediss+sentinel://a/main', { type: 'sentinel', tls: true }],
])('%s is understood', (url, target) => {
  expect(parseRedisUrl(url)).toMatchObject(target);
});

test.each([
  'localhost:6379',
  'http://localhost',
  'redis://',
  'redis://a:99999',
  'redis://a:1,b:2/3',
  'redis+sentinel://a',
  'redis://a/x',
  'redis://a b',
  'redis://a,',
  'redis://%zz:x@a',
])('%s is refused', (url) => {
  expect(parseRedisUrl(url)).toBeUndefined();
});
