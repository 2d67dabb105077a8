/**
 * Faults of the real thing that take their time: they mostly wait, so they do it
 * side by side, each with a Redis and relays of its own.
 */
import { describe } from 'bun:test';
import { testCuts } from './faults/cuts.ts';
import { testKilledRelays } from './faults/killed-relays.ts';
import { testOutages } from './faults/outages.ts';

describe.concurrent('faults', () => {
  testCuts();
  testOutages();
  testKilledRelays();
});
