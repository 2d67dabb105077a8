/**
 * Each alert rule fires for what it names, and for nothing else: `promtool test rules` with what the
 * admin port writes minute by minute. test/admin/metrics.test.ts shows what the relay counts.
 */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAdmin } from '../../src/admin/admin.ts';
import type { Monitor, UpstreamOutcome } from '../../src/monitor.ts';
import type { ServiceState } from '../../src/service.ts';
import { createFakeClock } from '../kit/clock.ts';
import { expectAlerts, type Fired, RULES } from '../kit/prometheus.ts';
import { ROOT } from '../kit/relay.ts';
import { SETTINGS } from '../kit/service.ts';

const JOB = { job: 'sign-in-relay' };
const AT_MAL = { ...JOB, provider: 'mal' };
const READY: ServiceState = { liveSessions: 0, parkedPolls: 0, readiness: { status: 'ready' } };

/** One of two relays, and what Prometheus has read there. The first scrape is that of its start. */
function createRelay(instance: string) {
  const start = () => {
    const clock = createFakeClock();
    const settings = { ...SETTINGS, providers: SETTINGS.providers.slice(0, 1), maxSessions: 10 };
    return createAdmin(settings, 'Bun 1.4.5', clock, async () => relay.state);
  };
  let admin = start();
  const scrapes: (string | undefined)[] = [];
  const relay = {
    instance,
    scrapes,
    state: READY,
    openFiles: 20,
    isRunning: true,
    get monitor(): Monitor {
      return admin.monitor;
    },
    restart(): void {
      admin = start();
    },
    async scrape(): Promise<void> {
      if (!relay.isRunning) return void scrapes.push(undefined);
      const asked = new Request('http://127.0.0.1/metrics');
      const text = await (await admin.handle(asked, { requestIP: () => null })).text();
      scrapes.push(
        text
          .replace(/^process_open_fds .*$/m, `process_open_fds ${relay.openFiles}`)
          .replace(/^process_max_fds .*$/m, 'process_max_fds 200'),
      );
    },
  };
  return relay;
}

type Relay = ReturnType<typeof createRelay>;

interface Stage {
  readonly one: Relay;
  readonly other: Relay;
  /** Prometheus scrapes both at the end of each minute. */
  pass(minutes?: number): Promise<void>;
}

function times(count: number, act: () => void): void {
  for (let done = 0; done < count; done += 1) act();
}

function refresh({ monitor }: Relay, outcome: UpstreamOutcome = 'granted'): void {
  monitor.providerResponded('mal', 'refresh', outcome, 100);
}

/** A user comes back from the provider, perhaps to the other relay. */
function comeBack(
  { monitor }: Relay,
  outcome: UpstreamOutcome = 'granted',
  tookMs = 100,
  back = monitor,
) {
  monitor.started('mal');
  monitor.opened('mal');
  back.calledBack('mal');
  back.providerResponded('mal', 'exchange', outcome, tookMs);
}

async function restart({ one, pass }: Stage): Promise<void> {
  one.isRunning = false;
  await pass();
  one.isRunning = true;
  one.restart();
  await pass();
}

const ONE = { ...JOB, instance: 'one:9090' };

/** Another program without file descriptors, in a job that is down. */
const OTHERS = ['process_open_fds 1000', 'process_max_fds 1024', 'up 0'].map((sample) => {
  const [name, value] = sample.split(' ');
  return { series: `${name}{job="node", instance="other:9100"}`, values: `${value}x120` };
});

const NO_TARGET: Fired = { SignInRelayNoTarget: {} };
/** The labels of each alert that fires in any test. */
const seen: Record<string, object> = { ...NO_TARGET };

/** Exactly these alerts fire, with these labels. */
function scenario(name: string, fired: Fired, act: (stage: Stage) => unknown): void {
  Object.assign(seen, fired);
  test(name, async () => {
    const [one, other] = [createRelay('one:9090'), createRelay('two:9090')];
    async function pass(minutes = 1): Promise<void> {
      for (let minute = 0; minute < minutes; minute += 1) {
        await one.scrape();
        await other.scrape();
      }
    }
    await pass();
    await act({ one, other, pass });
    await pass();
    await expectAlerts([one, other], fired, OTHERS);
  });
}

const NONE = {};

scenario('none while users come back to the other relay, and one restarts', NONE, async (stage) => {
  const { one, other, pass } = stage;
  for (let minute = 0; minute < 12; minute += 1) {
    times(2, () => comeBack(one, 'granted', 100, other.monitor));
    comeBack(one, minute < 2 ? 'invalid_grant' : 'granted', 100, other.monitor);
    if (minute < 4) one.monitor.opened('mal');
    refresh(other);
    await pass();
  }
  await restart(stage);
  times(3, () => comeBack(one, 'granted', 100, other.monitor));
  await pass();
});

scenario('none while the refresh tokens of many devices have expired', NONE, ({ one, pass }) => {
  times(10, () => refresh(one, 'invalid_grant'));
  return pass(12);
});

