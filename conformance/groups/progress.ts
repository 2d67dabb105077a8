/** What a device may ask of a poll beside the result: whether the link was opened (`progress`), and to end the sign-in (`cancel`). */

import * as expect from '../answers.ts';
import { sleep } from '../async.ts';
import {
  exchange,
  expectRequests,
  expectResult,
  expectSignsIn,
  HELD_MS,
  signIn,
} from '../device.ts';
import { equal, matches, Skip } from '../expect.ts';
import type { Answer } from '../http.ts';
import { json } from '../mock-provider.ts';
import { SERVICE_B } from '../options.ts';
import { codePath, resultPath, type Session } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';
import { continueToProvider, openCode, startWithCode } from '../user.ts';

const OPENED = { progress: 'opened' };

function pollProgress({ relay }: Kit, session: Session, wait?: string) {
  const parameters = { progress: '1', ...(wait !== undefined && { wait }) };
  return relay.poll(session, { path: resultPath(session, parameters), timeoutMs: HELD_MS });
}

/** A poll that wants progress, parked. */
async function parkProgress(kit: Kit, session: Session): Promise<{ answer: Promise<Answer> }> {
  const answer = pollProgress(kit, session);
  answer.catch(() => undefined);
  await sleep(300);
  return { answer };
}

function expectOpened(answer: Answer): void {
  expect.json(answer, OPENED);
  expect.atOnce(answer);
}

export const progress = cases((test) => {
  test('Progress: a parked poll ends when the browser is redirected; the sign-in continues', async (kit) => {
    const session = await kit.relay.start({ service: SERVICE_B });
    const { answer } = await parkProgress(kit, session);
    expect.status(await kit.relay.open(session), 302);
    expectOpened(await answer);
    await expectSignsIn(kit, session);
  });

  test('Progress: the next poll reports it at once, and once, however often the link is opened', async (kit) => {
    const session = await kit.relay.start();
    expect.status(await pollProgress(kit, session, '0'), 204);
    for (const _ of [1, 2]) expect.status(await kit.relay.open(session), 302);
    expectOpened(await pollProgress(kit, session, '0'));
    for (const _ of [1, 2]) expect.status(await pollProgress(kit, session, '0'), 204);
    expect.status(await kit.relay.open(session), 302);
    expect.status(await pollProgress(kit, session, '0'), 204);
  });

  test('Progress: a poll that does not ask gets no report, and stays parked beside one that does', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start({ service: SERVICE_B });
    const plain = relay.park(session);
    const asking = await parkProgress(kit, session);
    await relay.open(session);
    expectOpened(await asking.answer);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    expect.json(await plain.answer, tokens);
    const other = await relay.start();
    await relay.open(other);
    for (const value of ['', '0', 'true', '11']) {
      const path = resultPath(other, { wait: '0', progress: value });
      expect.status(await relay.poll(other, { path }), 204);
    }
  });

  test('Progress: a result comes first, and nothing is reported after it', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    await relay.open(session);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    expect.json(await pollProgress(kit, session), tokens);
    expect.sessionNotFound(await pollProgress(kit, session));
  });

  test('Progress: a user code is opened when the user continues, not when the page is shown', async (kit) => {
    if (!kit.options.extensions.has('user-code')) throw new Skip('needs --with user-code');
    const session = await startWithCode(kit);
    expect.status(await openCode(kit, session.userCode, session.from), 200);
    expect.status(await pollProgress(kit, session, '0'), 204);
    const opened = await continueToProvider(kit, session);
    expectOpened(await pollProgress(kit, opened));
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
    const parked = [kit.relay.park(session), await parkProgress(kit, session)];
    for (const _ of [1, 2]) {
      const answer = await kit.relay.cancel(session);
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
    expect.sessionNotFound(await kit.relay.cancel(session));
    for (const pollSecret of ['A'.repeat(24), 'x', '']) {
      expect.sessionNotFound(await kit.relay.cancel({ ...session, pollSecret }));
    }
  });

  test('Cancelling: any other value than 1 cancels nothing', async (kit) => {
    const session = await kit.relay.start({ service: SERVICE_B });
    for (const value of ['', '0', 'true', '11']) {
      const path = resultPath(session, { wait: '0', cancel: value });
      expect.status(await kit.relay.poll(session, { path }), 204);
    }
    await expectSignsIn(kit, session);
  });

  test('Cancelling: link and callback say so, and the code is not exchanged', async (kit) => {
    const { relay, provider } = kit;
    for (const parameters of [{}, { error: 'access_denied' }]) {
      const session = await relay.start();
      await relay.cancel(session);
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
    await kit.relay.cancel(session);
    const { from } = session;
    expectCancelledPage(await kit.relay.send({ path: codePath(session.userCode), from }));
    expectCancelledPage(await kit.relay.decide(session, 'continue'));
    expectCancelledPage(await kit.relay.decide(session, 'decline'));
  });

  test('Cancelling: tokens and errors that were not delivered are dropped', async (kit) => {
    const completed = await signIn(kit);
    const failed = await exchange(kit, json({ error: 'invalid_grant' }, 400));
    for (const { session } of [completed, failed]) {
      expect.status(await kit.relay.cancel(session), 204);
      expect.sessionNotFound(await kit.relay.poll(session));
    }
  });
});
