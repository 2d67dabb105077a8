/** A person who says no, and a provider that does: the page and the device learn it. `protocol.md` §3. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { countExchanges } from '../support/providers/running-provider.ts';
import { startDevice } from './support/device.ts';
import { decline } from './support/person.ts';
import { openPhone } from './support/phone.ts';
import {
  CANCELLED,
  comeBack,
  FAILED,
  INCOMPLETE,
  LINK_INVALID,
  NOT_EXCHANGED,
  open,
} from './support/relay-page.ts';
import { SERVICES, setStage } from './support/stage.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

test.each(SERVICES)(
  'browser: %s: refusing at the provider → "Sign-in was cancelled." and access_denied',
  async (service) => {
    const device = await startDevice(stage, service);
    const waiting = device.poll();
    const { page, complaints } = await openPhone(stage.browser);
    await page.goto(device.url);

    expect(await comeBack(page, () => decline(page, service))).toEqual(CANCELLED);

    expect(await waiting).toEqual({ status: 200, error: 'access_denied' });
    expect(await comeBack(page, () => page.reload())).toMatchObject(LINK_INVALID);
    expect(countExchanges(stage.providers[service])).toBe(0);
    // The 404 of the reload is no complaint about a page.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  },
);

test.each([
  ['error=server_error', 'authorization_failed', FAILED],
  ['error=%3Cscript%3Ealert(1)%3C/script%3E', 'authorization_failed', FAILED],
  ['code=', 'missing_code', INCOMPLETE],
  ['code=a-code-nobody-gave', 'exchange_failed', NOT_EXCHANGED],
])(
  'browser: the provider sends the person back with %s → %s, and the page that says so',
  async (query, error, expected) => {
    const device = await startDevice(stage, 'mal');
    const { page } = await openPhone(stage.browser);
    const callback = `${stage.relay.baseUrl}/auth/mal/callback?state=${device.state}&${query}`;
    expect(await open(page, callback)).toEqual(expected);
    expect(await device.poll()).toEqual({ status: 200, error });
  },
);
