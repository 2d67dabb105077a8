/** The clock of a running relay, and thousands of deadlines on one timer. */
import { expect, test } from 'bun:test';
import { createDeadlineQueue, type Deadline, systemClock } from '../../src/sign-ins/time.ts';
import { createFakeClock } from '../kit/clock.ts';
import { STALL_GRACE_MS, STALL_MS } from '../kit/limits.ts';

function openQueue(durationMs = 1_000) {
  const clock = createFakeClock();
  const queue = createDeadlineQueue(clock, durationMs);
  const due: string[] = [];
  function add(name: string): Deadline {
    const deadline = { dueAtMs: 0, onDue: () => due.push(name) };
    queue.add(deadline);
    return deadline;
  }
  return { clock, queue, due, add };
}

test('each deadline is due after its whole time, and all of them share one timer', () => {
  const { clock, due, add } = openQueue(50_000);
  add('first');
  clock.advance(20_000);
  add('second');
  expect(clock.timers).toBe(1);
  clock.advance(29_999);
  expect(due).toEqual([]);
  clock.advance(1);
  expect(due).toEqual(['first']);
  clock.advance(20_000);
  expect(due).toEqual(['first', 'second']);
  expect(clock.timers).toBe(0);
});

test('a deadline whose work throws stops no other', () => {
  const { clock, queue, due, add } = openQueue();
  const onDue = () => {
    throw new Error('a bug');
  };
  queue.add({ dueAtMs: 0, onDue });
  clock.advance(1);
  add('next');
  expect(() => clock.advance(999)).toThrow('a bug');
  clock.advance(1);
  expect(due).toEqual(['next']);
});

test('a cancelled deadline is never due and leaves no timer; a later one has its time', () => {
  const { clock, queue, due, add } = openQueue();
  queue.cancel(add('cancelled'));
  expect(clock.timers).toBe(0);
  clock.advance(600);
  add('later');
  clock.advance(999);
  expect(due).toEqual([]);
  clock.advance(1);
  expect(due).toEqual(['later']);
});

test('after a suspension an overdue deadline gives time to read what has arrived', () => {
  const { clock, queue, due, add } = openQueue();
  const answered = add('answered');
  add('unanswered');
  clock.stall(1_000 + STALL_MS + 1);
  clock.advance(0);
  expect(due).toEqual([]);
  queue.cancel(answered);
  clock.advance(STALL_GRACE_MS);
  expect(due).toEqual(['unanswered']);
});

test.each([
  ['a timer that is only a little late gives none', [1_000 + STALL_MS]],
  ['a process that is suspended again and again gets it once', [5_000, 5_000]],
])('of that time %s', (_, stallsMs) => {
  const { clock, due, add } = openQueue();
  add('overdue');
  for (const ms of stallsMs) {
    clock.stall(ms);
    clock.advance(0);
  }
  expect(due).toEqual(['overdue']);
});

test('the clock of the system is not set back with that of its machine', () => {
  const original = Date.now;
  const beforeMs = systemClock.now();
  Date.now = () => original() - 3_600_000;
  try {
    expect(systemClock.now()).toBeGreaterThanOrEqual(beforeMs);
  } finally {
    Date.now = original;
  }
});
