/**
 * Whether the time of a response tells a guesser anything: for each secret that a request may
 * bring, two kinds of request in random order, compared by bench/welch.ts. docs/timing.md.
 */
import { hash, randomBytes } from 'node:crypto';
import { createAdmin } from '../../src/admin/admin.ts';
import { USER_CODE_ALPHABET } from '../../src/limits.ts';
import { createUserCode } from '../../src/relay/secrets.ts';
import { systemClock } from '../../src/relay/time.ts';
import type { RedisServer } from '../../test/kit/redis/server.ts';
import { record } from '../figures.ts';
import {
  asNew,
  callback,
  DEVICE_CODE,
  get,
  link,
  openRelay,
  poll,
  type Relay,
  type Run,
  refresh,
  runOf,
  shortLink,
  token,
} from '../in-process.ts';
import { connect, hold, type Request as SocketRequest } from '../load.ts';
import { type Bench, type Column, startWarm } from '../processes.ts';
import { compare, SAME_BELOW } from '../welch.ts';

const [MEMORY, REDIS] = ['Timing, in memory', 'Timing, over Redis'];

/** In every round all comparisons anew, with other secrets. */
export async function measureTiming(bench: Bench): Promise<void> {
  const { plan, redis } = bench;
  for (let round = 0; round < plan.timingRounds; round += 1) {
    await measurePlanted(plan.timedInProcess);
    await measureLookUps(plan.timedInProcess);
    await measureStore(MEMORY, plan.timedInProcess, undefined);
    await measureAdmin(plan.timedInProcess);
    if (redis !== undefined) await measureStore(REDIS, plan.timedOverRedis, redis);
  }
  await measureOverSocket(bench, 'memory');
  if (redis !== undefined) await measureOverSocket(bench, 'Redis, one relay');
}

/** Two kinds of the same thing, with the status that each gets. */
interface Pair<T> {
  readonly name: string;
  readonly make: readonly [() => T, () => T];
  readonly statuses: readonly [number, number];
}

/** Made before the first of them is timed. */
const BATCH = 250;
/** Not recorded: their code is not compiled yet. */
const WARM_UP_BATCHES = 8;

async function measure<T>(section: string, pair: Pair<T>, count: number, run: Run<T>) {
  const { name, make, statuses } = pair;
  const samples: [number[], number[]] = [[], []];
  for (let batch = -WARM_UP_BATCHES; batch < count / BATCH; batch += 1) {
    const made = Array.from({ length: BATCH }, () => {
      const kind = Math.random() < 0.5 ? 0 : 1;
      return { kind, value: make[kind]() } as const;
    });
    for (const { kind, value } of made) {
      const beginNs = Bun.nanoseconds();
      const answer = run(value);
      const status = typeof answer === 'number' ? answer : await answer;
      const tookNs = Bun.nanoseconds() - beginNs;
      if (status !== statuses[kind]) throw new Error(`${name}: ${status} for kind ${kind}`);
      if (batch >= 0) samples[kind].push(tookNs);
    }
  }
  const { t, difference, foundFrom } = compare(...samples);
  record(section, 't', name, t);
  record(section, 'difference, ns', name, difference);
  record(section, 'found from, ns', name, foundFrom);
  return t;
}

/* Guesses. */

const capability = () => asNew(randomBytes(18).toString('base64url'));
const userCode = () => asNew(createUserCode(randomBytes));

/** So many of each kind, so that no cache knows one kind better. */
const POOL = 1_000;
const poolOf = (create: () => string) => Array.from({ length: POOL }, create);
const pick = (pool: ArrayLike<string>) => pool[Math.floor(Math.random() * pool.length)] ?? '';

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** All but the last two characters are those of one of the pool. */
function nearMissOf(pool: readonly string[], alphabet: string): string {
  const secret = pick(pool);
  for (;;) {
    const guess = secret.slice(0, -2) + pick(alphabet) + pick(alphabet);
    if (guess !== secret) return guess;
  }
}

/** Secrets that exist, and as many that never did. */
type Pools = readonly [exist: readonly string[], never: readonly string[]];
type Ask<T> = (secret: string) => T;

/** Near misses of both: the guess that is almost right must not take longer. */
function guesses<T>(
  secret: string,
  pools: Pools,
  status: number,
  ask: Ask<T>,
  alphabet = BASE64URL,
): Pair<T> {
  const [exist, never] = pools;
  return {
    name: `${secret}: begins right, or wrong`,
    make: [() => ask(nearMissOf(exist, alphabet)), () => ask(nearMissOf(never, alphabet))],
    statuses: [status, status],
  };
}

