/** What Prometheus reads at the admin port: every metric counts what its name says, and its name follows the conventions. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAdmin } from '../../src/admin/admin.ts';
import type { ServiceState } from '../../src/service.ts';
import type { EnabledSettings } from '../../src/settings/index.ts';
import { createFakeClock, runReady } from '../kit/clock.ts';
import { poll, pollOnce, requestAuthorization, start, startRequest } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { ROOT } from '../kit/relay.ts';
import {
  createTestService,
  type Fetch,
  SETTINGS,
  type TestServiceOptions,
} from '../kit/service.ts';
import { StoreUnavailable } from '../kit/stores.ts';
import { callback, createUser, deny } from '../kit/user.ts';

/** The admin port does not look at the address of its client. */
const NOBODY = { requestIP: () => null };

const READY: ServiceState = {
  liveSessions: undefined,
  parkedPolls: 0,
  readiness: { status: 'ready' },
};

const open = (
  settings: Partial<EnabledSettings> = {},
  clock = createFakeClock(),
  readState = async () => READY,
) => createAdmin({ ...SETTINGS, ...settings }, 'Bun 1.0.0', clock, readState);

async function read(
  { handle }: Pick<ReturnType<typeof open>, 'handle'>,
  path: string,
): Promise<string> {
  return (await handle(new Request(`http://127.0.0.1${path}`), NOBODY)).text();
}

function createWatched(options: TestServiceOptions = {}) {
  const admin = open(options, createFakeClock(), () => service.readState());
  const service = createTestService({ ...options, monitor: admin.monitor });
  const ask = (path: string) => read(admin, path);
  return {
    service,
    ask,
    /** The value of a sample, as it is written; undefined if there is none. */
    async read(sample: string) {
      const line = new RegExp(`^${RegExp.escape(sample)} (.*)$`, 'm');
      const [, value] = line.exec(await ask('/metrics')) ?? [];
      return value === undefined ? undefined : Number(value);
    },
  };
}

const of = (provider: string) => (step: string) =>
  `sign_in_relay_sign_ins_${step}_total{provider="${provider}"}`;
const STEPS = ['started', 'opened', 'called_back', 'exchanged', 'delivered'];

describe('the funnel counts', () => {
  test('no callback that was refused for the moment: its user comes again', async () => {
    const { service, read } = createWatched();
    const { url, state } = await start(service);
    await service.ask(url);
    await service.drain();
    expect((await callback(service, state)).status).toBe(503);
    const [, opened, calledBack] = STEPS.map(of('mal'));
    expect([await read(opened ?? ''), await read(calledBack ?? '')]).toEqual([1, 0]);
  });

  test('each step of a sign-in once, at its provider', async () => {
    const { service, read } = createWatched();
    const { url, state, session } = await start(service, 'mal', { ack: true });
    const seen: unknown[] = [];
    const note = async () =>
      seen.push(await Promise.all(STEPS.map((step) => read(of('mal')(step)))));
    await note();
    await service.ask(url);
    await service.ask(url);
    await note();
    await callback(service, state);
    await callback(service, state);
    await note();
    service.clock.advance(70);
    for (let times = 0; times < 2; times += 1) {
      expect((await pollOnce(service, session)).status).toBe(200);
    }
    await note();
    expect(await read('sign_in_relay_delivery_wait_seconds_sum{provider="mal"}')).toBe(0.07);
    expect(seen).toEqual([
      [1, 0, 0, 0, 0],
      [1, 1, 0, 0, 0],
      [1, 1, 1, 1, 0],
      [1, 1, 1, 1, 1],
    ]);
    expect(await Promise.all(STEPS.map((step) => read(of('anilist')(step))))).toEqual([
      0, 0, 0, 0, 0,
    ]);
  });

  test('how sign-ins end', async () => {
    const { service, read } = createWatched();
    const ended = (outcome: string) =>
      read(`sign_in_relay_sign_ins_ended_total{provider="mal",outcome="${outcome}"}`);
    await callback(service, (await start(service)).state);
    await deny(service, (await start(service)).state);
    const { session } = await start(service);
    for (let times = 0; times < 2; times += 1) {
      expect((await poll(service, `${session}&cancel=1`)).status).toBe(204);
    }
    await start(service);
    for (let seconds = 0; seconds < 640; seconds += 10) service.clock.advance(10_000);
    for (const outcome of ['signed_in', 'access_denied', 'cancelled']) {
      expect(await ended(outcome)).toBe(1);
    }
    // The one that was never opened, and the two whose result no device fetched.
    expect(await ended('expired')).toBe(3);
    const expired = (stage: string) =>
      read(`sign_in_relay_sign_ins_expired_total{provider="mal",stage="${stage}"}`);
    expect([await expired('started'), await expired('called_back')]).toEqual([1, 2]);
  });
});

