/** A person with a code: the whole way, and each that leads off it. docs/person.md. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type DeviceWithCode, startDeviceWithCode } from './support/device.ts';
import { IN_APP_BROWSER } from './support/every-page.ts';
import { agree, NAMES } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import { comeBack, follow, open, SIGNED_IN } from './support/relay-page.ts';
import { SERVICES, type Service, setStage } from './support/stage.ts';

setDefaultTimeout(60_000);

const stage = await setStage({ APP_NAME: 'Plezy' });
afterAll(stage.stop);

const { baseUrl } = stage.relay;

const QUESTION = { status: 200, title: 'Sign in to Plezy?', heading: 'Sign in to Plezy?' };
const NOT_VALID = { status: 404, title: 'This code is not valid' };

function press(page: Page, name: string): Promise<void> {
  return page.getByRole('button', { name, exact: true }).click({ noWaitAfter: true });
}

/** From the page that asks to the provider, which is where a person then is. */
async function pressContinue(page: Page): Promise<void> {
  const isElsewhere = (url: URL) => url.origin !== new URL(baseUrl).origin;
  await Promise.all([page.waitForURL(isElsewhere), press(page, 'Continue')]);
}

async function expectDelivered({ poll }: DeviceWithCode, service: Service) {
  const { status, accessToken = '' } = await poll();
  expect(status).toBe(200);
  expect(await stage.providers[service].findOwner(accessToken)).toBe(NAMES[service]);
}

/** A code is good for minutes only, and all the same it is in no log. */
function expectUnlogged({ userCode }: DeviceWithCode): void {
  const log = JSON.stringify(stage.relay.events());
  expect(log).not.toContain(userCode);
  expect(log).not.toContain(userCode.replace('-', ''));
}

test.each(SERVICES)(
  'browser: %s: typed, continued, signed in: the device has its tokens',
  async (service) => {
    const device = await startDeviceWithCode(stage, service, 'Television');
    const { page, complaints } = await openPhone(stage.browser);
    await page.goto(`${baseUrl}/link`);
    const typed = `  ${[...device.userCode.toLowerCase()].join('. ')}`;
    await page.getByLabel('Code shown on your device').fill(typed);

    expect(await follow(page, () => press(page, 'Next'))).toMatchObject(QUESTION);
    expect(page.url()).toBe(device.link);
    const facts = (await page.locator('dl').innerText()).replaceAll(/\s+/g, ' ');
    expect(facts).toBe(`Device Television Started now Code on the device ${device.userCode}`);
    await pressContinue(page);
    expect(await comeBack(page, () => agree(page, service))).toMatchObject(SIGNED_IN);

    await expectDelivered(device, service);
    expect(complaints).toEqual([]);
    expectUnlogged(device);
  },
);

test('browser: the keyboard alone is enough, and shows where it is', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const { page } = await openPhone(stage.browser);
  const { keyboard } = page;
  const focused = () =>
    page.evaluate(() => {
      const { activeElement: element } = document;
      const outline = element ? getComputedStyle(element).outlineStyle : '';
      return {
        name: element?.getAttribute('value') ?? element?.tagName,
        isShown: outline !== 'none',
      };
    });
  await page.goto(`${baseUrl}/link`);
  // The field has the focus already: whoever types a code need not look for it.
  expect(await focused()).toEqual({ name: '', isShown: true });
  await keyboard.type(device.userCode);
  await follow(page, () => keyboard.press('Enter'));

  await keyboard.press('Tab');
  expect(await focused()).toEqual({ name: 'continue', isShown: true });
  await keyboard.press('Tab');
  expect(await focused()).toEqual({ name: 'decline', isShown: true });
  await keyboard.press('Shift+Tab');
  const isProvider = (url: URL) => url.origin !== new URL(baseUrl).origin;
  await Promise.all([page.waitForURL(isProvider), keyboard.press('Space')]);
  expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
  await expectDelivered(device, 'mal');
});

