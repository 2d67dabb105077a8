/** When a refusal is news, and by which name. test/redis/refusals.test.ts has real ones. */
import { expect, test } from 'bun:test';
import { ErrorReply } from '@redis/client';
import { STORE_REFUSAL_QUIET_MS } from '../../src/limits.ts';
import { reasonOf } from '../../src/stores/redis-client.ts';
import { createRefusals, type RefusalEvent } from '../../src/stores/redis-refusals.ts';
import { script } from '../../src/stores/redis-script.ts';
import { createFakeClock } from '../support/fake-clock.ts';

test.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", 'OOM'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'NOPERM'],
  // Of a command within a script: Redis 7, and Redis 6.
  [
    "ERR The user executing the script can't run this command script: 1f, on @user_script:9.",
    'NOPERM',
  ],
  [
    "ERR Error running script (call to f_1f): @user_script:9: @user_script: 9: -OOM command not allowed when used memory > 'maxmemory'.",
    'OOM',
  ],
  [
    "ERR Error running script (call to f_1f): @user_script:9: @user_script: 9: -READONLY You can't write against a read only replica.",
    'READONLY',
  ],
  ['LATE not carried out', 'LATE'],
  ['no word that anybody knows', 'ERR'],
])('%s is %s', (message, reason) => {
  expect(reasonOf(new ErrorReply(message))).toBe(reason);
});

const [writing, reading] = [script('return 1'), script('return 2')];

function listen() {
  const clock = createFakeClock();
  const told: RefusalEvent[] = [];
  const refusals = createRefusals(clock, (event) => told.push(event));
  return { clock, refusals, types: () => told.map(({ type, reason }) => `${type} ${reason}`) };
}

test('a reason is told once, each of its own', () => {
  const { refusals, types } = listen();
  refusals.refused(writing, 'OOM');
  refusals.refused(writing, 'OOM');
  refusals.refused(reading, 'NOPERM');
  expect(types()).toEqual(['store_refuses OOM', 'store_refuses NOPERM']);
});

test('that something else is carried out, or now and then the same, does not end it', () => {
  const { clock, refusals, types } = listen();
  for (let count = 0; count < 10; count += 1) {
    refusals.refused(writing, 'READONLY');
    clock.advance(STORE_REFUSAL_QUIET_MS - 1);
    refusals.accepted(writing);
    refusals.accepted(reading);
  }
  clock.advance(1);
  refusals.accepted(reading);
  expect(types()).toEqual(['store_refuses READONLY']);
  refusals.accepted(writing);
  refusals.accepted(writing);
  expect(types()).toEqual(['store_refuses READONLY', 'store_accepts READONLY']);
  refusals.refused(writing, 'READONLY');
  expect(types()).toHaveLength(3);
});

test.each(['LATE', 'TRYAGAIN', 'MOVED', 'ASK'])('%s is no refusal to tell of', (reason) => {
  const { refusals, types } = listen();
  refusals.refused(writing, reason);
  expect(types()).toEqual([]);
});