test.each<[outcome: string, Fetch]>([
  ['invalid_client', async () => Response.json({ error: 'invalid_client' }, { status: 400 })],
  ['status', async () => new Response('', { status: 418 })],
  ['unreachable', () => Promise.reject(new Error('none'))],
])('an exchange that ends with %s is counted, with its duration', async (outcome, fetch) => {
  const { service, read } = createWatched({ fetch });
  await callback(service, (await start(service)).state);
  const labels = `provider="mal",grant="exchange"`;
  const requests = `sign_in_relay_upstream_requests_total{${labels},outcome="${outcome}"}`;
  expect(await read(requests)).toBe(1);
  expect(await read(`sign_in_relay_upstream_request_duration_seconds_count{${labels}}`)).toBe(1);
  expect(await read(of('mal')('exchanged'))).toBe(0);
});

test('requests that a rate limit refused are counted by kind', async () => {
  const { service, read } = createWatched();
  const limited = (kind: string) => read(`sign_in_relay_rate_limited_total{kind="${kind}"}`);
  for (let count = 0; count < 5; count += 1) {
    await service.ask('/auth/start', startRequest(), '192.0.2.1');
  }
  for (let count = 0; count < 12; count += 1) {
    await service.ask('/L/BCDF-GHJK', {}, '192.0.2.1');
  }
  expect([await limited('start'), await limited('code'), await limited('qr')]).toEqual([2, 2, 0]);
});

const failedOf = (kind: string) => `sign_in_relay_requests_failed_total{kind="${kind}"}`;

test('requests that get a 5xx are counted by kind, and probes are not', async () => {
  const { service, read, ask } = createWatched({ maxSessions: 1 });
  const { state } = await start(service);
  for (let count = 0; count < 2; count += 1) await service.ask('/auth/start', startRequest());
  await service.drain();
  await callback(service, state);
  for (const probe of ['/health', '/ready']) expect((await service.ask(probe)).status).toBe(503);
  expect([await read(failedOf('start')), await read(failedOf('browser'))]).toEqual([2, 1]);
  expect(await ask('/')).toMatch(/id="refused" class="bad">2</);
});

test('a start that the store fails is counted also where devices get a 400', async () => {
  const { service, read } = createWatched({
    beforeStore: () => Promise.reject(new StoreUnavailable()),
  });
  expect((await requestAuthorization(service)).status).toBe(400);
  expect(await read(failedOf('start'))).toBe(1);
});

