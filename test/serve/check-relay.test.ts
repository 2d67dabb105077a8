/** `sign-in-relay check --relay URL`: a relay that is elsewhere, and what may be wrong with it. */
import { expect, test } from 'bun:test';
import { has } from '../kit/needs.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { runRelay, startRelay } from '../kit/relay.ts';

async function checkRelay(url: string) {
  const { exitCode, output } = await runRelay({}, { args: ['check', '--json', '--relay', url] });
  const { ok, findings } = JSON.parse(output) as {
    ok: boolean;
    findings: { mark: string; what: string; text: string; remedy?: string }[];
  };
  expect(exitCode).toBe(ok ? 0 : 1);
  const textOf = (what: string) => findings.find((each) => each.what === what)?.text;
  const faults = findings.filter(({ mark }) => mark === 'fault').map(({ what }) => what);
  return { findings, faults, textOf };
}

test('a good relay: what to register, a poll that is held; the sign-in is cancelled', async () => {
  await using relay = await startRelay({ POLL_SECONDS: '1' });
  const { faults, textOf } = await checkRelay(`${relay.baseUrl}/`);
  expect(faults).toEqual([]);
  expect(textOf('redirect URI of mal')).toBe(`register exactly ${relay.baseUrl}/auth/mal/callback`);
  expect(textOf('poll')).toMatch(/^held for \d+ s, and nothing cut it$/);
  expect(await relay.waitForEvent('sign_in_cancelled')).toMatchObject({ outcome: 'cancelled' });
});

test('a relay whose base URL is another one', async () => {
  await using relay = await startRelay({ POLL_SECONDS: '1', OAUTH_BASE_URL: 'https://other.test' });
  expect((await checkRelay(relay.baseUrl)).faults).toEqual(['base URL']);
});

test('a relay with open sign-ins alone', async () => {
  const env = { MAL_CLIENT_ID: '', OPEN_ENDPOINTS: 'https://accounts.example/authorize' };
  await using relay = await startRelay(env);
  const { faults, textOf } = await checkRelay(relay.baseUrl);
  expect([faults, textOf('base URL')]).toEqual([[], 'its OAUTH_BASE_URL is this URL']);
});

const onRedis = test.if(has('Redis', '`check --relay` finds a full Redis'));

onRedis('a relay that is ready, although its Redis is full', async () => {
  await using redis = await startRedis();
  await using relay = await startRelay({ POLL_SECONDS: '1', REDIS_URL: redis.url });
  await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
  // The start of the first check is refused, and noticed.
  await checkRelay(relay.baseUrl);
  expect((await checkRelay(relay.baseUrl)).textOf('ready')).toContain('(OOM)');
});

/** Something like a relay, which answers everything but a list of services and starts with this status. */
function serveLikeRelay(status: number) {
  return serveUpstream(({ url, method }) => {
    const { pathname } = new URL(url);
    if (pathname === '/services') {
      return Response.json({ services: [{ service: 'mal', name: 'MyAnimeList', blind: 'no' }] });
    }
    if (method === 'POST') return Response.json({ session: 'B'.repeat(24) });
    return pathname === '/ready' ? new Response('ready') : new Response(null, { status });
  });
}

test('a relay that holds polls for longer than the check waits is asked for less', async () => {
  using relay = serveLikeRelay(204);
  const { textOf } = await checkRelay(relay.origin);
  expect(textOf('poll')).toContain('nothing cut it');
  const polls = relay.requests.filter(({ path }) => path.includes('session=B'));
  expect(polls.map(({ path }) => path.replace(/.*B/, ''))).toEqual(['&wait=50', '&cancel=1']);
});

test('a proxy that changes responses, and refuses polls', async () => {
  using proxy = serveLikeRelay(504);
  const { faults, textOf } = await checkRelay(proxy.origin);
  expect(faults).toEqual(['base URL', 'headers', 'poll']);
  expect(textOf('headers')).toEndWith('gets a 504 with another Cache-Control and Referrer-Policy');
  expect(textOf('poll')).toBe('refused at once with 504');
});

test.each([
  ['http://127.0.0.1:1', '127.0.0.1:1: nothing listens there'],
  ['http://no-such-host.invalid', 'no-such-host.invalid: the name is unknown here'],
  ['relay.example', '--relay needs the URL of a relay, such as https://relay.example'],
  [
    'https://me:a-password@relay.example',
    '--relay needs the URL of a relay, such as https://relay.example',
  ],
  ['https://relay.example?x', '--relay needs the URL of a relay, such as https://relay.example'],
])('no relay at %s', async (url, expected) => {
  const { faults, textOf } = await checkRelay(url);
  expect(faults).toEqual(['relay']);
  expect(textOf('relay')).toStartWith(expected);
});

test.each([
  [200, /the URL includes its path/],
  [301, /^it redirects to https:\/\/relay\.example: /],
  [403, /no challenge/],
  [502, /the upstream of the proxy/],
])('something else answers with a %d, and what to do about it', async (status, remedy) => {
  const headers = { Location: 'https://relay.example/services' };
  using other = serveUpstream(() => new Response('a home page', { status, headers }));
  const { findings } = await checkRelay(other.origin);
  const text = expect.stringContaining(`/services gets a ${status}, not a list`);
  expect(findings).toMatchObject([{ what: 'relay', text, remedy: expect.stringMatching(remedy) }]);
});
