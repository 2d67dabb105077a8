/** Two tabs of one browser, with the module and with the TV build: what one does, the other shows. */
import { afterEach, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import type { SessionState } from '../../client/src/index.ts';
import { keyOf } from '../../client/src/storage.ts';
import { startRuntimes, startServer } from '../kit/runtimes.ts';

const runtimes = await startRuntimes();
const relay = startRelay();
let context: BrowserContext;

afterEach(() => context.close());

/** Its user signs in at once, and its provider refreshes while it has not ended the sign-in. */
function startRelay() {
  const { url, asked, answer } = startServer();
  const state = { serial: 0, isEnded: false, isPending: false };
  const grant = () => {
    state.serial += 1;
    return { accessToken: `a${state.serial}`, refreshToken: `r${state.serial}`, expiresIn: 3_600 };
  };
  const refused = () => Response.json({ error: 'invalid_grant' }, { status: 400 });
  answer({
    '/services': () => ({ services: [], extensions: ['cancel'] }),
    '/auth/start': () => ({ session: `s${asked.length}`, url: `${url}/x`, expiresIn: 600 }),
    '/auth/result': () => (state.isPending ? new Response(null, { status: 204 }) : grant()),
    '/refresh': () => (state.isEnded ? refused() : grant()),
    '/revoke': () => ({}),
  });
  return { state, asked, place: { relay: url, service: 'mal' } };
}

/** As after a 401. */
const REFRESH =
  'session.getTokens().then((old) => session.getToken({ rejected: old.accessToken }))';

describe.each(['Chromium', 'the TV build'] as const)('%s', (runtime) => {
  async function openTab(): Promise<Page> {
    const page = await context.newPage();
    await runtimes.open(page, runtime);
    await page.evaluate(
      `self.session = client.createSession({ ...${JSON.stringify(relay.place)}, storage: localStorage }); 0`,
    );
    return page;
  }

  const stateOf = (tab: Page): Promise<SessionState> =>
    tab.evaluate('JSON.parse(JSON.stringify(session.state))');

  /** Waits until this tab shows what the other one shows. */
  async function expectSame(tab: Page, other: Page): Promise<SessionState> {
    const expected = await stateOf(other);
    await tab.waitForFunction(
      (text) =>
        JSON.stringify((self as never as { session: { state: object } }).session.state) === text,
      JSON.stringify(expected),
    );
    return expected;
  }

  async function openTwo(): Promise<readonly [Page, Page]> {
    Object.assign(relay.state, { isEnded: false, isPending: false });
    relay.asked.length = 0;
    context = await runtimes.browser.newContext();
    return [await openTab(), await openTab()];
  }

  test('a sign-in, a refresh and a sign-out of one tab are seen in the other', async () => {
    const [one, other] = await openTwo();
    await one.evaluate('session.signIn()');
    const before = await expectSame(other, one);
    expect([before.status, 'expiresAt' in before]).toEqual(['signed-in', true]);
    await one.evaluate(REFRESH);
    const after = await expectSame(other, one);
    expect(after).not.toEqual(before);
    await other.evaluate('session.signOut()');
    expect(await expectSame(one, other)).toEqual({ status: 'signed-out' });
  });

  test('a page that the back/forward cache restores reads the storage again', async () => {
    const [one] = await openTwo();
    const tokens = JSON.stringify({ accessToken: 'a' });
    // A page sees no event of its own writes, nor one that came while it was in the cache.
    await one.evaluate(`localStorage.setItem('${keyOf(relay.place)}', '${tokens}')`);
    expect(await stateOf(one)).toEqual({ status: 'signed-out' });
    await one.evaluate(
      "void dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
    );
    await one.waitForFunction("session.state.status === 'signed-in'");
  });

  // The TV build has no lock.
  if (runtime === 'Chromium') {
    test('two tabs that refresh at once send one request', async () => {
      const tabs = await openTwo();
      await tabs[0].evaluate('session.signIn()');
      await expectSame(tabs[1], tabs[0]);
      for (let round = 1; round <= 3; round += 1) {
        const old = await tabs[0].evaluate('session.getTokens().then((old) => old.accessToken)');
        const ask = `session.getToken({ rejected: '${old}' })`;
        const [one, other] = await Promise.all(tabs.map((tab) => tab.evaluate(ask)));
        const refreshes = relay.asked.filter((path) => path === '/refresh');
        expect([other, one !== old, refreshes.length]).toEqual([one, true, round]);
      }
    });
  }

  test('an end by the provider is seen in the other tab, with its reason', async () => {
    const [one, other] = await openTwo();
    await one.evaluate('session.signIn()');
    await expectSame(other, one);
    relay.state.isEnded = true;
    expect(await one.evaluate(`${REFRESH}.catch(({ code }) => code)`)).toBe('invalid_grant');
    expect(await expectSame(other, one)).toMatchObject({
      status: 'signed-out',
      error: { code: 'invalid_grant' },
    });
    expect(relay.asked.filter((path) => path === '/refresh')).toHaveLength(1);
  });

  test('a tab with its own link is signed in when another tab is, and cancels its link', async () => {
    const [one, other] = await openTwo();
    relay.state.isPending = true;
    const cancelled = one.waitForRequest(/&cancel=1$/);
    await one.evaluate('self.ended = session.signIn(); 0');
    await one.waitForFunction('session.state.status === "waiting"');
    const tokens = JSON.stringify({ accessToken: 'of-another-sign-in' });
    await other.evaluate(`localStorage.setItem('${keyOf(relay.place)}', '${tokens}')`);
    expect(await one.evaluate('ended')).toBe(true);
    expect(await stateOf(one)).toEqual({ status: 'signed-in' });
    // The request may follow the state.
    await cancelled;
    expect(await one.evaluate('session.getToken()')).toBe('of-another-sign-in');
  });
});