describe('the page', () => {
  test('marks a provider from which nobody comes back, until somebody gets tokens', async () => {
    const clock = createFakeClock();
    const admin = open({}, clock);
    const readMark = async () => {
      const page = await read(admin, '/now');
      const [, mark = '', count] = /id="not-back"( class="bad")?>(\d+)</.exec(page) ?? [];
      return [mark.trim(), count];
    };
    admin.monitor.delivered('anilist', 1, false);
    admin.monitor.expired('anilist', 'opened');
    expect(await readMark()).toEqual(['', '1']);
    clock.advance(10 * 60_000);
    admin.monitor.delivered('anilist', 1, true);
    admin.monitor.expired('anilist', 'opened');
    expect(await readMark()).toEqual(['class="bad"', '2']);
    admin.monitor.delivered('anilist', 1, false);
    expect(await readMark()).toEqual(['', '2']);
  });

  test('says when a failure of the store ended, and of no other', async () => {
    const clock = createFakeClock(Date.UTC(2026, 0, 9, 20));
    const admin = open({}, clock);
    const { monitor } = admin;
    for (const reason of ['OOM', 'OOMETER']) {
      const hint = `${reason}: what to do`;
      monitor.failed({
        event: 'store_refuses',
        service: undefined,
        signIn: undefined,
        reason,
        hint,
      });
    }
    clock.advance(65_000);
    monitor.recovered('store_refuses', 'OOM');
    const page = await read(admin, '/now');
    expect(page.match(/20:00:00(, over [\d:]+)?/g)).toEqual([
      '20:00:00',
      '20:00:00, over 20:01:05',
    ]);
  });
});

/** Each sample without its value. */
const seriesOf = (metrics: string) => metrics.match(/^\w+(\{.*\})?(?= )/gm) ?? [];

test('providers that no setting names, as in records in Redis, are counted as `other`', async () => {
  const { monitor, ...admin } = open();
  for (const name of ['made-up', 'x'.repeat(100_000)]) monitor.ended(name, 'expired');
  const metrics = await read(admin, '/metrics');
  expect(metrics).not.toMatch(/made-up|x{9}/);
  expect(metrics).toContain('_ended_total{provider="other",outcome="expired"} 2\n');
});

test('open sign-ins are one service, wherever their users are sent', async () => {
  const { service, ask, read } = createWatched({ openEndpoints: '*' });
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'own-client',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  for (const host of ['one.test', 'two.test', 'three.test']) {
    const body = JSON.stringify({ authorizationUrl: `https://${host}/authorize?${query}` });
    const started = await service.ask('/open', { method: 'POST', body });
    const { url } = (await started.json()) as { url: string };
    const user = createUser(service);
    await user.decide(url, 'continue');
    const state = new URL(url).searchParams.get('state');
    await user.open(`/open/callback?state=${state}&error=server_error`);
  }
  expect(await read(of('open')('called_back'))).toBe(3);
  for (const path of ['/', '/metrics']) expect(await ask(path)).not.toMatch(/\w\.test/);
});

test('every series exists from the start, each counter at 0: no event adds one', async () => {
  let status = 200;
  const answer = { access_token: 'granted', refresh_token: 'granted' };
  const fetch = async () => Response.json(status === 200 ? answer : {}, { status });
  const { service, ask } = createWatched({ fetch });
  const before = await ask('/metrics');
  expect(before).not.toMatch(/^sign_in_relay_\w+_(total|count|sum|bucket)(\{.*\})? [^0]/m);

  for (const next of [200, 401, 418, 500]) {
    status = next;
    await callback(service, (await start(service)).state);
    const body = JSON.stringify({ service: 'mal', refreshToken: `token-${next}` });
    await service.ask('/refresh', { method: 'POST', body });
    await service.ask('/revoke', { method: 'POST', body });
  }
  await deny(service, (await start(service)).state);
  await callback(service, (await start(service)).state, 'error=invalid_scope');
  await callback(service, (await start(service)).state, '');
  const { session, url } = await start(service);
  await service.ask(url);
  await service.ask(`/auth/result?session=${session}&cancel=1`);
  await start(service);
  for (let seconds = 0; seconds < 640; seconds += 10) service.clock.advance(10_000);
  for (let count = 0; count < 12; count += 1) {
    await service.ask('/L/BCDF-GHJK', {}, '192.0.2.1');
  }
  const after = await ask('/metrics');
  expect(seriesOf(after)).toEqual(seriesOf(before));
  expect(after).toMatch(/outcome="invalid_client"\} [1-9]/);
});

