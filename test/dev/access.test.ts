/** Who may use the dev relay: programs and its own pages, but no page of another site in the user's browser. */
import { describe, expect, test } from 'bun:test';
import { hostname } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { follow, launchChromium, SIGNED_IN } from '../kit/chromium.ts';
import { lanAddress, startDev } from '../kit/dev.ts';
import { start } from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { runChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';

const dev = await startDev();

const planned = async () =>
  ((await (await dev.askProvider('/next')).json()) as { planned: unknown[] }).planned;

const plan = (headers: Record<string, string>) =>
  dev.askProvider('/next', { method: 'POST', headers, body: '{"ending":"deny"}' });

const inBrowser = test.if(has('Chromium', '`dev --lan` signs in phones'));

describe('dev: a page of another site', () => {
  test.each([
    ['of another origin', { Origin: 'https://evil.example' }],
    ['of a file, or in a sandbox', { Origin: 'null' }],
    ['of another port of this machine', { Origin: 'http://127.0.0.1:5173' }],
    ['of the same site, as browsers say', { 'Sec-Fetch-Site': 'same-site' }],
  ])('%s cannot plan, start or decide', async (_, headers) => {
    const { url } = await start(dev, 'dev');
    const authorizeUrl = (await dev.ask(url)).headers.get('location') ?? '';
    const decision = { method: 'POST', headers, body: new URLSearchParams({ ending: 'restart' }) };
    expect([
      (await plan(headers)).status,
      (await dev.askProvider('/next', { method: 'DELETE', headers })).status,
      (await dev.askProvider('/next', { method: 'OPTIONS', headers })).status,
      (await dev.askProvider(authorizeUrl, decision)).status,
    ]).toEqual([403, 403, 403, 403]);
    expect(await planned()).toEqual([]);
    await dev.untilShown('POST /next got 403: only programs and pages of this origin may');
  });

  test('reads nothing: only tokens and the user are for web apps', async () => {
    const framed = await dev.askProvider('/');
    expect(framed.headers.get('content-security-policy')).toBe("frame-ancestors 'none'");
    const headers = { Origin: 'https://app.example' };
    const allowed = async (path: string, init: RequestInit = {}) =>
      (await dev.askProvider(path, { headers, ...init })).headers.get(
        'access-control-allow-origin',
      );
    for (const path of ['/', '/next', '/tv', '/authorize', '/nowhere']) {
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
      const headers = { Host: `${name}:${dev.port + 1}`, Origin: `http://${name}:${dev.port + 1}` };
      expect((await dev.askProvider('/next', { headers })).status).toBe(403);
      expect((await plan(headers)).status).toBe(403);
      expect(await planned()).toEqual([]);
    },
  );
});

test.each<[who: string, headers: Record<string, string>]>([
  ['a program', {}],
  ['its own page, as browsers say', { 'Sec-Fetch-Site': 'same-origin' }],
  ['its own page, of an older browser', { Origin: dev.providerUrl }],
  ['a program at localhost', { Host: 'localhost:1' }],
  ['a program at an IPv6 address', { Host: '[::1]:1' }],
  ['a program at the name of this machine', { Host: `${hostname()}:1` }],
  ['a program at a name in a network of containers', { Host: 'dev-relay:1' }],
])('dev: plans of %s', async (_, headers) => {
  expect((await plan(headers)).status).toBe(200);
  await dev.askProvider('/next', { method: 'DELETE' });
});

inBrowser(
  'dev --lan: a phone, a television and a terminal sign in at the address that is shown',
  async () => {
    await using lan = await startDev({ args: ['--lan'], origin: `http://${lanAddress}` });
    const shown = stripVTControlCharacters(lan.output());
    expect(shown).toContain(lan.relayUrl);
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
    // Its page came over http too.
    await phone.goto(`${lan.providerUrl}/tv`);
    await phone.locator('.card').click();
    await phone.locator('#qr img').waitFor();
    const [, login = ''] = /sign-in-relay (login .+)/.exec(shown) ?? [];
    await lan.plan({ ending: 'approve', auto: true });
    const { exitCode } = await runChild([
      process.execPath,
      MAIN,
      ...login.trim().split(' '),
      '--tokens',
      newFolder(),
    ]);
    expect(exitCode).toBe(0);
    await browser.close();
  },
);
