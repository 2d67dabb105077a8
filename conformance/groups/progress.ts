/** What a device may ask of a poll beside the result: whether the link was opened (`progress`), and to end the sign-in (`cancel`). */

import * as expect from '../answers.ts';
import { exchange, expectRequests, expectResult, expectSignsIn, signIn } from '../device.ts';
import { equal, matches, Skip } from '../expect.ts';
import type { Answer } from '../http.ts';
import { json } from '../mock-provider.ts';
import { SERVICE_B } from '../options.ts';
import { codePath } from '../relay.ts';
import { cases } from '../runner.ts';
import { continueToProvider, openCode, startWithCode } from '../user.ts';

const PROGRESS = { progress: '1' };
const CANCEL = { cancel: '1' };

function expectOpened(answer: Answer): void {
  expect.json(answer, { progress: 'opened' });
  expect.atOnce(answer);
}

export const progress = cases((test) => {
  test('Progress: a parked poll ends when the browser is redirected; the sign-in continues', async (kit) => {
    const session = await kit.relay.start({ service: SERVICE_B });
    const { answer } = await kit.relay.park(session, PROGRESS);
    expect.status(await kit.relay.open(session), 302);
    expectOpened(await answer);
    await expectSignsIn(kit, session);
  });

  test('Progress: the next poll reports it at once, and once, however often the link is opened', async (kit) => {
    const session = await kit.relay.start();
    expect.status(await kit.relay.poll(session, { ...PROGRESS, wait: '0' }), 204);
    for (const _ of [1, 2]) expect.status(await kit.relay.open(session), 302);
    expectOpened(await kit.relay.poll(session, { ...PROGRESS, wait: '0' }));
    for (const _ of [1, 2])
      expect.status(await kit.relay.poll(session, { ...PROGRESS, wait: '0' }), 204);
    expect.status(await kit.relay.open(session), 302);
    expect.status(await kit.relay.poll(session, { ...PROGRESS, wait: '0' }), 204);
  });

  test('Progress: a poll that does not ask gets no report, and stays parked beside one that does', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start({ service: SERVICE_B });
    const plain = await relay.park(session);
    const asking = await kit.relay.park(session, PROGRESS);
    await relay.open(session);
    expectOpened(await asking.answer);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    expect.json(await plain.answer, tokens);
    const other = await relay.start();
    await relay.open(other);
    for (const value of ['', '0', 'true', '11']) {
      expect.status(await relay.poll(other, { wait: '0', progress: value }), 204);
    }
  });

  test('Progress: a result comes first, and nothing is reported after it', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    await relay.open(session);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    expect.json(await relay.poll(session, PROGRESS), tokens);
    expect.sessionNotFound(await relay.poll(session, PROGRESS));
  });

  test('Progress: a user code is opened when the user continues, not when the page is shown', async (kit) => {
    if (!kit.options.extensions.has('user-code')) throw new Skip('needs --with user-code');
    const session = await startWithCode(kit);
    expect.status(await openCode(kit, session.userCode, session.from), 200);
    expect.status(await kit.relay.poll(session, { ...PROGRESS, wait: '0' }), 204);
    const opened = await continueToProvider(kit, session);
    expectOpened(await kit.relay.poll(opened, PROGRESS));
  });
});

/** The page is the relay's own: 404, and its text says that it was cancelled. */
function expectCancelledPage(answer: Answer): void {
  expect.status(answer, 404);
  expect.noStore(answer);
  matches('text', expect.html(answer).text, /cancel/i);
}

export const cancel = cases((test) => {
  test('Cancelling: 204, also when repeated; polls get a 410, parked or later', async (kit) => {
    const session = await kit.relay.start();
    const parked = [await kit.relay.park(session), await kit.relay.park(session, PROGRESS)];
    for (const _ of [1, 2]) {
      const answer = await kit.relay.poll(session, CANCEL);
      expect.status(answer, 204);
      equal('body', answer.body, '');
    }
    for (const poll of parked) {
      const answer = await poll.answer;
      expect.sessionNotFound(answer);
      expect.atOnce(answer);
    }
    expect.sessionNotFound(await kit.relay.poll(session));
  });

  test('Cancelling: unknown, malformed or delivered: 410', async (kit) => {
    const { session, tokens } = await signIn(kit);
    await expectResult(kit, session, tokens);
    expect.sessionNotFound(await kit.relay.poll(session, CANCEL));
    for (const pollSecret of ['A'.repeat(24), 'x', '']) {
      expect.sessionNotFound(await kit.relay.poll({ ...session, pollSecret }, CANCEL));
    }
  });

  test('Cancelling: any other value than 1 cancels nothing', async (kit) => {
    const session = await kit.relay.start({ service: SERVICE_B });
    for (const value of ['', '0', 'true', '11']) {
      expect.status(await kit.relay.poll(session, { wait: '0', cancel: value }), 204);
    }
    await expectSignsIn(kit, session);
  });

  test('Cancelling: link and callback say so, and the code is not exchanged', async (kit) => {
    const { relay, provider } = kit;
    for (const parameters of [{}, { error: 'access_denied' }]) {
      const session = await relay.start();
      await relay.poll(session, CANCEL);
      expectCancelledPage(await relay.open(session));
      expectCancelledPage(await relay.callback(session, parameters));
      const { code } = provider.issueCode();
      expectCancelledPage(await relay.callback(session, { code }));
      expectRequests(kit, code, 0);
      expect.sessionNotFound(await relay.poll(session));
    }
  });

  test('Cancelling: the short link says so', async (kit) => {
    if (!kit.options.extensions.has('user-code')) throw new Skip('needs --with user-code');
    const session = await startWithCode(kit);
    await kit.relay.poll(session, CANCEL);
    const { from } = session;
    expectCancelledPage(await kit.relay.send({ path: codePath(session.userCode), from }));
    expectCancelledPage(await kit.relay.decide(session, 'continue'));
    expectCancelledPage(await kit.relay.decide(session, 'decline'));
  });

  test('Cancelling: tokens and errors that were not delivered are dropped', async (kit) => {
    const completed = await signIn(kit);
    const failed = await exchange(kit, json({ error: 'invalid_grant' }, 400));
    for (const { session } of [completed, failed]) {
      expect.status(await kit.relay.poll(session, CANCEL), 204);
      expect.sessionNotFound(await kit.relay.poll(session));
    }
  });
});
