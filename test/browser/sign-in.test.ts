/** Whole sign-ins at each kind of provider, and what users do besides. Every part is real. */
import { expect, test } from 'bun:test';
import { agree, comeBack, SERVICES, SIGNED_IN, setUp, USER } from '../kit/chromium.ts';
import { serveUpstream } from '../kit/provider.ts';

const { relay, providers, openPhone, startDevice } = await setUp();

test.each(SERVICES)(
  '%s: the device gets once tokens that the provider accepts and refreshes',
  async (service) => {
    const before = providers[service].exchanges();
    const device = await startDevice(service);
    const polled = device.poll();
    const { page, complaints } = await openPhone();
    await page.goto(device.url);
    expect(await comeBack(page, () => agree(page))).toMatchObject(SIGNED_IN);
    expect(complaints).toEqual([]);
    const { accessToken = '', refreshToken = '', expiresIn } = await polled;
    expect(await providers[service].findOwner(accessToken)).toBe(USER);
    expect(expiresIn).toBeWithin(3_500, 3_601);
    expect(providers[service].exchanges()).toBe(before + 1);
    expect<unknown>(await device.poll()).toBe('gone');
    const refreshed = (await providers[service].refresh(refreshToken)) ?? '';
    expect(await providers[service].findOwner(refreshed)).toBe(USER);
  },
);

/** RFC 9700 §4.2.4. */
test('no Referer reaches the provider, except from its own pages', async () => {
  const { requests, authorizeUrl } = providers.demo;
  const before = requests.length;
  const device = await startDevice('demo');
  // A page that sends its whole address to every page that it links to.
  const html = `<!doctype html><meta name="referrer" content="unsafe-url"><link rel="icon" href="data:,"><a href="${device.url}">the link</a>`;
  const answer = () => new Response(html, { headers: { 'Content-Type': 'text/html' } });
  using elsewhere = serveUpstream(answer);
  const { page } = await openPhone();
  await page.goto(`${elsewhere.origin}/?where-the-user-was`);
  await page.getByRole('link', { name: 'the link' }).click();
  expect(await comeBack(page, () => agree(page))).toMatchObject(SIGNED_IN);

  const { origin } = new URL(authorizeUrl);
  const referrers = requests.slice(before).map(({ headers }) => headers.referer);
  expect(referrers.length).toBeGreaterThan(1);
  expect(referrers.filter((referrer) => referrer && !referrer.startsWith(origin))).toEqual([]);
});

test('the tab is closed during the exchange: the device gets its tokens', async () => {
  const device = await startDevice('demo');
  const polled = device.poll();
  const phone = await openPhone();
  await phone.page.goto(device.url);
  const held = providers.demo.tokenGate.close();
  await agree(phone.page);
  await held.arrived;
  await phone.close();
  // The response to a later connection: by then the relay knows that the first one is closed.
  await relay.ask('/health');
  held.release();
  const { accessToken = '' } = await polled;
  expect(await providers.demo.findOwner(accessToken)).toBe(USER);
});
