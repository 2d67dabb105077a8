/** What is checked without being run. */
import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'acorn';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

test('the program for web TVs is ES5', () => {
  const program = readFileSync(`${ROOT}examples/devices/web-tv/sign-in.js`, 'utf8');
  expect(() => parse(program, { ecmaVersion: 5 })).not.toThrow();
  expect(() => parse('var f = () => 1;', { ecmaVersion: 5 })).toThrow();
});

/** The compiler of BrightScript, at an app that has nothing but this program. */
async function compile(change: (program: string) => string) {
  const app = mkdtempSync(join(tmpdir(), 'relay-roku-'));
  try {
    cpSync(`${ROOT}examples/devices/roku`, join(app, 'components'), { recursive: true });
    const program = join(app, 'components/SignInTask.brs');
    writeFileSync(program, change(readFileSync(program, 'utf8')));
    writeFileSync(join(app, 'manifest'), 'title=test\nmajor_version=1\n');
    const compiler = Bun.resolveSync('brighterscript/dist/cli.js', ROOT);
    const options = ['--no-project', '--create-package=false', '--copy-to-staging=false'];
    return await runChild(['node', compiler, '--rootDir', app, ...options], { cwd: app });
  } finally {
    rmSync(app, { recursive: true });
  }
}

test('the program for Roku has no fault that the compiler finds', async () => {
  expect(await compile((program) => program)).toMatchObject({ exitCode: 0 });
  const misspelt = (program: string) => program.replace('saveTokens(tokens)', 'saveToken(tokens)');
  expect(await compile(misspelt)).toMatchObject({ exitCode: 1 });
});

// Both are neither compiled nor run here. The clock rule: docs/devices/README.md "The rules that all of them follow".
test.each([
  ['tvos/RelaySignIn.swift', 'ContinuousClock', /\bDate\b/],
  ['flutter/relay_sign_in.dart', 'Stopwatch', /\bDateTime\b/],
])('%s counts with %s and not with a clock that may be set', (program, clock, settable) => {
  const source = readFileSync(`${ROOT}examples/devices/${program}`, 'utf8');
  expect(source).toContain(clock);
  expect(source).not.toMatch(settable);
});