function pair<T>(
  name: string,
  [first, second]: Pools,
  statuses: readonly [number, number],
  ask: Ask<T>,
): Pair<T> {
  return { name, make: [() => ask(pick(first)), () => ask(pick(second))], statuses };
}

/* In the process. */

/** The look-ups of the memory store by themselves: a request has noise that would hide a small difference. */
async function measureLookUps(count: number): Promise<void> {
  const relay = await openRelay({ redis: undefined });
  const { polls, states, codes } = await relay.start(POOL);
  const tokens = poolOf(capability);
  const { sessions, refreshes } = relay.stores;
  for (const each of tokens) {
    await refreshes.begin(each);
    await refreshes.finish(each, 'granted');
  }
  const never = poolOf(capability);
  const lookUp = async (pair: Pair<string>, find: (guess: string) => unknown) => {
    const run = (guess: string) => {
      find(guess);
      return 0;
    };
    await measure('Timing, look-ups in memory', pair, count, run);
  };
  const code = guesses('user code', [codes, poolOf(userCode)], 0, asNew, USER_CODE_ALPHABET);
  await lookUp(guesses('poll secret', [polls, never], 0, asNew), (guess) => sessions.claim(guess));
  await lookUp(guesses('state', [states, never], 0, asNew), (guess) =>
    sessions.getAuthorization('mal', guess),
  );
  await lookUp(code, (guess) => sessions.getSession({ userCode: guess }));
  await lookUp(guesses('refresh token', [tokens, never], 0, asNew), (guess) =>
    refreshes.begin(guess),
  );
  relay.close();
}

async function measureStore(section: string, count: number, redis: RedisServer | undefined) {
  const relay = await openRelay({ redis });
  for (const each of await pairsOf(relay)) await measure(section, each, count, relay.run);
  // Last, because the results are kept for a short time.
  const pools = [poolOf(capability), poolOf(capability)] as const;
  await relay.refreshAll(pools[0]);
  const kept = 'refresh token: result kept, or unknown (other answers)';
  await measure(section, guesses('refresh token', pools, 503, refresh), count, relay.run);
  await measure(section, pair(kept, pools, [200, 503], refresh), count, relay.run);
  relay.close();
  await measureRefused(section, count, redis);
  await measureCookie(section, count, redis);
}

async function pairsOf({ run, start, expire }: Relay): Promise<Pair<Request>[]> {
  const expired = await start(POOL);
  expire();
  const [live, delivered] = [await start(POOL), await start(POOL)];
  for (const state of delivered.states) await run(callback(state));
  for (const secret of delivered.polls) await run(poll(secret));
  const [never, wrong] = [poolOf(capability), poolOf(userCode)];
  const polls = [live.polls, never] as const;
  const states = [live.states, never] as const;
  const codes = [live.codes, wrong] as const;
  const other = 'pending, or unknown (other answers)';
  const same = 'expired, or never existed';
  return [
    guesses('poll secret', polls, 410, poll),
    guesses('device code', polls, 400, token),
    guesses('state of a link', states, 404, link),
    guesses('state of a callback', states, 404, callback),
    guesses('user code', codes, 404, shortLink, USER_CODE_ALPHABET),
    pair(`poll secret: ${same}`, [expired.polls, never], [410, 410], poll),
    pair('poll secret: delivered, or never existed', [delivered.polls, never], [410, 410], poll),
    pair(`device code: ${same}`, [expired.polls, never], [400, 400], token),
    pair(`state of a link: ${same}`, [expired.states, never], [404, 404], link),
    pair(`user code: ${same}`, [expired.codes, wrong], [404, 404], shortLink),
    pair(`poll secret: ${other}`, polls, [204, 410], poll),
    pair(`device code: ${other}`, polls, [400, 400], token),
    pair(`state of a link: ${other}`, states, [302, 404], link),
    pair(`user code: ${other}`, codes, [200, 404], shortLink),
  ];
}

/** After too many wrong codes a right one gets the same refusal. */
async function measureRefused(section: string, count: number, redis: RedisServer | undefined) {
  const relay = await openRelay({ redis, codeLimit: { burst: 1, ratePerSecond: 0.000_001 } });
  const { codes } = await relay.start(POOL);
  await relay.run(shortLink(userCode()));
  const name = 'user code, refused by the limit: exists, or does not';
  const refused = pair(name, [codes, poolOf(userCode)], [429, 429], shortLink);
  await measure(section, refused, count, relay.run);
  relay.close();
}

