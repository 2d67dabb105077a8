/** The example for React Native: type-checked, and drawn by the test renderer, at a real relay. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createElement, type FunctionComponent } from 'react';
import { create, type ReactTestInstance, type ReactTestRenderer } from 'react-test-renderer';
import { runChild } from '../kit/process.ts';
import { scan } from '../kit/qr.ts';
import { type RelayProcess, ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, continueWithCode, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const SUPPORT = `${ROOT}test/devices/support/react-native`;

/** Grants tokens, and has an API that accepts the newest. */
function startProvider() {
  let serial = 0;
  let isRevoked = false;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      if (new URL(request.url).pathname === '/me') {
        const isValid = request.headers.get('Authorization') === `Bearer ${accessToken()}`;
        return new Response(isValid ? 'Ada' : '', { status: isValid ? 200 : 401 });
      }
      if (isRevoked) return Response.json({ error: 'invalid_grant' }, { status: 400 });
      serial += 1;
      const refresh = plantSecret(`refresh-token-${serial}-of-the-example`);
      return Response.json({
        ...{ access_token: accessToken(), refresh_token: refresh, expires_in: 3_600 },
      });
    },
  });
  const accessToken = () => plantSecret(`access-token-${serial}-of-the-example`);
  return {
    server,
    url: server.url.origin,
    /** The API accepts no token that was given so far. */
    expire() {
      serial += 1;
    },
    revoke(is: boolean) {
      isRevoked = is;
    },
  };
}

let folder: string;
let provider: ReturnType<typeof startProvider>;
let relay: RelayProcess;
let compiled: { readonly exitCode: number; readonly output: string };
let App: FunctionComponent;
let storage: Map<string, unknown>;
let pressBack: () => boolean;
let renderer: ReactTestRenderer | undefined;

/** The app as a developer has it, with the packed client and with doubles of the native packages. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-native-'));
  provider = startProvider();
  relay = await startRelay({ MAL_TOKEN_URL: `${provider.url}/token`, START_BURST: '1000' });
  cpSync(`${ROOT}examples/devices/react-native`, folder, { recursive: true });
  const modules = join(folder, 'node_modules');
  for (const name of ['react', '@types/react']) {
    mkdirSync(join(modules, name, '..'), { recursive: true });
    symlinkSync(`${ROOT}node_modules/${name}`, join(modules, name));
  }
  for (const name of ['react-native', 'expo', 'expo-secure-store']) {
    mkdirSync(join(modules, name));
    writeFileSync(join(modules, name, 'package.json'), '{"type":"module"}');
    cpSync(`${SUPPORT}/${name}.d.ts`, join(modules, name, 'index.d.ts'));
    if (name !== 'expo') cpSync(`${SUPPORT}/${name}.js`, join(modules, name, 'index.js'));
  }
  const client = join(modules, 'sign-in-relay-client');
  mkdirSync(client);
  cpSync(`${ROOT}client/package.json`, join(client, 'package.json'));
  const build = [process.execPath, `${ROOT}client/build.ts`, join(client, 'dist')];
  expect(await runChild(build)).toMatchObject({ exitCode: 0 });
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        ...{ strict: true, outDir: 'out', jsx: 'react-jsx', target: 'es2022' },
        ...{ module: 'preserve', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] },
      },
    }),
  );
  writeFileSync(
    join(folder, 'config.ts'),
    `export const RELAY = '${relay.baseUrl}';
export const SERVICE = 'mal';
export const PROFILE_URL = '${provider.url}/me';`,
  );
  const tsc = [process.execPath, `${ROOT}node_modules/.bin/tsc`, '--project', folder];
  compiled = await runChild(tsc);
  ({ default: App } = await import(join(folder, 'out/App.js')));
  ({ entries: storage } = await import(join(folder, 'node_modules/expo-secure-store/index.js')));
  ({ pressBack } = await import(join(folder, 'node_modules/react-native/index.js')));
}, 60_000);

afterEach(() => {
  renderer?.unmount();
  renderer = undefined;
  storage?.clear();
});

afterAll(async () => {
  await relay.stop();
  await provider.server.stop(true);
  rmSync(folder, { recursive: true });
});

test('its types are right', () => {
  expect(compiled).toEqual({ exitCode: 0, output: '' });
});

async function draw(): Promise<void> {
  const drawn = create(createElement(App));
  renderer = drawn;
  await pollUntil('it is drawn', () => drawn.toJSON());
}

const isText = (node: ReactTestInstance) => (node.type as unknown) === 'Text';

/** All that is on the screen. */
const read = () =>
  renderer?.root.findAll(isText).map((node) => [node.props.children].flat().join('')) ?? [];

