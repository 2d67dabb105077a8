/**
 * What src/relay/store.ts promises, held against a store. A new store's test is
 * a factory and this call.
 */
import { afterEach, describe } from 'bun:test';
import type { SessionStore } from '../../../src/relay/store.ts';
import { testAcknowledged, testCodes } from './codes.ts';
import { testContract } from './contract.ts';
import { testExpiry } from './expiry.ts';
import { testRaces } from './races.ts';
import { testRepeats } from './repeats.ts';
import type { OpenStore } from './sessions.ts';
import { testUndoneClaims } from './undone-claims.ts';

/** Makes an empty store. What it needs closed it adds to `cleanUps`. */
export type MakeStore = (
  options: { maxSessions: number },
  cleanUps: (() => Promise<void>)[],
) => Promise<SessionStore>;

export interface StoreSuiteOptions {
  /** The store is elsewhere: a device may leave before it has answered. */
  readonly isRemote?: boolean;
}

export function runStoreSuite(
  name: string,
  makeStore: MakeStore,
  { isRemote = false }: StoreSuiteOptions = {},
): void {
  const cleanUps: (() => Promise<void>)[] = [];
  const openStore: OpenStore = (options = { maxSessions: 5_000 }) => makeStore(options, cleanUps);
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  });
  describe(`${name} store`, () => {
    describe('contract', () => testContract(openStore));
    describe('expiry', () => testExpiry(openStore));
    describe('user codes', () => testCodes(openStore));
    describe('confirmed hand-over', () => testAcknowledged(openStore));
    describe('repeated results', () => testRepeats(openStore));
    describe('races', () => testRaces(openStore));
    if (isRemote) describe('undone claims', () => testUndoneClaims(openStore));
  });
}
