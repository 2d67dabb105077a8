/**
 * A user whose network is slow and loses connections: whatever they do then, the sign-in
 * ends as they wanted, and the last page says so. docs/user-pages.md "The pages".
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type Device, press, setUp } from '../kit/chromium.ts';
import { type Exchange, type Fate, startFaultProxy } from '../kit/fault-proxy.ts';
import { serveUpstream } from '../kit/provider.ts';
import { makeCode } from '../kit/user.ts';
import { eachLimit, pollUntil } from '../kit/wait.ts';

setDefaultTimeout(180_000);

type Choice = 'Continue' | 'Decline';

/** What the user sees. `nothing`: a page that arrived in part, or the browser's own page of an error. */
type Sight = 'question' | 'provider' | End | 'nothing';
type End = 'signed in' | 'cancelled' | 'may be signed in';

/** The first that is on a page. */
const SIGHTS: readonly [Sight, RegExp][] = [
  ['question', /Continue\s+Decline/],
  ['provider', /Allow/],
  ['signed in', /You’re signed in/],
  ['cancelled', /Sign-in (was )?cancelled/],
  ['may be signed in', /no longer valid.*your device may be signed in/s],
];
const ENDS: ReadonlySet<Sight> = new Set<End>(['signed in', 'cancelled', 'may be signed in']);

/** A page of which nothing arrived has no body, however long one waits. */
const BODY_MS = 1_000;

async function see(page: Page): Promise<Sight> {
  const text = await page.locator('body').innerText({ timeout: BODY_MS });
  return SIGHTS.find(([, said]) => said.test(text))?.[0] ?? 'nothing';
}

/** What the user does with what they see. Resolves when they see something else. */
async function act(page: Page, device: Device, sight: Sight, choice: Choice): Promise<void> {
  // Back has left the first page: the user scans the code of the device again.
  if (page.url() === 'about:blank') return void (await page.goto(device.shortUrl));
  if (sight === 'nothing') return void (await page.reload());
  const before = page.url();
  await press(page, sight === 'provider' ? 'Allow' : choice);
  await pollUntil('another page', async () => page.url() !== before || (await see(page)) !== sight);
}

/** How many steps a user takes at most, such as reloads of a page on which nothing can be done. */
const MAX_STEPS = 20;

/**
 * Leads the user from any page to an end, unless `isInterrupted` says that they do something else
 * now. While a page is loading none can be read, so a step that fails is repeated.
 */
async function continueToEnd(
  page: Page,
  device: Device,
  choice: Choice,
  isInterrupted = () => false,
): Promise<Sight> {
  const seen: Sight[] = [];
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const sight = await page
      .waitForLoadState()
      .then(() => see(page))
      .catch(() => 'nothing' as const);
    seen.push(sight);
    if (isInterrupted() || ENDS.has(sight)) return sight;
    await act(page, device, sight, choice).catch(() => {});
    if (isInterrupted()) return sight;
  }
  const text = await page.locator('body').innerText({ timeout: BODY_MS }).catch(String);
  throw new Error(`no end: ${seen.join(', ')}, at ${page.url()}: ${text.slice(0, 200)}`);
}

/** Names the user of a request, since several use the proxy at the same time. */
const USER_HEADER = 'x-user';

/** What happens to the requests of one user. */
type Network = (exchange: Exchange) => Fate;

/** Its page may be used again after Back, as that of openid.ts may not. */
function startAllowingProvider() {
  return serveUpstream(({ url }) => {
    const { pathname, searchParams: asked } = new URL(url);
    if (pathname === '/token') return Response.json({ access_token: makeCode() });
    const html = `<link rel="icon" href="data:,"><form action="${asked.get('redirect_uri')}">
<input type="hidden" name="state" value="${asked.get('state')}">
<button name="code" value="${makeCode()}">Allow</button></form>`;
    return new Response(html, { headers: { 'Content-Type': 'text/html' } });
  });
}

async function setUpLossy(confirm: 'code' | 'always') {
  const networks = new Map<string, Network>();
  let target = '';
  const proxy = await startFaultProxy(
    () => target,
    (exchange) => networks.get(exchange.headers[USER_HEADER] ?? '')?.(exchange) ?? {},
  );
  const provider = startAllowingProvider();
  const env = {
    CONFIRM: confirm,
    MAL_AUTHORIZE_URL: `${provider.origin}/authorize`,
    MAL_TOKEN_URL: provider.url,
  };
  const setup = await setUp(env, proxy.url);
  target = setup.relay.baseUrl;
  return {
    confirm,
    /** A user with a browser, whose device waits. */
    async openUser(network: Network) {
      const name = crypto.randomUUID();
      networks.set(name, network);
      const device = await setup.startDeviceWithCode('mal');
      const phone = await setup.openPhone({ extraHTTPHeaders: { [USER_HEADER]: name } });
      phone.page.context().setDefaultTimeout(5_000);
      return { device, result: device.poll(), ...phone };
    },
  };
}

