/** CONFIRM=always: every user confirms, in the browser that completes the sign-in. docs/person.md. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import {
  agree,
  comeBack,
  type Device,
  open,
  pressContinue,
  SIGNED_IN,
  setUp,
} from '../kit/chromium.ts';
import { makeSelfSigned } from '../kit/tls.ts';

setDefaultTimeout(60_000);

const OTHER_BROWSER = {
  status: 404,
  message:
    'Continue was pressed in another browser. Finish signing in there, or open the link from your device in this one.',
};
const CONFIRMATION = { status: 200, heading: 'Sign in on your device?' };

/** Two hosts of one site, as in production. Chromium finds names under localhost on this machine. */
const RELAY_HOST = 'relay.site.localhost';
const OTHER_HOST = 'other.site.localhost';

/**
 * TLS in front of a relay, since browsers keep `__Host-` cookies only of https. The other host sets
 * cookies for the whole site, with the names that its URL has.
 */
async function startTlsProxy() {
  let target = '';
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: await makeSelfSigned(),
    fetch(request) {
      const { hostname, pathname, search, searchParams } = new URL(request.url);
      if (hostname === OTHER_HOST) {
        const attributes = 'Domain=site.localhost; Path=/; Secure; HttpOnly; SameSite=Lax';
        const lines = searchParams.getAll('name').map((name) => `${name}=1; ${attributes}`);
        return new Response('', { headers: lines.map((line) => ['Set-Cookie', line]) });
      }
      const { method, headers, body } = request;
      return fetch(`${target}${pathname}${search}`, { method, headers, body, redirect: 'manual' });
    },
  });
  const passTo = (baseUrl: string) => {
    target = baseUrl;
  };
  const at = (host: string) => `https://${host}:${server.port}`;
  return {
    url: at(RELAY_HOST),
    otherUrl: at(OTHER_HOST),
    passTo,
    stop: () => server.stop(true),
  };
}

describe('CONFIRM=always', async () => {
  const proxy = await startTlsProxy();
  const { relay, providers, startDevice, ...setup } = await setUp({ CONFIRM: 'always' }, proxy.url);
  proxy.passTo(relay.baseUrl);
  afterAll(async () => {
    await setup.stop();
    await proxy.stop();
  });
  const { mal } = providers;
  const openPhone = () => setup.openPhone({ ignoreHTTPSErrors: true });

  /** A phone whose user has pressed Continue, and is at the provider. */
  async function continueTo(address: string) {
    const phone = await openPhone();
    expect(await open(phone.page, address)).toMatchObject(CONFIRMATION);
    await pressContinue(phone.page);
    return phone;
  }

  async function expectSignedIn(page: Page, device: Device): Promise<void> {
    expect(await comeBack(page, () => agree(page, 'mal'))).toMatchObject(SIGNED_IN);
    expect((await device.poll()).status).toBe(200);
  }

  test('a host of the same site cannot make another browser pass for the one that asked', async () => {
    const device = await startDevice('mal');
    const { page: attacker } = await continueTo(device.url);
    const cookies = await attacker.context().cookies(proxy.url);
    const name = cookies[0]?.name ?? '';
    const before = mal.exchanges();
    const { page: victim } = await openPhone();
    // A cookie with a lesser prefix is kept.
    const lesser = name.replace('__Host-', '__Secure-');
    const names = [name, name.replace('H', 'h'), `\u00a0${name}`, lesser];
    await victim.goto(
      `${proxy.otherUrl}/?${new URLSearchParams(names.map((each) => ['name', each]))}`,
    );
    const kept = await victim.context().cookies(proxy.url);
    expect(kept.map((cookie) => cookie.name)).toContain(lesser);
    await victim.goto(attacker.url());
    expect(await comeBack(victim, () => agree(victim, 'mal'))).toMatchObject(OTHER_BROWSER);
    expect(mal.exchanges()).toBe(before);
    await expectSignedIn(attacker, device);
  });
});
