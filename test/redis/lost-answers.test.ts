/**
 * Between a relay and its Redis an answer is late, lost or read by nobody. They
 * mostly wait, so they do it side by side, each with a Redis and relays of its own.
 */
import { describe } from 'bun:test';
import { testDepartures } from './lost-answers/departures.ts';
import { testFreezes } from './lost-answers/freezes.ts';
import { testRefusals } from './lost-answers/refusals.ts';
import { testStandstills } from './lost-answers/standstills.ts';
import { testUnknownOutcomes } from './lost-answers/unknown-outcomes.ts';

describe.concurrent('lost answers', () => {
  testDepartures();
  testFreezes();
  testRefusals();
  testStandstills();
  testUnknownOutcomes();
});
