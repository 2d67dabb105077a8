/** The report as JUnit XML: a suite a group. `disabled` becomes `skipped`, which is what readers know. */

import { type Outcome, type Status, titleOf } from '../engine/case.ts';

export function junitXml(outcomes: readonly Outcome[]): string {
  const groups = [...new Set(outcomes.map(({ group }) => group))];
  const suites = groups.map((name) =>
    suite(
      name,
      outcomes.filter(({ group }) => group === name),
    ),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="sign-in-relay conformance" ${counts(outcomes)}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function suite(name: string, outcomes: readonly Outcome[]): string {
  const cases = outcomes.map(testcase).join('\n');
  return `  <testsuite name="${escapeXml(name)}" ${counts(outcomes)}>\n${cases}\n  </testsuite>`;
}

function testcase({ group, section, rule, status, seconds, detail }: Outcome): string {
  const name = escapeXml(titleOf({ section, rule }));
  const head = `    <testcase classname="${escapeXml(group)}" name="${name}" time="${seconds.toFixed(3)}"`;
  if (status === 'pass') return `${head}/>`;
  const message = escapeXml(detail[0] ?? status);
  const text = escapeXml(detail.join('\n'));
  const body =
    status === 'skip' || status === 'disabled'
      ? `<skipped message="${message}"/>`
      : `<${status === 'fail' ? 'failure' : 'error'} message="${message}">${text}</${status === 'fail' ? 'failure' : 'error'}>`;
  return `${head}>${body}</testcase>`;
}

function counts(outcomes: readonly Outcome[]): string {
  const count = (...statuses: readonly Status[]) =>
    outcomes.filter(({ status }) => statuses.includes(status)).length;
  const seconds = outcomes.reduce((sum, outcome) => sum + outcome.seconds, 0);
  return [
    `tests="${outcomes.length}"`,
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
