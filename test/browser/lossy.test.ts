/**
 * A user whose network is slow and loses connections: whatever they do then, the sign-in
 * ends as they wanted, and the last page says so. docs/person.md "The pages".
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type Device, setUp } from '../kit/chromium.ts';
import { type Exchange, type Fate, startFaultProxy } from '../kit/fault-proxy.ts';
import { inLanes, pollUntil } from '../kit/wait.ts';
import { type Choice, goOn, type Sight } from './sights.ts';

setDefaultTimeout(180_000);

/** Names the user of a request, since several use the proxy at the same time. */
const USER_HEADER = 'x-user';

/** What happens to the requests of one user. */
type Network = (exchange: Exchange) => Fate;

async function setUpLossy(confirm: 'code' | 'always') {
  const networks = new Map<string, Network>();
  let target = '';
  const proxy = await startFaultProxy(
    () => target,
    (exchange) => networks.get(exchange.headers[USER_HEADER] ?? '')?.(exchange) ?? {},
  );
  const setup = await setUp({ CONFIRM: confirm }, proxy.url);
  target = setup.relay.baseUrl;
  return {
    url: proxy.url,
    /** A user with a browser, whose device waits. */
    async openUser(network: Network) {
      const name = crypto.randomUUID();
      networks.set(name, network);
      const device = await setup.startDeviceWithCode('mal');
      const phone = await setup.openPhone({ extraHTTPHeaders: { [USER_HEADER]: name } });
      phone.page.context().setDefaultTimeout(5_000);
      return { device, result: device.poll(), ...phone };
    },
    async stop() {
      await setup.stop();
      proxy[Symbol.dispose]();
    },
  };
}

type Lossy = Awaited<ReturnType<typeof setUpLossy>>;

async function expectResult(result: ReturnType<Device['poll']>, choice: Choice): Promise<void> {
  const expected = choice === 'Decline' ? { error: 'access_denied' } : { status: 200 };
  expect(await result).toMatchObject(expected);
}

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

interface Step {
  readonly name: string;
  readonly choice: Choice;
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** Where the user begins. */
  readonly entry: (device: Device, url: string) => string;
}

const byCode = ({ shortUrl }: Device) => shortUrl;
const byLink = ({ url }: Device) => url;
const CALLBACK = /^\/auth\/mal\/callback/;
const [SHORT, LONG] = [/^\/L\//, /^\/auth\/mal\?/];

const STEPS: Readonly<Record<'code' | 'always', readonly Step[]>> = {
  code: [
    { name: 'home', choice: 'Continue', method: 'GET', path: /^\/$/, entry: (_, url) => `${url}/` },
    {
      name: 'form',
      choice: 'Continue',
      method: 'POST',
      path: /^\/link$/,
      entry: (_, url) => `${url}/link`,
    },
    { name: 'code', choice: 'Continue', method: 'GET', path: SHORT, entry: byCode },
    { name: 'Continue', choice: 'Continue', method: 'POST', path: SHORT, entry: byCode },
    { name: 'Decline', choice: 'Decline', method: 'POST', path: SHORT, entry: byCode },
    { name: 'callback', choice: 'Continue', method: 'GET', path: CALLBACK, entry: byCode },
  ],
  always: [
    { name: 'link', choice: 'Continue', method: 'GET', path: LONG, entry: byLink },
    { name: 'Continue', choice: 'Continue', method: 'POST', path: LONG, entry: byLink },
    { name: 'Decline', choice: 'Decline', method: 'POST', path: LONG, entry: byLink },
    { name: 'callback', choice: 'Continue', method: 'GET', path: CALLBACK, entry: byLink },
  ],
};

/** One fault at one step, and what the user does about it. Returns what each tab shows in the end, and how often the browser came back from the provider. */
async function meetFault(
  lossy: Lossy,
  step: Step,
  fate: Fate,
  recovery: (typeof RECOVERIES)[number],
): Promise<{ readonly ends: Sight[]; readonly callbacks: number }> {
  const { choice, method, path } = step;
  let isMet = false;
  let callbacks = 0;
  const { device, result, page, close } = await lossy.openUser((exchange) => {
    if (CALLBACK.test(exchange.path)) callbacks += 1;
    if (isMet || exchange.method !== method || !path.test(exchange.path)) return {};
    isMet = true;
    return fate;
  });
  const entry = step.entry(device, lossy.url);
  const open = (tab: Page) => tab.goto(entry).catch(() => {});
  await open(page);
  await goOn(page, device, choice, () => isMet);
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
    ends.push(await goOn(second, device, choice));
    await page.reload().catch(() => {});
  }
  ends.push(await goOn(page, device, choice));
  await expectResult(result, choice);
  await close();
  return { ends, callbacks };
}

