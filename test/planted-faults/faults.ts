/** Faults that somebody might make, each with the tests that should find it. run.ts plants them. */
import { CORE_FAULTS } from './core.ts';
import { EDGE_FAULTS } from './edges.ts';
import { HTTP_FAULTS } from './http.ts';
import { PROVIDER_FAULTS } from './providers.ts';
import { STORE_FAULTS } from './stores.ts';

export interface Fault {
  /** What is wrong then. */
  readonly name: string;
  readonly file: string;
  /** A text that is in the file once, and what takes its place. */
  readonly before: string;
  readonly after: string;
  /** Run in this order until one fails. Each as for `bun test`: see `parseTest`. */
  readonly tests: readonly string[];
}

export const FAULTS: readonly Fault[] = [
  ...CORE_FAULTS,
  ...STORE_FAULTS,
  ...HTTP_FAULTS,
  ...PROVIDER_FAULTS,
  ...EDGE_FAULTS,
];

/** Throws unless the file still has the text, once: a fault that cannot be planted finds nothing. */
export function plant({ name, file, before, after }: Fault, text: string): string {
  const [start = '', end, ...others] = text.split(before);
  if (end === undefined || others.length > 0) {
    throw new Error(`"${name}": its text is in ${file} ${text.split(before).length - 1} times`);
  }
  return start + after + end;
}

/** A file; before it a setting of its environment, after it `-t` and a pattern, as in a shell. */
export function parseTest(test: string) {
  const [, setting, value, file = '', pattern] =
    /^(?:(\w+)=(\S+) )?(\S+)(?: -t (.+))?$/.exec(test) ?? [];
  return {
    file,
    env: setting === undefined ? {} : { [setting]: value },
    filter: pattern === undefined ? [] : ['-t', pattern],
  };
}
