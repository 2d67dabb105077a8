/** The TV build in a browser that has nothing newer than its engines, at a real provider. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { agree, declineAtProvider, type Setup, setUp } from '../kit/chromium.ts';
import { REMOVE_NEWER } from '../kit/old-engine.ts';
import { findFreePort, runChild } from '../kit/process.ts';
import { readPng, scan } from '../kit/qr.ts';
import { ROOT } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { pollUntil } from '../kit/wait.ts';

/** Every event of the page is a line. */
const APP = `
function show(name, what) {
  var line = document.createElement('p');
  line.textContent = JSON.stringify([name, what]);
  document.body.appendChild(line);
}
function begin(relay) {
  var cancel = SignInRelay.signIn(
    {
      relay: relay,
      service: 'mal',
      save: function () {},
      onPrompt: function (prompt) {
        document.getElementById('qr').innerHTML = prompt.qr.svg;
        show('prompt', prompt.link);
      },
      onOpened: function () { show('opened', typeof Promise + typeof fetch + typeof AbortController); }
    },
    function (failure, tokens) {
      if (failure) show('detail', failure.code + ': ' + failure.detail);
      show('end', failure ? failure.code : tokens.accessToken);
    }
  );
  document.onkeydown = function (event) { if (event.keyCode === 27) cancel(); };
}
`;

let setup: Setup;
let pages: ReturnType<typeof Bun.serve>;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-tv-'));
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const [built] = await Promise.all([
    runChild([process.execPath, `${ROOT}client/build.ts`, join(folder, 'dist')]),
    setUp({ CORS_ORIGINS: origin }).then((made) => {
      setup = made;
    }),
  ]);
  expect(built).toMatchObject({ exitCode: 0 });
  const html = `<!doctype html><title>TV</title><div id="qr" style="width:400px"></div>
<script src="/tv.js"></script><script>${APP}begin('${setup.relay.baseUrl}')</script>`;
  const module = `<!doctype html><title>App</title><script>${APP}</script><script type="module">
import { signIn } from '/index.js';
signIn({ relay: '${setup.relay.baseUrl}', service: 'mal', save() {}, onPrompt() {} })
  .catch((error) => show('detail', error.code + ': ' + error.message));
</script>`;
  pages = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith('.js')) return new Response(Bun.file(join(folder, 'dist', pathname)));
      const page = pathname === '/module' ? module : html;
      return new Response(page, { headers: { 'Content-Type': 'text/html' } });
    },
  });
}, 60_000);

afterAll(async () => {
  await setup.stop();
  await pages.stop(true);
  rmSync(folder, { recursive: true });
});

async function openTv() {
  const context = await setup.browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(REMOVE_NEWER);
  await page.goto(pages.url.href);
  return page;
}

/** The first event of that name. */
async function eventOf(page: Page, name: string): Promise<string> {
  const line = page.locator('p', { hasText: `["${name}"` }).first();
  return (JSON.parse((await line.textContent()) ?? '') as string[])[1] ?? '';
}

test('signs in with nothing newer than ES5 and XMLHttpRequest', async () => {
  const tv = await openTv();
  const link = await eventOf(tv, 'prompt');
  const { page } = await setup.openPhone();
  await page.goto(link);
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  expect(await eventOf(tv, 'opened')).toBe('undefinedundefinedundefined');
  await agree(page, 'mal');
  const accessToken = plantSecret(await eventOf(tv, 'end'));
  expect(await setup.providers.mal.findOwner(accessToken)).toBe('Grace');
});

test('shows a QR code that a phone can read', async () => {
  const tv = await openTv();
  const link = await eventOf(tv, 'prompt');
  const picture = readPng(await tv.locator('#qr svg').screenshot());
  expect(scan(picture)).toBe(link);
});

test('says that the user declined', async () => {
  const tv = await openTv();
  const { page } = await setup.openPhone();
  await page.goto(await eventOf(tv, 'prompt'));
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await declineAtProvider(page, 'mal');
  expect(await eventOf(tv, 'end')).toBe('access_denied');
});

test('the Back key cancels: the link says so, and nothing is called back', async () => {
  const tv = await openTv();
  const link = await eventOf(tv, 'prompt');
  await tv.keyboard.press('Escape');
  await pollUntil('the link is cancelled', async () => (await fetch(link)).status === 404);
  expect(await tv.locator('p').count()).toBe(1);
});

test.each(['/', '/module'])(
  'a page that CORS_ORIGINS does not list reads so at once (%s)',
  async (path) => {
    const context = await setup.browser.newContext();
    const page = await context.newPage();
    // Another origin than 127.0.0.1.
    const origin = `http://localhost:${pages.port}`;
    await page.goto(origin + path);
    expect(await eventOf(page, 'detail')).toBe(
      `refused: The relay's CORS_ORIGINS does not have the origin of this page, ${origin}`,
    );
  },
);
