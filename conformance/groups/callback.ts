/** `GET /auth/<service>/callback`: what each outcome answers and leaves behind, and which callbacks are refused. */

import { times } from '../async.ts';
import { expectRequests, expectResult, signIn } from '../device.ts';
import {
  CANCELLED,
  EXCHANGE_FAILED,
  expectFailurePage,
  expectInvalidLink,
  expectNotFound,
  expectStatus,
  expectSuccessPage,
  FAILED,
  type FailurePage,
  holds,
  INCOMPLETE,
  matches,
} from '../expect.ts';
import { json } from '../mock-provider.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import type { Parameters } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';

/** With either service: this callback ends the session with this page and error, and no exchange is made. */
async function expectError(kit: Kit, parameters: Parameters, page: FailurePage, error: string) {
  const { relay } = kit;
  for (const service of [SERVICE_A, SERVICE_B]) {
    const session = await relay.start({ service });
    expectFailurePage(await relay.callback(session, parameters), page);
    expectRequests(kit, parameters.code ?? '', 0);
    await expectResult(kit, session, { error });
  }
}

export const callback = cases((test) => {
  test('What the browser does: error=access_denied: 200 page "Sign-in was cancelled.", and the device gets access_denied', (kit) =>
    expectError(kit, { error: 'access_denied' }, CANCELLED, 'access_denied'));

  test('What the browser does: any other error: 200 page "Sign-in failed. …", and the device gets authorization_failed', async (kit) => {
    for (const error of ['server_error', 'invalid_scope', 'ACCESS_DENIED', 'access_denied ', '0']) {
      await expectError(kit, { error }, FAILED, 'authorization_failed');
    }
  });

  test('What the browser does: no error, and no code or an empty one: 400 page, and the device gets missing_code', async (kit) => {
    for (const parameters of [{}, { code: '' }, { code: '', error: '' }]) {
      await expectError(kit, parameters, INCOMPLETE, 'missing_code');
    }
  });

  test('What the browser does: the exchange fails: 502 page, and the device gets exchange_failed', async (kit) => {
    const { relay, provider } = kit;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const session = await relay.start({ service });
      const code = provider.issue(json({ error: 'invalid_grant' }, 400));
      expectFailurePage(await relay.callback(session, { code }), EXCHANGE_FAILED);
      await expectResult(kit, session, { error: 'exchange_failed' });
    }
  });

  test('What the browser does: the error is checked before the code: with both, no exchange is made', async (kit) => {
    const { code } = kit.provider.issueCode();
    await expectError(kit, { error: 'access_denied', code }, CANCELLED, 'access_denied');
    const unavailable = { code, error: 'temporarily_unavailable' };
    await expectError(kit, unavailable, FAILED, 'authorization_failed');
    await expectError(kit, { error: 'x', code: '' }, FAILED, 'authorization_failed');
  });

  test('What the browser does: an empty error is no error: the code is exchanged', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code, tokens } = provider.issueCode();
    expectSuccessPage(await relay.callback(session, { error: '', code }));
    await expectResult(kit, session, tokens);
  });
});

export const callbackPages = cases((test) => {
  test('What the browser does: every page of the callback is text/html; charset=utf-8', async (kit) => {
    const { relay, provider } = kit;
    const failing = provider.issue(json({}, 500));
    const { code } = provider.issueCode();
    const errors: Parameters[] = [{ error: 'access_denied' }, { error: 'x' }, {}];
    const answers = [await relay.send({ path: `/auth/${SERVICE_A}/callback?code=x` })];
    for (const parameters of [...errors, { code: failing }, { code }]) {
      const session = await relay.start();
      answers.push(await relay.callback(session, parameters));
      // Once more, for the page of a session that cannot take the result.
      answers.push(await relay.callback(session, parameters));
    }
    for (const { headers } of answers) {
      matches('Content-Type', headers['content-type'], /^text\/html; ?charset=utf-8$/i);
    }
  });

  test('What the browser does: no page contains anything that the callback was sent, escaped or not', async (kit) => {
    const { relay } = kit;
    const mark = 'conformance7341';
    for (const sent of [`<script>${mark}</script>`, `"><img src=x onerror=${mark}>`, mark]) {
      const session = await relay.start();
      const parameters = { error: sent, error_description: sent, error_uri: sent, extra: sent };
      const answer = await relay.callback(session, parameters);
      expectFailurePage(answer, FAILED);
      holds('page', !answer.body.includes(mark), 'nothing of what was sent', answer.body);
    }
  });
});

