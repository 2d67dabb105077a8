/** The client in Chromium at a real relay: the TV build over a network that cuts, and pages without CORS. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { startFaultProxy } from '../kit/fault-proxy.ts';
import { REMOVE_NEWER } from '../kit/old-engine.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { createRandom, IS_SOAK, testSeed } from '../kit/random.ts';
import { startRelay } from '../kit/relay.ts';
import { startRuntimes } from '../kit/runtimes.ts';
import { bringCodeWhenPossible, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(IS_SOAK ? 3_600_000 : 60_000);

/** Every byte in `npm run soak`; otherwise five of each response, others each time. */
const STEP = IS_SOAK ? 1 : 140;
/** More than any of these responses has, so that some are not cut. */
const BYTES = 700;
/** Sign-ins in one page. */
const AT_ONCE = 20;
/** What the relay offers, the start, the result, the acknowledgement. */
const RESPONSES = [/^\/services/, /^\/auth\/start/, /^\/auth\/result.*wait=/, /ack=/];

const provider = startTokenEndpoint();
const runtimes = await startRuntimes();
const relay = await startRelay({
  MAL_TOKEN_URL: provider.tokenUrl,
  START_BURST: '100000',
  CORS_ORIGINS: runtimes.origin,
});

type Cut = readonly [response: RegExp, cutAfter: number];

/** Signs in at each relay that its address names. Says the link, then the tokens or why there are none. */
const TELEVISION = `
function say(relay, link, end) { console.log(JSON.stringify([relay, link, end])); }
function begin(relay) {
  var session = SignInRelay.createSession({ relay: relay, service: 'mal', code: false });
  session.subscribe(function () {
    var state = session.state;
    if (state.status === 'waiting') say(relay, state.prompt.link);
  });
  session.signIn().then(session.getTokens).then(
    function (tokens) { say(relay, 0, tokens); },
    function (failure) { say(relay, 0, failure.code); }
  );
}
addEventListener('load', function () { location.search.slice(1).split(',').forEach(begin); });`;

/** In one page. A network cuts the first such response. */
async function signInCut(cuts: readonly Cut[]): Promise<void> {
  // It has less than an evaluation by Playwright needs.
  const page = await (await runtimes.browser.newContext()).newPage();
  await page.addInitScript(REMOVE_NEWER + TELEVISION);
  const said: [relay: string, link: string, end: unknown][] = [];
  page.on('console', (message) => {
    if (message.text().startsWith('[')) said.push(JSON.parse(message.text()));
  });
  const runs = await Promise.all(
    cuts.map(async ([response, cutAfter]) => {
      const run = { response, cutAfter, wasCut: false };
      const proxy = await startFaultProxy(relay.baseUrl, ({ path }) => {
        if (run.wasCut || !response.test(path)) return {};
        run.wasCut = true;
        return { cutAfter: () => cutAfter };
      });
      return { run, proxy };
    }),
  );
  await page.goto(`${runtimes.origin}/tv?${runs.map(({ proxy }) => proxy.url)}`);
  await Promise.all(
    runs.map(async ({ run, proxy }) => {
      const find = (member: 1 | 2) =>
        pollUntil(`${proxy.url} says more`, () => {
          const found = said.find(([url, ...more]) => url === proxy.url && more[member - 1]);
          return found?.[member];
        });
      const link = new URL(`${await find(1)}`);
      const code = makeCode();
      await bringCodeWhenPossible(relay, link.searchParams.get('state') ?? '', code);
      expect([run, await find(2)]).toEqual([run, tokensFor(code)]);
      await pollUntil('a response was cut', () => run.wasCut);
      proxy[Symbol.dispose]();
    }),
  );
  await page.context().close();
}

test('the TV build in an old engine: a response cut at any byte, the tokens are saved', async () => {
  const first = Math.floor(createRandom(testSeed)() * STEP);
  const cuts: Cut[] = [];
  for (const response of RESPONSES) {
    for (let at = first; at < BYTES; at += STEP) cuts.push([response, at]);
  }
  while (cuts.length > 0) await signInCut(cuts.splice(0, AT_ONCE));
});

test('an error names CORS_ORIGINS to a worker of a page that is not listed', async () => {
  await using other = await startRelay();
  const page = await (await runtimes.browser.newContext()).newPage();
  await runtimes.open(page, 'Chromium');
  const script = `
    import { createSession } from '${runtimes.origin}/index.js';
    const session = createSession({ relay: '${other.baseUrl}', service: 'mal' });
    session.subscribe(() => session.state.detail && postMessage(session.state.detail));
    session.signIn();`;
  const detail = await page.evaluate(`new Promise((show) => {
    const own = new Blob([${JSON.stringify(script)}], { type: 'text/javascript' });
    new Worker(URL.createObjectURL(own), { type: 'module' }).onmessage = ({ data }) => show(data);
  })`);
  expect(detail).toStartWith(
    `The relay did not answer, or its CORS_ORIGINS does not have ${runtimes.origin}`,
  );
  await page.context().close();
});