const until = (text: string | RegExp) =>
  pollUntil(`${text} is on the screen`, () =>
    read().find((line) => (typeof text === 'string' ? line === text : text.test(line))),
  );

async function press(label: string): Promise<void> {
  await until(label);
  renderer?.root.findByProps({ label }).props.onPress();
}

/** What a phone reads from the dark views. */
function scanScreen(): string | undefined {
  const picture = renderer?.root.findByProps({ accessibilityLabel: 'QR code' });
  const widthPx = picture?.props.style.width as number;
  const rgba = new Uint8ClampedArray(widthPx * widthPx * 4).fill(255);
  for (const { props } of picture?.findAll(({ props }) => props.style?.position) ?? []) {
    const { top, left, width, height } = props.style;
    for (let y = top; y < top + height; y += 1) {
      for (let x = left; x < left + width; x += 1) {
        rgba.fill(0, (y * widthPx + x) * 4, (y * widthPx + x) * 4 + 3);
      }
    }
  }
  return scan({ widthPx, heightPx: widthPx, rgba });
}

/** As far as the prompt. Returns the link that the phone reads. */
async function askToSignIn(): Promise<string> {
  await draw();
  await press('Sign in');
  await until(/^Valid for \d+:\d\d$/);
  return scanScreen() ?? '';
}

async function signIn(): Promise<void> {
  const link = await askToSignIn();
  await bringCode(relay, await continueWithCode(relay, link), makeCode());
  await until('Ada');
}

test('shows a QR code, a code to type and a countdown, signs in, and is signed in at its next start', async () => {
  const link = await askToSignIn();
  expect(read().some((line) => line === link.split('/').at(-1))).toBe(true);
  expect(read()).toContain(`Or open ${relay.baseUrl}/link and type`);
  await relay.ask(link);
  const state = await continueWithCode(relay, link);
  await until('Continue on your phone');
  await bringCode(relay, state, makeCode());
  await until('Ada');
  expect([...storage.keys()]).toEqual(['tokens']);
  renderer?.unmount();
  await draw();
  await until('Ada');
});

test('Back cancels: the link says so, and nothing is stored', async () => {
  const link = await askToSignIn();
  expect(pressBack()).toBe(true);
  await until('Sign in');
  await pollUntil('the link is cancelled', async () => (await relay.ask(link)).status === 404);
  await pollUntil('nothing is pending', () => storage.size === 0);
  // On the first screen Back leaves the app.
  expect(pressBack()).toBe(false);
});

test('a token that the API does not accept any more is refreshed, and stored', async () => {
  await signIn();
  const before = storage.get('tokens');
  renderer?.unmount();
  provider.expire();
  await draw();
  await until('Ada');
  expect(storage.get('tokens')).not.toBe(before);
});

test('a user who has removed the app at the provider signs in again', async () => {
  await signIn();
  renderer?.unmount();
  provider.expire();
  provider.revoke(true);
  await draw();
  await until('Sign in');
  expect(storage.size).toBe(0);
  provider.revoke(false);
});

test('signs out', async () => {
  await signIn();
  await press('Sign out');
  await until('Sign in');
  expect(storage.size).toBe(0);
});

test.each([
  ['cannot be decrypted', new Error('no key')],
  ['is damaged', '{"accessToken":'],
] as const)('a storage that %s leads to the sign-in', async (_name, entry) => {
  storage.set('tokens', entry);
  storage.set('pending-sign-in', entry);
  await signIn();
});
