/** The file of `--env-file`: what systemd reads from a line, and what is an error because programs differ. */
import { expect, test } from 'bun:test';
import { parseEnvFile } from '../../src/settings/env-file.ts';

const UNCLOSED = 'line 1 has a value that begins with a quote, but does not end with it';
const EXPORT = 'line 1 begins with export, which systemd and Docker do not understand: remove it';

test.each([
  ['NAME=value', 'value'],
  ['  NAME = a b  ', 'a b'],
  ['NAME=', ''],
  ['NAME=a=b', 'a=b'],
  ['NAME=value\r', 'value'],
  ['NAME="a b"', 'a b'],
  ["NAME=' a#b '", ' a#b '],
  ['NAME="a # b"', 'a # b'],
  ['NAME="say \\"hi\\" \\\\ \\n"', 'say "hi" \\ \\n'],
  ["NAME='a\\'", 'a\\'],
  ['NAME=a "b" c', 'a "b" c'],
  ['NAME=$HOME', '$HOME'],
  ['\uFEFFNAME=value\r\n', 'value'],
  ['# a comment\n\n  # another\nNAME=value\n', 'value'],
])('%j sets %j', (text, value) => {
  expect(parseEnvFile(text)).toEqual({ environment: { NAME: value }, faults: [], warnings: [] });
});

test.each([
  ['NAME: hunter2', 'line 1 is not NAME=value'],
  ['hunter2', 'line 1 is not NAME=value'],
  ['MY-NAME=hunter2', 'line 1 is not NAME=value'],
  ['1NAME=hunter2', 'line 1 is not NAME=value'],
  ['=hunter2', 'line 1 is not NAME=value'],
  ['NAME="hunter2', UNCLOSED],
  ["NAME='hunter2\n'", UNCLOSED],
  ['NAME="hunter2" # a comment', UNCLOSED],
  ['export NAME=hunter2', EXPORT],
  ['N\0A\0M\0E\0=\0', 'it must be text in UTF-8'],
])('%j is an error, which does not show the line', (text, fault) => {
  const { environment, faults } = parseEnvFile(text);
  expect([environment, faults[0]]).toEqual([{}, fault]);
  expect(faults.join()).not.toContain('hunter2');
});

test('a name that is set twice has its last value, and a warning with both lines', () => {
  const problem = 'is set in line 1 and line 3: the last one counts';
  expect(parseEnvFile('NAME=first\n\nNAME=last')).toEqual({
    environment: { NAME: 'last' },
    faults: [],
    warnings: [{ setting: 'NAME', problem }],
  });
});

test('every wrong line has its number, and takes nothing of its neighbours', () => {
  const { environment, faults } = parseEnvFile(
    '# x\nMAL_CLIENT_ID: abc\nPORT=8080\nstray\nHOST=::',
  );
  expect(environment).toEqual({ PORT: '8080', HOST: '::' });
  expect(faults).toEqual(['line 2 is not NAME=value', 'line 4 is not NAME=value']);
});

test.each([
  ['ab#cd', '#'],
  ['ab # cd', '#'],
  ['#cd', '#'],
  ['ab\\cd', '\\'],
])('%s without quotes is kept whole, with a warning', (value, mark) => {
  const { environment, warnings } = parseEnvFile(`PORT=1\nMAL_CLIENT_SECRET=${value}`);
  expect(environment.MAL_CLIENT_SECRET).toBe(value);
  const problem = expect.stringContaining(`has ${mark} without quotes (line 2): `);
  expect(warnings).toEqual([{ setting: 'MAL_CLIENT_SECRET', problem }]);
});
