/** If the search of the logs were blind, `npm test` would pass whatever a log contains. */
import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './folder.ts';
import { searchLogs } from './secrets.ts';

const folder = newFolder();

test('the log search finds a planted secret, plain and encoded, and nothing else', () => {
  const [logs, planted] = [join(folder, 'logs'), join(folder, 'planted.txt')];
  const [plain = '', encoded = '', other = ''] = Array.from({ length: 3 }, () =>
    randomBytes(18).toString('base64url'),
  );
  mkdirSync(logs);
  writeFileSync(planted, `${plain}\n${encoded}\n${other}\n`);
  writeFileSync(join(logs, 'one.log'), `{"event":"x","state":"${plain}"}\n`);
  // Not at the beginning of what is encoded, so that its base64 has another phase.
  writeFileSync(join(logs, 'two.log'), `a line with ${btoa(`x${encoded}`)}\n`);
  writeFileSync(join(logs, 'three.log'), `${other.slice(1)}\n`);
  const { findings } = searchLogs(logs, planted);
  expect(findings.toSorted()).toEqual([
    `one.log contains ${plain.slice(0, 6)}…`,
    `two.log contains ${encoded.slice(0, 6)}…`,
  ]);
});
