/** What every section is given. */
import type { Plan } from './plan.ts';
import type { Figures } from './support/figures.ts';
import type { Generator } from './support/generator.ts';
import type { Redis } from './support/redis.ts';

export interface Bench {
  readonly plan: Plan;
  readonly figures: Figures;
  readonly generator: Generator;
  /** The environment of a relay whose provider the generator is. */
  readonly env: Readonly<Record<string, string>>;
  /** Undefined on a machine that has none: its columns are left out. */
  readonly redis: Redis | undefined;
}

/** Measures its part and adds its figures. */
export type Section = (bench: Bench) => Promise<void>;
