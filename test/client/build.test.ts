/** What is published: sizes, syntax, and the package as an app developer installs it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'acorn';
import { runChild } from '../kit/process.ts';
import { startTokenEndpoint, type TokenEndpoint, tokensFor } from '../kit/provider.ts';
import { type RelayProcess, ROOT, startRelay } from '../kit/relay.ts';
import { bringCode, makeCode } from '../kit/user.ts';

const CLIENT = `${ROOT}client`;

let folder: string;
let provider: TokenEndpoint;
let relay: RelayProcess;

/** `npm pack`, which builds, and `npm install` in a folder with nothing in it. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-client-'));
  provider = startTokenEndpoint();
  relay = await startRelay({ MAL_TOKEN_URL: provider.tokenUrl });
  const env = { HOME: folder };
  const packed = await runChild(['npm', 'pack', '--pack-destination', folder], {
    cwd: CLIENT,
    env,
  });
  expect(packed).toMatchObject({ exitCode: 0 });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const tarball = join(folder, 'sign-in-relay-client-0.1.0.tgz');
  const install = ['npm', 'install', '--offline', '--no-audit', tarball];
  expect(await runChild(install, { cwd: folder, env })).toMatchObject({ exitCode: 0 });
}, 60_000);

afterAll(async () => {
  await relay.stop();
  provider.stop();
  rmSync(folder, { recursive: true });
});

const installed = (file: string) => join(folder, 'node_modules/sign-in-relay-client', file);
const read = (file: string) => readFileSync(installed(file), 'utf8');

test.each([
  ['index.js', 4],
  ['tv.js', 6],
])('dist/%s is at most %d KiB, gzipped', (file, kib) => {
  const bytes = gzipSync(read(`dist/${file}`), { level: 9 }).length;
  console.log(`${file}: ${bytes} bytes`);
  expect(bytes).toBeLessThanOrEqual(kib * 1_024);
});

test('the TV build is ES5, to a parser that knows no more', () => {
  expect(() => parse('let newer;', { ecmaVersion: 5 })).toThrow();
  parse(read('dist/tv.js'), { ecmaVersion: 5 });
});

test('the package has no dependencies, and nothing but the builds, their types, licence and README', () => {
  const { dependencies, peerDependencies } = JSON.parse(read('package.json'));
  expect([dependencies, peerDependencies]).toEqual([undefined, undefined]);
  const glob = new Bun.Glob('**');
  const files = [...glob.scanSync({ cwd: installed('.') })].filter(
    (file) => !/\.d\.ts$/.test(file),
  );
  expect(files.toSorted()).toEqual([
    ...['LICENSE', 'README.md', 'dist/index.js', 'dist/tv.js', 'package.json'],
  ]);
});

const APP = `
import { discover, keepTokens, refresh, SignInError, signIn, start, type Tokens } from 'sign-in-relay-client';

declare const process: { readonly argv: string[] };
declare const console: { log(text: string): void };

const relay = process.argv[2] ?? '';
let kept: Tokens | undefined;
try {
  const tokens = await signIn({
    relay,
    service: 'mal',
    code: false,
    onPrompt: ({ link, qr }) => console.log(JSON.stringify({ link, modules: qr?.matrix.length })),
  });
  if (tokens !== undefined) {
    kept = tokens;
    const accessToken = keepTokens({ relay, service: 'mal', load: () => kept, save: async (fresh) => void (kept = fresh) });
    console.log(JSON.stringify({ given: await accessToken() }));
  }
  const { services } = await discover({ relay });
  for (const { name, blind } of services) console.log(JSON.stringify({ name, blind }));
  const session = await start({ relay, service: 'none' });
  if (session !== undefined && kept !== undefined) await refresh({ relay, service: 'mal', tokens: kept });
} catch (error) {
  if (!(error instanceof SignInError)) throw error;
  console.log(JSON.stringify({ code: error.code, show: error.show }));
}
`;

const TV_APP = `
/// <reference types="sign-in-relay-client/tv.js" />
const cancel = SignInRelay.signIn(
  { relay: 'https://relay.example', service: 'mal', onPrompt: function (prompt) { prompt.link.charAt(0); } },
  function (failure, tokens) { if (tokens) tokens.accessToken.charAt(0); },
);
cancel();
`;

test.each(['nodenext', 'bundler'])(
  'its types are complete by themselves (%s)',
  async (resolution) => {
    writeFileSync(join(folder, 'app.ts'), APP);
    writeFileSync(join(folder, 'tv.ts'), TV_APP);
    const module = resolution === 'bundler' ? 'preserve' : resolution;
    // No DOM, no Node: React Native has neither.
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022'];
    const libraries = ['--lib', 'es2022', '--types', '', '--skipLibCheck', 'false'];
    const tsc = [process.execPath, `${ROOT}node_modules/.bin/tsc`, ...strict, ...libraries];
    const how = ['--module', module, '--moduleResolution', resolution];
    const checked = await runChild([...tsc, ...how, 'app.ts', 'tv.ts'], { cwd: folder });
    expect(checked).toEqual({ exitCode: 0, output: '' });
  },
);

test.each([['bun', process.execPath] as const, ['node', 'node'] as const])(
  'an app signs its user in under %s',
  async (_name, runtime) => {
    writeFileSync(join(folder, 'app.ts'), APP);
    const script = new Bun.Transpiler({ loader: 'ts' }).transformSync(APP);
    writeFileSync(join(folder, 'app.mjs'), script);
    const code = makeCode();
    const lines: Record<string, unknown>[] = [];
    const app = Bun.spawn([runtime, 'app.mjs', relay.baseUrl], { cwd: folder, stdout: 'pipe' });
    let rest = '';
    for await (const part of app.stdout) {
      const pieces = (rest + new TextDecoder().decode(part)).split('\n');
      rest = pieces.pop() ?? '';
      for (const piece of pieces) {
        const line = JSON.parse(piece) as Record<string, unknown>;
        lines.push(line);
        const { link } = line;
        if (typeof link !== 'string') continue;
        await bringCode(relay, new URL(link).searchParams.get('state') ?? '', code);
      }
    }
    expect(await app.exited).toBe(0);
    expect(lines[0]).toMatchObject({ modules: 33 });
    expect(lines[1]).toEqual({ given: tokensFor(code).accessToken });
    expect(lines.at(-1)).toEqual({ code: 'refused', show: 'Sign-in is not available here.' });
  },
);
