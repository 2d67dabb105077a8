/**
 * Between a relay and its Redis an answer is late, lost or read by nobody. They
 * mostly wait, so they do it side by side, each with a Redis and relays of its own.
 */
import { describe } from 'bun:test';
import { testFreezes } from './lost-answers/freezes.ts';
import { testRefusals } from './lost-answers/refusals.ts';

describe.concurrent('lost answers', () => {
  testFreezes();
  testRefusals();
});
