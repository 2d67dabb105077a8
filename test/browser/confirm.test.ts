/** CONFIRM, where it is not `code`: a question before every provider, or none at all. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { countExchanges } from '../support/providers/running-provider.ts';
import { type Device, startDevice, startDeviceWithCode } from './support/device.ts';
import { agree, decline } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import { comeBack, follow, LINK_INVALID, open, SIGNED_IN } from './support/relay-page.ts';
import { setStage } from './support/stage.ts';
import { startTlsFront } from './support/tls-front.ts';

setDefaultTimeout(60_000);

const QUESTION = { status: 200, heading: 'Sign in on your device?' };

describe('browser: CONFIRM=always', async () => {
  const front = await startTlsFront();
  const stage = await setStage({ CONFIRM: 'always' }, front.url);
  front.passOnTo(stage.relay.baseUrl);
  afterAll(async () => {
    await stage.stop();
    await front.stop();
  });
  const phoneOptions = { ignoreHTTPSErrors: true };

  /** From the page that asks to the provider. */
  async function pressContinue(page: Page): Promise<void> {
    const isProvider = (url: URL) => url.origin !== front.url;
    const leave = page.getByRole('button', { name: 'Continue' }).click({ noWaitAfter: true });
    await Promise.all([page.waitForURL(isProvider), leave]);
  }

  /** A phone whose user has pressed Continue, and is at the provider. */
  async function continueTo(address: string) {
    const phone = await openPhone(stage.browser, phoneOptions);
    expect(await open(phone.page, address)).toMatchObject(QUESTION);
    await pressContinue(phone.page);
    return phone;
  }

  async function expectSignedIn(page: Page, device: Device): Promise<void> {
    expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
    expect((await device.poll()).status).toBe(200);
  }

  test('the long link asks first, and then leads on', async () => {
    const device = await startDevice(stage, 'mal');
    const { page, complaints } = await continueTo(device.url);
    await expectSignedIn(page, device);
    expect(complaints).toEqual([]);
  });

  test.each(['demo', 'bare'] as const)(
    '%s: a provider with pages of its own in between',
    async (service) => {
      const device = await startDevice(stage, service);
      const { page } = await continueTo(device.url);
      expect(await comeBack(page, () => agree(page, service))).toMatchObject(SIGNED_IN);
      expect((await device.poll()).status).toBe(200);
    },
  );

  test('who was asked at the code is not asked again', async () => {
    const device = await startDeviceWithCode(stage, 'mal');
    const { page } = await continueTo(device.link);
    await expectSignedIn(page, device);
  });

  test('it may be declined, and the device knows at once', async () => {
    const device = await startDevice(stage, 'mal');
    const waiting = device.poll();
    const { page } = await openPhone(stage.browser, phoneOptions);
    await page.goto(device.url);
    const declined = await follow(page, () => page.getByRole('button').last().click());
    expect(declined).toMatchObject({ status: 200, heading: 'Sign-in declined' });
    expect(await waiting).toEqual({ status: 200, error: 'access_denied' });
  });

  test.each(['url', 'link'] as const)(
    'whoever goes back from the provider is asked again, and signs in: %s',
    async (way) => {
      const device = await startDeviceWithCode(stage, 'mal');
      const { page } = await continueTo(device[way]);
      expect(await follow(page, () => page.goBack())).toMatchObject(QUESTION);
      expect(await follow(page, () => page.reload())).toMatchObject(QUESTION);
      await pressContinue(page);
      await page.reload();
      await expectSignedIn(page, device);
    },
  );

  test('a reload of the last page changes nothing', async () => {
    const device = await startDevice(stage, 'mal');
    const { page } = await continueTo(device.url);
    const before = countExchanges(stage.providers.mal);
    expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
    expect(await comeBack(page, () => page.reload())).toMatchObject(LINK_INVALID);
    expect(countExchanges(stage.providers.mal)).toBe(before + 1);
    expect((await device.poll()).status).toBe(200);
  });

  test('the same link in a second tab: either may finish, the other is told that it is over', async () => {
    const device = await startDevice(stage, 'mal');
    const { page } = await continueTo(device.url);
    const second = await page.context().newPage();
    await open(second, device.url);
    await pressContinue(second);
    await expectSignedIn(page, device);
    const late = await comeBack(second, () => agree(second, 'mal'));
    expect(late).toMatchObject(LINK_INVALID);
  });

  test('several sign-ins at once in one browser', async () => {
    const devices = [await startDevice(stage, 'mal'), await startDevice(stage, 'mal')] as const;
    const { page } = await continueTo(devices[0].url);
    const second = await page.context().newPage();
    await open(second, devices[1].url);
    await pressContinue(second);
    await expectSignedIn(second, devices[1]);
    await expectSignedIn(page, devices[0]);
  });

  test("the provider's address in somebody else's browser signs nobody in, and ends nothing", async () => {
    const device = await startDevice(stage, 'mal');
    const { page } = await continueTo(device.url);
    const before = countExchanges(stage.providers.mal);
    for (const act of [agree, decline]) {
      const { page: victim } = await openPhone(stage.browser, phoneOptions);
      await victim.goto(page.url());
      expect(await comeBack(victim, () => act(victim, 'mal'))).toMatchObject(LINK_INVALID);
    }
    expect(countExchanges(stage.providers.mal)).toBe(before);
    await expectSignedIn(page, device);
  });
});

describe('browser: CONFIRM=never', async () => {
  const stage = await setStage({ CONFIRM: 'never' });
  afterAll(stage.stop);

  test('a code that is typed leads to the provider at once, which the policy of the form allows', async () => {
    const device = await startDeviceWithCode(stage, 'mal');
    const { page, complaints } = await openPhone(stage.browser);
    await page.goto(`${stage.relay.baseUrl}/link`);
    await page.getByRole('textbox').fill(device.userCode);
    const isProvider = (url: URL) => url.origin !== new URL(stage.relay.baseUrl).origin;
    const leave = page.getByRole('button').click({ noWaitAfter: true });
    await Promise.all([page.waitForURL(isProvider), leave]);
    expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
    expect((await device.poll()).status).toBe(200);
    expect(complaints).toEqual([]);
  });
});
