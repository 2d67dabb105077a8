/** How the process refuses to start. */
import { describe, expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';
import { findFreePort } from '../support/free-port.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { runRelay } from '../support/run-relay.ts';
import { plantSecret } from '../support/secrets.ts';

test('every fault is told at once, with the name, what it holds and what would be right', async () => {
  const { exitCode, output } = await runRelay({
    OAUTH_BASE_URL: 'relay.example',
    PORT: '99999',
    POLL_SECONDS: 'fifty',
    PROVIDERS: 'mal,start',
    MAL_CLIENT_ID: 'mal-client',
    MAL_TOKEN_URL: 'http://provider.example/token',
    MAL_CLIENT_SECRET: plantSecret('secret with a line\nbreak in it'),
  });
  expect(exitCode).toBe(1);
  for (const setting of [
    'OAUTH_BASE_URL',
    'PORT',
    'POLL_SECONDS',
    'PROVIDERS',
    'MAL_TOKEN_URL',
    'MAL_CLIENT_SECRET',
  ]) {
    expect(output).toContain(setting);
  }
  expect(output).toContain('99999');
  expect(output).toContain('https');
  expect(output).not.toContain('break in it');
});

test('what cannot be seen in a setting is spelt out, and turns nothing on the terminal', async () => {
  const { exitCode, output } = await runRelay({ APP_NAME: 'Acme\u200B \u202EVT' });
  expect(exitCode).toBe(1);
  expect(output).toContain(
    'APP_NAME = "Acme<U+200B> <U+202E>VT": must not contain invisible characters',
  );
  expect(output).not.toMatch(/[\u200B\u202E]/);
});

test.each([
  ['NODE_TLS_REJECT_UNAUTHORIZED', '0'],
  ['BUN_CONFIG_VERBOSE_FETCH', 'curl'],
])('%s=%s is too dangerous to run under', async (name, value) => {
  const { exitCode, output } = await runRelay({ MAL_CLIENT_ID: 'm', [name]: value });
  expect(exitCode).toBe(1);
  expect(output).toContain(name);
});

test('a port that is taken is said to be', async () => {
  const port = await findFreePort();
  const taken = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() });
  const { exitCode, output } = await runRelay({
    OAUTH_BASE_URL: 'http://127.0.0.1:3000',
    HOST: '127.0.0.1',
    PORT: String(port),
  });
  await taken.stop(true);
  expect(exitCode).toBe(1);
  expect(output).toContain(`PORT is ${port}`);
});

describe('a port that another relay has is told, and the other goes on', () => {
  const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
  const pairs = [
    ['127.0.0.1', '127.0.0.1'],
    ['', ''],
    ['127.0.0.1', ''],
    ['', '127.0.0.1'],
    ['0.0.0.0', ''],
    ['localhost', 'localhost'],
    ...(hasIPv6
      ? [
          ['::1', ''],
          ['', '::1'],
          ['::', '0.0.0.0'],
        ]
      : []),
  ];

  test.each(pairs)('HOST=%s, then HOST=%s', async (first, second) => {
    const relay = await startLocalRelay({ HOST: first ?? '' });
    try {
      const { exitCode, output } = await runRelay({
        OAUTH_BASE_URL: relay.baseUrl,
        HOST: second ?? '',
        PORT: String(relay.port),
      });
      expect(output).toContain(`PORT is ${relay.port}: another program listens there already\n`);
      expect(exitCode).toBe(1);
      const host = first?.includes('::1') ? '[::1]' : '127.0.0.1';
      expect((await fetch(`http://${host}:${relay.port}/health`)).status).toBe(200);
    } finally {
      await relay.stop();
    }
  });
});

test('a host name is one address, so that two relays cannot have one of its addresses each', async () => {
  const relay = await startLocalRelay({ HOST: 'localhost' });
  await relay.stop();
  const { url } = await relay.waitForEvent(({ event }) => event === 'listening');
  expect(String(url)).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):/);
});

test('an address that this machine does not have is said to be none of its', async () => {
  // Of a block for documentation, RFC 5737 §3.
  const { exitCode, output } = await runRelay({ HOST: '203.0.113.5', PORT: '0' });
  expect(exitCode).toBe(1);
  expect(output).toContain('HOST is 203.0.113.5');
});

test('an option that does not exist is answered with the usage', async () => {
  const { exitCode, output } = await runRelay({}, ['--prot', '80']);
  expect(exitCode).toBe(1);
  expect(output).toContain("'--prot'");
  expect(output).toContain('Usage:');
});
