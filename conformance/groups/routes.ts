/** Rules for all routes: paths, methods, and a relay that is not configured. */

import * as expect from '../answers.ts';
import { expectRequests, expectResult, expectSignsIn, signIn } from '../device.ts';
import { equal } from '../expect.ts';
import { type Extension, type Options, SERVICE_A } from '../options.ts';
import { callbackPath, linkPath, resultPath } from '../relay.ts';
import { cases } from '../runner.ts';

export const paths = cases((test) => {
  test('Everywhere: no service, a further segment, another spelling: 404 page not found, plain text', async (kit) => {
    const { service, state, pollSecret } = await kit.relay.start();
    const empty = ['', '/callback', '/'];
    const further = [`${service}/authorize`, `${service}/callback/x`, 'x/y/z'];
    const slashes = [`${service}/`, `${service}/callback/`, `${service}//callback`];
    const longer = ['start/', 'result/', 'done/', 'start/x', 'result/x', 'done/x', 'starts'];
    const others = ['results', 'Start', 'RESULT', 'Done', 'done/callback', 'start/callback'];
    for (const path of [...empty, ...further, ...slashes, ...longer, ...others]) {
      for (const query of ['', `?state=${state}&session=${pollSecret}&error=x`]) {
        expect.notFound(await kit.relay.send({ path: `/auth/${path}${query}` }));
      }
    }
  });

  test('What the browser does: /auth/done is the success page, whatever its query', async (kit) => {
    const { page } = await signIn(kit);
    const expected = expect.successPage(page);
    for (const query of ['', '?', '?error=access_denied&state=x&code=y']) {
      const answer = await kit.relay.send({ path: `/auth/done${query}` });
      equal('page', expect.successPage(answer), expected);
    }
  });
});

/** What extensions add outside `/auth/`, and the method that it takes. */
const ADDED: readonly (readonly [Extension, path: string, method: string])[] = [
  ['services', '/services', 'GET'],
  ['refresh', '/refresh', 'POST'],
  ['revoke', '/revoke', 'POST'],
];

const addedBy = ({ extensions }: Options) =>
  ADDED.filter(([extension]) => extensions.has(extension));

const OTHERS = ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const methods = cases((test) => {
  test('Starting a sign-in: /auth/start with another method than POST: 405, with a start body too', async (kit) => {
    for (const method of ['GET', ...OTHERS]) {
      expect.notAllowed(await kit.relay.send({ method, path: '/auth/start' }), method);
    }
    const body = JSON.stringify({ service: SERVICE_A });
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expect.notAllowed(await kit.relay.send({ method, path: '/auth/start', body }), method);
    }
  });

  test('Everywhere: every other path with another method than GET: 405, and nothing happens', async (kit) => {
    const pending = await kit.relay.start();
    const { session: completed, code, tokens } = await signIn(kit);
    const callbacks = [{ code: 'x' }, { error: 'x' }].map((each) => callbackPath(pending, each));
    const paths = ['/auth/done', `/auth/${SERVICE_A}`, linkPath(pending), ...callbacks];
    for (const path of [...paths, '/auth/result', resultPath(completed)]) {
      for (const method of ['POST', ...OTHERS]) {
        expect.notAllowed(await kit.relay.send({ method, path }), method);
      }
    }
    expectRequests(kit, code, 1);
    expect.status(await kit.relay.open(pending), 302);
    await expectSignsIn(kit, pending);
    await expectResult(kit, completed, tokens);
  });

  test('Everywhere: a path of an extension with another method than its own: 405 with Allow', async (kit) => {
    for (const [, path, allow] of addedBy(kit.options)) {
      for (const method of ['GET', 'POST', ...OTHERS].filter((each) => each !== allow)) {
        const answer = await kit.relay.send({ method, path });
        expect.notAllowed(answer, method);
        equal('Allow', answer.headers.allow, allow);
      }
    }
  });
});

export const unconfigured = cases((test) => {
  test('Everywhere: without OAUTH_BASE_URL all of /auth/ and of extensions is 503 not configured', async (kit) => {
    const service = `/auth/${SERVICE_A}`;
    const routes = ['/auth/start', '/auth/result', '/auth/result?session=x', '/auth/done'];
    const ofService = [service, `${service}?state=x`, `${service}/callback?code=x&state=x`];
    const unknown = ['/auth/', '/auth/nosuch', '/auth/x/y/z'];
    const added = addedBy(kit.options).map(([, path]) => path);
    const body = JSON.stringify({ service: SERVICE_A });
    const calls = [...routes, ...ofService, ...unknown, ...added].flatMap((path) => [
      { path },
      { path, method: 'POST', body },
      ...OTHERS.map((method) => ({ path, method })),
    ]);
    for (const call of calls) {
      const answer = await kit.relay.sendUnconfigured(call);
      // The answer to a HEAD has no body.
      if ('method' in call && call.method === 'HEAD') expect.status(answer, 503);
      else expect.text(answer, 503, 'OAuth proxy not configured');
    }
  });
});
