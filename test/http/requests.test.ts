/** What is read of a request: the client's address, and how much of a body, a query or a form. */
import { describe, expect, test } from 'bun:test';
import { isPending, runReady } from '../kit/clock.ts';
import { start, startRequest } from '../kit/device.ts';
import { REQUEST_BODY_DEADLINE_MS } from '../kit/limits.ts';
import { createTestService } from '../kit/service.ts';

/** The rate limit shows which requests the relay takes for one client's. RFC 9700 §4.13. */
describe('the client address', () => {
  const OTHER = '203.0.113.99';
  const settings = {
    startBurst: 1,
    trustedProxyCidrs: ['10.0.0.0/8', '2001:db8:ffff::/48'],
  };

  /** The peer and the header of a request; then an address of the same client, or 'invalid'. */
  const CLIENTS: [string, peer: string, forwarded: string | undefined, client: string][] = [
    ['IPv4', '198.51.100.1', undefined, '198.51.100.1'],
    ['IPv4 in IPv6', '::ffff:198.51.100.1', undefined, '198.51.100.1'],
    ['an IPv6 network (/64)', '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::'],
    ['::1', '::1', undefined, '::2'],
    ['a link-local address with a zone', 'fe80::1%eth0', undefined, 'fe80::2'],
    ['no address', '', undefined, 'invalid'],
    ['a header of an untrusted peer', '198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['a header of a trusted peer', '10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['the same, IPv4 in IPv6', '::ffff:10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['a trusted IPv6 peer', '2001:db8:ffff::1', '203.0.113.9', '203.0.113.9'],
    ['a forged hop further left', '10.1.1.1', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
    ['trusted hops', '10.1.1.1', '203.0.113.9, 10.2.2.2,10.3.3.3', '203.0.113.9'],
    ['trusted hops alone', '10.1.1.1', '10.9.9.9, 10.2.2.2', '10.9.9.9'],
    ['a hop with a port', '10.1.1.1', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 hop in brackets', '10.1.1.1', '[2001:db8:5:6::1]:4711', '2001:db8:5:6::'],
    ['a malformed hop', '10.1.1.1', 'evil, 203.0.113.9', 'invalid'],
    ['an empty hop', '10.1.1.1', '203.0.113.9,', 'invalid'],
    ['an empty header', '10.1.1.1', '', 'invalid'],
    ['a hop in hexadecimal', '10.1.1.1', '0x7f.0.0.1', 'invalid'],
    ['the same, IPv4 in IPv6', '10.1.1.1', '::ffff:0x7f.0.0.1', 'invalid'],
    ['a hop with a zone', '10.1.1.1', 'fe80::1%eth0', 'invalid'],
    ['32 hops', '10.1.1.1', Array(32).fill('203.0.113.9').join(), '203.0.113.9'],
    ['33 hops', '10.1.1.1', Array(33).fill('203.0.113.9').join(), 'invalid'],
    ['4 KiB', '10.1.1.1', `203.0.113.9,${' '.repeat(4_096)}203.0.113.9`, 'invalid'],
  ];

  test.each(CLIENTS)('of %s (%s, %p) is that of %s', async (_, peer, forwarded, client) => {
    const { ask } = createTestService(settings);
    const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded };
    const answer = await ask('/auth/start', { ...startRequest(), headers }, peer);
    if (client === 'invalid') {
      expect([answer.status, await answer.text()]).toEqual([400, 'Invalid client address\n']);
      return;
    }
    expect(answer.status).toBe(200);
    expect((await ask('/auth/start', startRequest(), client)).status).toBe(429);
    expect((await ask('/auth/start', startRequest(), OTHER)).status).toBe(200);
  });

  test('is required at every page with a rate limit', async () => {
    const { ask } = createTestService();
    expect((await ask('/L/BCDF-GHJK', {}, '')).status).toBe(400);
  });
});

test.each([
  ['that never ends', {}],
  ['that is shorter than its Content-Length', { 'Content-Length': '30' }],
])('a start body %s is awaited until its deadline, then given up', async (what, headers) => {
  const { ask, clock } = createTestService();
  let isCancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"service":')),
    cancel: () => {
      isCancelled = true;
    },
  });
  const started = ask('/auth/start', { method: 'POST', headers, body });
  await runReady();
  clock.advance(REQUEST_BODY_DEADLINE_MS - 1);
  expect(await isPending(started)).toBe(true);
  clock.advance(1);
  const response = await started;
  expect([response.status, await response.text()]).toEqual([400, 'Invalid JSON\n']);
  if (what === 'that never ends') expect(isCancelled).toBe(true);
});

test('after a suspension a start body that has arrived meanwhile is read', async () => {
  const { ask, clock } = createTestService();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const started = ask('/auth/start', { method: 'POST', body: readable });
  await runReady();
  clock.stall(2 * REQUEST_BODY_DEADLINE_MS);
  clock.advance(0);
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode('{"service":"mal"}')).then(() => writer.close());
  expect((await started).status).toBe(200);
});

test('64 parameters of a query or a form are read, and no more', async () => {
  const service = createTestService();
  const { state } = await start(service);
  const junk = (count: number) => 'a&'.repeat(count);
  const open = (count: number) => service.ask(`/auth/mal?${junk(count)}state=${state}`);
  expect([(await open(63)).status, (await open(64)).status]).toEqual([302, 404]);
  const requestToken = async (count: number) => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = `${junk(count)}grant_type=other`;
    const answer = await service.ask('/oauth2/mal/token', { method: 'POST', headers, body });
    return ((await answer.json()) as { error: string }).error;
  };
  expect(await requestToken(63)).toBe('unsupported_grant_type');
  expect(await requestToken(64)).toBe('invalid_request');
});
