/** A device that is stopped, sleeps, or has its clock set while it signs in, by the fake clock. */
import { expect, test } from 'bun:test';
import type { Platform } from '../../client/src/platform.ts';
import { advance, createFakeClock, type FakeClock } from '../kit/clock.ts';
import { IS_SOAK } from '../kit/random.ts';
import { begin, RELAY } from './network.ts';

const SESSION_MS = 600_000;
const LATENCY_MS = 20;
const USER_MS = 30_000;
const KEPT_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Fewer phases and durations than in `npm run soak`. */
const STRIDE = IS_SOAK ? 1 : 3.7;

type Respond = (status: number, json?: object) => void;

/** What a relay does with a session, on the clock that never stops. Its user has signed in after 30 s. */
function createRelay(clock: FakeClock) {
  let startedAtMs = 0;
  let forgetAtMs = 0;
  let poll: { respond: Respond; cancelTimer: () => void } | undefined;
  const isDone = () => clock.now() >= startedAtMs + USER_MS;

  function deliver(respond: Respond): void {
    forgetAtMs ||= clock.now() + KEPT_MS;
    respond(200, { accessToken: 'a' });
  }

  function start(respond: Respond): void {
    startedAtMs = clock.now();
    forgetAtMs = 0;
    const started = {
      session: 's',
      url: `${RELAY}/auth/mal?state=${startedAtMs}`,
      expiresIn: SESSION_MS / 1_000,
    };
    respond(200, started);
    clock.setTimer(USER_MS, () => {
      poll?.cancelTimer();
      if (poll) deliver(poll.respond);
      poll = undefined;
    });
  }

  return {
    endMs: () => startedAtMs + SESSION_MS,
    answer(url: string, respond: Respond): void {
      const wait = Number(/wait=(\d+)/.exec(url)?.[1]);
      const isGone =
        clock.now() > startedAtMs + SESSION_MS || (forgetAtMs && clock.now() > forgetAtMs);
      if (url.endsWith('/services')) {
        respond(200, { services: [{ service: 'mal', name: 'M' }], extensions: ['wait', 'cancel'] });
      } else if (url.endsWith('/auth/start')) start(respond);
      else if (isGone) respond(410);
      else if (url.includes('ack=')) respond(204);
      else if (isDone()) deliver(respond);
      else {
        const cancelTimer = clock.setTimer(wait * 1_000, () => {
          poll = undefined;
          respond(204);
        });
        poll = { respond, cancelTimer };
      }
    },
  };
}

interface Sleep {
  readonly atMs: number;
  readonly ms: number;
  /** A process that is stopped has a clock that goes on, a device that sleeps has one that does not. */
  readonly isDevice?: boolean;
  /** Its connections do not outlive the sleep. */
  readonly isCutOff?: boolean;
}

const NEVER: Sleep = { atMs: HOUR_MS, ms: 0 };

/** The device. While it sleeps nothing runs; when it wakes, its timers do, and then what its sockets have received. */
function createDevice({ atMs, ms, isDevice = false, isCutOff = false }: Sleep) {
  const clock = createFakeClock(0);
  const relay = createRelay(clock);
  const wakeMs = atMs + ms;
  const sleepsAt = (timeMs: number) => timeMs >= atMs && timeMs < wakeMs;
  const counts = { prompts: 0, starts: 0 };
  let aheadMs = 0;

  /** In the order of an event loop: timers first. */
  function whenAwake(order: number, run: () => void): void {
    if (!sleepsAt(clock.now())) run();
    else clock.setTimer(wakeMs - clock.now() + order, run);
  }

  const platform: Platform = {
    send({ url }, _headers, receive) {
      let isOver = false;
      const sentAtMs = clock.now();
      counts.starts += Number(url.endsWith('/auth/start'));
      clock.setTimer(LATENCY_MS, () =>
        relay.answer(url, (status, json) =>
          clock.setTimer(LATENCY_MS, () => {
            if (isCutOff && sentAtMs < wakeMs && clock.now() >= atMs) return;
            whenAwake(0.2, () => {
              if (!isOver) receive({ status, text: json ? JSON.stringify(json) : '' });
            });
          }),
        ),
      );
      return () => {
        isOver = true;
      };
    },
    now: () => clock.now() - (isDevice ? Math.min(Math.max(clock.now() - atMs, 0), ms) : 0),
    date: () => clock.now() + aheadMs,
    later(delayMs, run) {
      let isOver = false;
      // The timers of a device that sleeps stand still too.
      const isAcross = isDevice && clock.now() < atMs && clock.now() + delayMs >= atMs;
      clock.setTimer(delayMs + (isAcross ? ms : 0), () =>
        whenAwake(0.1, () => {
          if (!isOver) run();
        }),
      );
      return () => {
        isOver = true;
      };
    },
    random: () => 0.5,
    challenge: async () => undefined,
  };
  return {
    platform,
    clock,
    relay,
    counts,
    setAhead(value: number) {
      aheadMs = value;
    },
  };
}

