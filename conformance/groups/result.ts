/** `GET /auth/result`: who gets the result, and how long a poll is held. */

import * as expect from '../answers.ts';
import { sleep } from '../async.ts';
import { expectResult, expectSignsIn, signIn } from '../device.ts';
import { equal } from '../expect.ts';
import { POLL_SECONDS, SERVICE_B } from '../options.ts';
import { cases } from '../runner.ts';

export const result = cases((test) => {
  test('Waiting for the result: a poll secret that is unknown, empty or missing: 410 Session not found, at once', async (kit) => {
    const { pollSecret } = await kit.relay.start();
    const reversed = [...pollSecret].reverse().join('');
    const similar = [pollSecret.slice(0, -1), `${pollSecret}A`, `${pollSecret}=`, reversed];
    const queries = [...similar, 'A'.repeat(24), ''].map((secret) => `?session=${secret}`);
    for (const query of [...queries, '']) {
      const answer = await kit.relay.send({ path: `/auth/result${query}` });
      expect.sessionNotFound(answer);
      expect.atOnce(answer);
    }
  });

  test('Waiting for the result: tokens or an error are delivered once: the next poll gets 410 Session not found', async (kit) => {
    const { session, tokens } = await signIn(kit);
    const denied = await kit.relay.start({ service: SERVICE_B });
    await kit.relay.callback(denied, { error: 'access_denied' });
    await expectResult(kit, session, tokens);
    await expectResult(kit, denied, { error: 'access_denied' });
    for (const over of [session, denied]) expect.sessionNotFound(await kit.relay.poll(over));
  });

  test('Waiting for the result: a poll whose connection was closed claims nothing: the next poll gets the tokens', async (kit) => {
    const { relay, provider } = kit;
    for (const pauseMs of [50, 100, 300]) {
      const session = await relay.start();
      const parked = [await relay.park(session), await relay.park(session)];
      for (const poll of parked) poll.disconnect();
      await sleep(pauseMs);
      const { code, tokens } = provider.issueCode();
      await relay.callback(session, { code });
      await expectResult(kit, session, tokens);
    }
  });
});

const EARLY_SECONDS = 1;

export const hold = cases((test) => {
  test('Waiting for the result; Limits: a poll of a pending session is held, then gets an empty 204', async (kit) => {
    const session = await kit.relay.start();
    const first = await kit.relay.park(session);
    await sleep(Math.min(5_000, POLL_SECONDS * 500));
    const second = await kit.relay.park(session);
    for (const answer of await Promise.all([first.answer, second.answer])) {
      expect.status(answer, 204);
      equal('body', answer.body, '');
      expect.held(answer, POLL_SECONDS, EARLY_SECONDS);
    }
    // It is still pending.
    expect.status(await kit.relay.open(session), 302);
    await expectSignsIn(kit, session);
  });
});