/** Taps within the page, because one that is about to be left is still there. Resolves after the second tap, or once the page is left. */
function tapTwice(page: Page, taps: readonly [Choice, Choice], gapMs: number): Promise<void> {
  const tapping = page.evaluate(
    async ([first, second, ms]) => {
      const tap = (choice: string) =>
        document.querySelector<HTMLButtonElement>(`button[value=${choice}]`)?.click();
      tap(first);
      await new Promise((resolve) => setTimeout(resolve, ms));
      tap(second);
    },
    [taps[0].toLowerCase(), taps[1].toLowerCase(), gapMs] as const,
  );
  return tapping.catch(() => {});
}

const LANES = 4;

describe.each(['code', 'always'] as const)('CONFIRM=%s,', async (confirm) => {
  const lossy = await setUpLossy(confirm);
  afterAll(lossy.stop);

  test.each(STEPS[confirm].map((step, index) => [step.name, step, index] as const))(
    'any byte lost at "%s": a reload, Back or a second tab ends the sign-in',
    async (_, step, stepIndex) => {
      // Of what changes nothing every third will do. Decline sets no cookie, so CONFIRM does not matter to it.
      const decisive = ['Continue', 'callback', ...(confirm === 'code' ? ['Decline'] : [])];
      const isDecisive = decisive.includes(step.name);
      const faults = FAULTS.filter((_, index) => isDecisive || (index + stepIndex) % 3 === 0);
      await inLanes(LANES, faults, async ([fault, fate], index) => {
        const recovery = RECOVERIES[(stepIndex + index) % RECOVERIES.length] ?? 'reloads';
        const { ends, callbacks } = await meetFault(lossy, step, fate, recovery);
        // A callback counts once, so a later one says where to look: that of another tab, or of
        // a user who reloads a page that is slow to come.
        const isRepeated = callbacks > 1;
        const right =
          step.choice === 'Decline'
            ? ['cancelled']
            : ['signed in', ...(isRepeated ? ['may be signed in'] : [])];
        const wrong = ends.filter((end) => !right.includes(end));
        expect({ fault, recovery, wrong }).toEqual({ fault, recovery, wrong: [] });
      });
    },
  );

  const SLOW = { delayMs: 300 };
  const TAPS: readonly [string, gapMs: number, Fate][] = [
    ['30 ms apart, over a slow network', 30, SLOW],
    ['250 ms apart, over a slow network', 250, SLOW],
    ['250 ms apart, where the first response takes two seconds', 250, { delayMs: 2_000 }],
    ['100 ms apart, where the second arrives first', 100, { arrivesAfterMs: 300 }],
    ['100 ms apart, where the first response is lost', 100, { ...SLOW, cutAfter: 0 }],
  ];

  test.each(TAPS)('two taps %s, end where one would', async (_, gapMs, fate) => {
    const taps: [Choice, Choice][] = [
      ['Continue', 'Continue'],
      ['Decline', 'Decline'],
      ['Continue', 'Decline'],
    ];
    await Promise.all(
      taps.map(async ([first, second]) => {
        let posts = 0;
        const { device, result, page, close } = await lossy.openUser(({ method }) => {
          if (method !== 'POST') return {};
          posts += 1;
          return posts === 1 ? fate : {};
        });
        // Nothing is lost here, and what opens the page has the time that a busy machine takes.
        await page.goto(confirm === 'code' ? device.shortUrl : device.url, { timeout: 30_000 });
        await tapTwice(page, [first, second], gapMs);
        // A busy browser gives up the first request before it has sent it.
        await pollUntil('a request has come', () => posts > 0);
        const end = await goOn(page, device, second);
        expect(end).toBe(second === 'Decline' ? 'cancelled' : 'signed in');
        await expectResult(result, second);
        await close();
      }),
    );
  });
});
