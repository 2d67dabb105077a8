/**
 * What arrives from outside is read by name, and never obeyed where the app has configured
 * something else: a session at a relay that puts a member of every option's name into
 * everything, under Bun, under Node, and of the TV build in Chromium; and an API that redirects.
 */
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  setDefaultTimeout,
  test,
} from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { discover, type SessionOptions } from '../../client/src/index.ts';
import { keyOf } from '../../client/src/storage.ts';
import { launchChromium } from '../kit/chromium.ts';
import { PATH_WITHOUT_BUN, runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';
import { type Offered, type StrangeRelay, startStrangeRelay } from '../kit/strange-relay.ts';

setDefaultTimeout(60_000);

let folder: string;
let browser: Browser;
let app: ReturnType<typeof Bun.serve>;

/** Signs in unless the storage, \`items\`, has tokens; refreshes them; signs out. */
const APP = `
async function live(createSession, { items, ...options }) {
  const storage = {
    getItem: (key) => items[key],
    setItem: (key, text) => void (items[key] = text),
    removeItem: (key) => void delete items[key],
  };
  const session = createSession({ ...options, storage });
  const kept = async () => JSON.parse(JSON.stringify((await session.getTokens()) ?? null));
  const ended = { saved: [], failure: null };
  try {
    ended.saved.push(await kept());
    if (ended.saved[0] === null) {
      await session.signIn();
      ended.saved = [await kept()];
    }
    await session.getToken({ rejected: ended.saved[0].accessToken });
    ended.saved.push(await kept());
    ended.signedOut = await session.signOut();
  } catch ({ code, detail }) {
    ended.failure = code + ': ' + detail;
  }
  return JSON.stringify(ended);
}`;

const MODULE = `
import { createSession } from './index.js';
${APP}
console.log(await live(createSession, JSON.parse(process.argv[2])));
process.exit(0);
`;

const TV_PAGE = `<!doctype html><link rel="icon" href="data:,"><p id="end"></p>
<script src="/tv.js"></script><script>
${APP}
live(SignInRelay.createSession, JSON.parse(decodeURIComponent(location.search.slice(1)))).then((text) => {
  document.getElementById('end').textContent = text;
});
</script>`;

const API_PAGE = `<!doctype html><link rel="icon" href="data:,"><p id="end"></p>
<script type="module" src="/api.js"></script>`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-strange-'));
  app = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith('.js')) return new Response(Bun.file(join(folder, pathname)));
      const page = pathname === '/api' ? API_PAGE : TV_PAGE;
      return new Response(page, { headers: { 'Content-Type': 'text/html' } });
    },
  });
  const [built, launched] = await Promise.all([
    runChild([process.execPath, `${ROOT}client/build.ts`, folder]),
    launchChromium(),
  ]);
  expect(built).toMatchObject({ exitCode: 0 });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'app.js'), MODULE);
  writeFileSync(join(folder, 'api.js'), API_MODULE);
  browser = launched;
});

afterAll(async () => {
  await Promise.all([browser.close(), app.stop(true)]);
  rmSync(folder, { recursive: true });
});

interface Ended {
  /** After the sign-in, and after a refresh. */
  readonly saved: readonly (Readonly<Record<string, unknown>> | null)[];
  readonly failure: string | null;
  readonly signedOut?: object;
}

interface Options extends Partial<Omit<SessionOptions, 'storage'>> {
  readonly relay: string;
  readonly items?: Readonly<Record<string, string>>;
}

type Run = (options: string) => Promise<string>;

const runModule =
  (runtime: string, env: Readonly<Record<string, string>>): Run =>
  async (options) =>
    (await runChild([runtime, join(folder, 'app.js'), options], { env })).output;

