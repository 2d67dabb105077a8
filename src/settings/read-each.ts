import type { z } from 'zod';
import { createFault, type SettingFault, type SettingWarning } from './faults.ts';

/** Where settings come from. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What one reading of the environment goes through, and what it finds wrong on the way. */
export interface Reading {
  /** Without the empty ones: compose files and units set what they leave blank. */
  readonly env: Environment;
  readonly readFile: (path: string) => string;
  readonly faults: SettingFault[];
  readonly warnings: SettingWarning[];
}

type Checks = Readonly<Record<string, z.ZodType>>;
type Checked<C extends Checks> = { -readonly [K in keyof C]?: z.output<C[K]> };

/**
 * Checks each setting that is set, by itself, so that one fault hides no other.
 * What is not set or not right is absent.
 */
export function readEach<C extends Checks>(
  { env, faults }: Reading,
  prefix: string,
  checks: C,
): Checked<C> {
  const checked: Checked<C> = {};
  for (const name in checks) {
    const setting = prefix + name;
    const value = env[setting];
    const result = value === undefined ? undefined : checks[name]?.safeParse(value);
    // The one place where the schema's own type is lost: it is looked up by name.
    if (result?.success) checked[name] = result.data as z.output<C[typeof name]>;
    for (const issue of result?.error?.issues ?? []) {
      faults.push(createFault(setting, value, issue.message));
    }
  }
  return checked;
}
