/** Where a person came from is nobody's business, least of all with its query. RFC 9700 §4.2.4. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { startDevice } from './support/device.ts';
import { agree } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import { comeBack, SIGNED_IN } from './support/relay-page.ts';
import { SERVICES, setStage } from './support/stage.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

/** A page that would tell everything to whomever it links to, as a chat's web page may. */
function serveIndiscretePage(link: string) {
  const html = `<!doctype html><meta name="referrer" content="unsafe-url"><link rel="icon" href="data:,"><a href="${link}">the link</a>`;
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html' } }),
  });
}

test.each(SERVICES)(
  'browser: %s: no Referer reaches the provider, but from its own pages',
  async (service) => {
    const { requests, authorizeUrl } = stage.providers[service];
    const device = await startDevice(stage, service);
    await using elsewhere = serveIndiscretePage(device.url);
    const { page } = await openPhone(stage.browser);

    await page.goto(`${elsewhere.url}?where-the-person-was`);
    await page.getByRole('link', { name: 'the link' }).click();
    expect(await comeBack(page, () => agree(page, service))).toMatchObject(SIGNED_IN);

    const own = new URL(authorizeUrl).origin;
    const referrers = requests.map(({ headers }) => headers.referer);
    expect(requests.length).toBeGreaterThan(1);
    expect(referrers.filter((referrer) => referrer && !referrer.startsWith(own))).toEqual([]);
  },
);
