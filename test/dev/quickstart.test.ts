/** The program of docs/quickstart.md, as a reader copies it, under plain Node. */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';

const dev = await startDev();

function program(relayUrl = dev.relayUrl): string {
  const page = readFileSync(new URL('../../docs/quickstart.md', import.meta.url), 'utf8');
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  return code.replace('http://127.0.0.1:8080', relayUrl);
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
])('%s → %s', async (ending, printed) => {
  const isTimed = ['restart', 'slow', 'forgotten'].includes(ending);
  await dev.plan({ ending, auto: ending !== 'full', ...(isTimed && { seconds: 1 }) });
  expect(await run(program() + MAIN)).toEqual({ exitCode: 0, output: `${printed}\n` });
});

test('the device sets its clock while the user signs in: the link stays', async () => {
  await dev.plan({ ending: 'cut-off', auto: true });
  const jump = '() => setImmediate(() => (Date.now = () => 1e14))';
  const dayLost = MAIN.replace('() => {}', jump);
  const output = 'accessToken,refreshToken,expiresIn\n';
  expect(await run(program() + dayLost)).toEqual({ exitCode: 0, output });
});

test("an error of the developer's own in keep is theirs at once", async () => {
  await dev.plan({ ending: 'approve', auto: true });
  const broken = program().replace('keep(tokens) {}', "keep(tokens) { throw TypeError('mine'); }");
  expect(await run(broken + MAIN)).toEqual({ exitCode: 0, output: 'mine\n' });
});

test('a poll that is refused waits for as long as Retry-After says', async () => {
  let polls = 0;
  using relay = serveUpstream(({ url }) => {
    if (url.endsWith('/start')) return Response.json({ session: 's', url: '', expiresIn: 600 });
    polls += 1;
    if (polls === 1) return new Response('', { status: 429, headers: { 'Retry-After': '7' } });
    if (polls === 2) return new Response('', { status: 502 });
    return Response.json({ accessToken: 'a' });
  });
  const noting = program(relay.origin).replace(
    /const pause = .*/,
    'const pause = async (ms) => console.log(ms);',
  );
  const { output } = await run(noting + MAIN);
  expect(output).toBe('7000\n2000\naccessToken\n');
});

test('time is over, but the relay has not ended the link: the device polls on', async () => {
  let polls = 0;
  using relay = serveUpstream(({ url }) => {
    if (url.endsWith('/start')) return Response.json({ session: 's', url: '', expiresIn: 0 });
    polls += 1;
    return polls === 1 ? new Response(null, { status: 204 }) : Response.json({ accessToken: 'a' });
  });
  expect((await run(program(relay.origin) + MAIN)).output).toBe('accessToken\n');
});

function run(app: string) {
  const file = join(newFolder(), 'app.mjs');
  writeFileSync(file, app);
  return runChild(['node', file]);
}
