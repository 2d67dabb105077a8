/** Where sessions and rate limits are kept: in this process, or in Redis for many. */
import { log } from './operate/log.ts';
import type { RateLimiter, RateLimitPolicy } from './relay/rate-limit.ts';
import type { RefreshAnswerStore } from './relay/refresh-answers.ts';
import type { SessionStore } from './relay/store.ts';
import type { World } from './service.ts';
import type { Settings } from './settings/index.ts';
import { createMemoryStore } from './stores/memory.ts';
import { createMemoryRateLimiter } from './stores/memory-rate-limiter.ts';
import { createMemoryRefreshAnswers } from './stores/memory-refresh-answers.ts';
import type { RedisEvent } from './stores/open-redis.ts';

export interface Stores {
  readonly store: SessionStore;
  readonly refreshAnswers: RefreshAnswerStore;
  /** One limit of several; its name keeps their buckets apart. */
  createRateLimiter(name: string, policy: RateLimitPolicy): RateLimiter;
  close(): void;
}

/** Rejects when the store that is asked for cannot be reached. */
export async function openStores(settings: Settings, world: World): Promise<Stores> {
  if (settings.redis === undefined) {
    return {
      store: createMemoryStore(settings),
      refreshAnswers: createMemoryRefreshAnswers(world.clock),
      createRateLimiter: (_, policy) => createMemoryRateLimiter(policy),
      close: () => {},
    };
  }
  // Loaded only where it is used: the client is larger than the rest of the relay.
  const { openRedis } = await import('./stores/open-redis.ts');
  const { maxSessions } = settings;
  return openRedis({ ...settings.redis, ...world, maxSessions, onEvent });
}

function onEvent({ type, ...fields }: RedisEvent): void {
  const isGood = type === 'store_back' || type === 'store_replicated' || type === 'store_accepts';
  log[isGood ? 'info' : 'warning'](type, fields);
}
