/** `POST /auth/start`: what it answers, its checks and their order. */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { equal, holds, matches, Skip } from '../expect.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { cases } from '../runner.ts';

const BODY_BYTES = 512;
/** A poll secret or browser state: 18 random bytes. */
const SECRET = /^[A-Za-z0-9_-]{24}$/;

/** A start body of this length, all of it JSON. */
function bodyOf(bytes: number, service: string): string {
  return `${`{"service":"${service}","pad":"`.padEnd(bytes - 2, 'x')}"}`;
}

export const start = cases((test) => {
  test('Starting a sign-in; Overview; Limits: 200 JSON: session and url, whose secrets have 24 characters; expiresIn; no more', async (kit) => {
    const { relay, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const { session, url, ...rest } = expect.json(await relay.postStart({ service }));
      equal('the rest', rest, { expiresIn: options.sessionSeconds });
      matches('session', session as string, SECRET);
      const [link, state] = String(url).split('?state=', 2);
      equal('url', link, `${options.baseUrl}/auth/${service}`);
      matches('state', state, SECRET);
    }
  });

  test('Overview; Limits: poll secrets and browser states are random, and independent of each other', async (kit) => {
    const sample = 60;
    const started = await Promise.all(times(sample, () => kit.relay.start()));
    const all = started.flatMap(({ pollSecret, state }) => [pollSecret, state]);
    equal('different values', new Set(all).size, 2 * sample);
    for (const part of ['pollSecret', 'state'] as const) {
      const values = started.map((session) => session[part]);
      // Of 60 random characters out of 64 about 39 differ. A counter or a clock shows fewer.
      const fewest = Math.min(...times(24, (at) => new Set(values.map((v) => v[at])).size));
      const subject = `different characters in each place of the ${part}`;
      holds(subject, fewest >= 20, '20 or more', fewest);
    }
  });

  test('Starting a sign-in; Limits: 512 bytes of the body are read: longer JSON is cut, and is 400 Invalid JSON', async (kit) => {
    expect.json(await kit.relay.postStart(bodyOf(BODY_BYTES, SERVICE_A)));
    const padded = JSON.stringify({ service: SERVICE_A }).padEnd(BODY_BYTES);
    expect.json(await kit.relay.postStart(`${padded}rubbish`));
    for (const bytes of [BODY_BYTES + 1, 4_000]) {
      expect.text(await kit.relay.postStart(bodyOf(bytes, SERVICE_A)), 400, 'Invalid JSON');
    }
  });

  test('Starting a sign-in: a body that is not JSON: 400 Invalid JSON, whatever its service', async (kit) => {
    const json = ['{', '{"service":"mal"', '{"service":"nosuch"', "{'service':'mal'}", '{"a":1,}'];
    for (const body of ['', ' ', 'service=mal', ...json]) {
      expect.text(await kit.relay.postStart(body), 400, 'Invalid JSON');
    }
  });

  test('Starting a sign-in: a service that is not the name of an enabled provider: 400 Unknown service', async (kit) => {
    const similar = [SERVICE_A.toUpperCase(), `${SERVICE_A} `, `/${SERVICE_A}`];
    const names = ['nosuch', '', ...similar, 'start', '__proto__', 'constructor'];
    const others = [null, 5, [SERVICE_A]];
    const bodies = [...names, ...others].map((service) => ({ service }));
    for (const body of [...bodies, {}, [], SERVICE_A, null, 42]) {
      expect.text(await kit.relay.postStart(JSON.stringify(body)), 400, 'Unknown service');
    }
  });
});

export const clientAddress = cases((test) => {
  test('Starting a sign-in: no client address: 400, after the method is checked and before the body', async (kit) => {
    const { relay, options } = kit;
    if (options.proxyAddress === undefined) throw new Skip('needs a --proxy-address');
    // Behind a proxy that forwards no address. How a relay finds addresses is free; here it can find none.
    const from = { localAddress: options.proxyAddress, forwardedFor: 'not-an-address' };
    expect.notAllowed(await relay.send({ path: '/auth/start', from }));
    for (const body of ['{', { service: SERVICE_A }]) {
      expect.text(await relay.postStart(body, from), 400, 'Invalid client address');
    }
  });
});
