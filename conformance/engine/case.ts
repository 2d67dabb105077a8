/** What a case and a group of cases are. Cases know nothing of how they are run or reported. */

import type { Options } from '../command/options.ts';
import type { PlayedProvider } from '../provider/played-provider.ts';
import type { Target } from '../wire/target.ts';
import type { RowId } from './rows.ts';

/** What a case has to work with. Its target is its own: what it leaves behind is swept after it. */
export interface Bench {
  readonly options: Options;
  readonly target: Target;
  readonly provider: PlayedProvider;
}

export interface Case {
  /** The sections of `protocol.md`: `4` or `3, 4`; another document's with its name. */
  readonly section: string;
  /** The rule in words. */
  readonly rule: string;
  /** The rows of rows.ts that this case holds the target to. */
  readonly covers: readonly RowId[];
  run(bench: Bench): Promise<void>;
}

/** What a relay may offer beyond `protocol.md`: `--with`. */
export type Extension = 'user-code' | 'wait' | 'ack' | 'qr' | 'cors' | 'device-grant' | 'confirm';

export interface Group {
  readonly name: string;
  readonly about: string;
  /** Run only when it is asked for; absent: `protocol.md` itself. */
  readonly extension?: Extension;
  readonly cases: readonly Case[];
  /** Cases that mostly wait run all at once; the others of a group run one after the other. */
  readonly pace?: 'at-once';
  /**
   * `alone`: after all others, since it fills the whole target. `lifetime`: it
   * outlasts all others, which run meanwhile. Otherwise together with the rest.
   */
  readonly when?: 'alone' | 'lifetime';
}

/** A case in one line. */
export function titleOf({ section, rule }: Pick<Case, 'section' | 'rule'>): string {
  return `${/^\d/.test(section) ? '§' : ''}${section}: ${rule}`;
}

export type Status = 'pass' | 'fail' | 'skip' | 'error' | 'disabled';

export interface Outcome {
  readonly group: string;
  readonly section: string;
  readonly rule: string;
  readonly status: Status;
  readonly seconds: number;
  /** Why it is not a pass, a line each. */
  readonly detail: readonly string[];
}
