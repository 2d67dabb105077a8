/**
 * The TV build in an old engine, at the real relay: each response is cut at a byte. Every
 * 40th byte in `npm test`, from another one each time; every byte with SOAK=true. The module
 * has the same in faults.test.ts, `login` in test/login/hostile.test.ts.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../kit/chromium.ts';
import { startFaultProxy } from '../kit/fault-proxy.ts';
import { REMOVE_NEWER } from '../kit/old-engine.ts';
import { runChild } from '../kit/process.ts';
import { startTokenEndpoint, type TokenEndpoint, tokensFor } from '../kit/provider.ts';
import { createRandom, IS_SOAK, testSeed } from '../kit/random.ts';
import { type RelayProcess, ROOT, startRelay } from '../kit/relay.ts';
import { bringCodeWhenPossible, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const STEP = IS_SOAK ? 1 : 40;
/** More than any of these responses has, so that some are not cut. */
const BYTES = 700;
/** In one page. */
const AT_ONCE = 20;

/** Says what happens to each sign-in, by the address of its relay. */
const PAGE = `<!doctype html><title>App</title><link rel="icon" href="data:,"><script src="/tv.js"></script><script>
function say(event) { console.log(JSON.stringify(event)); }
function begin(relay) {
  SignInRelay.signIn({
    relay: relay, service: 'mal', code: false,
    save: function (tokens) { say({ relay: relay, saved: tokens }); },
    onPrompt: function (prompt) { say({ relay: relay, link: prompt.link }); }
  }, function (failure) { say({ relay: relay, end: failure ? failure.code : 'signed in' }); });
}
location.search.slice(1).split(',').forEach(begin);
</script>`;

interface Said {
  readonly relay: string;
  readonly link?: string;
  readonly saved?: object;
  readonly end?: string;
}

let folder: string;
let browser: Browser;
let provider: TokenEndpoint;
let relay: RelayProcess;
let app: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-cut-'));
  const dist = join(folder, 'dist');
  provider = startTokenEndpoint();
  app = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) =>
      url.endsWith('.js')
        ? new Response(Bun.file(join(dist, 'tv.js')))
        : new Response(PAGE, { headers: { 'Content-Type': 'text/html' } }),
  });
  const [built, launched, started] = await Promise.all([
    runChild([process.execPath, `${ROOT}client/build.ts`, dist]),
    launchChromium(),
    startRelay({
      MAL_TOKEN_URL: provider.tokenUrl,
      START_BURST: '100000',
      CORS_ORIGINS: app.url.origin,
    }),
  ]);
  expect(built).toMatchObject({ exitCode: 0 });
  [browser, relay] = [launched, started];
}, 60_000);

afterAll(async () => {
  await Promise.all([browser.close(), relay.stop(), app.stop(true)]);
  provider.stop();
  rmSync(folder, { recursive: true });
});

/** Sign-ins in one page, each through a network that cuts the first response of that path at another byte. */
async function signInCut(path: RegExp, from: number): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, nth) => {
      const run = { cutAfter: from + nth * STEP, wasCut: false };
      const proxy = await startFaultProxy(relay.baseUrl, (exchange) => {
        if (run.wasCut || !path.test(exchange.path)) return {};
        run.wasCut = true;
        return { cutAfter: () => run.cutAfter };
      });
      return Object.assign(run, { proxy });
    }),
  );
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(REMOVE_NEWER);
  const said: Said[] = [];
  page.on('console', (message) => {
    if (message.text().startsWith('{')) said.push(JSON.parse(message.text()) as Said);
  });
  await page.goto(`${app.url.href}?${runs.map(({ proxy }) => proxy.url)}`);
  const find = <Name extends keyof Said>(url: string, name: Name) =>
    pollUntil(
      `${name} at ${url}`,
      () => said.find((each) => each.relay === url && each[name] !== undefined)?.[name],
    );
  await Promise.all(
    runs.map(async (run) => {
      const { url } = run.proxy;
      const state = new URL((await find(url, 'link')) ?? '').searchParams.get('state') ?? '';
      const code = makeCode();
      await bringCodeWhenPossible([relay], state, code);
      expect([run.cutAfter, await find(url, 'end')]).toEqual([run.cutAfter, 'signed in']);
      expect(await find(url, 'saved')).toEqual(tokensFor(code));
      await pollUntil('a response was cut', () => run.wasCut);
      run.proxy[Symbol.dispose]();
    }),
  );
  await page.context().close();
}

test.each([
  ['what the relay offers', /^\/services/],
  ['the start', /^\/auth\/start/],
  ['the result', /^\/auth\/result.*wait=/],
  ['the acknowledgement', /^\/auth\/result.*ack=/],
])(
  'a response to %s that is cut at any byte: the tokens are saved',
  async (_name, path) => {
    const first = Math.floor(createRandom(testSeed)() * STEP);
    for (let from = first; from < BYTES; from += STEP * AT_ONCE) {
      await signInCut(path, from);
    }
  },
  IS_SOAK ? 3_600_000 : 60_000,
);
