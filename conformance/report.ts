/** What a run prints and writes: a line a case, the counts, JUnit XML; and `--list`. */

import type { Case, Group, Outcome, Status } from './runner.ts';

export type Report = ReturnType<typeof createReport>;

export function createReport(
  groups: readonly Group[],
  shorten: (text: string) => string,
  print: (line: string) => void,
) {
  const order = groups.flatMap(({ name, cases }) => cases.map((one) => ({ group: name, one })));
  const outcomes = new Map<Case, Outcome>();
  let printed = 0;
  const count = (...statuses: readonly Status[]) =>
    [...outcomes.values()].filter(({ status }) => statuses.includes(status)).length;
  return {
    count,
    /** Cases run at the same time. A line waits until those before it are printed. */
    add(one: Case, outcome: Outcome): void {
      outcomes.set(one, { ...outcome, detail: outcome.detail.map(shorten) });
      for (let next = order[printed]; next; next = order[printed]) {
        const { status, detail } = outcomes.get(next.one) ?? {};
        if (!status || !detail) return;
        printed += 1;
        print(`${status.padEnd(8)} ${next.group.padEnd(16)} ${next.one.title}`);
        for (const line of detail) print(`           ${line}`);
      }
    },
    closingLine(): string {
      const skipped = count('skip');
      const ran = `${count('pass')} passed, ${count('fail', 'error')} failed`;
      return skipped > 0 ? `${ran}, ${skipped} skipped` : ran;
    },
    junit: () => junitXml(groups, outcomes),
  };
}

/** A test suite for each group. JUnit has no `disabled`, so such cases are `skipped`. */
function junitXml(groups: readonly Group[], outcomes: ReadonlyMap<Case, Outcome>): string {
  const suites = groups.flatMap(({ name, cases }) => [
    `  <testsuite name="${escapeXml(name)}" ${counts(cases, outcomes)}>`,
    ...cases.map((one) => testcase(name, one, outcomes.get(one))),
    '  </testsuite>',
  ]);
  const all = groups.flatMap(({ cases }) => cases);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="sign-in-relay conformance" ${counts(all, outcomes)}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

const JUNIT_ELEMENT = { skip: 'skipped', disabled: 'skipped', fail: 'failure', error: 'error' };

function testcase(group: string, { title }: Case, outcome: Outcome | undefined): string {
  const { status, seconds, detail } = outcome ?? { status: 'disabled', seconds: 0, detail: [] };
  const attributes = `classname="${escapeXml(group)}" name="${escapeXml(title)}"`;
  const head = `    <testcase ${attributes} time="${seconds.toFixed(3)}"`;
  if (status === 'pass') return `${head}/>`;
  const element = JUNIT_ELEMENT[status];
  const message = escapeXml(detail[0] ?? status);
  const text = escapeXml(detail.join('\n'));
  return `${head}><${element} message="${message}">${text}</${element}></testcase>`;
}

function counts(cases: readonly Case[], outcomes: ReadonlyMap<Case, Outcome>): string {
  const known = cases.flatMap((one) => outcomes.get(one) ?? []);
  const count = (...statuses: readonly Status[]) =>
    known.filter(({ status }) => statuses.includes(status)).length;
  const seconds = known.reduce((sum, outcome) => sum + outcome.seconds, 0);
  return [
    `tests="${cases.length}"`,
    `failures="${count('fail')}"`,
    `errors="${count('error')}"`,
    `skipped="${count('skip', 'disabled')}"`,
    `time="${seconds.toFixed(3)}"`,
  ].join(' ');
}

function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no way to write them.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll('\n', '&#10;')
  );
}

/** `--list`: the groups with their cases, then each section with the cases that check it. */
export function listing(groups: readonly Group[]): string[] {
  const lines = groups.flatMap(({ name, about, extension, cases }) => [
    `${name}: ${about}${extension ? ` (--with ${extension})` : ''}`,
    ...cases.map(({ title }) => `  ${title}`),
    '',
  ]);
  const sections = new Set(groups.flatMap(({ cases }) => cases.flatMap(sectionsOf)));
  return [
    ...lines,
    'Sections, and the cases that check them:',
    ...[...sections].sort().map((section) => `  ${section}\n      ${holders(groups, section)}`),
  ];
}

function sectionsOf({ title }: Case): string[] {
  return (title.split(': ', 1)[0] ?? '').split('; ');
}

/** As `group 1, 3`: the numbers of its cases in their order. */
function holders(groups: readonly Group[], section: string): string {
  const texts = groups.map(({ name, cases }) => {
    const numbers = cases.flatMap((one, index) =>
      sectionsOf(one).includes(section) ? [index + 1] : [],
    );
    return numbers.length > 0 ? `${name} ${numbers.join(', ')}` : '';
  });
  return texts.filter(Boolean).join('; ');
}