const RUNTIMES: readonly (readonly [string, Run])[] = [
  ['Bun', runModule(process.execPath, {})],
  ['Node', runModule('node', { PATH: PATH_WITHOUT_BUN })],
  [
    'the TV build',
    async (options) => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${app.url.href}?${encodeURIComponent(options)}`);
      const text = await page.locator('#end', { hasText: '{' }).textContent();
      await page.context().close();
      return text ?? '';
    },
  ],
];

test('the menu has what belongs to a service, and no more', async () => {
  const relay = startStrangeRelay('blind');
  expect(await discover({ relay: relay.url })).toEqual({
    services: [{ service: 'mal', name: 'MyAnimeList', blind: 'must', revoke: false }],
    extensions: ['open', 'ack', 'cancel'],
  });
  await relay.stop();
});

/** Asks the API that is the last part of the address or of the command line. */
const API_MODULE = `
import { createSession } from './index.js';

const given = typeof process === 'undefined' ? location.search.slice(1) : process.argv[2];
const [relay, api] = given.split(',');
const stored = JSON.stringify({ accessToken: 'of-the-user' });
const storage = { getItem: () => stored, setItem() {}, removeItem() {} };
const session = createSession({ relay, service: 'mal', storage, origins: [new URL(api).origin] });
const text = await session.fetch(api).then((response) => response.text());
if (typeof document === 'undefined') console.log(text);
else document.getElementById('end').textContent = text;
`;

const ASKING: readonly (readonly [string, (given: string) => Promise<unknown>])[] = [
  ['Bun', (given) => runChild([process.execPath, join(folder, 'api.js'), given])],
  ['Node', (given) => runChild(['node', join(folder, 'api.js'), given])],
  [
    'Chromium',
    async (given) => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${app.url.href}api?${given}`);
      await page.locator('#end', { hasText: 'end' }).waitFor();
      await page.context().close();
    },
  ],
];

test.each(ASKING)('%s: a redirect to another origin leaves without the token', async (_, ask) => {
  const sent: [string, string | null][] = [];
  const serve = (answer: (path: string) => Response) =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch({ method, url, headers }) {
        const { pathname } = new URL(url);
        if (method !== 'OPTIONS') sent.push([pathname, headers.get('Authorization')]);
        const response =
          method === 'OPTIONS' ? new Response(null, { status: 204 }) : answer(pathname);
        response.headers.set('Access-Control-Allow-Origin', '*');
        response.headers.set('Access-Control-Allow-Headers', 'Authorization');
        return response;
      },
    });
  const to = (location: string) =>
    new Response(null, { status: 307, headers: { Location: location } });
  using other = serve(() => new Response('the end'));
  using api = serve((path) => to(path === '/first' ? '/second' : `${other.url.origin}/other`));
  await ask(`${api.url.origin},${api.url.origin}/first`);
  expect(sent).toEqual([
    ['/first', 'Bearer of-the-user'],
    ['/second', 'Bearer of-the-user'],
    ['/other', null],
  ]);
});