test('open sign-ins and parked polls', async () => {
  const { service, read } = createWatched({ maxSessions: 7 });
  const { session } = await start(service);
  const gone = new AbortController();
  const poll = service.ask(`/auth/result?session=${session}`, { signal: gone.signal });
  await runReady();
  expect(await read('sign_in_relay_live_sessions')).toBe(1);
  expect(await read('sign_in_relay_max_sessions')).toBe(7);
  expect(await read('sign_in_relay_parked_polls')).toBe(1);
  gone.abort();
  await poll;
  expect(await read('sign_in_relay_parked_polls')).toBe(0);
});

test.each<['ready' | 'degraded' | 'down', live: number | undefined, gauges: object]>([
  ['ready', 0, { live_sessions: '0', ready: '1', limited: '0' }],
  ['degraded', 0, { live_sessions: '0', ready: '1', limited: '1' }],
  // While the store does not answer they are not known.
  ['down', undefined, { ready: '0', limited: '0' }],
])('the gauges of a relay that is %s, with %p open sign-ins', async (status, live, gauges) => {
  const readiness = { status, reason: 'store' };
  const state = { liveSessions: live, parkedPolls: 0, readiness };
  const admin = open({}, createFakeClock(), async () => state);
  const metrics = await read(admin, '/metrics');
  const found = metrics.matchAll(/^sign_in_relay_(live_sessions|ready|limited) (\d)$/gm);
  expect(Object.fromEntries([...found].map(([, name, value]) => [name, value]))).toEqual(gauges);
});

test('the process', async () => {
  const { read } = createWatched();
  expect(await read('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(await read('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(await read('process_open_fds')).toBeGreaterThan(2);
  expect(await read('process_max_fds')).toBeGreaterThan(2);
  expect(await read('process_start_time_seconds')).toBeGreaterThan(1e9);
});

const METRICS = await createWatched().ask('/metrics');

const withPromtool = test.if(has('Prometheus', 'promtool finds nothing wrong with the metrics'));

withPromtool('promtool finds nothing wrong with names, types and help', () => {
  const stdin = Buffer.from(METRICS);
  const { exitCode, stderr } = Bun.spawnSync(['promtool', 'check', 'metrics'], { stdin });
  expect([exitCode, stderr.toString()]).toEqual([0, '']);
});

const types = [...METRICS.matchAll(/^# TYPE (\w+) (\w+)$/gm)];

test('docs/reference.md has each metric', () => {
  const page = readFileSync(join(ROOT, 'docs/reference.md'), 'utf8');
  const names = types.map(([, name]) => name);
  expect(names.filter((name) => !page.includes(`\n| \`${name}\` |`))).toEqual([]);
});

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const dashboard = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
};

const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

/** Prometheus adds the first three. */
const LABELS = [
  'job',
  'instance',
  'le',
  ...[...METRICS.matchAll(/(\w+)="/g)].map(([, name]) => name),
];

test.each(queries)('the panel "%s" asks for metrics and labels that exist: %s', (_, query) => {
  const known = types.flatMap(([, name, type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  const asked = query.match(/\b(?:sign_in_relay|process)_\w+|\bup\b/g) ?? [];
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((name) => name !== 'up' && !known.includes(name))).toEqual([]);
  const lists = query.matchAll(/(?:by|without) \(([^)]*)\)|\{([^}]*)\}/g);
  const labels = [...lists].flatMap(([, names = '', selectors = '']) => [
    ...names.split(/, */),
    ...selectors.split(',').map((selector) => selector.split(/[=!~]/, 1)[0] ?? ''),
  ]);
  expect(labels.filter((label) => label !== '' && !LABELS.includes(label.trim()))).toEqual([]);
});
