/** The program of docs/quickstart.md, as a reader copies it, under plain Node. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDev } from '../kit/dev.ts';
import { runChild } from '../kit/process.ts';

setDefaultTimeout(40_000);

const dev = await startDev();
afterAll(() => dev.stop());

function program(): string {
  const page = readFileSync(new URL('../../docs/quickstart.md', import.meta.url), 'utf8');
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  return code.replace('http://127.0.0.1:8080', dev.relayUrl);
}

const MAIN = `
signIn('dev', () => {}).then(
  (tokens) => console.log(Object.keys(tokens).join()),
  (error) => console.log(error.message),
);`;

test.each([
  ['approve', 'accessToken,refreshToken,expiresIn'],
  ['cut-off', 'accessToken,refreshToken,expiresIn'],
  ['restart', 'accessToken,refreshToken,expiresIn'],
  ['slow', 'accessToken,refreshToken,expiresIn'],
  ['deny', 'access_denied'],
  ['exchange-fails', 'exchange_failed'],
  ['forgotten', 'expired'],
  ['full', 'start: 503 Server busy\n'],
])('%s → %s', async (scenario, printed) => {
  const isTimed = ['restart', 'slow', 'forgotten'].includes(scenario);
  await dev.plan({ scenario, auto: scenario !== 'full', ...(isTimed && { seconds: 1 }) });
  const file = join(mkdtempSync(join(tmpdir(), 'sign-in-relay-quickstart-')), 'app.mjs');
  writeFileSync(file, program() + MAIN);
  const ended = await runChild(['node', file]);
  expect(ended).toEqual({ exitCode: 0, output: `${printed}\n` });
});
