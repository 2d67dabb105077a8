/** The limits that tests name. Those that docs/protocol.md gives as a number, tests give as a number. */
export * from '../../src/limits.ts';