test('browser: Decline is as easy to press as Continue, and the device that waits knows at once', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const waiting = device.poll();
  const { page } = await openPhone(stage.browser);
  await page.goto(device.link);
  const looks = await page.getByRole('button').evaluateAll((buttons) =>
    buttons.map((button) => {
      const { width, height } = button.getBoundingClientRect();
      const { color, backgroundColor, fontSize, fontWeight, border } = getComputedStyle(button);
      return { width, height, color, backgroundColor, fontSize, fontWeight, border };
    }),
  );
  expect(looks).toHaveLength(2);
  expect(looks[0]).toEqual(looks[1] as never);

  const declined = await follow(page, () => press(page, 'Decline'));
  expect(declined).toMatchObject({ status: 200, heading: 'Sign-in declined' });
  expect(await waiting).toEqual({ status: 200, error: 'access_denied' });
  expect(await open(page, device.link)).toMatchObject(NOT_VALID);
});

test('browser: a code that was used is not valid for the next, and the one who used it signs in', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const { page } = await openPhone(stage.browser);
  const { page: other } = await openPhone(stage.browser);
  await other.goto(device.link);
  await page.goto(device.link);
  await pressContinue(page);

  expect(await follow(other, () => press(other, 'Continue'))).toMatchObject(NOT_VALID);
  expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
  await expectDelivered(device, 'mal');
});

test('browser: whoever goes back from the provider is asked again, and signs in', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const { page } = await openPhone(stage.browser);
  await page.goto(device.link);
  await pressContinue(page);

  expect(await follow(page, () => page.goBack())).toMatchObject(QUESTION);
  await pressContinue(page);
  expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
  await expectDelivered(device, 'mal');
});

test('browser: a code that is wrong can be mended where it is', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const { page } = await openPhone(stage.browser);
  await page.goto(`${baseUrl}/`);
  const field = page.getByLabel('Code shown on your device');
  await field.fill(device.userCode.slice(0, -1));
  await follow(page, () => press(page, 'Next'));
  expect(await page.getByRole('alert').innerText()).toContain('That is not a whole code');
  expect(await field.inputValue()).toBe(device.userCode.slice(0, -1));
  await field.press('End');
  await field.pressSequentially(device.userCode.slice(-1));
  expect(await follow(page, () => press(page, 'Next'))).toMatchObject(QUESTION);
});

test("browser: another site's form decides nothing", async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const html = `<!doctype html><form method="post" action="${device.link}"><button name="choice" value="decline">A prize</button></form>`;
  await using elsewhere = Bun.serve({
    // Another host in the eyes of a browser, so that it is another site.
    hostname: 'localhost',
    port: 0,
    fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html' } }),
  });
  const { page } = await openPhone(stage.browser);
  await page.goto(elsewhere.url.href);
  expect(await follow(page, () => press(page, 'A prize'))).toMatchObject(QUESTION);

  await pressContinue(page);
  expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
  await expectDelivered(device, 'mal');
});

test('browser: inside another app the question says where to open it, to be copied with one tap', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  const { page } = await openPhone(stage.browser, { userAgent: IN_APP_BROWSER });
  expect(await open(page, device.link)).toMatchObject(QUESTION);
  await page.getByText(device.link).click();
  const selected = await page.evaluate(() => String(getSelection()));
  expect(selected.trim()).toBe(device.link);
});

test('browser: the pages speak the language of the phone', async () => {
  const device = await startDeviceWithCode(stage, 'mal');
  for (const [locale, heading] of Object.entries({
    'de-AT': 'Bei Plezy anmelden?',
    'pt-PT': 'Fazer login em Plezy?',
    'zh-TW': '要登入Plezy嗎？',
    nl: 'Sign in to Plezy?',
  })) {
    const { page, close } = await openPhone(stage.browser, { locale });
    expect(await open(page, device.link)).toMatchObject({ status: 200, heading });
    await close();
  }
});