export const callbackRefused = cases((test) => {
  test('What the browser does: a state that is unknown, empty or missing: 404 page, and no exchange', async (kit) => {
    const { relay, provider } = kit;
    const { code } = provider.issueCode();
    const states = [...times(10, () => crypto.randomUUID().slice(0, 24)), ''];
    for (const ending of [...states.map((state) => `&state=${state}`), '']) {
      const path = `/auth/${SERVICE_A}/callback?code=${code}${ending}`;
      expectInvalidLink(await relay.send({ path }));
    }
    expectRequests(kit, code, 0);
  });

  test("What the browser does: the state of another service's session: 404 page and no exchange; the session stays pending", async (kit) => {
    const { relay, provider } = kit;
    const services = [SERVICE_A, SERVICE_B];
    for (const service of services) {
      const session = await relay.start({ service });
      const { code, tokens } = provider.issueCode();
      const other = services.find((each) => each !== service) ?? '';
      const crossed = { ...session, service: other };
      expectInvalidLink(await relay.callback(crossed, { code }));
      expectInvalidLink(await relay.callback(crossed, { error: 'access_denied' }));
      expectRequests(kit, code, 0);
      expectStatus(await relay.callback(session, { code }), 200);
      await expectResult(kit, session, tokens);
    }
  });

  test('What the browser does: an error is final: a later callback with a code is the 404 page and is not exchanged', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    expectStatus(await relay.callback(session, { error: 'access_denied' }), 200);
    const { code } = provider.issueCode();
    expectInvalidLink(await relay.callback(session, { code }));
    expectRequests(kit, code, 0);
    await expectResult(kit, session, { error: 'access_denied' });
  });

  test('What the browser does: tokens are final: later callbacks of every kind are the 404 page and change nothing', async (kit) => {
    const { relay, provider } = kit;
    const { session, tokens, code } = await signIn(kit);
    const other = provider.issueCode().code;
    const failing = provider.issue(json({}, 500));
    const errors: Parameters[] = [{ error: 'access_denied' }, { error: 'x' }, {}];
    for (const parameters of [...errors, { code: other }, { code: failing }, { code }]) {
      expectInvalidLink(await relay.callback(session, parameters));
    }
    expectRequests(kit, code, 1);
    expectRequests(kit, other, 0);
    await expectResult(kit, session, tokens);
  });

  test('What the browser does: a failed exchange and a missing code are final: a good code afterwards is too late', async (kit) => {
    const { relay, provider } = kit;
    const failing = provider.issue(json({}, 500));
    for (const [parameters, error] of [
      [{ code: failing }, 'exchange_failed'],
      [{}, 'missing_code'],
    ] as const) {
      const session = await relay.start({ service: SERVICE_B });
      await relay.callback(session, parameters);
      const { code } = provider.issueCode();
      expectInvalidLink(await relay.callback(session, { code }));
      expectRequests(kit, code, 0);
      await expectResult(kit, session, { error });
    }
  });

  test('What the browser does: the state of a claimed session is unknown: callbacks are the 404 page, and no exchange is made', async (kit) => {
    const { relay, provider } = kit;
    const { session, tokens } = await signIn(kit);
    await expectResult(kit, session, tokens);
    const { code } = provider.issueCode();
    expectInvalidLink(await relay.callback(session, { code }));
    expectInvalidLink(await relay.callback(session, { error: 'access_denied' }));
    expectRequests(kit, code, 0);
  });

  test('Everywhere: a service that is not enabled: 404 page not found, plain text, even with a valid state', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code } = provider.issueCode();
    for (const service of ['nosuch', SERVICE_A.toUpperCase(), 'start', 'result', 'done']) {
      expectNotFound(await relay.callback({ ...session, service }, { code }));
    }
    expectRequests(kit, code, 0);
  });
});
