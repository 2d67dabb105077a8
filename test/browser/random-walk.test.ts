/**
 * A user who does anything at random in two browsers, over a network that loses, repeats and
 * delays, and then goes on in each tab: every tab comes to a page that is true, and the device
 * gets the tokens of one account, that of the page that says so. docs/person.md "The pages".
 * A few walks in `npm test`, thousands with SOAK=true; TEST_SEED replays them.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium, press } from '../kit/chromium.ts';
import { pollOnce, type Started, startWithCode, type Target } from '../kit/device.ts';
import { tokensFor } from '../kit/provider.ts';
import { createRandom, IS_SOAK, pickFrom, pickWeighted, testSeed } from '../kit/random.ts';
import { inLanes } from '../kit/wait.ts';
import {
  ACCOUNT,
  ACCOUNTS,
  type Account,
  type Seen,
  startWorld,
  WALK,
  type World,
} from './recorded-relay.ts';
import { goOn } from './sights.ts';

const WALKS = IS_SOAK ? 1_000 : 4;
const LANES = 3;
const ACTIONS = 10;
const DAY_MS = 86_400_000;
const MAX_TABS = 5;
/** Wrong codes are limited; this gives six of them back. All tabs together take less than a session lives. */
const SIX_CODES_MS = 60_000;

setDefaultTimeout(IS_SOAK ? 7_200_000 : 180_000);

interface Tab {
  readonly page: Page;
  readonly account: Account;
}

/** One walk: its device, its browsers and their tabs. */
interface Walk {
  readonly url: string;
  readonly seen: Seen;
  readonly device: Target;
  readonly started: Started;
  readonly contexts: ReadonlyMap<Account, BrowserContext>;
  readonly tabs: Tab[];
  /** What the device has received: undefined while it waits. */
  result: object | undefined;
  isExpired: boolean;
}

async function pollNow(walk: Walk): Promise<void> {
  if (walk.result !== undefined) return;
  const response = await pollOnce(walk.device, walk.started.session);
  if (response.status === 200) walk.result = (await response.json()) as object;
}

async function cancel(walk: Walk): Promise<void> {
  if (walk.result !== undefined) return;
  const response = await walk.device.ask(`/auth/result?session=${walk.started.session}&cancel=1`);
  // 410: the session has expired, or the device has its result.
  if (response.status === 204) walk.result = { error: 'cancelled' };
}

function entriesOf({ url, started }: Walk): string[] {
  return [url + started.link, started.url, `${url}/link`, `${url}/`];
}

/** While a page is on its way nothing can be done in it. */
const ACTION_MS = 1_500;

async function openTab(
  walk: Walk,
  account = pickFrom<Account>(walk.seen.random, [...ACCOUNTS, 'ada']),
  address = pickFrom(walk.seen.random, entriesOf(walk)),
): Promise<void> {
  if (walk.tabs.length === MAX_TABS) return;
  const page = await walk.contexts.get(account)?.newPage();
  if (page === undefined) return;
  page.setDefaultTimeout(ACTION_MS);
  walk.tabs.push({ page, account });
  await page.goto(address);
}

/** Somebody sends the address of a page, which may be the provider's, to the user of the other browser. */
function share(walk: Walk, { page, account }: Tab): Promise<void> {
  return openTab(walk, account === 'ada' ? 'eve' : 'ada', page.url());
}

/** Presses whichever button, or two, in the page itself: one that is about to be left is still there. */
async function tap(walk: Walk, { page }: Tab): Promise<void> {
  const { random } = walk.seen;
  const code = pickFrom(random, [
    walk.started.userCode,
    walk.started.userCode.toLowerCase(),
    'BCDFGHJK',
  ]);
  const taps = pickFrom(random, [1, 1, 2]);
  const choices = Array.from({ length: taps }, () => random());
  const tapping = page.evaluate(
    async ([typed, drawn, gapMs]) => {
      const field = document.querySelector<HTMLInputElement>('input[name=code]');
      if (field) field.value = typed;
      for (const choice of drawn) {
        const buttons = document.querySelectorAll<HTMLButtonElement>('button');
        // The first one goes on: three times out of four.
        buttons[choice < 0.75 ? 0 : buttons.length - 1]?.click();
        await new Promise((resolve) => setTimeout(resolve, gapMs));
      }
    },
    [code, choices, 150 * random()] as const,
  );
  await Promise.race([tapping, Bun.sleep(ACTION_MS)]);
  if (random() < 0.7) await page.waitForLoadState();
}

/** The tabs of a browser that was ended come back with their addresses, which are loaded again. */
async function passDay(walk: Walk): Promise<void> {
  // A device has polled all the time.
  await pollNow(walk);
  walk.seen.service.clock.advance(DAY_MS);
  walk.isExpired = true;
  if (walk.seen.random() < 0.5) return;
  for (const { page } of walk.tabs) await page.goto(page.url()).catch(() => {});
}

type Action = (walk: Walk, tab: Tab) => Promise<unknown>;

