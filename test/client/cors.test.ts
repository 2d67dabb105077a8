/** A page whose origin CORS_ORIGINS does not list is told so, in both builds. test/dev/tv.test.ts has the rest of the TV build. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Setup, setUp } from '../kit/chromium.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

let setup: Setup;
let pages: ReturnType<typeof Bun.serve>;
let folder: string;

const OPTIONS = (relay: string) =>
  `{ relay: '${relay}', service: 'mal', save: function () {}, onPrompt: function () {} }`;

/** The page shows the failure. */
const PAGES: Readonly<Record<string, (relay: string) => string>> = {
  '/tv': (relay) => `<script src="/tv.js"></script><script>
SignInRelay.signIn(${OPTIONS(relay)}, function (failure) {
  document.getElementById('end').textContent = failure.code + ': ' + failure.detail;
});</script>`,
  '/module': (relay) => `<script type="module">
import { signIn } from '/index.js';
signIn(${OPTIONS(relay)}).catch((error) => {
  document.getElementById('end').textContent = error.code + ': ' + error.message;
});</script>`,
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-cors-'));
  const [built] = await Promise.all([
    runChild([process.execPath, `${ROOT}client/build.ts`, join(folder, 'dist')]),
    setUp({ CORS_ORIGINS: 'https://another.example' }).then((made) => {
      setup = made;
    }),
  ]);
  expect(built).toMatchObject({ exitCode: 0 });
  pages = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith('.js')) return new Response(Bun.file(join(folder, 'dist', pathname)));
      const script = PAGES[pathname]?.(setup.relay.baseUrl) ?? '';
      const page = `<!doctype html><title>App</title><p id="end"></p>${script}`;
      return new Response(page, { headers: { 'Content-Type': 'text/html' } });
    },
  });
}, 60_000);

afterAll(async () => {
  await setup.stop();
  await pages.stop(true);
  rmSync(folder, { recursive: true });
});

test.each(Object.keys(PAGES))('%s', async (path) => {
  const page = await (await setup.browser.newContext()).newPage();
  await page.goto(pages.url.origin + path);
  const end = page.locator('#end', { hasText: ':' });
  expect(await end.textContent()).toBe(
    `refused: The relay's CORS_ORIGINS does not have the origin of this page, ${pages.url.origin}`,
  );
});
