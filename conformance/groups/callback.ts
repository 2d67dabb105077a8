/** `GET /auth/<service>/callback`: what each outcome answers and leaves behind; and which links and callbacks are refused. */

import * as expect from '../answers.ts';
import { expectRequests, expectResult, expectSignsIn } from '../device.ts';
import { holds } from '../expect.ts';
import { json } from '../mock-provider.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import type { Parameters } from '../relay.ts';
import { cases } from '../runner.ts';

/** Each callback ends its session with this page and this error, and no exchange is made. */
const ENDINGS: Record<string, readonly [expect.FailurePage, string, readonly Parameters[]]> = {
  'error=access_denied: "Sign-in was cancelled.", and the device gets access_denied': [
    expect.CANCELLED,
    'access_denied',
    [{ error: 'access_denied' }, { error: 'access_denied', code: 'x' }],
  ],
  'any other error: "Sign-in failed. …", and the device gets authorization_failed': [
    expect.FAILED,
    'authorization_failed',
    [
      ...['server_error', 'invalid_scope', 'ACCESS_DENIED', 'access_denied ', '0'].map((error) => ({
        error,
      })),
      // It is checked before the code.
      { error: 'temporarily_unavailable', code: 'x' },
      { error: 'x', code: '' },
    ],
  ],
  'no error and no code, or an empty one: 400 page, the device gets missing_code': [
    expect.INCOMPLETE,
    'missing_code',
    [{}, { code: '' }, { code: '', error: '' }],
  ],
};

export const callback = cases((test) => {
  for (const [rule, [page, error, callbacks]] of Object.entries(ENDINGS)) {
    test(`What the browser does: ${rule}`, async (kit) => {
      for (const parameters of callbacks) {
        for (const service of [SERVICE_A, SERVICE_B]) {
          const session = await kit.relay.start({ service });
          const { answer } = await kit.relay.park(session);
          const { code } = kit.provider.issueCode();
          const sent = parameters.code ? { ...parameters, code } : parameters;
          expect.failurePage(await kit.relay.callback(session, sent), page);
          expectRequests(kit, code, 0);
          expect.json(await answer, { error });
          expect.atOnce(await answer);
        }
      }
    });
  }

  test('What the browser does: an empty error is no error: the code is exchanged', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code, tokens } = provider.issueCode();
    expect.successPage(await relay.callback(session, { error: '', code }));
    await expectResult(kit, session, tokens);
  });

  test('What the browser does: no page contains anything that the callback was sent, escaped or not', async (kit) => {
    const mark = 'conformance7341';
    for (const sent of [`<script>${mark}</script>`, `"><img src=x onerror=${mark}>`, mark]) {
      const session = await kit.relay.start();
      const parameters = { error: sent, error_description: sent, error_uri: sent, extra: sent };
      const answer = await kit.relay.callback(session, parameters);
      expect.failurePage(answer, expect.FAILED);
      holds('page', !answer.body.includes(mark), 'nothing of what was sent', answer.body);
    }
  });
});

export const refused = cases((test) => {
  test('What the browser does: an unknown, empty or missing state: the 404 page, and no code is exchanged', async (kit) => {
    const { relay, provider } = kit;
    const { state } = await relay.start();
    const { code } = provider.issueCode();
    const wrong = [state.slice(0, -1), `${state}A`, 'A'.repeat(24), ''];
    for (const ending of [...wrong.map((each) => `&state=${each}`), '']) {
      expect.invalidLink(await relay.send({ path: `/auth/${SERVICE_A}?x=y${ending}` }));
      const path = `/auth/${SERVICE_A}/callback?code=${code}${ending}`;
      expect.invalidLink(await relay.send({ path }));
    }
    expectRequests(kit, code, 0);
  });

  test('What the browser does: a state of another service: the 404 page, no exchange, the session stays pending', async (kit) => {
    const { relay, provider } = kit;
    const services = [SERVICE_A, SERVICE_B];
    for (const service of services) {
      const session = await relay.start({ service });
      const { code } = provider.issueCode();
      const crossed = { ...session, service: services.find((each) => each !== service) ?? '' };
      expect.invalidLink(await relay.open(crossed));
      expect.invalidLink(await relay.callback(crossed, { code }));
      expect.invalidLink(await relay.callback(crossed, { error: 'access_denied' }));
      expectRequests(kit, code, 0);
      await expectSignsIn(kit, session);
    }
  });

  test('What the browser does: the first result is final: later links and callbacks are the 404 page', async (kit) => {
    const { relay, provider } = kit;
    const { code, tokens } = provider.issueCode();
    const endings: readonly (readonly [Parameters, object])[] = [
      [{ code }, tokens],
      [{ error: 'access_denied' }, { error: 'access_denied' }],
      [{}, { error: 'missing_code' }],
      [{ code: provider.issue(json({}, 500)) }, { error: 'exchange_failed' }],
    ];
    for (const [parameters, result] of endings) {
      const session = await relay.start();
      await relay.callback(session, parameters);
      const other = provider.issueCode().code;
      const expectOver = async () => {
        expect.invalidLink(await relay.open(session));
        for (const later of [{ code: other }, parameters, { error: 'x' }, {}]) {
          expect.invalidLink(await relay.callback(session, later));
        }
      };
      await expectOver();
      await expectResult(kit, session, result);
      await expectOver();
      expectRequests(kit, other, 0);
    }
    expectRequests(kit, code, 1);
  });

  test('Everywhere: a service that is not enabled: 404 page not found, even with a valid state', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code } = provider.issueCode();
    const similar = SERVICE_A.toUpperCase();
    for (const service of ['nosuch', similar, 'constructor', 'favicon.ico']) {
      expect.notFound(await relay.open({ ...session, service }));
    }
    for (const service of ['nosuch', similar, 'start', 'result', 'done']) {
      expect.notFound(await relay.callback({ ...session, service }, { code }));
    }
    expectRequests(kit, code, 0);
  });
});
