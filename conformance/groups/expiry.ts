/** The session lifetime. These cases begin with the run and wait until sessions expire. */

import { sleep } from '../async.ts';
import {
  expectOAuthError,
  expectRequests,
  expectResult,
  pollGrant,
  signIn,
  startGrant,
} from '../device.ts';
import {
  equal,
  expectInvalidLink,
  expectSessionNotFound,
  expectStatus,
  expectSuccessPage,
} from '../expect.ts';
import { cases, type Kit } from '../runner.ts';

/** So long before the end of its lifetime a session must still be there. */
const BEFORE_SECONDS = 5;
/** So long after it, the session must be gone. The suite's clock starts a little late. */
const AFTER_SECONDS = 2;

async function sleepUntil(time: number): Promise<void> {
  await sleep(Math.max(0, time - performance.now()));
}

/** Until shortly before the end of a session that was started now, or a little later. */
async function almostLifetime({ options }: Kit, startedAt: number): Promise<void> {
  await sleepUntil(startedAt + (options.sessionSeconds - BEFORE_SECONDS) * 1000);
}

/** Until every session that was started before has expired; `--sweep-seconds` allows for a late sweep. */
async function lifetime({ options }: Kit): Promise<void> {
  const seconds = options.sessionSeconds + options.sweepSeconds + AFTER_SECONDS;
  await sleepUntil(performance.now() + seconds * 1000);
}

export const expiry = cases((test) => {
  test('Limits: shortly before its lifetime ends a session still works: link, callback, poll and result', async (kit) => {
    const startedAt = performance.now();
    const { relay, provider, options } = kit;
    const pending = await relay.start();
    const completed = await signIn(kit, options.serviceB);
    await almostLifetime(kit, startedAt);
    expectStatus(await relay.open(pending), 302);
    const { code, tokens } = provider.issueCode();
    expectSuccessPage(await relay.callback(pending, { code }));
    await expectResult(kit, pending, tokens);
    await expectResult(kit, completed.session, completed.tokens);
  });

  test('Limits; Waiting for the result: after its lifetime a pending session is unknown: link 404, callback 404, poll 410, no exchange', async (kit) => {
    const { relay, provider } = kit;
    const session = await relay.start();
    await lifetime(kit);
    expectInvalidLink(await relay.open(session));
    const { code } = provider.issueCode();
    expectInvalidLink(await relay.callback(session, { code }));
    expectInvalidLink(await relay.callback(session, { error: 'access_denied' }));
    expectSessionNotFound(await relay.poll(session));
    expectRequests(kit, code, 0);
  });

  test('Limits; Waiting for the result: after its lifetime a result that was not claimed is removed: 410', async (kit) => {
    const { session } = await signIn(kit, kit.options.serviceB);
    await lifetime(kit);
    expectSessionNotFound(await kit.relay.poll(session));
  });

  test('Limits: the lifetime counts from the start: opening the link and polling do not prolong it', async (kit) => {
    const { relay } = kit;
    const startedAt = performance.now();
    const session = await relay.start();
    const end = lifetime(kit);
    await almostLifetime(kit, startedAt);
    expectStatus(await relay.open(session), 302);
    const parked = relay.park(session);
    await sleep(300);
    parked.leave();
    await end;
    expectInvalidLink(await relay.open(session));
    expectSessionNotFound(await relay.poll(session));
  });
});

export const deviceExpiry = cases((test) => {
  test('RFC 8628 §3.5: after the lifetime a poll gets expired_token, and the user code is unknown', async (kit) => {
    const { session } = await startGrant(kit);
    await lifetime(kit);
    expectOAuthError(await pollGrant(kit, session), 'expired_token');
    const { status } = await kit.relay.decide(session, 'continue');
    equal('status of the code', status, 404);
  });
});
