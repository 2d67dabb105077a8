/** The limits that tests name. Those that docs/protocol.md gives as a number, tests give as a number. */
export { ACK_MS } from '../../src/http/endpoints/start.ts';
export { REQUEST_BODY_DEADLINE_MS } from '../../src/http/request.ts';
export * from '../../src/limits.ts';
export { DRAIN_CHECK_MS, DRAIN_DELIVERY_MS } from '../../src/relay/relay.ts';
export {
  CODE_LIMIT_OVERALL,
  DEVICE_POLL_LIMIT,
  QR_LIMIT_OVERALL,
  QR_LIMIT_PER_ADDRESS,
  REFRESH_LIMIT,
  SWEEP_INTERVAL_MS,
} from '../../src/service.ts';
