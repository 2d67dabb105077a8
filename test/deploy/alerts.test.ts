/** Each alert rule fires for what it names, and for nothing else: `promtool test rules` with the metrics of real relays. */
import { afterAll, describe, expect, onTestFinished, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { poll, pollOnce, start, startRequest } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import {
  expectAlerts,
  type Fired,
  type InputSeries,
  RULES,
  startPrometheus,
  type Watch,
  watchMetrics,
} from '../kit/prometheus.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { type RelayProcess, ROOT, type StartOptions, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { createGate, pollUntil } from '../kit/wait.ts';

setDefaultTimeout(60_000);

/** What fired in some test. */
const seen = new Set<string>();

async function expectFired(
  watches: readonly Watch[],
  fired: readonly Fired[],
  others?: readonly InputSeries[],
): Promise<void> {
  await expectAlerts(watches, fired, others);
  for (const { alert, labels } of fired) {
    seen.add(alert);
    const { summary = '' } = RULES.find((rule) => rule.alert === alert)?.annotations ?? {};
    const named = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
    expect(Object.keys(labels)).toEqual(expect.arrayContaining(named));
  }
}

const JOB = { job: 'sign-in-relay' };
const AT_MAL = { ...JOB, provider: 'mal' };

let answer = (): Response | Promise<Response> => Response.json({ access_token: 'granted' });
const granted = answer;
const provider = serveUpstream(() => answer());
afterAll(provider.stop);

const fail = (body: object, status: number) => () => Response.json(body, { status });

/** A relay, and what Prometheus reads there. The first scrape is that of a relay that has just started. */
async function startWatched(
  env: Readonly<Record<string, string>> = {},
  options: StartOptions = {},
) {
  answer = granted;
  const adminPort = await findFreePort();
  const watch = watchMetrics(adminPort);
  const settings = {
    ADMIN_PORT: String(adminPort),
    START_BURST: '1000',
    MAL_TOKEN_URL: provider.url,
    ...env,
  };
  let relay = await startRelay(settings, options);
  await watch.scrape();
  return {
    watch,
    get relay() {
      return relay;
    },
    async stop(signal?: NodeJS.Signals) {
      await relay.stop(signal);
      await watch.scrape();
    },
    async start() {
      relay = await startRelay(settings, options);
      await watch.scrape();
    },
    [Symbol.asyncDispose]: async () => void (await relay.stop('SIGKILL')),
  };
}

async function times(count: number, act: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += 1) await act();
}

/** A user opens the link, and does not come back. */
async function open(relay: RelayProcess) {
  const started = await start(relay);
  await relay.ask(started.url);
  return started;
}

async function comeBack(relay: RelayProcess, back = relay) {
  const started = await open(relay);
  await bringCode(back, started.state, makeCode());
  return started;
}

async function signIn(relay: RelayProcess, back = relay): Promise<void> {
  const { session } = await comeBack(relay, back);
  await pollOnce(relay, session);
}

const refresh = (relay: RelayProcess) => {
  const body = JSON.stringify({ service: 'mal', refreshToken: makeCode() });
  return relay.ask('/refresh', { method: 'POST', body });
};

/** As `comeBack`, but the exchange is still in progress. */
async function comeBackLater(relay: RelayProcess) {
  const { state } = await open(relay);
  return { done: bringCode(relay, state, makeCode()) };
}

async function untilExpired(relay: RelayProcess, watch: Watch, count: number): Promise<void> {
  const expired = () =>
    relay.events('sign_in_expired').filter(({ stage }) => stage === 'called_back');
  await pollUntil(`${count} results have expired`, async () => {
    // Reading the metrics removes what has expired.
    await fetch(`http://${watch.instance}/metrics`);
    return expired().length === count;
  });
  await watch.scrape();
}

test('Prometheus with deploy/prometheus.yaml reads relays, or knows why not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-prometheus-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const token = plantSecret(crypto.randomUUID());
  const ADMIN_TOKEN_FILE = join(folder, 'secrets/metrics/admin-token');
  mkdirSync(dirname(ADMIN_TOKEN_FILE), { recursive: true });
  writeFileSync(ADMIN_TOKEN_FILE, `${token}\n`);
  await using one = await startWatched({ ADMIN_TOKEN_FILE });
  await using other = await startWatched({ ADMIN_TOKEN_FILE });
  await using stranger = await startWatched({ ADMIN_TOKEN: plantSecret(crypto.randomUUID()) });
  const targets = [one, other, stranger].map(({ watch }) => watch.instance);
  await using prometheus = await startPrometheus(folder, (config) =>
    config
      .replace('#authorization:', 'authorization:')
      .replace(/targets: \[relay-1.*\]/, `targets: [${targets}]`)
      .replaceAll('interval: 30s', 'interval: 1s'),
  );
  const errors = await prometheus.readErrors(targets.length);
  expect(errors).toEqual(
    new Map([
      [one.watch.instance, ''],
      [other.watch.instance, ''],
      [stranger.watch.instance, 'server returned HTTP status 401 Unauthorized'],
    ]),
  );
  expect(prometheus.output()).not.toContain(token);
});

