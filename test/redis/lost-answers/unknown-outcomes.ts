/**
 * Redis carries out what it is asked, and the relay gives up before it hears of
 * it. Whoever asked is told to come again, so what was done is undone first, or
 * as soon as it can be.
 */
import { describe, expect, test } from 'bun:test';
import { USE_CODE } from '../../../src/stores/redis-scripts.ts';
import { poll, startSession, startSessionWithCode } from '../../support/wire.ts';
import { goOn, startCutOffPair, untilCodeIs, untilSessionIs } from '../support/cut-off-pair.ts';
import { pollUntilDone } from '../support/device.ts';
import { bringCode, makeCode } from '../support/person.ts';
import { bringCodeWhenPossible } from '../support/sign-in.ts';
import { tokenOf } from '../support/token-endpoint.ts';

export function testUnknownOutcomes(): void {
  describe.concurrent('a relay gives up on an answer of Redis', () => {
    test('to a claim: the device is told 204, and gets its tokens at another relay', async () => {
      await using stack = new AsyncDisposableStack();
      const env = { POLL_SECONDS: '1' };
      const { redis, proxy, cutOff, other } = await startCutOffPair(stack, { env });
      const { session, state } = await startSession(other.baseUrl, 'mal');
      const code = makeCode();
      expect((await bringCode(other, state, code)).status).toBe(200);
      proxy.stall('replies');
      const answer = poll(cutOff.baseUrl, session);
      await untilSessionIs(redis, 'd');
      expect((await answer).status).toBe(204);
      proxy.stall(false);
      expect(await pollUntilDone([other], session)).toEqual({ accessToken: tokenOf(code) });
    }, 60_000);

    test('to a lease: the page says that it failed, and reloading it signs the person in', async () => {
      await using stack = new AsyncDisposableStack();
      const { redis, proxy, cutOff, other, provider } = await startCutOffPair(stack);
      const { session, state } = await startSession(other.baseUrl, 'mal');
      const code = makeCode();
      proxy.stall('replies');
      const page = bringCode(cutOff, state, code);
      await untilSessionIs(redis, 'x');
      expect((await page).status).toBe(503);
      proxy.stall(false);
      await untilSessionIs(redis, 'p');
      expect(await bringCodeWhenPossible([other, other], state, code)).toBe(200);
      expect(provider.exchangesOf(code)).toBe(1);
      expect(await pollUntilDone([other], session)).toEqual({ accessToken: tokenOf(code) });
    }, 60_000);

    test('to the use of a code: the page says that it failed, and the code still works', async () => {
      await using stack = new AsyncDisposableStack();
      const { redis, proxy, cutOff, other } = await startCutOffPair(stack);
      const { link } = await startSessionWithCode(other.baseUrl, 'mal');
      const asked = proxy.stallRepliesTo(USE_CODE.sha1);
      const page = goOn(cutOff, link);
      await asked;
      expect((await page).status).toBe(503);
      proxy.stall(false);
      await untilCodeIs(redis, 'unused');
      expect((await goOn(other, link)).status).toBe(303);
    }, 60_000);
  });
}
