/** The session lifetime. These cases begin with the run and wait until sessions expire. */

import * as expect from '../answers.ts';
import { sleep } from '../async.ts';
import { expectRequests, expectResult, pollGrant, signIn, startGrant } from '../device.ts';
import { between, equal } from '../expect.ts';
import type { Answer } from '../http.ts';
import { SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';

/** A session must still be there this long before the end of its lifetime. */
const BEFORE_SECONDS = 5;
/** It must be gone this long after the end. The suite's clock starts a little late. */
const AFTER_SECONDS = 2;
/** A poll that was held at the end is answered this long after it at the latest: less than half of the default hold of 50 s. */
const HELD_AFTER_SECONDS = 20;

async function sleepUntil(time: number): Promise<void> {
  await sleep(Math.max(0, time - performance.now()));
}

/** Sleeps until shortly before a session expires that was started at `startedAt` or a little later. */
async function sleepUntilAlmostExpired({ options }: Kit, startedAt: number): Promise<void> {
  await sleepUntil(startedAt + (options.sessionSeconds - BEFORE_SECONDS) * 1000);
}

/** Sleeps until every session that exists now has expired; `--sweep-seconds` allows for a late sweep. */
async function sleepUntilExpired({ options }: Kit): Promise<void> {
  const seconds = options.sessionSeconds + options.sweepSeconds + AFTER_SECONDS;
  await sleepUntil(performance.now() + seconds * 1000);
}

/** The answer to a poll of a session that was started just now: the poll is held until the session expires, and answered then. */
async function pollAcrossExpiry(kit: Kit, poll: () => Promise<Answer>): Promise<Answer> {
  const { sessionSeconds, sweepSeconds } = kit.options;
  const startedAt = performance.now();
  await sleepUntilAlmostExpired(kit, startedAt);
  const answer = await poll();
  const seconds = (performance.now() - startedAt) / 1000;
  const latest = sessionSeconds + sweepSeconds + HELD_AFTER_SECONDS;
  between('seconds since the start', seconds, sessionSeconds - BEFORE_SECONDS / 2, latest);
  return answer;
}

export const expiry = cases((test) => {
  test('Limits: shortly before its end a session works: link, callback, poll and result', async (kit) => {
    const startedAt = performance.now();
    const { relay, provider } = kit;
    const pending = await relay.start();
    const completed = await signIn(kit, SERVICE_B);
    await sleepUntilAlmostExpired(kit, startedAt);
    expect.status(await relay.open(pending), 302);
    const { code, tokens } = provider.issueCode();
    expect.successPage(await relay.callback(pending, { code }));
    await expectResult(kit, pending, tokens);
    await expectResult(kit, completed.session, completed.tokens);
  });

  test('Limits; Waiting for the result: after its lifetime from the start a session is unknown: link 404, poll 410', async (kit) => {
    const { relay, provider } = kit;
    const startedAt = performance.now();
    const session = await relay.start();
    const completed = await signIn(kit, SERVICE_B);
    const end = sleepUntilExpired(kit);
    await sleepUntilAlmostExpired(kit, startedAt);
    // Neither links nor polls prolong it.
    expect.status(await relay.open(session), 302);
    (await relay.park(session)).disconnect();
    await end;
    expect.invalidLink(await relay.open(session));
    const { code } = provider.issueCode();
    expect.invalidLink(await relay.callback(session, { code }));
    expect.invalidLink(await relay.callback(session, { error: 'access_denied' }));
    expect.sessionNotFound(await relay.poll(session));
    expectRequests(kit, code, 0);
    expect.sessionNotFound(await relay.poll(completed.session));
  });

  test('Waiting for the result: a poll that is held when the lifetime ends gets a 410 at once', async (kit) => {
    const session = await kit.relay.start();
    expect.sessionNotFound(await pollAcrossExpiry(kit, () => kit.relay.poll(session)));
  });
});

export const deviceExpiry = cases((test) => {
  test('docs/device-grant.md "Polling"; RFC 8628 §3.5: at the end of the lifetime a held poll gets expired_token; the code is unknown', async (kit) => {
    const { session } = await startGrant(kit);
    const end = sleepUntilExpired(kit);
    const poll = () => pollGrant(kit, session, { Prefer: 'wait=50' });
    expect.oauthError(await pollAcrossExpiry(kit, poll), 'expired_token');
    await end;
    expect.oauthError(await pollGrant(kit, session), 'expired_token');
    const { status } = await kit.relay.decide(session, 'continue');
    equal('status of the code', status, 404);
  });
});
