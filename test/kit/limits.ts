/** The limits that tests name. Those that docs/protocol.md gives as a number, tests give as a number. */
export { REQUEST_BODY_DEADLINE_MS } from '../../src/http/request.ts';
export * from '../../src/limits.ts';
export {
  CODE_LIMIT_OVERALL,
  QR_LIMIT_OVERALL,
  REFRESH_LIMIT,
} from '../../src/service.ts';
export { MAX_POLLS_PER_SESSION } from '../../src/sign-ins/polls.ts';
export { DRAIN_CHECK_MS, DRAIN_DELIVERY_MS } from '../../src/sign-ins/sign-ins.ts';
export { SWEEP_INTERVAL_MS } from '../../src/start-service.ts';
export { MAX_RATE_LIMIT_ADDRESSES } from '../../src/stores/memory.ts';
export { STORE_BRIEF_RETRY_MS } from '../../src/stores/redis/commands.ts';
export { STORE_PROBE_MS, STORE_REFUSAL_QUIET_MS } from '../../src/stores/redis/health.ts';
export { STORE_SILENCE_MS } from '../../src/stores/redis/open.ts';
