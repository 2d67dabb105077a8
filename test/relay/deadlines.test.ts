import { expect, test } from 'bun:test';
import { createDeadlines } from '../../src/relay/deadlines.ts';
import { createFakeClock } from '../support/fake-clock.ts';

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

test('a wait that was called off is not heard of again, and keeps nothing', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  const wait = deadlines.add(() => expect.unreachable());
  deadlines.callOff(wait);
  expect(deadlines.size).toBe(0);
  clock.advance(5_000);
  expect(clock.timers).toBe(0);
});

test('releasing all lets every wait fall due at once', () => {
  const clock = createFakeClock();
  const deadlines = createDeadlines(clock, 1_000);
  let due = 0;
  for (let count = 0; count < 10; count += 1) deadlines.add(() => (due += 1));
  deadlines.releaseAll();
  expect(due).toBe(10);
  clock.advance(1_000);
  expect(due).toBe(10);
});