describe('no alert', () => {
  test('while users of a pair come back to the other relay, and both restart', async () => {
    await using redis = await startRedis();
    await using one = await startWatched({ REDIS_URL: redis.url });
    await using other = await startWatched({ REDIS_URL: redis.url });
    const scrape = () => Promise.all([one.watch.scrape(), other.watch.scrape()]);
    for (let minute = 0; minute < 12; minute += 1) {
      await times(2, () => signIn(one.relay, other.relay));
      answer = minute < 2 ? fail({ error: 'invalid_grant' }, 400) : granted;
      await signIn(one.relay, other.relay);
      answer = granted;
      if (minute < 4) await open(one.relay);
      await refresh(other.relay);
      await scrape();
    }
    for (const [stopped, running] of [
      [one, other],
      [other, one],
    ] as const) {
      await Promise.all([stopped.stop(), running.watch.scrape()]);
      await Promise.all([stopped.start(), running.watch.scrape()]);
      await times(3, () => signIn(stopped.relay, running.relay));
      await scrape();
    }
    await expectFired([one.watch, other.watch], []);
  });

  test('while the refresh tokens of many devices have expired', async () => {
    await using watched = await startWatched();
    answer = fail({ error: 'invalid_grant' }, 400);
    await times(10, () => refresh(watched.relay));
    await watched.watch.scrape(12);
    await expectFired([watched.watch], []);
  });

  test('for the first two failures of each kind, or while users have not come back yet', async () => {
    await using watched = await startWatched({ SESSION_SECONDS: '3' });
    const { relay, watch } = watched;
    await times(10, () => open(relay));
    await watch.scrape(9);
    answer = fail({ error: 'invalid_client' }, 401);
    await times(2, () => comeBack(relay));
    await times(2, () => refresh(relay));
    await untilExpired(relay, watch, 2);
    await expectFired([watch], []);
  });

  test('for another program without file descriptors, and another job that is down', async () => {
    await using watched = await startWatched();
    const other = 'job="node", instance="127.0.0.1:9100"';
    await expectFired(
      [watched.watch],
      [],
      [
        { series: `process_open_fds{${other}}`, values: '1000x120' },
        { series: `process_max_fds{${other}}`, values: '1024x120' },
        { series: `up{${other}}`, values: '0x120' },
      ],
    );
  });
});

