/** A user with a code, from the code form to the device's tokens. docs/user-pages.md. */
import { expect, test } from 'bun:test';
import {
  agree,
  comeBack,
  type Device,
  follow,
  leave,
  open,
  press,
  pressContinue,
  SIGNED_IN,
  setUp,
  USER,
} from '../kit/chromium.ts';

const { relay, providers, openPhone, startDeviceWithCode } = await setUp({
  APP_NAME: 'Plezy',
});

const { baseUrl } = relay;
const FIELD = 'Code shown on your device';
const CONFIRMATION = { status: 200, title: 'Sign in to Plezy?', heading: 'Sign in to Plezy?' };
/** Instagram's browser on Android. */
const IN_APP_BROWSER =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0 Mobile Safari/537.36 Instagram 312.0.0.34.111 Android';

async function expectDelivered({ poll }: Device) {
  const { accessToken = '' } = await poll();
  expect(await providers.mal.findOwner(accessToken)).toBe(USER);
}

test('typed, continued, signed in: the device gets tokens', async () => {
  const device = await startDeviceWithCode('mal', 'Television');
  const { page, complaints } = await openPhone();
  await page.goto(`${baseUrl}/link`);
  const typed = `  ${[...device.userCode.toLowerCase()].join('. ')}`;
  await page.getByLabel(FIELD).fill(typed);

  expect(await follow(page, () => press(page, 'Check'))).toMatchObject(CONFIRMATION);
  expect(page.url()).toBe(device.shortUrl);
  const facts = (await page.locator('dl').innerText()).replaceAll(/\s+/g, ' ');
  const { host } = new URL(providers.mal.authorizeUrl);
  expect(facts).toBe(
    `Device Television Started just now Service MyAnimeList Next sign in at ${host}`,
  );
  await pressContinue(page);
  expect(await comeBack(page, () => agree(page))).toMatchObject(SIGNED_IN);

  await expectDelivered(device);
  expect(complaints).toEqual([]);
  // Codes are too short for the log search.
  expect(relay.output()).not.toContain(device.userCode);
  expect(relay.output()).not.toContain(device.userCode.replace('-', ''));
});

test('from the page of a code that was corrected, Back leads to the form', async () => {
  const device = await startDeviceWithCode('mal');
  const { page } = await openPhone();
  await page.goto(`${baseUrl}/link`);
  await page.getByLabel(FIELD).fill('wdjb');
  const incomplete = { status: 400, title: 'That code is incomplete' };
  expect(await follow(page, () => press(page, 'Check'))).toMatchObject(incomplete);
  await page.getByLabel(FIELD).fill(device.userCode);
  expect(await follow(page, () => press(page, 'Check'))).toMatchObject(CONFIRMATION);
  expect(await follow(page, () => page.goBack())).toMatchObject(incomplete);
});

test('the keyboard alone is enough, and the focus is visible', async () => {
  const device = await startDeviceWithCode('mal');
  const { page } = await openPhone();
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
  // The field has the focus by itself.
  await page.locator('input:focus').waitFor();
  expect(await focused()).toEqual({ name: '', isShown: true });
  await keyboard.type(device.userCode);
  await follow(page, () => keyboard.press('Enter'));

  for (const [key, name] of [
    ['Tab', 'continue'],
    ['Tab', 'decline'],
    ['Shift+Tab', 'continue'],
  ] as const) {
    await keyboard.press(key);
    expect(await focused()).toEqual({ name, isShown: true });
  }
  await leave(page, () => keyboard.press('Space'));
  expect(await comeBack(page, () => agree(page))).toMatchObject(SIGNED_IN);
  await expectDelivered(device);
});

test('inside another app the page to confirm shows its address, which one tap selects', async () => {
  const device = await startDeviceWithCode('mal');
  const { page } = await openPhone({ userAgent: IN_APP_BROWSER });
  expect(await open(page, device.shortUrl)).toMatchObject(CONFIRMATION);
  await page.getByText(device.shortUrl).click();
  const selected = await page.evaluate(() => String(getSelection()));
  expect(selected.trim()).toBe(device.shortUrl);
});
