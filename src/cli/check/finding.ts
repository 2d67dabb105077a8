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

const finding =
  (mark: Mark) =>
  (what: string, text: string, remedy?: string): Finding => ({ mark, what, text, remedy });

export const ok = finding('ok');
export const warning = finding('warning');
export const fault = finding('fault');

const SHOWN: Readonly<Record<Mark, string>> = { ok: '✓', warning: '!', fault: '✗' };

export function describeFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ mark, what, text, remedy }) => {
    const line = `${SHOWN[mark]} ${what}: ${text}`;
    // It may contain text of a provider or of Redis.
    return printable(remedy === undefined ? line : `${line}; ${remedy}`);
  });
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
