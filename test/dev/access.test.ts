/** Who may use the dev relay: programs and its own pages, but no page of another site in the user's browser. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync } from 'node:fs';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { CANCELLED, follow, launchChromium, SIGNED_IN } from '../kit/chromium.ts';
import { startDev } from '../kit/dev.ts';
import { start } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { runChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';
import { sendRaw, statusOf } from '../kit/sockets.ts';

setDefaultTimeout(60_000);

const dev = await startDev();
afterAll(() => dev.stop());

const planned = async () =>
  ((await (await dev.askProvider('/next')).json()) as { planned: unknown[] }).planned;

const plan = (headers: Record<string, string>) =>
  dev.askProvider('/next', { method: 'POST', headers, body: '{"scenario":"deny"}' });

const get = (url: string, path: string, host: string) =>
  sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

const inBrowser = test.if(
  has('Chromium', 'no page of another site plans an ending at `dev`; `dev --lan` signs in phones'),
);

describe('dev: a page of another site', () => {
  test.each([
    ['of another origin', { Origin: 'https://evil.example' }],
    ['of a file, or in a sandbox', { Origin: 'null' }],
    ['of another port of this machine', { Origin: 'http://127.0.0.1:5173' }],
    ['of another site, as browsers say', { 'Sec-Fetch-Site': 'cross-site' }],
    ['of the same site, as browsers say', { 'Sec-Fetch-Site': 'same-site' }],
  ])('%s neither plans nor starts nor decides', async (_, headers) => {
    const { url } = await start(dev, 'dev');
    const authorizeUrl = (await dev.ask(url)).headers.get('location') ?? '';
    const decision = { method: 'POST', headers, body: new URLSearchParams({ ending: 'restart' }) };
    expect([
      (await plan(headers)).status,
      (await dev.askProvider('/next', { method: 'DELETE', headers })).status,
      (await dev.askProvider('/next', { method: 'OPTIONS', headers })).status,
      (await dev.askProvider('/try/restart', { headers })).status,
      (await dev.askProvider(authorizeUrl, decision)).status,
    ]).toEqual([403, 403, 403, 403, 403]);
    expect(await planned()).toEqual([]);
    await dev.untilShown('POST /next got 403: only programs and pages of this origin may');
  });

  test('reads nothing: only tokens and the user are for web apps', async () => {
    const headers = { Origin: 'https://app.example' };
    const allowed = async (path: string, init: RequestInit = {}) =>
      (await dev.askProvider(path, { headers, ...init })).headers.get(
        'access-control-allow-origin',
      );
    for (const path of ['/', '/next', '/scenarios', '/tv', '/authorize', '/nowhere']) {
      expect([path, await allowed(path)]).toEqual([path, null]);
    }
    for (const path of ['/token', '/userinfo']) {
      expect([path, await allowed(path)]).toEqual([path, '*']);
      expect([path, await allowed(path, { method: 'OPTIONS' })]).toEqual([path, '*']);
    }
  });

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example'])(
    'under a name that it gave this machine: %s',
    async (name) => {
      const host = `${name}:${dev.port + 1}`;
      expect(statusOf(await get(dev.providerUrl, '/next', host))).toBe(403);
      const body = '{"scenario":"deny"}';
      const post = `POST /next HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      expect(statusOf(await sendRaw(dev.providerUrl, post))).toBe(403);
      expect(await planned()).toEqual([]);
    },
  );

  inBrowser('in a browser: its request arrives, and plans nothing', async () => {
    const evil = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response('<title>evil</title>', { headers: { 'Content-Type': 'text/html' } }),
    });
    const browser = await launchChromium();
    const page = await browser.newPage();
    // Another site for the browser: it takes every name below localhost to this machine.
    await page.goto(`http://evil.localhost:${evil.port}`);
    const answer = page.waitForResponse(`${dev.providerUrl}/next`);
    await page.evaluate(
      (url) =>
        fetch(url, { method: 'POST', mode: 'no-cors', body: '{"scenario":"deny"}' }).catch(
          () => {},
        ),
      `${dev.providerUrl}/next`,
    );
    expect((await answer).status()).toBe(403);
    expect(await planned()).toEqual([]);
    await page.goto(`http://evil.localhost:${evil.port}`);
    await page.setContent(`<iframe src="${dev.providerUrl}/"></iframe>`);
    const frame = page.frames().at(-1);
    await frame?.waitForLoadState();
    expect(await frame?.locator('button').count()).toBe(0);
    await browser.close();
    await evil.stop(true);
  });
});

describe('dev: who may plan', () => {
  test.each([
    ['localhost', 'localhost'],
    ['an address', '127.0.0.1'],
    ['an IPv6 address', '[::1]'],
    ['the address that an emulator uses', '10.0.2.2'],
    ['the name of this machine', hostname()],
    ['a name in a network of containers', 'dev-relay'],
  ])('a program that reaches it as %s', async (_, name) => {
    expect(statusOf(await get(dev.providerUrl, '/next', `${name}:1`))).toBe(200);
  });

  test.each([
    ['its own page', () => ({ Origin: dev.providerUrl })],
    ['its own page, as browsers say', () => ({ 'Sec-Fetch-Site': 'same-origin' })],
    ['a program', () => ({})],
  ])('%s', async (_, headers) => {
    expect((await plan(headers())).status).toBe(200);
    await dev.askProvider('/next', { method: 'DELETE' });
  });

  test.each([
    ['typed into the address bar', () => ({ 'Sec-Fetch-Site': 'none' }), 303],
    ['on its own page', () => ({ 'Sec-Fetch-Site': 'same-origin' }), 303],
    ['on its own page, of an older browser', () => ({ Referer: `${dev.providerUrl}/` }), 303],
    ['elsewhere, of an older browser', () => ({ Referer: 'https://evil.example/' }), 403],
    ['at a longer host', () => ({ Referer: `${dev.providerUrl}.evil.example/` }), 403],
    ['from nowhere', () => ({}), 403],
  ])('a link to an ending that was %s', async (_, headers, status) => {
    expect((await dev.askProvider('/try/deny', { headers: headers() })).status).toBe(status);
  });
});

inBrowser(
  'dev --lan: a phone, a television and a terminal sign in, by the address that the terminal shows',
  async () => {
    const address = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
    const lan = await startDev({ args: ['--lan'], origin: `http://${address}` });
    const shown = stripVTControlCharacters(lan.output());
    expect(shown).toContain(`http://${address}:${lan.port}`);
    expect(shown).toContain('▀▀▀');
    const browser = await launchChromium();
    const phone = await browser.newPage({ viewport: { width: 390, height: 844 } });
    await phone.goto(lan.providerUrl);
    await phone.getByRole('button', { name: 'Plan no-code for the next sign-in' }).click();
    await phone.getByText('Planned: no-code').waitFor();
    await lan.askProvider('/next', { method: 'DELETE' });
    await phone.goto((await start(lan, 'dev')).url);
    const signIn = phone.getByRole('button', { name: 'Sign in' });
    expect(await follow(phone, () => signIn.click())).toMatchObject(SIGNED_IN);
    await phone.goto(lan.providerUrl);
    const tryDeny = phone.getByRole('link', { name: 'Try deny', exact: true });
    expect(await follow(phone, () => tryDeny.click())).toEqual(CANCELLED);
    // Its page came over http too.
    await phone.goto(`${lan.providerUrl}/tv`);
    await phone.locator('.card').click();
    await phone.locator('#qr img').waitFor();
    const [, login = ''] = /sign-in-relay (login .+)/.exec(shown) ?? [];
    await lan.plan({ scenario: 'approve', auto: true });
    const { exitCode } = await runChild([
      process.execPath,
      MAIN,
      ...login.trim().split(' '),
      '--tokens',
      mkdtempSync(join(tmpdir(), 'sign-in-relay-tokens-')),
    ]);
    expect(exitCode).toBe(0);
    await browser.close();
    await lan.stop();
  },
);