/** As often as they are here. */
const ACTS: Readonly<Record<string, { readonly weight: number; readonly act: Action }>> = {
  tap: { weight: 10, act: tap },
  reload: { weight: 2, act: (_, { page }) => page.reload() },
  back: { weight: 3, act: (_, { page }) => page.goBack() },
  forward: { weight: 1, act: (_, { page }) => page.goForward() },
  open: {
    weight: 2,
    act: (walk, { page }) => page.goto(pickFrom(walk.seen.random, entriesOf(walk))),
  },
  'another tab': { weight: 2, act: (walk) => openTab(walk) },
  'the other browser gets its address': { weight: 3, act: share },
  'the device polls': { weight: 2, act: pollNow },
  'the device cancels': { weight: 0.3, act: cancel },
  'a day passes': { weight: 0.3, act: passDay },
};

const WEIGHTS = Object.entries(ACTS).map(([name, { weight }]) => [name, weight] as const);

/** The network is whole again, and the user goes on in each tab. */
async function finish(walk: Walk): Promise<string[]> {
  const { seen, tabs, started } = walk;
  seen.isHealed = true;
  seen.service.clock.advance(SIX_CODES_MS);
  const shown = { ...started, shortUrl: walk.url + started.link };
  const ends: string[] = [];
  for (const { page } of tabs) {
    seen.service.clock.advance(SIX_CODES_MS);
    page.setDefaultTimeout(5_000);
    ends.push(await goOn(page, shown, 'Continue'));
    await pollNow(walk);
  }
  const [tab] = tabs;
  if (walk.result !== undefined || walk.isExpired || tab === undefined) return ends;
  // A link that belongs to another browser is not valid in this one. The page asks for a code.
  await tab.page.getByRole('textbox').fill(started.userCode);
  await press(tab.page, 'Next');
  await tab.page.waitForURL(`**${started.link}`);
  ends.push(await goOn(tab.page, shown, 'Continue'));
  await pollNow(walk);
  return ends;
}

/** What is wrong at the end of a walk: nothing. */
function findWrong(walk: Walk, ends: readonly string[], confirm: string): string[] {
  const { seen, result, isExpired } = walk;
  const { successes, codes, continued } = seen;
  const wrong: string[] = [];
  const claim = (isTrue: boolean, text: string) => void (isTrue || wrong.push(text));
  const [code = ''] = successes;
  const token = result && 'accessToken' in result ? result.accessToken : undefined;
  const error = result && 'error' in result ? result.error : undefined;
  const isStopped = error === 'access_denied' || error === 'cancelled';
  claim(successes.length <= 1, 'two success pages');
  claim(seen.service.exchanges.length <= 1, 'two codes were exchanged');
  claim(
    code === '' || token === tokensFor(code).accessToken || error === 'cancelled',
    'a success page without its tokens',
  );
  claim(token === undefined || code !== '', 'tokens without a success page');
  claim(!ends.includes('cancelled') || isStopped, 'it says cancelled');
  claim(confirm !== 'always' || code === '' || continued.has(codes.get(code) ?? ''), 'no Continue');
  claim(result !== undefined || isExpired, 'the device still waits');
  claim(token !== undefined || seen.isDeclined || isExpired || error === 'cancelled', 'it is lost');
  return wrong;
}

async function takeWalk(browser: Browser, world: World, confirm: string, seed: number) {
  const random = createRandom(seed);
  const name = `${confirm} ${seed}`;
  const { seen, device } = world.open(name, random);
  const started = await startWithCode(device);
  const contexts = new Map<Account, BrowserContext>();
  for (const account of ACCOUNTS) {
    const extraHTTPHeaders = { [WALK]: name, [ACCOUNT]: account };
    contexts.set(account, await browser.newContext({ extraHTTPHeaders }));
  }
  const walk: Walk = {
    ...{ url: world.url, seen, device, started, contexts, tabs: [], result: undefined },
    isExpired: false,
  };
  await openTab(walk).catch(() => {});
  const actions: string[] = [];
  for (let nth = 0; nth < ACTIONS; nth += 1) {
    const tab = pickFrom(random, walk.tabs);
    const action = pickWeighted(random, WEIGHTS);
    actions.push(`${action} (${walk.tabs.indexOf(tab)})`);
    // A connection that was cut, a page without buttons, nothing to go back to.
    await ACTS[action]?.act(walk, tab).catch(() => {});
  }
  const ends = await finish(walk).catch((error: unknown) => [`no end: ${error}`]);
  const wrong = findWrong(walk, ends, confirm);
  const lost = ends.filter((end) => end.startsWith('no end'));
  expect({ seed, actions, ends, wrong: [...wrong, ...lost] }).toEqual({
    seed,
    actions,
    ends,
    wrong: [],
  });
  for (const context of contexts.values()) await context.close();
  return ends;
}

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

describe.each(['code', 'always'] as const)('CONFIRM=%s', async (confirm) => {
  const world = await startWorld(confirm);
  afterAll(world.stop);

  test(`${WALKS} walks: every tab comes to an end that is true, and the device gets one account or none`, async () => {
    const random = createRandom(testSeed);
    const seeds = Array.from({ length: WALKS }, () => Math.floor(random() * 2 ** 31));
    const counts: Record<string, number> = {};
    await inLanes(LANES, seeds, async (seed) => {
      for (const end of await takeWalk(browser, world, confirm, seed)) {
        counts[end] = (counts[end] ?? 0) + 1;
      }
    });
    console.log(`CONFIRM=${confirm}: where the tabs of ${WALKS} walks ended:`, counts);
  });
});
