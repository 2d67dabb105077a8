/** The page on the admin port, in a real browser: live, complete, and nothing from elsewhere. */
import { expect, test } from 'bun:test';
import { agree, comeBack, declineAtProvider, findViolations, setUp } from '../kit/chromium.ts';
import { start, startRequest } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';

const adminPort = await findFreePort();
const { relay, browser, openPhone, startDevice } = await setUp({
  ADMIN_PORT: String(adminPort),
  MAX_SESSIONS: '40',
  DEMO_DISPLAY_NAME: 'W'.repeat(40),
});
const address = `http://127.0.0.1:${adminPort}/`;

async function signIn(service: 'mal' | 'demo', decision = agree): Promise<string[]> {
  const device = await startDevice(service);
  const { page, close } = await openPhone();
  await page.goto(device.url);
  await comeBack(page, () => decision(page));
  await close();
  const { accessToken = '' } = await device.poll();
  return [device.state, device.session, accessToken].filter(Boolean);
}

test('shows what happens while it is open, loads nothing, and has no secret', async () => {
  const viewport = { width: 1_000, height: 900 };
  const { page, complaints, close } = await openPhone({ viewport });
  const requests = new Set<string>();
  page.on('request', (request) => requests.add(new URL(request.url()).origin));
  await page.goto(address);
  const funnelOf = (name: string) =>
    page.locator('#funnel tr', { hasText: name }).locator('td').allInnerTexts();
  expect(await funnelOf('MyAnimeList')).toEqual(['MyAnimeList', '0', '0', '0', '0', '0', '0']);

  const secrets = [
    ...(await signIn('mal')),
    ...(await signIn('demo')),
    ...(await signIn('demo')),
    ...(await signIn('mal', declineAtProvider)),
  ];
  const failed = await startDevice('mal');
  secrets.push(failed.state, failed.session);
  await relay.ask(failed.url);
  await relay.ask(`/auth/mal/callback?state=${failed.state}&code=a-code-of-nobody`);
  for (let count = 0; count < 9; count += 1) await relay.ask('/auth/start', startRequest('demo'));

  // The page fetches itself again.
  await page.waitForFunction(() => document.querySelector('#live')?.textContent === '10');
  expect(await funnelOf('MyAnimeList')).toEqual([
    'MyAnimeList',
    '3',
    '3 (100 %)',
    '3 (100 %)',
    '1 (33 %)',
    '2 (67 %)',
    '0 (0 %)',
  ]);
  expect(await page.locator('#share').innerText()).toBe('3 of 5');
  expect(await page.locator('#refused').innerText()).toBe('0');
  expect(await page.locator('#not-back').innerText()).toBe('0');
  expect(await page.locator('#failures').innerText()).toContain('MAL_');
  const plot = page.getByRole('img', { name: /^MyAnimeList: / });
  expect(await plot.getAttribute('aria-label')).toBe(
    'MyAnimeList: 1 signed_in, 1 access_denied, 1 exchange_failed',
  );
  expect(await plot.locator('rect').count()).toBeGreaterThan(2);
  const html = await page.content();
  for (const secret of secrets) expect(html.includes(secret)).toBe(false);
  expect([...requests]).toEqual([new URL(address).origin]);
  expect(complaints).toEqual([]);
  await close();
});

test('is legible to everybody, and says when its numbers are old', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1_280]) {
      const viewport = { width, height: 844 };
      const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
      const page = await context.newPage();
      await page.goto(address);
      expect(await findViolations(page)).toEqual([]);
      await context.setOffline(true);
      await page.waitForSelector('body.stale');
      await context.close();
    }
  }
});

test('needs no sideways scrolling on a phone, where each number has its name beside it', async () => {
  const { page, close } = await openPhone();
  await page.goto(address);
  const widths = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    ...[...document.querySelectorAll('section')].map(({ scrollWidth }) => scrollWidth),
  ]);
  expect(Math.max(...widths)).toBeLessThanOrEqual(390);
  const started = page.locator('#funnel td').nth(1);
  const name = await started.evaluate((cell) => getComputedStyle(cell, '::before').content);
  expect(name).toBe('"started"');
  const sizes = await page.evaluate(() =>
    [...document.querySelectorAll('main *')].map((it) => parseFloat(getComputedStyle(it).fontSize)),
  );
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(12);
  expect(await page.locator('svg text').count()).toBe(0);
  await close();
});

test('in forced colours the legend has the colours of the bars', async () => {
  const { page, close } = await openPhone({ forcedColors: 'active' });
  await page.goto(address);
  const colours = await page.evaluate(() =>
    [...document.querySelectorAll('p > span')].map((name) => getComputedStyle(name).color),
  );
  expect(new Set(colours).size).toBe(4);
  await close();
});

test('keeps what is selected, such as a redirect URI that an operator copies', async () => {
  const { page, close } = await openPhone();
  await page.clock.install();
  await page.goto(address);
  const refresh = async () => {
    const [response] = await Promise.all([
      page.waitForResponse(/\/now$/),
      page.clock.runFor(2_000),
    ]);
    await response.finished();
  };
  await page.locator('#failures td').last().selectText();
  await refresh();
  await refresh();
  expect(await page.evaluate(() => String(getSelection()))).toContain('MAL_');
  const live = Number(await page.locator('#live').textContent());
  await start(relay);
  await page.evaluate(() => getSelection()?.removeAllRanges());
  await refresh();
  await page.locator('#live', { hasText: String(live + 1) }).waitFor();
  await close();
});

test('takes the ADMIN_TOKEN as a password, and refreshes itself with it', async () => {
  const token = plantSecret(crypto.randomUUID());
  const port = await findFreePort();
  const guarded = await startRelay({ ADMIN_PORT: String(port), ADMIN_TOKEN: token });
  const context = await browser.newContext({
    httpCredentials: { username: 'operator', password: token },
  });
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  await start(guarded);
  await page.waitForFunction(() => document.querySelector('#live')?.textContent === '1');
  await context.close();
  await guarded.stop();
});