type Lossy = Awaited<ReturnType<typeof setUpLossy>>;

const endOfHead = (message: string) => message.indexOf('\r\n\r\n');
const cookieIn = (message: string) => message.toLowerCase().indexOf('set-cookie: ');

const FAULTS: readonly [string, Fate][] = [
  ['the request is cut before its first byte', { cutRequestAt: () => 0 }],
  ['the request is cut before its last byte', { cutRequestAt: (request) => request.length - 1 }],
  ['the response is cut before its first byte', { cutAfter: () => 0 }],
  ['the response is cut in its cookie', { cutAfter: (text) => cookieIn(text) + 20 }],
  ['the response is cut before its body', { cutAfter: (text) => endOfHead(text) + 4 }],
  ['the response is cut in its body', { cutAfter: (text) => (endOfHead(text) + text.length) >> 1 }],
];

const RECOVERIES = ['reloads', 'goes back', 'opens a second tab'] as const;

type Step = readonly [name: string, method: 'GET' | 'POST', path: RegExp];

const CALLBACK = /^\/auth\/mal\/callback/;
const [SHORT, LONG] = [/^\/L\//, /^\/auth\/mal\?/];

const STEPS: Readonly<Record<'code' | 'always', readonly Step[]>> = {
  code: [
    ['code', 'GET', SHORT],
    ['Continue', 'POST', SHORT],
    ['Decline', 'POST', SHORT],
    ['callback', 'GET', CALLBACK],
  ],
  // Decline sets no cookie, so CONFIRM does not matter.
  always: [
    ['link', 'GET', LONG],
    ['Continue', 'POST', LONG],
    ['callback', 'GET', CALLBACK],
  ],
};

/** One fault at one step, and what the user does about it. Returns what each tab shows in the end, and how often the browser came back from the provider. */
async function meetFault(
  lossy: Lossy,
  [step, method, path]: Step,
  fate: Fate,
  recovery: (typeof RECOVERIES)[number],
): Promise<{ readonly ends: Sight[]; readonly callbacks: number }> {
  const isDeclined = step === 'Decline';
  const choice = isDeclined ? 'Decline' : 'Continue';
  let isMet = false;
  let callbacks = 0;
  const { device, result, page, close } = await lossy.openUser((exchange) => {
    if (CALLBACK.test(exchange.path)) callbacks += 1;
    if (isMet || exchange.method !== method || !path.test(exchange.path)) return {};
    isMet = true;
    return fate;
  });
  const entry = lossy.confirm === 'code' ? device.shortUrl : device.url;
  const open = (tab: Page) => tab.goto(entry).catch(() => {});
  await open(page);
  await continueToEnd(page, device, choice, () => isMet);
  expect(isMet).toBe(true);
  const ends: Sight[] = [];
  if (recovery === 'goes back') {
    await page.goBack().catch(() => {});
    if (!page.url().startsWith('http')) await open(page);
  } else if (recovery === 'reloads') {
    await page.reload().catch(() => {});
  } else {
    const second = await page.context().newPage();
    await open(second);
    ends.push(await continueToEnd(second, device, choice));
    await page.reload().catch(() => {});
  }
  ends.push(await continueToEnd(page, device, choice));
  const [error, accessToken] = ['access_denied', expect.any(String)];
  expect(await result).toEqual(isDeclined ? { error } : { accessToken });
  await close();
  return { ends, callbacks };
}

const LANES = 4;

describe.each(['code', 'always'] as const)('CONFIRM=%s,', async (confirm) => {
  const lossy = await setUpLossy(confirm);

  test.each(STEPS[confirm].map((step, index) => [step[0], step, index] as const))(
    'any byte lost at "%s": a reload, Back or a second tab ends the sign-in',
    async (name, step, stepIndex) => {
      // A page that asks changes nothing: every third fault is enough.
      const asks = name === 'code' || name === 'link';
      const faults = FAULTS.filter((_, index) => !asks || index % 3 === 0);
      await eachLimit(LANES, faults, async ([fault, fate], index) => {
        const recovery = RECOVERIES[(stepIndex + index) % RECOVERIES.length] ?? 'reloads';
        const { ends, callbacks } = await meetFault(lossy, step, fate, recovery);
        // A callback counts once, so a later one says where to look: that of another tab, or of
        // a user who reloads a page that is slow to come.
        const signedIn = callbacks > 1 ? ['signed in', 'may be signed in'] : ['signed in'];
        const right = name === 'Decline' ? ['cancelled'] : signedIn;
        const wrong = ends.filter((end) => !right.includes(end));
        expect({ fault, recovery, wrong }).toEqual({ fault, recovery, wrong: [] });
      });
    },
  );
});
