/**
 * A relay in this process, for what the noise of a socket would hide, and requests to it. Its
 * time moves only when a section moves it.
 */
import { Buffer } from 'node:buffer';
import type { HandleRequest } from '../src/http/app.ts';
import type { RateLimitPolicy } from '../src/relay/rate-limit.ts';
import { systemClock } from '../src/relay/time.ts';
import type { Stores } from '../src/service.ts';
import { createMemoryRateLimiter } from '../src/stores/memory/rate-limits.ts';
import { createMemoryRefreshStore } from '../src/stores/memory/refreshes.ts';
import { createMemoryStore } from '../src/stores/memory/sessions.ts';
import { createFakeClock, type FakeClock } from '../test/kit/clock.ts';
import type { RedisServer } from '../test/kit/redis/server.ts';
import { BASE_URL, createTestService, SETTINGS } from '../test/kit/service.ts';
import { openTestRedis } from '../test/kit/stores.ts';

/* Neither is reached. */
const MAX_SESSIONS = 1_000_000;
const UNLIMITED: RateLimitPolicy = { burst: 1_000_000_000, ratePerSecond: 1_000_000 };

/** Returns the status. */
export type Run<T> = (made: T) => number | Promise<number>;

const PEERS = { requestIP: () => ({ address: '192.0.2.1' }) };

export function runOf(handle: HandleRequest): Run<Request> {
  return (request) => {
    const answer = handle(request, PEERS);
    return answer instanceof Promise ? answer.then(({ status }) => status) : answer.status;
  };
}

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';
export const DEVICE_CODE = 'grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code';

export const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`${BASE_URL}${path}`, { headers });
const post = (path: string, body: string, type: string) =>
  new Request(`${BASE_URL}${path}`, { method: 'POST', body, headers: { 'content-type': type } });

export const poll = (secret: string) => get(`/auth/result?session=${secret}&wait=0`);
export const link = (state: string) => get(`/auth/mal?state=${state}`);
export const callback = (state: string) => get(`/auth/mal/callback?state=${state}&code=c`);
export const shortLink = (code: string) => get(`/L/${code.slice(0, 4)}-${code.slice(4)}`);
export const token = (code: string) => post('/oauth2/mal/token', `${DEVICE_CODE}=${code}`, FORM);
export const refresh = (refreshToken: string) =>
  post('/refresh', JSON.stringify({ service: 'mal', refreshToken }), JSON_TYPE);
const START = JSON.stringify({ service: 'mal', code: true });

export interface RelayOptions {
  readonly redis: RedisServer | undefined;
  readonly confirm?: 'always' | 'code';
  /** Of wrong user codes, for each address. Absent: no limit refuses anything. */
  readonly codeLimit?: RateLimitPolicy;
}

export type Relay = Awaited<ReturnType<typeof openRelay>>;

export async function openRelay({ redis, confirm = 'code', codeLimit }: RelayOptions) {
  const clock = createFakeClock(systemClock.now());
  const stores = redis === undefined ? openMemory(clock) : await openOverRedis(redis, clock);
  const policyOf = (name: string) => (name === 'code' ? (codeLimit ?? UNLIMITED) : UNLIMITED);
  const createRateLimiter = (name: string) => stores.createRateLimiter(name, policyOf(name));
  const granted = new Set<string>();
  const service = createTestService(
    { confirm },
    {
      clock,
      stores: { ...stores, createRateLimiter },
      // Exchanges codes. A failed refresh without a reason is not kept.
      async fetch(_, init) {
        const refreshToken = new URLSearchParams(String(init.body)).get('refresh_token');
        return refreshToken === null || granted.has(refreshToken)
          ? Response.json({ access_token: 'granted', expires_in: 3_600 })
          : new Response(null, { status: 503 });
      },
    },
  );
  const run = runOf(service.handle);
  return {
    run,
    stores,
    close: service.close,
    /** The secrets of so many new sessions. */
    async start(count: number) {
      const [polls, states, codes] = [[] as string[], [] as string[], [] as string[]];
      for (let started = 0; started < count; started += 1) {
        const response = await service.handle(post('/auth/start', START, JSON_TYPE), PEERS);
        const { session, url, userCode } = (await response.json()) as Record<string, string>;
        polls.push(asNew(session));
        states.push(asNew(url?.split('state=')[1]));
        codes.push(asNew(userCode?.replace('-', '')));
      }
      return { polls, states, codes };
    },
    /** All sessions so far have expired, and are not removed yet. */
    expire: () => clock.stall((SETTINGS.sessionSeconds + 1) * 1_000),
    /** Refreshes each of these tokens, so that the results are kept for a while. */
    async refreshAll(tokens: readonly string[]): Promise<void> {
      for (const each of tokens) {
        granted.add(each);
        await run(refresh(each));
      }
    },
  };
}

/** The runtime represents a text by how it was made, and that may take longer to read. */
export const asNew = (text = '') => Buffer.from(text).toString('latin1');

function openMemory(clock: FakeClock): Stores {
  return {
    sessions: createMemoryStore(clock, MAX_SESSIONS),
    refreshes: createMemoryRefreshStore(clock),
    createRateLimiter: (_, policy) => createMemoryRateLimiter(clock, policy),
    close() {},
  };
}

async function openOverRedis({ url }: RedisServer, time: FakeClock): Promise<Stores> {
  return (await openTestRedis(url, { time, maxSessions: MAX_SESSIONS })).stores;
}
