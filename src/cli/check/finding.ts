/** One line of `sign-in-relay check`, and how all of them are written. No finding holds a secret. */
import { jsonText, printable } from '../terminal.ts';

/** `fault`: sign-ins fail. `warning`: they may fail. */
export type Mark = 'ok' | 'warning' | 'fault';

export interface Finding {
  readonly mark: Mark;
  /** What was checked, such as `redis` or `client of mal`. */
  readonly what: string;
  readonly text: string;
  /** What to do. Absent if there is nothing to do. */
  readonly remedy?: string | undefined;
}

export const ok = (what: string, text: string): Finding => ({ mark: 'ok', what, text });

export const fault = (what: string, text: string, remedy?: string): Finding => {
  return { mark: 'fault', what, text, remedy };
};

export const warning = (what: string, text: string, remedy?: string): Finding => {
  return { mark: 'warning', what, text, remedy };
};

const SHOWN: Readonly<Record<Mark, string>> = { ok: '✓', warning: '!', fault: '✗' };

export function describeFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ mark, what, text, remedy }) =>
    // It may contain text of a provider or of Redis.
    printable(
      [`${SHOWN[mark]} ${what}: ${text}`, ...(remedy === undefined ? [] : [remedy])].join('; '),
    ),
  );
  const count = (mark: Mark) => {
    const found = findings.filter((each) => each.mark === mark).length;
    return `${found} ${mark}${found === 1 ? '' : 's'}`;
  };
  return [...lines, `${count('fault')}, ${count('warning')}`].join('\n');
}

/** `faultCode`: the exit code if anything is wrong. */
export function report(findings: readonly Finding[], asJson = false, faultCode = 1) {
  const isGood = findings.every(({ mark }) => mark !== 'fault');
  const text = asJson ? jsonText({ ok: isGood, findings }) : describeFindings(findings);
  return { text, exitCode: isGood ? 0 : faultCode };
}
