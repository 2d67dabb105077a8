/** Every rate limit there is: those that hold over all instances, and those that spare this process alone. */
import {
  CODE_LIMIT_OVERALL,
  CODE_LIMIT_PER_ADDRESS,
  DEVICE_POLL_PACE,
  QR_LIMIT_OVERALL,
  QR_LIMIT_PER_ADDRESS,
  REFRESH_LIMIT,
} from './limits.ts';
import type { Stores } from './open-stores.ts';
import type { Settings } from './settings/index.ts';
import { createMemoryRateLimiter } from './stores/memory-rate-limiter.ts';

export function createRateLimiters(
  { startBurst: burst, startRatePerSecond: ratePerSecond }: Settings,
  { createRateLimiter }: Pick<Stores, 'createRateLimiter'>,
) {
  const rateLimiter = createRateLimiter('start', { burst, ratePerSecond });
  const refreshLimiter = createRateLimiter('refresh', REFRESH_LIMIT);
  const codeLimits = {
    perAddress: createRateLimiter('code', CODE_LIMIT_PER_ADDRESS),
    overall: createRateLimiter('codes', CODE_LIMIT_OVERALL),
  };
  const pollPace = createMemoryRateLimiter(DEVICE_POLL_PACE);
  const qrLimits = {
    perAddress: createMemoryRateLimiter(QR_LIMIT_PER_ADDRESS),
    overall: createMemoryRateLimiter(QR_LIMIT_OVERALL),
  };
  return {
    rateLimiter,
    refreshLimiter,
    codeLimits,
    pollPace,
    qrLimits,
    all: [
      ...[rateLimiter, refreshLimiter, pollPace],
      ...Object.values(codeLimits),
      ...Object.values(qrLimits),
    ],
  };
}
