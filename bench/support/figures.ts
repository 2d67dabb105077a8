/** What was measured: every figure with all its samples, so that nobody has to believe a median. */
import { median } from './median.ts';

/** In which arrangement it was measured. */
export type Column = 'bare handlers' | 'memory' | 'Redis, one relay' | 'Redis, two relays';

export interface Figure {
  readonly section: string;
  readonly name: string;
  readonly column: Column;
  readonly unit: string;
  readonly samples: readonly number[];
}

export interface Figures {
  /** Adds samples to a figure. */
  add(figure: Omit<Figure, 'samples'>, ...samples: number[]): void;
  median(section: string, name: string, column: Column): number | undefined;
  readonly all: readonly Figure[];
}

export function createFigures(): Figures {
  const byKey = new Map<string, Figure & { readonly samples: number[] }>();
  const keyOf = (...parts: string[]) => parts.join('\n');
  return {
    add(figure, ...samples) {
      const key = keyOf(figure.section, figure.name, figure.column);
      const known = byKey.get(key) ?? { ...figure, samples: [] };
      known.samples.push(...samples);
      byKey.set(key, known);
    },
    median(section, name, column) {
      const figure = byKey.get(keyOf(section, name, column));
      return figure && median(figure.samples);
    },
    get all() {
      return [...byKey.values()];
    },
  };
}

/** For JSON. */
export function summarise({ samples, ...figure }: Figure) {
  const [min, max] = [Math.min(...samples), Math.max(...samples)];
  return { ...figure, median: median(samples), min, max, samples };
}