describe('an alert', () => {
  test('SignInRelayDown: of two relays one is killed, and only that one is named', async () => {
    await using one = await startWatched();
    await using other = await startWatched();
    await one.stop('SIGKILL');
    await expectFired(
      [one.watch, other.watch],
      [{ alert: 'SignInRelayDown', labels: { ...JOB, instance: one.watch.instance } }],
    );
  });

  test('SignInRelayNoTarget: Prometheus has no such job', async () => {
    const node = { series: 'up{job="node", instance="127.0.0.1:9100"}', values: '1x120' };
    await expectFired([], [{ alert: 'SignInRelayNoTarget', labels: {} }], [node]);
  });

  test('SignInRelayNotReady: it is not configured', async () => {
    await using watched = await startWatched({ OAUTH_BASE_URL: '' });
    const { instance } = watched.watch;
    await expectFired(
      [watched.watch],
      [{ alert: 'SignInRelayNotReady', labels: { ...JOB, instance } }],
    );
  });

  test('SignInRelayExchangesFail, SignInRelayRefreshesFail: a refused client secret', async () => {
    await using watched = await startWatched();
    const { relay, watch } = watched;
    await signIn(relay);
    answer = fail({ error: 'invalid_client' }, 400);
    await times(3, () => signIn(relay));
    await times(4, () => refresh(relay));
    await watch.scrape();
    await expectFired(
      [watch],
      [
        { alert: 'SignInRelayExchangesFail', labels: AT_MAL },
        { alert: 'SignInRelayRefreshesFail', labels: AT_MAL },
      ],
    );
  });

  test('SignInRelayNobodyComesBack: ten users leave two relays, one restarted meanwhile', async () => {
    await using redis = await startRedis();
    await using one = await startWatched({ REDIS_URL: redis.url });
    await using other = await startWatched({ REDIS_URL: redis.url });
    const scrape = () => Promise.all([one.watch.scrape(), other.watch.scrape()]);
    await times(4, () => open(one.relay));
    await times(4, () => open(other.relay));
    await scrape();
    await Promise.all([one.stop(), other.watch.scrape()]);
    await Promise.all([one.start(), other.watch.scrape()]);
    await times(3, () => open(one.relay));
    await scrape();
    await expectFired(
      [one.watch, other.watch],
      [{ alert: 'SignInRelayNobodyComesBack', labels: AT_MAL }],
    );
  });

  test('SignInRelayResultsNotFetched: users sign in, and no device polls', async () => {
    await using watched = await startWatched({ SESSION_SECONDS: '3' });
    const { relay, watch } = watched;
    await times(3, () => comeBack(relay));
    await untilExpired(relay, watch, 3);
    await expectFired([watch], [{ alert: 'SignInRelayResultsNotFetched', labels: AT_MAL }]);
  });

  test('SignInRelayProviderSlow: exchanges take longer than 5 s', async () => {
    await using watched = await startWatched();
    const { relay, watch } = watched;
    const gate = createGate();
    const held = gate.close();
    let exchanges = 0;
    answer = async () => {
      exchanges += 1;
      const isLate = exchanges > 3;
      await Bun.sleep(5_100);
      if (isLate) await gate.pass();
      return granted();
    };
    const users = await Promise.all(Array.from({ length: 6 }, () => comeBackLater(relay)));
    await Promise.race(users.map(({ done }) => done));
    await watch.scrape(8);
    held.release();
    await Promise.all(users.map(({ done }) => done));
    await watch.scrape();
    await expectFired([watch], [{ alert: 'SignInRelayProviderSlow', labels: AT_MAL }]);
  });

  test('SignInRelayNearlyFull: nine sign-ins of ten are open', async () => {
    await using watched = await startWatched({ MAX_SESSIONS: '10' });
    await times(8, () => start(watched.relay));
    await watched.watch.scrape(10);
    await expectFired([watched.watch], []);
    await start(watched.relay);
    await watched.watch.scrape();
    await expectFired([watched.watch], [{ alert: 'SignInRelayNearlyFull', labels: JOB }]);
  });

  test('SignInRelayStartsLimited: an address starts too many', async () => {
    await using watched = await startWatched({ START_BURST: '1', START_RATE: '0.001' });
    const { relay, watch } = watched;
    const startMany = () => times(80, () => relay.ask('/auth/start', startRequest()));
    await startMany();
    await watch.scrape(8);
    await expectFired([watch], []);
    await startMany();
    await watch.scrape();
    await expectFired([watch], [{ alert: 'SignInRelayStartsLimited', labels: JOB }]);
  });

  test('SignInRelayStoreErrors and SignInRelayNotReady: Redis has gone', async () => {
    await using redis = await startRedis();
    await using watched = await startWatched({ REDIS_URL: redis.url });
    const { relay, watch } = watched;
    await times(3, () => signIn(relay));
    await watch.scrape();
    await redis.kill();
    await relay.waitForEvent('store_lost');
    for (let minute = 0; minute < 3; minute += 1) {
      await Promise.all([1, 2, 3].map(() => relay.ask('/auth/start', startRequest())));
      await watch.scrape();
    }
    await expectFired(
      [watch],
      [
        { alert: 'SignInRelayStoreErrors', labels: JOB },
        { alert: 'SignInRelayNotReady', labels: { ...JOB, instance: watch.instance } },
      ],
    );
  });

  test('SignInRelayLimited: Redis is full: one start is enough, and it pages once', async () => {
    await using redis = await startRedis({ maxMemory: '64mb', evictionPolicy: 'noeviction' });
    await using watched = await startWatched({ REDIS_URL: redis.url });
    const { relay, watch } = watched;
    await redis.cli('CONFIG', 'SET', 'maxmemory', 1);
    for (let minute = 0; minute < 4; minute += 1) {
      expect((await relay.ask('/auth/start', startRequest())).status).toBe(503);
      await watch.scrape();
    }
    expect(await (await relay.ask('/ready')).text()).toContain('some requests fail');
    const labels = { ...JOB, instance: watch.instance };
    await expectFired([watch], [{ alert: 'SignInRelayLimited', labels }]);
  });

  test('SignInRelayStoreSlow: Redis pauses before each command', async () => {
    await using redis = await startRedis();
    await using watched = await startWatched({ REDIS_URL: redis.url });
    const { relay, watch } = watched;
    const startSlowly = async () => {
      await redis.cli('CLIENT', 'PAUSE', 400, 'ALL');
      await start(relay);
    };
    for (let round = 0; round < 3; round += 1) {
      await startSlowly();
      await watch.scrape(4);
    }
    await expectFired([watch], [{ alert: 'SignInRelayStoreSlow', labels: JOB }]);
  });

  test('SignInRelayFileDescriptors: waiting devices use up the limit', async () => {
    await using watched = await startWatched({}, { openFiles: 200 });
    const { relay, watch } = watched;
    const sessions = await Promise.all(Array.from({ length: 165 }, () => start(relay)));
    const devices = new AbortController();
    const { signal } = devices;
    const polls = sessions.map(({ session }) => poll(relay, session, { signal }));
    await relay.untilParked(polls.length);
    await watch.scrape();
    devices.abort();
    await Promise.allSettled(polls);
    await expectFired(
      [watch],
      [{ alert: 'SignInRelayFileDescriptors', labels: { ...JOB, instance: watch.instance } }],
    );
  });

  test('has a severity, and a section of the documentation that says what to do', () => {
    const page = readFileSync(join(ROOT, 'docs/reference.md'), 'utf8');
    for (const { alert, labels } of RULES) {
      expect(page).toContain(`\n### ${alert}\n`);
      expect(labels.severity).toMatch(/^(warning|critical)$/);
    }
  });

  test('of each rule has been seen', () => {
    expect([...seen].toSorted()).toEqual(RULES.map(({ alert }) => alert).toSorted());
  });
});