/** With CONFIRM=always. The name of the cookie has a digest of the state. */
async function measureCookie(section: string, count: number, redis: RedisServer | undefined) {
  const relay = await openRelay({ redis, confirm: 'always' });
  const { states } = await relay.start(POOL);
  const nameOf = (state: string) => hash('sha256', `continued:${state}`, 'base64url');
  const ask = (digestFor: (state: string) => string) => () => {
    const state = pick(states);
    const cookie = `__Host-continued-${nearMissOf([digestFor(state)], BASE64URL)}=1`;
    return get(`/auth/mal/callback?state=${state}&code=c`, { cookie });
  };
  const cookies: Pair<Request> = {
    name: 'cookie of a callback: begins right, or wrong',
    make: [ask(nameOf), ask(() => nameOf(capability()))],
    statuses: [404, 404],
  };
  await measure(section, cookies, count, relay.run);
  relay.close();
}

async function measureAdmin(count: number): Promise<void> {
  const pools = [[capability()], [capability()]] as const;
  const admin = createAdmin({
    clock: systemClock,
    services: [{ name: 'mal', displayName: 'MyAnimeList' }],
    maxSessions: 5_000,
    runtime: 'Bun',
    names: [],
    token: pools[0][0],
  });
  const ask = (given: string) =>
    new Request('http://127.0.0.1/metrics', { headers: { authorization: `Bearer ${given}` } });
  const run = runOf(admin.handle);
  // Compared, not looked up: measured as exactly as the planted comparison.
  await measure(MEMORY, guesses('admin token', pools, 401, ask), 4 * count, run);
  const name = 'admin token: right, or wrong (other answers)';
  await measure(MEMORY, pair(name, pools, [200, 401], ask), count, run);
}

/* Planted faults. */

/** As a naive program compares: it ends at the first character that differs. */
function isSameUntilItDiffers(first: string, second: string): boolean {
  for (let at = 0; at < second.length; at += 1) if (first[at] !== second[at]) return false;
  return first.length === second.length;
}

/** The method must find the faults, and nothing between equals. */
async function measurePlanted(count: number): Promise<void> {
  const section = 'Timing, planted faults';
  const relay = await openRelay({ redis: undefined });
  const { polls } = await relay.start(1);
  const [never, equal] = [[capability()], [capability()]];
  const [secret = ''] = polls;
  const alone: Run<string> = (guess) => (isSameUntilItDiffers(guess, secret) ? 200 : 410);
  const inFront: Run<Request> = (request) => {
    const begin = request.url.indexOf('=') + 1;
    isSameUntilItDiffers(request.url.slice(begin, begin + secret.length), secret);
    return relay.run(request);
  };
  const named = <T>(name: string, pools: Pools, ask: Ask<T>) => ({
    ...guesses('', pools, 410, ask),
    name,
  });
  const comparison = named('an early-exit comparison by itself', [polls, never], asNew);
  const planted = named('the same in front of a poll', [polls, never], poll);
  const found = [
    await measure(section, comparison, count, alone),
    await measure(section, planted, 4 * count, inFront),
  ];
  await measure(section, named('two equal kinds', [equal, never], poll), count, relay.run);
  relay.close();
  if (found.every((t) => Math.abs(t) >= SAME_BELOW)) return;
  throw new Error(`a planted fault was not found (t = ${found}): repeat it on a quieter machine`);
}

/* Over a socket, with a relay in a process of its own. */

async function measureOverSocket(bench: Bench, column: Column): Promise<void> {
  const { plan } = bench;
  const target = await startWarm(bench, column);
  const sessions = await hold(target.ports, POOL);
  const connection = await connect(target.ports.device);
  const run: Run<SocketRequest> = async (request) => (await connection.send(request)).status;
  const never = poolOf(capability);
  const polls = [sessions.map(({ pollSecret }) => asNew(pollSecret)), never] as const;
  const states = [sessions.map(({ state }) => asNew(state)), never] as const;
  const client = '192.0.2.1';
  const path = '/oauth2/mal/token';
  const pairs = [
    guesses('poll secret', polls, 410, (guess) => {
      return { client, path: `/auth/result?session=${guess}&wait=0` };
    }),
    guesses('device code', polls, 400, (guess) => {
      return { client, method: 'POST', path, body: `${DEVICE_CODE}=${guess}` };
    }),
    guesses('state of a link', states, 404, (guess) => {
      return { client, path: `/auth/mal?state=${guess}` };
    }),
  ];
  const section = `Timing, over a socket, ${column === 'memory' ? 'memory' : 'Redis'}`;
  for (let round = 0; round < plan.timingRounds; round += 1) {
    for (const each of pairs) await measure(section, each, plan.timedOverRedis, run);
  }
  connection.close();
  await target.stop();
}
