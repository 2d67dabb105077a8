/** CONFIRM, where it is not `code`: a question before every provider, or none at all. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { startDevice, startDeviceWithCode } from './support/device.ts';
import { agree } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import { comeBack, follow, open, SIGNED_IN } from './support/relay-page.ts';
import { setStage } from './support/stage.ts';

setDefaultTimeout(60_000);

describe('browser: CONFIRM=always', async () => {
  const stage = await setStage({ CONFIRM: 'always' });
  afterAll(stage.stop);

  test('the long link asks first, and then leads on', async () => {
    const device = await startDevice(stage, 'mal');
    const { page, complaints } = await openPhone(stage.browser);
    const question = await open(page, device.url);
    expect(question).toMatchObject({ status: 200, heading: 'Sign in on your device?' });
    const isProvider = (url: URL) => url.origin !== new URL(stage.relay.baseUrl).origin;
    const leave = page.getByRole('button', { name: 'Continue' }).click({ noWaitAfter: true });
    await Promise.all([page.waitForURL(isProvider), leave]);
    expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
    expect((await device.poll()).status).toBe(200);
    expect(complaints).toEqual([]);
  });

  test('it may be declined, and the device knows at once', async () => {
    const device = await startDevice(stage, 'mal');
    const waiting = device.poll();
    const { page } = await openPhone(stage.browser);
    await page.goto(device.url);
    const declined = await follow(page, () => page.getByRole('button').last().click());
    expect(declined).toMatchObject({ status: 200, heading: 'Sign-in declined' });
    expect(await waiting).toEqual({ status: 200, error: 'access_denied' });
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
