/** What is published: sizes, syntax, and the package as an app developer installs it. */
import { expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { minifySync } from '@swc/core';
import { parse } from 'acorn';
import { publint } from 'publint';
import { newFolder } from '../kit/folder.ts';
import { runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { ROOT } from '../kit/relay.ts';

const CLIENT = `${ROOT}client`;

const folder = newFolder();
const packed = join(folder, 'sign-in-relay-client-1.0.0.tgz');

/** `npm pack`, which builds, and `npm install` in a folder with nothing in it. */
const env = { HOME: folder };
const pack = ['npm', 'pack', '--pack-destination', folder];
expect(await runChild(pack, { cwd: CLIENT, env })).toMatchObject({ exitCode: 0 });
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
const install = ['npm', 'install', '--offline', '--no-audit', packed];
expect(await runChild(install, { cwd: folder, env })).toMatchObject({ exitCode: 0 });

const installed = (file: string) => join(folder, 'node_modules/sign-in-relay-client', file);
const read = (file: string) => readFileSync(installed(file), 'utf8');

/** What an app ships that has imported it: bundled, then minified by swc, as by Next.js. */
async function bundled(): Promise<string> {
  const app = join(folder, 'size.js');
  writeFileSync(
    app,
    "import { createSession } from 'sign-in-relay-client'; self.app = createSession;",
  );
  const { outputs } = await Bun.build({ entrypoints: [app], target: 'browser' });
  const [code = ''] = await Promise.all(outputs.map((output) => output.text()));
  return minifySync(code, { module: true, compress: true, mangle: true }).code;
}

test.each([
  ['createSession', 9.5, bundled],
  ['the TV build', 9, async () => read('dist/tv.js')],
] as const)('%s is at most %p KiB, gzipped', async (name, kib, readCode) => {
  const bytes = gzipSync(await readCode(), { level: 9 }).length;
  console.log(`${name}: ${bytes} bytes`);
  expect(bytes).toBeGreaterThan(4_000);
  expect(bytes).toBeLessThanOrEqual(kib * 1_024);
});

test('publint finds nothing', async () => {
  const { messages } = await publint({ pkgDir: installed('.'), strict: true, pack: false });
  expect(messages).toEqual([]);
});

// `node10` is the default of TypeScript 5 for CommonJS, and does not know `exports`.
test('each entry has the types of its format, also for `moduleResolution: node10`', async () => {
  const tarball = createPackageFromTarballData(await Bun.file(packed).bytes());
  // A script, for a tag of its own.
  const checked = await checkPackage(tarball, { excludeEntrypoints: ['tv.js'] });
  expect('problems' in checked ? checked.problems : checked).toEqual([]);
});

test('the TV build is ASCII, ES5 to a parser that knows no more, declares nothing', () => {
  expect(() => parse('let newer;', { ecmaVersion: 5 })).toThrow();
  const code = read('dist/tv.js');
  expect(code).toMatch(/^[ -~]+$/);
  // A page may have variables of any name, of which a script must declare none.
  const { body } = parse(code, { ecmaVersion: 5 });
  expect(body.map(({ type }) => type)).toEqual(['ExpressionStatement']);
});

test('the TV build has one global, and its errors have a cause in old engines too', async () => {
  const old = (text: string) => Error(text);
  old.prototype = Error.prototype;
  const self = { addEventListener() {}, location: {}, Error: old } as Record<string, unknown>;
  const namesOf = (object: object) => Object.getOwnPropertyNames(object);
  const before = [...namesOf(self), ...namesOf(globalThis)];
  Function('self', ...Object.keys(self), read('dist/tv.js'))(self, ...Object.values(self));
  const { createSession } = self.SignInRelay as typeof import('../../client/src/index.ts');
  const cause = new Error('full');
  const storage = { getItem: () => Promise.reject(cause), setItem() {}, removeItem() {} };
  const session = createSession({ relay: 'https://relay.test', service: 'mal', storage });
  await expect(session.getTokens()).rejects.toMatchObject({ code: 'storage_failed', cause });
  const after = [...namesOf(self), ...namesOf(globalThis)];
  expect(after.filter((name) => !before.includes(name))).toEqual(['SignInRelay']);
});

test('the package has no dependencies; only builds, types, licence and README', () => {
  const { dependencies, peerDependenciesMeta } = JSON.parse(read('package.json'));
  const optional = { optional: true };
  const isOptional = {
    '@modelcontextprotocol/sdk': optional,
    react: optional,
    'sign-in-relay': optional,
  };
  expect([dependencies, peerDependenciesMeta]).toEqual([undefined, isOptional]);
  expect(existsSync(join(folder, 'node_modules/react'))).toBe(false);
  const files = [...new Bun.Glob('**').scanSync({ cwd: installed('.') })];
  const modules = readdirSync(`${CLIENT}/src`)
    .map((file) => file.replace(/\.ts$/, ''))
    .filter((name) => name !== 'tv')
    .flatMap((name) => ['.js', '.js.map', '.d.ts'].map((end) => name + end));
  expect(files.toSorted()).toEqual(
    [
      'LICENSE',
      'README.md',
      'package.json',
      'react/package.json',
      'dist/cjs/package.json',
      'dist/tv.js',
      'dist/tv.d.ts',
      ...modules.flatMap((file) => [`dist/${file}`, `dist/cjs/${file}`]),
    ].toSorted(),
  );
});

const APP = `
import { createSession, discover, SignInError, type Tokens } from 'sign-in-relay-client';

declare const process: { readonly argv: string[] };
declare const console: { log(text: string): void };

const relay = process.argv[2] ?? '';

async function main(): Promise<void> {
  try {
    if (!relay) throw new SignInError('refused', 'No relay');
    const session = createSession({ relay, service: 'mal' });
    const tokens: Tokens | undefined = await session.getTokens();
    if (tokens) console.log(tokens.accessToken);
    const api = createSession({ relay, service: 'api', origins: ['https://api.example'] });
    await api.fetch(relay).catch(({ detail }) => console.log(detail));
    const { services } = await discover({ relay });
    for (const { name, blind } of services) console.log(JSON.stringify({ name, blind }));
    const isSignedIn: boolean = await session.signIn();
    if (isSignedIn) console.log(await session.getToken());
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    console.log(JSON.stringify({ code: error.code, show: error.show }));
  }
}
void main();
`;

const TV_APP = `
/// <reference types="sign-in-relay-client/tv.js" />
const session = SignInRelay.createSession({ relay: 'https://relay.example', service: 'mal' });
session.subscribe(function () {
  const { state } = session;
  if (state.status === 'failed') state.error.show.charAt(0);
});
session.getToken().then(function (token) { token.charAt(0); });
`;

const STRICT = '--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess';
/** Without the types of browsers and of Node, which React Native lacks. */
const BARE = ['--lib', 'es2022', '--types', ''];

/** Strict, as an app may have it. */
function compile(files: readonly string[], how: string, types: readonly string[] = BARE) {
  const target = `${STRICT} --target es2022 --skipLibCheck false ${how}`.split(' ');
  const tsc = [process.execPath, `${ROOT}node_modules/.bin/tsc`, ...target, ...types];
  return runChild([...tsc, ...files], { cwd: folder });
}

for (const file of ['app.mts', 'app.cts']) writeFileSync(join(folder, file), APP);
writeFileSync(join(folder, 'tv.ts'), TV_APP);

const PROGRAMS = ['app.mts', 'app.cts', 'tv.ts'];

test.each([
  // The programs are run below.
  '--module node16 --moduleResolution node16',
  '--module preserve --moduleResolution bundler --noEmit',
])('its types are complete by themselves: %s', async (how) => {
  expect(await compile(PROGRAMS, how)).toEqual({ exitCode: 0, output: '' });
});

/** What the snippets of the README have around them in an app. */
const AROUND = `
export {};
declare global {
  function show(text: string): void;
  function showPrompt(prompt: import('sign-in-relay-client').Prompt): void;
}
`;

/** Beside the snippets: what others have. The real types were tried by hand, as the README says. */
const OTHERS = `
declare module '@/app/sign-in-prompt' {
  export function SignInPrompt(props: { session: import('sign-in-relay-client').Session }): null;
}
declare module 'expo-secure-store' {
  export function getItem(key: string): string | null;
  export function setItem(key: string, value: string): void;
  export function deleteItemAsync(key: string): Promise<void>;
}
declare module 'electron' {
  export const app: { getPath(name: 'userData'): string };
  export const safeStorage: {
    encryptString(text: string): Buffer;
    decryptString(encrypted: Buffer): string;
  };
}
`;

test('every snippet of the README compiles', async () => {
  const readme = read('README.md');
  const snippets = [...readme.matchAll(/^```(ts|tsx|js|html)\n([\s\S]*?)^```$/gm)];
  expect(snippets.length).toBeGreaterThan(4);
  writeFileSync(join(folder, 'around.d.ts'), AROUND);
  writeFileSync(join(folder, 'others.d.ts'), OTHERS);
  const files = snippets.map(([, language, code = ''], index) => {
    const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(code) ?? [];
    const name = `snippet-${index}.${language === 'html' ? 'js' : language}`;
    const types = '/// <reference types="sign-in-relay-client/tv.js" />\n';
    const text = language === 'html' ? types + script : `${code}\nexport {};\n`;
    writeFileSync(join(folder, name), text);
    return name;
  });
  const react = ['react', '@types/react', 'csstype', '@types/node', 'undici-types'];
  for (const name of react) {
    mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(`${ROOT}node_modules/${name}`, join(folder, 'node_modules', name));
  }
  const checked = await compile(
    ['around.d.ts', 'others.d.ts', ...files],
    '--module node16 --moduleResolution node16 --noEmit --allowJs --checkJs --jsx react-jsx',
    ['--lib', 'es2022,dom', '--types', 'node'],
  );
  for (const name of react) rmSync(join(folder, 'node_modules', name));
  expect(checked).toEqual({ exitCode: 0, output: '' });
});

test('React Native before 0.79 finds the hook, though its Metro ignores exports', () => {
  // A resolver without `exports` reads the folder, and the `main` of its package.json.
  const { main, types } = JSON.parse(read('react/package.json'));
  for (const file of [main, types]) {
    expect(existsSync(join(installed('react'), file))).toBe(true);
  }
  expect(read(join('react', main))).toContain('useSession');
});

test.each([
  ['bun, from ESM', process.execPath, 'app.mjs'],
  ['node, from ESM', 'node', 'app.mjs'],
  ['node, from CommonJS', 'node', 'app.cjs'],
] as const)('the installed package runs under %s', async (_name, runtime, program) => {
  using relay = serveUpstream(({ url }) =>
    url.endsWith('/services')
      ? Response.json({ services: [{ service: 'mal', name: 'MyAnimeList' }], extensions: [] })
      : new Response('Unknown service\n', { status: 400 }),
  );
  const ran = await runChild([runtime, program, relay.origin], { cwd: folder });
  const refused = { code: 'refused', show: 'Sign-in is not available here.' };
  const lines = [{ name: 'MyAnimeList', blind: 'no' }, refused].map((each) => JSON.stringify(each));
  const other = `The option origins does not have ${relay.origin}`;
  expect(ran).toEqual({ exitCode: 0, output: `${[other, ...lines].join('\n')}\n` });
});
