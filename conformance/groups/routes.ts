/** Rules for all routes under `/auth/`: paths, methods, Cache-Control, and a relay that is not configured. */

import { sleep } from '../async.ts';
import { exhaust, expectRequests, expectResult, signIn } from '../device.ts';
import {
  equal,
  expectNoStore,
  expectNotAllowed,
  expectNotFound,
  expectStatus,
  expectSuccessPage,
  expectText,
} from '../expect.ts';
import { SERVICE_A } from '../options.ts';
import { linkPath } from '../relay.ts';
import { cases } from '../runner.ts';

export const paths = cases((test) => {
  test('Everywhere: an empty service, or a further segment other than callback: 404 page not found, plain text, even with a valid state', async (kit) => {
    const { relay } = kit;
    const { service, state } = await relay.start();
    const empty = ['', '/callback', '/'];
    const further = [`${service}/authorize`, `${service}/callback/x`, 'x/y/z'];
    const slashes = [`${service}/`, `${service}/callback/`, `${service}//callback`];
    for (const path of [...empty, ...further, ...slashes]) {
      for (const query of ['', `?state=${state}&error=x`]) {
        expectNotFound(await relay.send({ path: `/auth/${path}${query}` }));
      }
    }
  });

  test('Everywhere: start, result and done are matched exactly: any other spelling, and anything after them, is 404', async (kit) => {
    const { relay } = kit;
    const { pollSecret } = await relay.start();
    const longer = ['start/', 'result/', 'done/', 'start/x', 'result/x', 'done/x', 'starts'];
    const others = ['results', 'Start', 'RESULT', 'Done', 'done/callback', 'start/callback'];
    for (const name of [...longer, ...others]) {
      expectNotFound(await relay.send({ path: `/auth/${name}?session=${pollSecret}` }));
    }
  });

  test('What the browser does: /auth/done is the success page, whatever its query', async (kit) => {
    const { page } = await signIn(kit);
    const expected = expectSuccessPage(page);
    for (const query of ['', '?', '?error=access_denied&state=x&code=y']) {
      const answer = await kit.relay.send({ path: `/auth/done${query}` });
      equal('page', expectSuccessPage(answer), expected);
    }
  });
});

const NOT_GET = ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const NOT_POST = ['HEAD', 'GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const methods = cases((test) => {
  for (const [section, path, allowed, others] of [
    ['Starting a sign-in', '/auth/start', 'POST', NOT_POST],
    ['Everywhere', '/auth/done', 'GET', NOT_GET],
  ] as const) {
    test(`${section}: ${path} with another method than ${allowed}: 405 Method not allowed`, async (kit) => {
      const { relay } = kit;
      for (const method of others) {
        expectNotAllowed(await relay.send({ method, path }), method);
      }
    });
  }

  test('Everywhere: /auth/<service> with another method than GET: 405, whether the state is valid or missing', async (kit) => {
    const { relay } = kit;
    const session = await relay.start();
    for (const path of [linkPath(session), `/auth/${session.service}`]) {
      for (const method of NOT_GET) {
        expectNotAllowed(await relay.send({ method, path }), method);
      }
    }
    expectStatus(await relay.open(session), 302);
  });

  test('Everywhere: /auth/<service>/callback with another method than GET: 405, and the session stays pending', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code, tokens } = provider.issueCode();
    const path = `/auth/${session.service}/callback?code=${code}&state=${session.state}`;
    for (const method of NOT_GET) {
      expectNotAllowed(await relay.send({ method, path }), method);
      const denied = path.replace('code=', 'error=');
      expectNotAllowed(await relay.send({ method, path: denied }), method);
    }
    expectRequests(kit, code, 0);
    await relay.callback(session, { code });
    await expectResult(kit, session, tokens);
  });

  test('Starting a sign-in: a start body sent with another method starts nothing', async (kit) => {
    const { relay } = kit;
    const body = JSON.stringify({ service: SERVICE_A });
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expectNotAllowed(await relay.send({ method, path: '/auth/start', body }), method);
    }
  });
});

export const headers = cases((test) => {
  test('Everywhere: start, 200, 400, 405 and 429: Cache-Control is no-store, private', async (kit) => {
    const { relay } = kit;
    for (const [body, status] of [
      [{ service: SERVICE_A }, 200],
      ['{', 400],
      ['{}', 400],
    ] as const) {
      const answer = await relay.postStart(body);
      expectStatus(answer, status);
      expectNoStore(answer);
    }
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
      const answer = await relay.send({ method, path: '/auth/start' });
      expectStatus(answer, 405);
      expectNoStore(answer);
    }
    expectNoStore((await exhaust(kit)).answer);
  });

  test('Everywhere: result, 200 with tokens and with an error, 405 and 410: Cache-Control is no-store, private', async (kit) => {
    const { relay } = kit;
    const { session } = await signIn(kit);
    const failed = await relay.start();
    await relay.callback(failed, { error: 'access_denied' });
    for (const each of [session, failed]) {
      const answer = await relay.poll(each);
      expectStatus(answer, 200);
      expectNoStore(answer);
    }
    for (const query of ['', '?session=', '?session=nosuch']) {
      const answer = await relay.send({ path: `/auth/result${query}` });
      expectStatus(answer, 410);
      expectNoStore(answer);
    }
    for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS']) {
      const answer = await relay.send({ method, path: '/auth/result?session=nosuch' });
      expectStatus(answer, 405);
      expectNoStore(answer);
    }
  });

  test('Everywhere: result, 200 and 410 of two parked polls: Cache-Control is no-store, private', async (kit) => {
    const { relay } = kit;
    const session = await relay.start();
    const parked = [relay.park(session), relay.park(session)];
    await sleep(200);
    await relay.callback(session, { error: 'access_denied' });
    for (const { answer } of parked) expectNoStore(await answer);
  });
});

const NOT_CONFIGURED = 'OAuth proxy not configured';

export const unconfigured = cases((test) => {
  test('Everywhere: without OAUTH_BASE_URL every path under /auth/ answers 503 OAuth proxy not configured', async (kit) => {
    const service = `/auth/${SERVICE_A}`;
    const routes = ['/auth/start', '/auth/result', '/auth/result?session=x', '/auth/done'];
    const ofService = [service, `${service}?state=x`, `${service}/callback?code=x&state=x`];
    for (const path of [...routes, ...ofService, '/auth/', '/auth/nosuch', '/auth/x/y/z']) {
      expectText(await kit.relay.sendUnconfigured({ path }), 503, NOT_CONFIGURED);
    }
  });

  test('Everywhere: without OAUTH_BASE_URL the answer is 503 whatever the method and the body', async (kit) => {
    const { relay } = kit;
    for (const body of [JSON.stringify({ service: SERVICE_A }), '{']) {
      const answer = await relay.sendUnconfigured({ method: 'POST', path: '/auth/start', body });
      expectText(answer, 503, NOT_CONFIGURED);
    }
    for (const path of ['/auth/start', '/auth/result', '/auth/done', '/auth/x/y/z']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        expectText(await relay.sendUnconfigured({ method, path }), 503, NOT_CONFIGURED);
      }
      expectStatus(await relay.sendUnconfigured({ method: 'HEAD', path }), 503);
    }
  });

  test('Everywhere: without OAUTH_BASE_URL start and result have Cache-Control: no-store, private', async (kit) => {
    const { relay } = kit;
    expectNoStore(await relay.sendUnconfigured({ method: 'POST', path: '/auth/start' }));
    expectNoStore(await relay.sendUnconfigured({ path: '/auth/result' }));
  });
});
