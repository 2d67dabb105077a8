/** Thousands of waits on one timer. */
import { expect, test } from 'bun:test';
import { STALL_GRACE_MS, STALL_MS } from '../../src/limits.ts';
import { createDeadlines } from '../../src/relay/deadlines.ts';
import { createFakeClock } from '../kit/clock.ts';

test('each wait lasts its whole time, and all of them share one timer', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 50_000);
  const due: string[] = [];
  deadlines.add(() => due.push('first'));
  clock.advance(20_000);
  deadlines.add(() => due.push('second'));
  expect(clock.timers).toBe(1);
  clock.advance(29_999);
  expect(due).toEqual([]);
  clock.advance(1);
  expect(due).toEqual(['first']);
  clock.advance(20_000);
  expect(due).toEqual(['first', 'second']);
  expect(deadlines.size).toBe(0);
});

test('a cancelled wait never falls due, and nothing is kept of it', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  const wait = deadlines.add(() => expect.unreachable());
  deadlines.callOff(wait);
  expect(deadlines.size).toBe(0);
  clock.advance(5_000);
  expect(clock.timers).toBe(0);
});

test('a release lets every wait fall due at once', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  let due = 0;
  for (let count = 0; count < 10; count += 1) deadlines.add(() => (due += 1));
  deadlines.releaseAll();
  expect(due).toBe(10);
  clock.advance(1_000);
  expect(due).toBe(10);
});

test('after the process was suspended an overdue wait gets time to read an answer that has already arrived', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  const due: string[] = [];
  const answered = deadlines.add(() => due.push('answered'));
  deadlines.add(() => due.push('unanswered'));
  clock.stall(1_000 + STALL_MS + 1);
  clock.advance(0);
  expect(due).toEqual([]);
  deadlines.callOff(answered);
  clock.advance(STALL_GRACE_MS);
  expect(due).toEqual(['unanswered']);
});

test('it gets that time once: a process that is suspended again and again still ends its waits', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  let due = 0;
  deadlines.add(() => (due += 1));
  clock.stall(5_000);
  clock.advance(0);
  clock.stall(5_000);
  clock.advance(0);
  expect(due).toBe(1);
});

test('a timer that is only a little late gives no extra time', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  let due = 0;
  deadlines.add(() => (due += 1));
  clock.stall(1_000 + STALL_MS);
  clock.advance(0);
  expect(due).toBe(1);
});
