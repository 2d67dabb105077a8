/** People reload, go back, share links and close tabs. The first outcome stands. `protocol.md` §3, rule 1. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { countExchanges } from '../support/providers/running-provider.ts';
import { type Device, startDevice } from './support/device.ts';
import { agree, NAMES } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import {
  comeBack,
  LINK_INVALID,
  LINK_INVALID_WORDS,
  open,
  type RelayPage,
  SIGNED_IN,
} from './support/relay-page.ts';
import { type Service, setStage } from './support/stage.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

async function openLink(device: Device) {
  const { page } = await openPhone(stage.browser);
  await page.goto(device.url);
  return page;
}

function expectLinkInvalid(page: RelayPage): void {
  expect(page).toMatchObject(LINK_INVALID);
  expect(page.message).toMatch(LINK_INVALID_WORDS);
}

/** The device gets the tokens of whoever came first, whatever happened after. */
async function expectDelivered(device: Device, service: Service, owner = NAMES[service]) {
  const { status, accessToken = '' } = await device.poll();
  expect(status).toBe(200);
  expect(await stage.providers[service].findOwner(accessToken)).toBe(owner);
}

test('browser: reload of the success page → 404 page, no second exchange, the device unharmed', async () => {
  const device = await startDevice(stage, 'demo');
  const page = await openLink(device);
  const before = countExchanges(stage.providers.demo);
  expect(await comeBack(page, () => agree(page, 'demo'))).toMatchObject(SIGNED_IN);

  expectLinkInvalid(await comeBack(page, () => page.reload()));
  expect(countExchanges(stage.providers.demo)).toBe(before + 1);
  await expectDelivered(device, 'demo');
});

test('browser: back to the provider, allowed again → 404 page, no second exchange, the device unharmed', async () => {
  const device = await startDevice(stage, 'mal');
  const page = await openLink(device);
  const before = countExchanges(stage.providers.mal);
  expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);

  await page.goBack();
  expectLinkInvalid(await comeBack(page, () => agree(page, 'mal')));
  expect(countExchanges(stage.providers.mal)).toBe(before + 1);
  await expectDelivered(device, 'mal');
});

test('browser: two phones open the link before anybody is done → the first to finish is signed in, the other gets the 404 page', async () => {
  const device = await startDevice(stage, 'demo');
  const [first, second] = [await openLink(device), await openLink(device)];
  const before = countExchanges(stage.providers.demo);

  const ada = await comeBack(first, () => agree(first, 'demo', 'Ada'));
  const blaise = await comeBack(second, () => agree(second, 'demo', 'Blaise'));

  expect(ada).toMatchObject(SIGNED_IN);
  expectLinkInvalid(blaise);
  expect(countExchanges(stage.providers.demo)).toBe(before + 1);
  await expectDelivered(device, 'demo', 'Ada');
});

test('browser: the link after somebody has signed in → 404 page, before and after the device has its tokens', async () => {
  const device = await startDevice(stage, 'mal');
  const page = await openLink(device);
  await comeBack(page, () => agree(page, 'mal'));
  const { page: other } = await openPhone(stage.browser);

  expectLinkInvalid(await open(other, device.url));
  await expectDelivered(device, 'mal');
  expectLinkInvalid(await open(other, device.url));
});

test('browser: a second callback during the exchange → 404 page at once, one exchange', async () => {
  const provider = stage.providers.mal;
  const before = countExchanges(provider);
  const device = await startDevice(stage, 'mal');
  const [first, second] = [await openLink(device), await openLink(device)];
  const held = provider.tokenGate.close();
  const landing = comeBack(first, () => agree(first, 'mal'));
  await held.arrived;

  expectLinkInvalid(await comeBack(second, () => agree(second, 'mal')));
  held.release();

  expect(await landing).toMatchObject(SIGNED_IN);
  expect(countExchanges(provider)).toBe(before + 1);
  await expectDelivered(device, 'mal');
});

test.each(['demo', 'mal'] as const)(
  'browser: %s: the tab is closed during the exchange → the device gets its tokens',
  async (service) => {
    const device = await startDevice(stage, service);
    const waiting = device.poll();
    const phone = await openPhone(stage.browser);
    await phone.page.goto(device.url);
    const held = stage.providers[service].tokenGate.close();
    await agree(phone.page, service);
    await held.arrived;

    await phone.close();
    // An answer to a later connection: the relay has heard of the closed one by now.
    await fetch(`${stage.relay.baseUrl}/health`);
    held.release();

    const { status, accessToken = '' } = await waiting;
    expect(status).toBe(200);
    expect(await stage.providers[service].findOwner(accessToken)).toBe(NAMES[service]);
  },
);
