/** The limits that tests name, wherever they stand. Those that docs/protocol.md gives as a number, tests give as a number. */
export * from '../../src/limits.ts';
export { MAX_RATE_LIMIT_ADDRESSES } from '../../src/stores/memory/rate-limits.ts';