scenario('none for two failures of each kind, or users at the provider', NONE, async (stage) => {
  const { one, pass } = stage;
  times(10, () => one.monitor.opened('mal'));
  await pass(9);
  times(2, () => comeBack(one, 'invalid_client'));
  times(2, () => refresh(one, 'invalid_client'));
  times(2, () => one.monitor.expired('mal', 'called_back'));
  await pass();
});

const DOWN = { SignInRelayDown: ONE };
scenario('one of two relays is killed, and only that one is named', DOWN, ({ one, pass }) => {
  one.isRunning = false;
  return pass();
});

scenario('a relay is not configured', { SignInRelayNotReady: ONE }, ({ one }) => {
  one.state = { ...READY, readiness: { status: 'down', reason: 'not configured' } };
});

const REFUSED = { SignInRelayExchangesFail: AT_MAL, SignInRelayRefreshesFail: AT_MAL };
scenario('the provider refuses the client secret', REFUSED, ({ one, pass }) => {
  comeBack(one);
  times(3, () => comeBack(one, 'invalid_client'));
  times(4, () => refresh(one, 'invalid_client'));
  return pass();
});

const NOBODY = { SignInRelayNobodyComesBack: AT_MAL };
scenario('ten users leave two relays, one restarts, and none comes back', NOBODY, async (stage) => {
  const { one, other, pass } = stage;
  times(4, () => one.monitor.opened('mal'));
  times(4, () => other.monitor.opened('mal'));
  await pass();
  await restart(stage);
  times(3, () => one.monitor.opened('mal'));
  await pass();
});

const UNFETCHED = { SignInRelayResultsNotFetched: AT_MAL };
scenario('users sign in, and no device polls', UNFETCHED, ({ one, pass }) => {
  times(3, () => comeBack(one));
  times(3, () => one.monitor.expired('mal', 'called_back'));
  return pass();
});

const SLOW = { SignInRelayProviderSlow: AT_MAL };
scenario('exchanges take longer than 5 s', SLOW, async ({ one, pass }) => {
  times(3, () => comeBack(one, 'granted', 5_100));
  await pass(8);
  times(3, () => comeBack(one, 'granted', 15_000));
  await pass();
});

scenario('none while eight sign-ins of ten are open', NONE, ({ one }) => {
  one.state = { ...READY, liveSessions: 8 };
});

scenario('nine sign-ins of ten are open', { SignInRelayNearlyFull: JOB }, ({ one }) => {
  one.state = { ...READY, liveSessions: 9 };
});

for (const [kind, alert] of [
  ['start', 'SignInRelayStartsLimited'],
  ['code', 'SignInRelayCodesLimited'],
] as const) {
  scenario(`none while an address meets the limit on each ${kind} for a moment`, NONE, ({ one }) =>
    times(80, () => one.monitor.rateLimited(kind)),
  );

  const limited = { [alert]: JOB };
  scenario(`an address meets the limit on each ${kind} again`, limited, async ({ one, pass }) => {
    times(80, () => one.monitor.rateLimited(kind));
    await pass(8);
    times(80, () => one.monitor.rateLimited(kind));
  });
}

const GONE = { SignInRelayStoreErrors: JOB, SignInRelayNotReady: ONE };
scenario('Redis has gone', GONE, async ({ one, pass }) => {
  times(30, () => one.monitor.storeAnswered(1));
  await pass();
  one.state = { ...READY, readiness: { status: 'down', reason: 'store' } };
  for (let minute = 0; minute < 3; minute += 1) {
    times(3, () => one.monitor.storeFailed('unreachable'));
    await pass();
  }
});

const FULL = { SignInRelayLimited: ONE };
scenario('Redis is full: one page, however many starts are refused', FULL, async (stage) => {
  const { one, pass } = stage;
  one.state = { ...READY, readiness: { status: 'degraded', reason: 'store' } };
  for (let minute = 0; minute < 4; minute += 1) {
    one.monitor.storeFailed('refused');
    await pass();
  }
});

const PAUSES = { SignInRelayStoreSlow: JOB };
scenario('Redis pauses before each command', PAUSES, async ({ one, pass }) => {
  for (let round = 0; round < 3; round += 1) {
    one.monitor.storeAnswered(400);
    await pass(4);
  }
});

const USED_UP = { SignInRelayFileDescriptors: ONE };
scenario('waiting devices use up the file descriptors', USED_UP, ({ one }) => {
  one.openFiles = 170;
});

test('an alert when Prometheus has no such job', () => expectAlerts([], NO_TARGET, OTHERS));

test('each alert was seen, has what its summary names, a severity, and a section', () => {
  const page = readFileSync(join(ROOT, 'docs/reference.md'), 'utf8');
  for (const { alert, labels, annotations } of RULES) {
    const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
    expect(Object.keys(seen)).toContain(alert);
    expect(Object.keys(seen[alert] ?? {})).toEqual(expect.arrayContaining(named));
    expect(page).toContain(`\n### ${alert}\n`);
    expect(labels.severity).toMatch(/^(warning|critical)$/);
  }
});
