/** `GET /auth/result`: who gets the result, and how long a poll is held. */

import { sleep } from '../async.ts';
import { expectResult, signIn } from '../device.ts';
import {
  equal,
  expectAtOnce,
  expectHeld,
  expectJson,
  expectNoStore,
  expectNotAllowed,
  expectSessionNotFound,
  expectStatus,
  holds,
} from '../expect.ts';
import type { Answer } from '../http.ts';
import { POLL_SECONDS, SERVICE_B } from '../options.ts';
import { resultPath } from '../relay.ts';
import { cases } from '../runner.ts';

export const result = cases((test) => {
  test('Waiting for the result: a poll secret that is unknown, empty or missing: 410 Session not found, at once', async (kit) => {
    const { relay } = kit;
    const { pollSecret } = await relay.start();
    const reversed = [...pollSecret].reverse().join('');
    const similar = [pollSecret.slice(0, -1), `${pollSecret}A`, `${pollSecret}=`, reversed];
    const queries = [...similar, 'A'.repeat(24), ''].map((secret) => `?session=${secret}`);
    for (const query of [...queries, '']) {
      const answer = await relay.send({ path: `/auth/result${query}` });
      expectSessionNotFound(answer);
      expectAtOnce(answer);
    }
  });

  test('Waiting for the result: tokens are delivered once: the next poll gets 410 Session not found', async (kit) => {
    const { session, tokens } = await signIn(kit);
    await expectResult(kit, session, tokens);
    for (const _ of [2, 3]) expectSessionNotFound(await kit.relay.poll(session));
  });

  test('Waiting for the result: an error is delivered once: the next poll gets 410 Session not found', async (kit) => {
    const { relay } = kit;
    const session = await relay.start({ service: SERVICE_B });
    await relay.callback(session, { error: 'access_denied' });
    await expectResult(kit, session, { error: 'access_denied' });
    expectSessionNotFound(await relay.poll(session));
  });

  test('Waiting for the result: claiming one session does not affect others', async (kit) => {
    const { relay } = kit;
    const pending = await relay.start();
    const parked = relay.park(pending);
    const completed = await signIn(kit, SERVICE_B);
    const claimed = await signIn(kit);
    await expectResult(kit, claimed.session, claimed.tokens);
    expectStatus(await relay.open(pending), 302);
    await expectResult(kit, completed.session, completed.tokens);
    await relay.callback(pending, { error: 'access_denied' });
    expectJson(await parked.answer, { error: 'access_denied' });
  });

  test('Waiting for the result: a parked poll is answered at once with each kind of error', async ({
    relay,
  }) => {
    for (const [parameters, error] of [
      [{ error: 'access_denied' }, 'access_denied'],
      [{ error: 'x' }, 'authorization_failed'],
      [{}, 'missing_code'],
      [{ code: 'conformance-unknown-code' }, 'exchange_failed'],
    ] as const) {
      const session = await relay.start();
      const parked = relay.park(session);
      await sleep(100);
      await relay.callback(session, parameters);
      const answer = await parked.answer;
      expectJson(answer, { error });
      expectAtOnce(answer);
    }
  });

  test('Waiting for the result: a poll whose connection was closed claims nothing: the next poll gets the tokens', async (kit) => {
    const { relay, provider } = kit;
    for (const pauseMs of [50, 100, 300]) {
      const session = await relay.start();
      const parked = [relay.park(session), relay.park(session)];
      await sleep(200);
      for (const poll of parked) poll.leave();
      await sleep(pauseMs);
      const { code, tokens } = provider.issueCode();
      await relay.callback(session, { code });
      await expectResult(kit, session, tokens);
    }
  });

  test('Waiting for the result: /auth/result with another method than GET, on a completed session too: 405 Method not allowed, and nothing is claimed', async (kit) => {
    const { session, tokens } = await signIn(kit);
    for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of ['/auth/result', resultPath(session)]) {
        expectNotAllowed(await kit.relay.send({ method, path }), method);
      }
    }
    await expectResult(kit, session, tokens);
  });
});

const EARLY_SECONDS = 1;

function expectPending(answer: Answer): void {
  expectStatus(answer, 204);
  equal('body', answer.body, '');
  expectHeld(answer, POLL_SECONDS, EARLY_SECONDS);
}

export const hold = cases((test) => {
  test('Waiting for the result; Limits: a poll of a pending session is held, then gets a 204 with an empty body and no-store', async (kit) => {
    const answer = await kit.relay.poll(await kit.relay.start());
    expectPending(answer);
    expectNoStore(answer);
  });

  test('Waiting for the result: after a 204 the session is still pending: link, callback and the next poll work', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start({ service: SERVICE_B });
    expectStatus(await relay.poll(session), 204);
    expectStatus(await relay.open(session), 302);
    const parked = relay.park(session);
    await sleep(300);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    expectJson(await parked.answer, tokens);
  });

  test('Waiting for the result; Limits: several polls of one session are each held for the whole time', async (kit) => {
    const { relay } = kit;
    const session = await relay.start();
    const first = relay.park(session);
    await sleep(Math.min(5_000, POLL_SECONDS * 500));
    const second = relay.park(session);
    const answers = await Promise.all([first.answer, second.answer]);
    for (const answer of answers) expectPending(answer);
  });

  test('Waiting for the result; Limits: the held poll delivers a completion that comes shortly before the hold ends', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    const parked = relay.park(session);
    await sleep(POLL_SECONDS * 900);
    const { code, tokens } = provider.issueCode();
    const completedAt = performance.now();
    await relay.callback(session, { code });
    const answer = await parked.answer;
    expectJson(answer, tokens);
    const answeredAt = answer.startedAt + answer.seconds * 1000;
    holds('answer', answeredAt > completedAt, 'after the completion', 'before it');
  });
});
