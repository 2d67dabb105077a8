/** examples/vite-react, as someone who copies it builds it, in Chromium at a dev relay. */
import { expect, test } from 'bun:test';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium } from '../kit/chromium.ts';
import { installClient } from '../kit/client-package.ts';
import { startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { NODE, runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { readPng, scan } from '../kit/qr.ts';
import { ROOT } from '../kit/relay.ts';

/** The folder with what its package.json names, as `npm install` would leave it. */
async function install(): Promise<string> {
  const folder = newFolder();
  cpSync(`${ROOT}examples/vite-react`, folder, { recursive: true });
  const modules = join(folder, 'node_modules');
  await installClient(modules);
  for (const name of ['react', 'react-dom', 'lean-qr', '@types']) {
    symlinkSync(`${ROOT}node_modules/${name}`, join(modules, name));
  }
  symlinkSync(`${ROOT}test/node_modules/vite`, join(modules, 'vite'));
  return folder;
}

const folder = await install();
const [dev, browser] = await Promise.all([startDev(), launchChromium()]);
const env = { VITE_RELAY: dev.relayUrl, VITE_API: dev.providerUrl };
const types = [process.execPath, `${ROOT}node_modules/.bin/tsc`];
expect(await runChild(types, { cwd: folder })).toEqual({ exitCode: 0, output: '' });
const vite = [NODE, `${ROOT}test/node_modules/vite/bin/vite.js`, 'build'];
expect(await runChild(vite, { cwd: folder, env })).toMatchObject({ exitCode: 0 });
const app = serveUpstream(({ url }) => {
  const path = new URL(url).pathname.replace(/\/$/, '/index.html');
  return new Response(Bun.file(join(folder, 'dist', path)));
});

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const untilShown = (page: Page, text: string | RegExp) => page.getByText(text).waitFor();
const linkOf = async (page: Page) => (await page.getByRole('link').getAttribute('href')) ?? '';

/** A page with the app, which has just started a sign-in. */
async function startApp(): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(app.origin);
  await press(page, 'Sign in');
  await untilShown(page, 'Scan this with your phone:');
  return page;
}

async function openPhone(link: string): Promise<Page> {
  const phone = await (await browser.newContext()).newPage();
  await phone.goto(link);
  await press(phone, 'Continue');
  return phone;
}

test('a user scans the code, signs in, stays so after a reload, and signs out', async () => {
  const page = await startApp();
  const link = await linkOf(page);
  expect(scan(readPng(await page.getByRole('img').screenshot()))).toBe(link);
  await untilShown(page, /type [B-Z]{4}-[B-Z]{4} at http:.*\/link/);
  await untilShown(page, /^(10:00|9:\d\d) left$/);
  const phone = await openPhone(link);
  await untilShown(page, 'Continue on your phone.');
  await press(phone, 'Sign in');
  await untilShown(page, 'Hello, Ada');
  await page.reload();
  await untilShown(page, 'Hello, Ada');
  await press(page, 'Sign out');
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

test('a user who declined reads so, tries again, and cancels', async () => {
  await dev.plan({ ending: 'deny', auto: true });
  const page = await (await browser.newContext()).newPage();
  await page.goto(app.origin);
  await press(page, 'Sign in');
  await untilShown(page, 'Sign-in was declined.');
  await press(page, 'Try again');
  await untilShown(page, 'Scan this with your phone:');
  await press(page, 'Cancel');
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

test('where the browser blocks all storage a user signs in, until the next reload', async () => {
  await dev.plan({ ending: 'approve', auto: true });
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(
    "Object.defineProperty(self, 'localStorage', { get: () => { throw 0; } })",
  );
  await page.goto(app.origin);
  await press(page, 'Sign in');
  await untilShown(page, 'Hello, Ada');
});

test('while the relay restarts the app shows that, and the user is then signed in', async () => {
  await dev.plan({ ending: 'restart', seconds: 3 });
  const page = await startApp();
  // For three seconds only, which the phone may need for its page.
  const shown = untilShown(page, 'No connection. Trying again…');
  await Promise.all([openPhone(await linkOf(page)), shown]);
  await untilShown(page, 'Hello, Ada');
});
