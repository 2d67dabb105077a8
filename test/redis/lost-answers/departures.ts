/** A device leaves while its claim is on the way, or polls again meanwhile: the result is not lost, and not delivered twice. */
import { describe, expect, test } from 'bun:test';
import { DRAIN_FLUSH_MS } from '../../../src/limits.ts';
import { openRaw, type RawConnection } from '../../support/raw-connection.ts';
import { poll, startSession } from '../../support/wire.ts';
import { type CutOffPair, startCutOffPair, untilSessionIs } from '../support/cut-off-pair.ts';
import { pollUntilDone } from '../support/device.ts';
import { bringCode, makeCode } from '../support/person.ts';
import { tokenOf } from '../support/token-endpoint.ts';

/** A completed session, and a poll of it that Redis has answered while nobody has heard of it. */
async function startUnheardClaim({ redis, proxy, cutOff, other }: CutOffPair) {
  const { session, state } = await startSession(other.baseUrl, 'mal');
  const code = makeCode();
  expect((await bringCode(other, state, code)).status).toBe(200);
  proxy.stall('replies');
  const device = openRaw(cutOff.baseUrl);
  await device.send(`GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await untilSessionIs(redis, 'd');
  return { session, tokens: { accessToken: tokenOf(code) }, device };
}

/** Resolves when the relay has read that the connection was closed: it answers what came after it. */
async function leave(device: RawConnection, { cutOff }: CutOffPair): Promise<void> {
  device.leave();
  await device.closed;
  for (let turn = 0; turn < 3; turn += 1) await fetch(`${cutOff.baseUrl}/health`);
}

export function testDepartures(): void {
  describe.concurrent('a claim that Redis has carried out, and whose relay has not heard of it', () => {
    test('its device leaves: the next poll gets the tokens, at whichever relay', async () => {
      await using stack = new AsyncDisposableStack();
      const pair = await startCutOffPair(stack);
      for (const next of [pair.cutOff, pair.other]) {
        const { session, tokens, device } = await startUnheardClaim(pair);
        await leave(device, pair);
        pair.proxy.stall(false);
        expect(await pollUntilDone([next], session)).toEqual(tokens);
        expect(await pollUntilDone([next], session)).toBe('gone');
        await pair.redis.cli('FLUSHALL');
      }
    }, 30_000);

    test('its device leaves and the relay is stopped: it ends once the claim is undone, and the next relay delivers', async () => {
      await using stack = new AsyncDisposableStack();
      const pair = await startCutOffPair(stack);
      const { session, tokens, device } = await startUnheardClaim(pair);
      await leave(device, pair);
      // The claim is answered; what undoes it does not reach Redis yet.
      pair.proxy.stall('requests');
      const exited = pair.cutOff.stop('SIGTERM');
      await Promise.race([exited, Bun.sleep(DRAIN_FLUSH_MS + 1_000)]);
      pair.proxy.stall(false);
      expect(await exited).toBe(0);
      expect(await pollUntilDone([pair.other], session)).toEqual(tokens);
    }, 30_000);

    test('its device leaves: a poll that waits at the other relay meanwhile gets the tokens', async () => {
      await using stack = new AsyncDisposableStack();
      const pair = await startCutOffPair(stack);
      const { session, tokens, device } = await startUnheardClaim(pair);
      const second = poll(pair.other.baseUrl, session);
      await leave(device, pair);
      pair.proxy.stall(false);
      const answer = await second;
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual(tokens);
    }, 30_000);

    test('its device stays: it gets the tokens, and a second poll is answered 410 only then', async () => {
      await using stack = new AsyncDisposableStack();
      const pair = await startCutOffPair(stack);
      const { session, tokens, device } = await startUnheardClaim(pair);
      let isSecondAnswered = false;
      const second = poll(pair.other.baseUrl, session).finally(() => {
        isSecondAnswered = true;
      });
      // Not held, so answered once the relay has asked in vain whose claim it is.
      const third = () => fetch(`${pair.other.baseUrl}/auth/result?session=${session}&wait=0`);
      expect((await third()).status).toBe(204);
      expect(isSecondAnswered).toBe(false);
      pair.proxy.stall(false);
      expect(await device.until('}')).toContain(JSON.stringify(tokens));
      expect((await second).status).toBe(410);
      expect((await third()).status).toBe(410);
    }, 30_000);
  });
}