/** Signs in, and checks the countdown all the while. */
async function signInOn(device: ReturnType<typeof createDevice>, sleep: Sleep, untilMs: number) {
  const { clock, relay } = device;
  const { prompts, ends } = begin(device);
  while (clock.now() < untilMs) {
    await advance(clock, 500);
    const isAsleep = clock.now() >= sleep.atMs && clock.now() < sleep.atMs + sleep.ms;
    const prompt = prompts.at(-1);
    if (prompt === undefined || isAsleep) continue;
    const left = prompt.secondsLeft();
    const trueLeft = Math.max((relay.endMs() - clock.now()) / 1_000, 0);
    if (left < 0 || left > trueLeft + 1) throw new Error(`says ${left} of ${trueLeft}`);
  }
  return { ends, prompts: prompts.length };
}

const describeSleep = ({ atMs, ms }: Sleep) => `stopped at ${atMs} ms for ${ms} ms`;

const KINDS: readonly (readonly [string, Partial<Sleep>, number])[] = [
  ['a process that is stopped', {}, 300_000],
  ['a device that sleeps', { isDevice: true }, 300_000],
  // Later the relay has dropped what it sent into the dead connection.
  ['a device that loses its connections', { isDevice: true, isCutOff: true }, 50_000],
];

const TWENTY_MINUTES_MS = 1_200_000;

test.each(KINDS)(
  '%s, for any time in any phase, wakes to the tokens, or if they are gone a prompt',
  async (_name, kind, longestMs) => {
    for (let ms = 1_000; ms <= TWENTY_MINUTES_MS; ms += STRIDE * strideAfter(ms, longestMs)) {
      const isKept = ms <= longestMs;
      for (let atMs = 5; atMs < 33_000; atMs += STRIDE * (atMs < 2_000 ? 55 : 740)) {
        const sleep: Sleep = { atMs, ms, ...kind };
        const device = createDevice(sleep);
        const { ends, prompts } = await signInOn(device, sleep, atMs + ms + 120_000);
        const { starts } = device.counts;
        const tokens = ends.map((end) => end.tokens?.accessToken);
        expect([describeSleep(sleep), tokens]).toEqual([describeSleep(sleep), ['a']]);
        // The response to a start may be lost, and the device asks again.
        const isStart = kind.isCutOff && atMs < 200;
        expect(prompts).toBeWithin(1, isKept ? 2 : 3);
        expect(starts).toBeWithin(prompts, prompts + (isKept && !isStart ? 1 : 2));
      }
    }
  },
);

const strideAfter = (ms: number, longestMs: number) =>
  ms < 30_000 ? 1_900 : ms < longestMs ? 13_000 : 97_000;

test.each([HOUR_MS, -HOUR_MS])(
  'a clock set by %d ms in any phase changes nothing; the countdown is right in 5 s',
  async (jumpMs) => {
    for (let atMs = 5; atMs < 29_000; atMs += atMs < 2_000 ? 55 : 740) {
      const device = createDevice(NEVER);
      const { clock, relay } = device;
      const { prompts, ends } = begin(device);
      await advance(clock, atMs);
      device.setAhead(jumpMs);
      await advance(clock, 5_000);
      const trueLeft = Math.floor((relay.endMs() - clock.now()) / 1_000);
      if (ends.length === 0) {
        expect(prompts.at(-1)?.secondsLeft()).toBeWithin(trueLeft - 1, trueLeft + 1);
      }
      await advance(clock, 60_000);
      const tokens = ends.map((end) => end.tokens);
      expect([atMs, tokens, prompts.length]).toEqual([atMs, [{ accessToken: 'a' }], 1]);
    }
  },
);

test('a session is over when the relay says so, whatever the clock says', async () => {
  const { platform, clock } = createDevice(NEVER);
  const patient: Platform = {
    ...platform,
    send(request, headers, receive) {
      if (!request.url.includes('/auth/result')) return platform.send(request, headers, receive);
      const delayMs = 1_000 * Number(/wait=(\d+)/.exec(request.url)?.[1]);
      const status = clock.now() < SESSION_MS + 300_000 ? 204 : 410;
      return clock.setTimer(delayMs, () => receive({ status, text: '' }));
    },
  };
  const { prompts } = begin({ platform: patient });
  await advance(clock, SESSION_MS + 300_000);
  expect(prompts.length).toBe(1);
  await advance(clock, 10_000);
  expect(prompts.length).toBe(2);
});
