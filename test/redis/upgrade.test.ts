/**
 * A rolling update (docs/upgrading.md): two relays of the old release on one Redis are
 * replaced one after the other by relays of this one, with 1,000 sign-ins in progress.
 * Each sign-in may start at one release, continue at the other and be delivered by
 * either. None is lost or delivered twice, and no code is exchanged twice.
 * test/stores/seal.test.ts reads recorded records, also without the sources of that release.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  acknowledge,
  type DeviceAuthorization,
  pollToken,
  requestAuthorization,
  start,
  type Target,
} from '../kit/device.ts';
import { unpackOldRelease } from '../kit/old-release.ts';
import { findFreePort } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { testSeed } from '../kit/random.ts';
import { startRedis } from '../kit/redis/server.ts';
import { MAIN, type RelayProcess, startRelay } from '../kit/relay.ts';
import { LONG_POLL_SECONDS, signIn, tally } from '../kit/relay-pair.ts';
import { openRaw, statusOf } from '../kit/sockets.ts';
import { bringCode, continueWithCode, makeCode } from '../kit/user.ts';

const SIGN_INS = 1_000;
/** These start while the relays are replaced. */
const LATER_SIGN_INS = 200;
const USERS_AT_ONCE = 40;
const RETRY_MS = 50;
/** Shorter than a poll is held: one that the other release does not notify of its result fails the test. */
const LONGEST_MS = 200_000;

/** The releases that run, in order. While one is replaced, users and devices continue. */
const PHASES = ['old and old', 'first replaced', 'new and old', 'second replaced', 'new and new'];
type Phase = number;

/**
 * For one user: sends each request to the next relay, and to the other one if that is
 * down or stopping, as deploy/nginx.conf does.
 */
function createBalancer(relays: readonly RelayProcess[], user: number): Target {
  let turn = user;
  const address = `10.0.${user >> 8}.${user & 255}`;
  return {
    async ask(path, init) {
      const headers = new Headers(init?.headers);
      headers.set('X-Forwarded-For', address);
      for (;;) {
        turn += 1;
        const relay = relays[turn % relays.length];
        const response = await relay?.ask(path, { ...init, headers }).catch(() => undefined);
        if (response && response.status !== 503) return response;
        await Bun.sleep(RETRY_MS);
      }
    },
  };
}

interface Tokens {
  readonly accessToken?: string;
}

/** Polls until there is a result. Not by `fetch`, of which Bun has 256 at once. */
async function waitForResult(relays: readonly RelayProcess[], session: string, first: number) {
  for (let turn = first; ; turn += 1) {
    const connection = openRaw(relays[turn % relays.length]?.baseUrl ?? '');
    const path = `/auth/result?session=${session}`;
    await connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    const response = await connection.closed;
    const status = statusOf(response);
    if (status === 200) return JSON.parse(response.split('\r\n\r\n')[1] ?? '') as Tokens;
    if (status !== 204 && status !== 'closed') throw new Error(`poll: ${status}`);
    await Bun.sleep(RETRY_MS);
  }
}

/** A relay that is stopping tells the device to start again later (docs/device-grant.md "Errors"). */
async function authorizeWhenPossible(target: Target) {
  for (;;) {
    const { body } = await requestAuthorization(target);
    if (body.error !== 'temporarily_unavailable') {
      const { device_code, verification_uri_complete } = body as object as DeviceAuthorization;
      return { deviceCode: device_code, link: new URL(verification_uri_complete).pathname };
    }
    await Bun.sleep(RETRY_MS);
  }
}

const RACES = 100;

/** Whole sign-ins at two releases at once, started at either; two polls of each race, one at each release. */
async function race(relays: readonly RelayProcess[]): Promise<void> {
  const inTurn = (nth: number) => (nth % 2 === 0 ? relays : relays.toReversed());
  const signIns = await Promise.all(Array.from({ length: RACES }, (_, nth) => signIn(inTurn(nth))));
  expect(tally(signIns)).toMatchObject({ delivered: RACES, doubled: 0, lost: 0, wrong: 0 });
}

const KINDS = ['link', 'acknowledged', 'code', 'device grant'] as const;

/** When it starts, when its user opens the link, and when the user comes back from the provider. */
type Plan = readonly [Phase, Phase, Phase];

interface SignIn {
  /** How its device and its user reach the relays. */
  readonly target: Target;
  readonly kind: (typeof KINDS)[number];
  readonly code: string;
  readonly phases: Plan;
  /** What its device has received. */
  result?: Promise<Tokens>;
  deviceCode?: string;
  /** The path of the short link. */
  link?: string;
  state?: string;
}

