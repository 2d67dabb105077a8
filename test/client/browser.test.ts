/** Both builds of the client in Chromium: at the real relay over a network that cuts, and without CORS. */
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

/** Every byte in `npm run soak`; otherwise five of each response, others each time. */
const STEP = IS_SOAK ? 1 : 140;
/** More than any of these responses has, so that some are not cut. */
const BYTES = 700;
/** Sign-ins in one page. */
const AT_ONCE = 20;
/** What the relay offers, the start, the result, the acknowledgement. */
const RESPONSES = [/^\/services/, /^\/auth\/start/, /^\/auth\/result.*wait=/, /ack=/];

/** Signs in, and shows what the state tells the developer. */
const SIGN_IN = `function signIn(createSession, relay, show) {
  var session = createSession({ relay: relay, service: 'mal' });
  session.subscribe(function () {
    var detail = session.state.detail || (session.state.error || {}).detail;
    if (detail) show(detail);
  });
  session.signIn();
}`;
const SHOW = `<p></p><script>
function show(text) { document.querySelector('p').textContent = text; }
${SIGN_IN}</script>`;

/** A page for each: sign-ins that are cut, and a sign-in with either build. */
const SCRIPTS: Readonly<Record<string, string>> = {
  '/cut': `<script src="/tv.js"></script><script>
function say(event) { console.log(JSON.stringify(event)); }
function begin(relay) {
  var session = SignInRelay.createSession({ relay: relay, service: 'mal', code: false });
  session.subscribe(function () {
    var state = session.state;
    if (state.status === 'waiting') say({ relay: relay, link: state.prompt.link });
  });
  session.signIn().then(function () {
    return session.getTokens();
  }).then(function (tokens) {
    say({ relay: relay, saved: tokens, end: 'signed in' });
  }, function (failure) {
    say({ relay: relay, end: failure.code });
  });
}
location.search.slice(1).split(',').forEach(begin);
</script>`,
  '/tv': `${SHOW}<script src="/tv.js"></script><script>
signIn(SignInRelay.createSession, location.search.slice(1), show);</script>`,
  '/module': `${SHOW}<script type="module">import { createSession } from '/index.js';
signIn(createSession, location.search.slice(1), show);</script>`,
  '/worker': `${SHOW}<script>
const source = "import { createSession } from '" + location.origin + "/index.js';" + signIn +
  ";signIn(createSession, '" + location.search.slice(1) + "', postMessage)";
const own = new Blob([source], { type: 'text/javascript' });
new Worker(URL.createObjectURL(own), { type: 'module' }).onmessage = ({ data }) => show(data);</script>`,
};

let folder: string;
let browser: Browser;
let provider: TokenEndpoint;
let relay: RelayProcess;
let app: ReturnType<typeof Bun.serve>;

function serveApp(dist: string) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith('.js')) return new Response(Bun.file(join(dist, pathname)));
      const icon = '<link rel="icon" href="data:,">';
      const page = `<!doctype html><title>App</title>${icon}${SCRIPTS[pathname] ?? ''}`;
      return new Response(page, { headers: { 'Content-Type': 'text/html' } });
    },
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-browser-'));
  provider = startTokenEndpoint();
  app = serveApp(folder);
  const [built, launched, started] = await Promise.all([
    runChild([process.execPath, `${ROOT}client/build.ts`, folder]),
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

interface Said {
  readonly relay: string;
  readonly link?: string;
  readonly saved?: object;
  readonly end?: string;
}

type Cut = readonly [response: RegExp, cutAfter: number];

/** A network that cuts the first such response. */
async function startCutting([response, cutAfter]: Cut) {
  const state = { wasCut: false };
  const proxy = await startFaultProxy(relay.baseUrl, ({ path }) => {
    if (state.wasCut || !response.test(path)) return {};
    state.wasCut = true;
    return { cutAfter: () => cutAfter };
  });
  return { response, cutAfter, state, proxy };
}

/** In one page. */
async function signInCut(cuts: readonly Cut[]): Promise<void> {
  const runs = await Promise.all(cuts.map(startCutting));
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(REMOVE_NEWER);
  const said: Said[] = [];
  page.on('console', (message) => {
    if (message.text().startsWith('{')) said.push(JSON.parse(message.text()) as Said);
  });
  await page.goto(`${app.url.href}cut?${runs.map(({ proxy }) => proxy.url)}`);
  const find = <Name extends keyof Said>(url: string, name: Name) =>
    pollUntil(
      `${name} at ${url}`,
      () => said.find((each) => each.relay === url && each[name] !== undefined)?.[name],
    );
  await Promise.all(
    runs.map(async ({ response, cutAfter, state, proxy }) => {
      const link = (await find(proxy.url, 'link')) ?? '';
      const code = makeCode();
      await bringCodeWhenPossible([relay], new URL(link).searchParams.get('state') ?? '', code);
      const end = await find(proxy.url, 'end');
      expect([response, cutAfter, end]).toEqual([response, cutAfter, 'signed in']);
      expect(await find(proxy.url, 'saved')).toEqual(tokensFor(code));
      await pollUntil('a response was cut', () => state.wasCut);
      proxy[Symbol.dispose]();
    }),
  );
  await page.context().close();
}

test(
  'the TV build in an old engine: a response cut at any byte, the tokens are saved',
  async () => {
    const first = Math.floor(createRandom(testSeed)() * STEP);
    const cuts: Cut[] = [];
    for (const response of RESPONSES) {
      for (let at = first; at < BYTES; at += STEP) cuts.push([response, at]);
    }
    while (cuts.length > 0) await signInCut(cuts.splice(0, AT_ONCE));
  },
  IS_SOAK ? 3_600_000 : 60_000,
);

test.each(['/tv', '/module', '/worker'])(
  '%s: a page that CORS_ORIGINS lacks is told so',
  async (path) => {
    const other = serveApp(folder);
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${other.url.origin}${path}?${relay.baseUrl}`);
    expect(await page.locator('p', { hasText: ':' }).textContent()).toStartWith(
      `The relay did not answer, or its CORS_ORIGINS does not have ${other.url.origin}`,
    );
    await page.context().close();
    await other.stop(true);
  },
);
