/** A whole sign-in, every part of it real, at each kind of provider. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { countExchanges } from '../support/providers/running-provider.ts';
import { type Device, startDevice } from './support/device.ts';
import { agree, NAMES } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import { comeBack, SIGNED_IN } from './support/relay-page.ts';
import { SERVICES, type Service, setStage } from './support/stage.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

async function signIn(service: Service, device: Device, name = NAMES[service]) {
  const phone = await openPhone(stage.browser);
  await phone.page.goto(device.url);
  const landed = await comeBack(phone.page, () => agree(phone.page, service, name));
  await phone.close();
  return { landed, complaints: phone.complaints };
}

const KINDS: Record<Service, string> = {
  demo: 'OpenID provider by its issuer, S256, client secret',
  bare: 'OpenID provider by its addresses, S256, public client',
  mal: 'OAuth provider, PKCE plain, public client',
};

for (const service of SERVICES) {
  test(`browser: ${KINDS[service]}: the waiting device gets, once, tokens the provider takes`, async () => {
    const provider = stage.providers[service];
    const device = await startDevice(stage, service);
    const waiting = device.poll();

    const { landed, complaints } = await signIn(service, device);

    expect(landed).toMatchObject(SIGNED_IN);
    expect(complaints).toEqual([]);
    const { status, accessToken = '', expiresIn } = await waiting;
    expect(status).toBe(200);
    expect(await provider.findOwner(accessToken)).toBe(NAMES[service]);
    expect(expiresIn).toBeWithin(3_500, 3_601);
    expect(countExchanges(provider)).toBe(1);
    expect(await device.poll()).toEqual({ status: 410 });
  });
}

test('browser: two people at two phones: each device gets its own person', async () => {
  const names = ['Ada', 'Blaise'];
  const owners = names.map(async (name) => {
    const device = await startDevice(stage, 'demo');
    await signIn('demo', device, name);
    const { accessToken = '' } = await device.poll();
    return stage.providers.demo.findOwner(accessToken);
  });
  expect(await Promise.all(owners)).toEqual(names);
});

test('browser: one person, two devices: the second time the provider asks for no password, and the tokens are others', async () => {
  const { page } = await openPhone(stage.browser);
  const tokens: string[] = [];
  for (const button of ['Sign in', 'Continue']) {
    const device = await startDevice(stage, 'demo');
    await page.goto(device.url);
    expect(await page.getByRole('button', { name: button }).count()).toBe(1);
    expect(await comeBack(page, () => agree(page, 'demo'))).toMatchObject(SIGNED_IN);
    tokens.push((await device.poll()).accessToken ?? '');
  }
  const owners = await Promise.all(tokens.map(stage.providers.demo.findOwner));
  expect(owners).toEqual([NAMES.demo, NAMES.demo]);
  expect(new Set(tokens).size).toBe(2);
});

test.each(['demo', 'mal'] as const)(
  'browser: %s: the provider redeems the refresh token that arrives',
  async (service) => {
    const provider = stage.providers[service];
    const device = await startDevice(stage, service);
    await signIn(service, device);
    const { refreshToken = '' } = await device.poll();
    const refreshed = (await provider.refresh(refreshToken)) ?? '';
    expect(await provider.findOwner(refreshed)).toBe(NAMES[service]);
  },
);