/** At random, of those that start between two phases. */
function makePlans(count: number, firstStart: Phase, lastStart: Phase) {
  const later = fc.integer({ min: 0, max: PHASES.length - 1 });
  const plan = fc
    .tuple(fc.integer({ min: firstStart, max: lastStart }), later, later)
    .map(([started, one, other]): Plan => {
      const [opened, returned] = [Math.min(one, other), Math.max(one, other)];
      return [started, Math.max(started, opened), Math.max(started, returned)];
    });
  const run = { seed: testSeed, numRuns: count };
  return fc.sample(fc.tuple(fc.constantFrom(...KINDS), plan), run);
}

test(
  `${SIGN_INS} sign-ins in progress while the old release is replaced by this one: none is lost`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const old = await unpackOldRelease();
    stack.defer(old.remove);
    const redis = stack.use(await startRedis());
    const provider = stack.use(startTokenEndpoint());
    const env = {
      REDIS_URL: redis.url,
      MAL_TOKEN_URL: provider.tokenUrl,
      // The same in both, as for relays behind a load balancer.
      OAUTH_BASE_URL: 'https://relay.test',
      TRUSTED_PROXY_CIDRS: '127.0.0.1',
      POLL_SECONDS: LONG_POLL_SECONDS,
      BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
      START_BURST: '1000',
    };
    const ports = [await findFreePort(), await findFreePort()] as const;
    async function run(main: string, port: number): Promise<RelayProcess> {
      const relay = await startRelay(env, { port, command: [process.execPath, main] });
      stack.defer(async () => void (await relay.stop('SIGKILL')));
      return relay;
    }
    const relays = await Promise.all([run(old.main, ports[0]), run(old.main, ports[1])]);

    async function replace(index: 0 | 1): Promise<void> {
      expect(await relays[index]?.stop('SIGTERM')).toBe(0);
      relays[index] = await run(MAIN, ports[index]);
    }

    const plans = [...makePlans(SIGN_INS, 0, 0), ...makePlans(LATER_SIGN_INS, 1, 3)];
    const signIns = plans.map(([kind, phases], user): SignIn => {
      return { target: createBalancer(relays, user), kind, phases, code: makeCode() };
    });

    async function startOne(signIn: SignIn, index: number): Promise<void> {
      if (signIn.kind === 'device grant') {
        Object.assign(signIn, await authorizeWhenPossible(signIn.target));
        return;
      }
      const asked = { link: {}, acknowledged: { ack: true }, code: { code: true } }[signIn.kind];
      const { session, state, link } = await start(signIn.target, 'mal', asked);
      Object.assign(signIn, link ? { link } : { state });
      signIn.result = waitForResult(relays, session, index).then(async (result) => {
        if (signIn.kind === 'acknowledged') {
          expect((await acknowledge(signIn.target, session)).status).toBe(204);
        }
        return result;
      });
      // Awaited at the end.
      signIn.result.catch(() => undefined);
    }

    async function openOne(signIn: SignIn): Promise<void> {
      if (signIn.link) {
        expect((await signIn.target.ask(signIn.link)).status).toBe(200);
        signIn.state = await continueWithCode(signIn.target, signIn.link);
      } else {
        expect((await signIn.target.ask(`/auth/mal?state=${signIn.state}`)).status).toBe(302);
      }
    }

    async function returnOne({ target, state = '', code }: SignIn): Promise<void> {
      expect((await bringCode(target, state, code)).status).toBe(200);
    }

    async function actIn(phase: Phase): Promise<void> {
      for (const [step, act] of [startOne, openOne, returnOne].entries()) {
        const due = [...signIns.entries()].filter(([, { phases }]) => phases[step] === phase);
        const user = async () => {
          for (let next = due.shift(); next; next = due.shift()) await act(next[1], next[0]);
        };
        await Promise.all(Array.from({ length: USERS_AT_ONCE }, user));
      }
    }

    for (const phase of PHASES.keys()) {
      const replaced = phase === 1 ? replace(0) : phase === 3 ? replace(1) : undefined;
      await Promise.all([replaced, actIn(phase)]);
      if (PHASES[phase] === 'new and old') await race(relays);
    }

    for (const { target, result, deviceCode, code } of signIns) {
      const token = tokensFor(code).accessToken;
      const received = deviceCode
        ? (await pollToken(target, deviceCode)).body.access_token
        : (await result)?.accessToken;
      expect(received).toBe(token);
      expect(provider.requestsFor(code)).toBe(1);
    }
  },
  LONGEST_MS,
);
