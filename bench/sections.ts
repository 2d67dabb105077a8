/** What can be measured, in its order. */
import type { Section } from './bench.ts';
import { measureCost } from './sections/cost.ts';
import { measureWakeUp } from './sections/wake-up.ts';

export const SECTIONS: Readonly<Record<string, Section>> = {
  cost: measureCost,
  'wake-up': measureWakeUp,
};
