/** `POST /auth/start`: what it answers, its checks and their order. */

import { times } from '../async.ts';
import {
  equal,
  expectNoStore,
  expectNotAllowed,
  expectText,
  holds,
  matches,
  readJson,
  Skip,
} from '../expect.ts';
import type { ClientAddress } from '../http.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

const BODY_BYTES = 512;
/** A poll secret or browser state: 18 random bytes. */
const SECRET = /^[A-Za-z0-9_-]{24}$/;

/** A start body of this length, all of it JSON. */
function bodyOf(bytes: number, service: string): string {
  return `${`{"service":"${service}","pad":"`.padEnd(bytes - 2, 'x')}"}`;
}

export const start = cases((test) => {
  test('Starting a sign-in; Limits: an accepted start answers 200 JSON with session, url and expiresIn, the session lifetime in seconds, and nothing else', async (kit) => {
    const { relay, options } = kit;
    const fields = readJson(await relay.postStart({ service: SERVICE_A }));
    equal('field names', Object.keys(fields).sort(), ['expiresIn', 'session', 'url']);
    equal('types', [typeof fields.session, typeof fields.url], ['string', 'string']);
    equal('expiresIn', fields.expiresIn, options.sessionSeconds);
  });

  test('Overview: url is BASE/auth/<service>?state=<browser state>, for both services', async (kit) => {
    const { relay, options } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const { url, state } = await relay.start({ service });
      equal('url', url, `${options.baseUrl}/auth/${service}?state=${state}`);
    }
  });

  test('Limits: poll secret and browser state are 24 characters of base64url without padding', async (kit) => {
    const { relay } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const session = await relay.start({ service });
      matches('session', session.pollSecret, SECRET);
      matches('state', session.state, SECRET);
    }
  });

  test('Overview; Limits: poll secrets and browser states are random, and independent of each other', async (kit) => {
    const { relay } = kit;
    const sample = 60;
    const started = await Promise.all(times(sample, () => relay.start()));
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

  test('Starting a sign-in; Limits: a body of exactly 512 bytes is read whole', async (kit) => {
    const { relay } = kit;
    readJson(await relay.postStart(bodyOf(BODY_BYTES, SERVICE_A)));
  });

  test('Starting a sign-in; Limits: longer JSON is cut after 512 bytes, which leaves no JSON: 400 Invalid JSON', async (kit) => {
    for (const bytes of [BODY_BYTES + 1, 4_000]) {
      const body = bodyOf(bytes, SERVICE_A);
      expectText(await kit.relay.postStart(body), 400, 'Invalid JSON');
    }
  });

  test('Starting a sign-in; Limits: what follows the first 512 bytes is ignored: JSON and then spaces is accepted', async (kit) => {
    const { relay } = kit;
    const body = JSON.stringify({ service: SERVICE_A });
    readJson(await relay.postStart(body + ' '.repeat(2 * BODY_BYTES)));
    readJson(await relay.postStart(`${body.padEnd(BODY_BYTES)}rubbish`));
  });
});

export const startRefused = cases((test) => {
  test('Starting a sign-in: a body that is not JSON: 400 Invalid JSON, whatever its service', async ({
    relay,
  }) => {
    const json = ['{', '{"service":"mal"', '{"service":"nosuch"', "{'service':'mal'}", '{"a":1,}'];
    for (const body of ['', ' ', 'service=mal', ...json]) {
      expectText(await relay.postStart(body), 400, 'Invalid JSON');
    }
  });

  test('Starting a sign-in: a service that is not exactly the name of an enabled provider: 400 Unknown service', async (kit) => {
    const similar = [SERVICE_A.toUpperCase(), `${SERVICE_A} `, `/${SERVICE_A}`];
    const names = ['nosuch', '', ...similar, 'start', 'result', '__proto__', 'constructor'];
    for (const service of names) {
      expectText(await kit.relay.postStart({ service }), 400, 'Unknown service');
    }
  });

  test('Starting a sign-in: JSON without a service, or with one that is not a string: 400 Unknown service', async (kit) => {
    const name = SERVICE_A;
    const bodies = [{}, { service: null }, { service: 5 }, { service: [name] }, [], name, null, 42];
    for (const body of bodies) {
      expectText(await kit.relay.postStart(JSON.stringify(body)), 400, 'Unknown service');
    }
  });

  test('Starting a sign-in: a refused start does not prevent the next one', async ({ relay }) => {
    const from = relay.nextAddress();
    expectText(await relay.postStart({ service: 'nosuch' }, from), 400, 'Unknown service');
    readJson(await relay.postStart({ service: SERVICE_A }, from));
  });
});

/** Behind a proxy that forwards no address. How a relay finds addresses is free; here it can find none. */
function withoutAddress({ options }: Kit): ClientAddress {
  const forwardedFor = 'not-an-address';
  if (options.proxyAddress === undefined) throw new Skip('needs a --proxy-address');
  return { localAddress: options.proxyAddress, forwardedFor };
}

export const clientAddress = cases((test) => {
  test('Starting a sign-in: a client address that cannot be determined: 400 Invalid client address', async (kit) => {
    const { relay } = kit;
    const answer = await relay.postStart({ service: SERVICE_A }, withoutAddress(kit));
    expectText(answer, 400, 'Invalid client address');
    expectNoStore(answer);
  });

  test('Starting a sign-in: the address is checked after the method and before the body', async (kit) => {
    const from = withoutAddress(kit);
    expectNotAllowed(await kit.relay.send({ path: '/auth/start', from }));
    expectText(await kit.relay.postStart('{', from), 400, 'Invalid client address');
  });
});