describe.each(RUNTIMES)('%s', (_, run) => {
  async function live(options: Options): Promise<Ended> {
    return JSON.parse(await run(JSON.stringify({ service: 'mal', items: {}, ...options })));
  }

  function start(offered: Offered, callback?: object): StrangeRelay {
    const relay = startStrangeRelay(offered, callback);
    onTestFinished(async () => void (await relay.stop()));
    return relay;
  }

  const TOKENS = ['accessToken', 'expiresAt', 'expiresIn', 'refreshToken'];

  test('tokens of the relay: kept without what else it sent, refreshed and revoked by it', async () => {
    const relay = start('relayed');
    const { failure, saved, signedOut } = await live({ relay: relay.url });
    expect(failure).toBeNull();
    for (const tokens of saved) expect(Object.keys(tokens ?? {}).toSorted()).toEqual(TOKENS);
    expect(saved[1]?.accessToken).not.toBe(saved[0]?.accessToken);
    expect(signedOut).toEqual({ revoked: true });
    const paths = relay.asked.map(({ path }) => path.replace(/\?.*/, ''));
    expect(paths).toEqual(expect.arrayContaining(['/auth/start', '/refresh', '/revoke']));
    expect([relay.providerAsked, relay.strangerAsked]).toEqual([[], []]);
  });

  const OWN = [...TOKENS, 'clientId', 'revocationUrl', 'tokenUrl'].toSorted();

  function expectOwn(relay: StrangeRelay, { failure, saved, signedOut }: Ended): void {
    expect(failure).toBeNull();
    const { tokenUrl, revocationUrl, clientId } = relay.open;
    for (const tokens of saved) {
      expect(Object.keys(tokens ?? {}).toSorted()).toEqual(OWN);
      expect(tokens).toMatchObject({ tokenUrl, revocationUrl, clientId });
    }
    expect(signedOut).toEqual({ revoked: true });
    const asked = relay.providerAsked.map(({ path, body }) => [
      path,
      new URLSearchParams(body).get('grant_type'),
      new URLSearchParams(body).get('client_id'),
    ]);
    expect(asked).toEqual([
      ['/token', 'authorization_code', 'own'],
      ['/token', 'refresh_token', 'own'],
      ['/revoke', null, 'own'],
      ['/revoke', null, 'own'],
    ]);
    const exchange = new URLSearchParams(relay.providerAsked[0]?.body);
    expect(exchange.get('code')).toBe(relay.code);
    expect(exchange.get('redirect_uri')).toBe(`${relay.url}/callback`);
    expect(relay.asked.some(({ body }) => body.includes(`${exchange.get('code_verifier')}`))).toBe(
      false,
    );
    expect(relay.strangerAsked).toEqual([]);
  }

  test('an open sign-in: whoever completes it chooses neither endpoints nor client', async () => {
    const relay = start('open', { iss: 'https://issuer.test' });
    const open = { ...relay.open, issuer: 'https://issuer.test' };
    expectOwn(relay, await live({ relay: relay.url, open }));
  });

  test.each([
    ['another issuer', { iss: 'https://evil.test' }],
    ['an empty issuer', { iss: '' }],
    ['an issuer that is no text', { iss: ['https://issuer.test'] }],
  ])('an open sign-in whose callback names %s is refused', async (_name, callback) => {
    const relay = start('open', callback);
    const open = { ...relay.open, issuer: 'https://issuer.test' };
    const { failure, saved } = await live({ relay: relay.url, open });
    expect([failure, saved]).toEqual(['refused: The callback came from another provider', [null]]);
    expect([relay.providerAsked, relay.strangerAsked]).toEqual([[], []]);
  });

  test("an open sign-in with the app's own state is refused with another", async () => {
    const other = start('open', { state: 'of another' });
    const query = '&state=of%20this+one';
    const openOf = ({ open }: StrangeRelay) => ({
      ...open,
      authorizationUrl: open.authorizationUrl + query,
    });
    const { failure } = await live({ relay: other.url, open: openOf(other) });
    expect(failure).toBe('refused: The callback is of another sign-in');
    expect([other.providerAsked, other.strangerAsked]).toEqual([[], []]);
    const same = start('open');
    expectOwn(same, await live({ relay: same.url, open: openOf(same) }));
  });

  test('a blind sign-in: what the relay says of its client, and no more', async () => {
    const relay = start('blind');
    expectOwn(relay, await live({ relay: relay.url }));
  });

  test("a blind sign-in: the app's own tokenUrl, whatever the relay names", async () => {
    const relay = start('blind');
    const elsewhere = startStrangeRelay('blind');
    onTestFinished(async () => void (await elsewhere.stop()));
    const { tokenUrl } = elsewhere.open;
    const { failure, saved, signedOut } = await live({ relay: relay.url, tokenUrl });
    expect(failure).toBeNull();
    expect(saved.map((tokens) => tokens?.tokenUrl)).toEqual([tokenUrl, tokenUrl]);
    // The relay's revocation endpoint is on another host than that.
    expect(signedOut).toMatchObject({ revoked: false, unsupported: true });
    expect(elsewhere.providerAsked).toHaveLength(2);
    expect([relay.providerAsked, relay.strangerAsked]).toEqual([[], []]);
  });

  test('an unfinished sign-in in the storage: only what belongs to it is read', async () => {
    const relay = start('open');
    const place = { relay: relay.url, service: 'mal' };
    const started = {
      ...relay.strange,
      session: 'poll-secret-of-the-process-before',
      url: `${relay.url}/L/BCDF-GHJK`,
      expiresIn: 600,
    };
    const verifier = 'verifier-of-the-process-before-43-characters';
    const own = { ...place, started, verifier, extensions: ['ack'], startedAtMs: Date.now() };
    const items = { [`unfinished-${keyOf(place)}`]: JSON.stringify({ ...relay.strange, ...own }) };
    expectOwn(relay, await live({ ...place, open: relay.open, items }));
    const exchange = new URLSearchParams(relay.providerAsked[0]?.body);
    expect(exchange.get('code_verifier')).toBe(verifier);
    expect(relay.asked.filter(({ path }) => path === '/open')).toEqual([]);
  });

  test.each(['tokenUrl', 'open'] as const)(
    'stored tokens of a blind sign-in are refreshed at the tokenUrl of the option %s',
    async (name) => {
      const relay = start('blind');
      const place = { relay: relay.url, service: 'mal' };
      const stored = { ...relay.strange, accessToken: 'a', refreshToken: 'r', expiresIn: 60 };
      const items = { [keyOf(place)]: JSON.stringify(stored) };
      const { open } = relay;
      const { tokenUrl } = open;
      const own = name === 'open' ? { open } : { tokenUrl };
      const { failure, saved } = await live({ ...place, ...own, items });
      expect([failure, saved.length]).toEqual([null, 2]);
      for (const tokens of saved) {
        expect(Object.keys(tokens ?? {}).toSorted()).toEqual(OWN);
        expect(tokens).toMatchObject({ tokenUrl });
      }
      expect(relay.providerAsked.map(({ path }) => path)).toEqual(['/token']);
      expect(relay.strangerAsked).toEqual([]);
    },
  );
});
