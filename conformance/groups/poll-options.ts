/** What a device may ask for in a poll: a shorter wait (`wait`), and to confirm what it received (`ack`). */

import * as expect from '../answers.ts';
import { sleep } from '../async.ts';
import { expectResult, signIn } from '../device.ts';
import { equal, matches, Skip } from '../expect.ts';
import { POLL_SECONDS, SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

export const wait = cases((test) => {
  test('On request: wait=0 and wait=3: a pending poll gets a 204 at once, or after three seconds', async (kit) => {
    const session = await kit.relay.start();
    const answer = await kit.relay.poll(session, { wait: '0' });
    expect.status(answer, 204);
    expect.atOnce(answer);
    const held = await kit.relay.poll(session, { wait: '3' });
    expect.status(held, 204);
    expect.held(held, Math.min(3, POLL_SECONDS));
  });

  test('On request: a completion ends the wait; a result is delivered at once, whatever the wait', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start({ service: SERVICE_B });
    const polling = kit.relay.poll(session, { wait: '40' });
    await sleep(300);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    const answer = await polling;
    expect.json(answer, tokens);
    expect.atOnce(answer);
    for (const seconds of ['0', '1', '50']) {
      const completed = await signIn(kit);
      expect.json(await kit.relay.poll(completed.session, { wait: seconds }), completed.tokens);
    }
  });

  test('On request: a wait that is no whole number from 0 to 50: 400, and nothing is claimed', async (kit) => {
    const { session, tokens } = await signIn(kit);
    for (const wrong of ['51', '-1', '1.5', '1e1', '0x5', 'abc', '', ' ', '999999999999']) {
      const answer = await kit.relay.poll(session, { wait: wrong });
      expect.status(answer, 400);
      matches('Content-Type', answer.headers['content-type'], /^text\/plain\s*(;|$)/i);
      matches('body', answer.body, /^.+\n$/);
    }
    await expectResult(kit, session, tokens);
  });
});

/** A session with `ack`, completed and not delivered. */
async function complete({ relay, provider }: Kit) {
  const session = await relay.start({ ack: true });
  const { code, tokens } = provider.issueCode();
  await relay.callback(session, { code });
  return { session, tokens };
}

const ACK = { ack: '1' };
const ACK_SECONDS = 60;
const MARGIN_SECONDS = 5;

export const ack = cases((test) => {
  test('On request: with "ack": true a start has the same three fields; other values are ignored', async (kit) => {
    const answer = await kit.relay.postStart({ service: SERVICE_A, ack: true });
    equal('fields', Object.keys(expect.json(answer)).sort(), ['expiresIn', 'session', 'url']);
    const session = await kit.relay.start({ ack: 'true' });
    await kit.relay.callback(session, { error: 'access_denied' });
    await expectResult(kit, session, { error: 'access_denied' });
    expect.sessionNotFound(await kit.relay.poll(session));
  });

  test('On request: tokens or an error are delivered again until the device confirms them; then 410', async (kit) => {
    const { session, tokens } = await complete(kit);
    const denied = await kit.relay.start({ service: SERVICE_B, ack: true });
    await kit.relay.callback(denied, { error: 'access_denied' });
    for (const [each, result] of [
      [session, tokens],
      [denied, { error: 'access_denied' }],
    ] as const) {
      for (const _ of [1, 2]) await expectResult(kit, each, result);
      const confirmed = await kit.relay.poll(each, ACK);
      expect.status(confirmed, 204);
      equal('body', confirmed.body, '');
      expect.sessionNotFound(await kit.relay.poll(each));
      expect.sessionNotFound(await kit.relay.poll(each, ACK));
    }
  });

  test('On request: confirming before a delivery: 204, nothing is lost; an unknown session: 410', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start({ ack: true });
    expect.status(await relay.poll(session, ACK), 204);
    const { code, tokens } = provider.issueCode();
    await relay.callback(session, { code });
    expect.status(await relay.poll(session, ACK), 204);
    await expectResult(kit, session, tokens);
    expect.status(await relay.poll(session, ACK), 204);
    expect.sessionNotFound(await relay.poll(session));
    const unknown = { ...session, pollSecret: 'A'.repeat(24) };
    expect.sessionNotFound(await relay.poll(unknown, ACK));
  });

  test('On request; Limits: without confirmation the result stays for 60 seconds from the first delivery', async (kit) => {
    const { relay, options } = kit;
    if (options.sessionSeconds < 2 * ACK_SECONDS) throw new Skip('sessions do not live that long');
    const { session, tokens } = await complete(kit);
    const sleepUntil = (at: number) => sleep(Math.max(0, at - performance.now()));
    // It was delivered between these two.
    const polledAt = performance.now();
    await expectResult(kit, session, tokens);
    const receivedAt = performance.now();
    await sleepUntil(polledAt + (ACK_SECONDS - 2 * MARGIN_SECONDS) * 1000);
    await expectResult(kit, session, tokens);
    await sleepUntil(receivedAt + (ACK_SECONDS + MARGIN_SECONDS) * 1000);
    expect.sessionNotFound(await relay.poll(session));
  });
});
