/** The hook of the client in a page that a server has rendered, at a real relay. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { createElement, StrictMode } from 'react';
import { renderToString } from 'react-dom/server';
import { createSession } from '../../client/src/index.ts';
import { keyOf } from '../../client/src/storage.ts';
import { launchChromium } from '../kit/chromium.ts';
import { serveUpstream } from '../kit/provider.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { pollUntil } from '../kit/wait.ts';
import { App } from './react-app.ts';

const entrypoints = [`${ROOT}test/client/react-app.ts`];
const { outputs } = await Bun.build({ entrypoints, target: 'browser' });

/** Renders the page with the session of nobody. */
const app = serveUpstream(({ url }) => {
  if (url.endsWith('.js')) return new Response(outputs[0]);
  const session = createSession({ relay: relay.baseUrl, service: 'mal' });
  const drawn = createElement(StrictMode, null, createElement(App, { session, isShort: false }));
  const html = `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/app.js"></script><body>${renderToString(drawn)}</body>`;
  return new Response(html, { headers: { 'Content-Type': 'text/html' } });
});
const [browser, relay] = await Promise.all([
  launchChromium(),
  startRelay({ CORS_ORIGINS: app.origin }),
]);
let page: Page;

beforeEach(async () => {
  page = await (await browser.newContext()).newPage();
  await page.goto(app.origin);
});
afterEach(() => page.context().close());

type Shown = [status: string, secondsLeft: number, more: string | null];
const read = async (): Promise<Shown> => JSON.parse((await page.textContent('p')) ?? '[]');

/** Waits until the page says so. Returns the link, or why it failed. */
async function until(status: string): Promise<string> {
  return pollUntil(`it is ${status}`, async () => {
    const [shown, , more] = await read();
    return shown === status && (more || 'nothing more');
  }) as Promise<string>;
}

const hydrate = (isShort: boolean) =>
  page.evaluate(
    `self.app = hydrate('${relay.baseUrl}', ${isShort}); self.root = app.show(); app.session.state.status`,
  );

test('what a server has rendered becomes the app of a user who is signed in already', async () => {
  expect(await read()).toEqual(['loading', 0, null]);
  const place = { relay: relay.baseUrl, service: 'mal' };
  const tokens = JSON.stringify({ accessToken: plantSecret(`access-${crypto.randomUUID()}`) });
  await page.evaluate(`localStorage.setItem('${keyOf(place)}', '${tokens}')`);
  // The session knows the user before React draws for the first time.
  await page.evaluate(`self.app = hydrate('${relay.baseUrl}', false); app.session.getTokens()`);
  expect(await page.evaluate('app.session.state.status')).toBe('signed-in');
  await page.evaluate('self.root = app.show(); 0');
  await until('signed-in');
  expect(await page.evaluate('app.errors')).toEqual([]);
});

test('starts one sign-in in StrictMode, and cancels it when it is unmounted', async () => {
  let starts = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/auth/start')) starts += 1;
  });
  await hydrate(true);
  const link = await until('waiting');
  await page.evaluate('root.unmount()');
  await pollUntil('the link is cancelled', async () => (await relay.ask(link)).status === 404);
  expect([starts, await page.evaluate('app.session.state.status')]).toEqual([1, 'signed-out']);
});
