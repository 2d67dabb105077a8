/** `CONFIRM=always`: the link asks before it redirects to the provider. Other groups fail against such a relay. */

import * as expect from '../answers.ts';
import { expectResult, expectSignsIn } from '../device.ts';
import { equal } from '../expect.ts';
import { formCall } from '../http.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { callbackPath, linkPath } from '../relay.ts';
import { cases } from '../runner.ts';
import { expectConfirmationPage, expectRedirectToProvider, startWithCode } from '../user.ts';
import { testDecisions } from './user-code.ts';

export const confirm = cases((test) => {
  test('What the browser does: the link asks; its page has no state and no poll secret, and changes nothing', async (kit) => {
    for (const service of [SERVICE_A, SERVICE_B]) {
      const session = await kit.relay.start({ service });
      for (const _ of [1, 2]) expectConfirmationPage(await kit.relay.open(session), session);
    }
  });

  testDecisions((kit, service = SERVICE_A) => kit.relay.start({ service }), test);

  test('docs/user-pages.md "Settings": a user who used a code is asked once, and the sign-in ends as usual', async (kit) => {
    const session = await startWithCode(kit);
    expectRedirectToProvider(kit, await kit.relay.decide(session, 'continue'), session);
    await expectSignsIn(kit, session);
  });

  test('What the browser does: a callback in another browser than the one that continued changes nothing', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const { code, tokens } = provider.issueCode();
    const callbacks = [{ code }, { error: 'access_denied' }, { error: 'server_error' }, {}];
    const callBackWithoutCookie = async () => {
      for (const parameters of callbacks) {
        expect.otherBrowser(await relay.send({ path: callbackPath(session, parameters) }));
      }
    };
    await callBackWithoutCookie();
    await relay.decide(session, 'continue');
    await callBackWithoutCookie();
    await relay.callback(session, { code });
    await expectResult(kit, session, tokens);
  });

  test('Everywhere: unknown states: 404 page; unknown services: 404 text; other methods: 405', async (kit) => {
    const { relay } = kit;
    const session = await relay.start();
    const other = { ...session, service: SERVICE_B };
    expect.invalidLink(await relay.open({ ...session, state: 'A'.repeat(24) }));
    expect.invalidLink(await relay.open(other));
    expect.invalidLink(await relay.decide(other, 'continue'));
    const nosuch = formCall('/auth/nosuch?state=x', { choice: 'continue' });
    expect.notFound(await relay.send(nosuch));
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      const answer = await relay.send({ method, path: linkPath(session) });
      expect.status(answer, 405);
      equal('Allow', answer.headers.allow, 'GET, POST');
    }
    expectConfirmationPage(await relay.open(session), session);
  });
});
