/** Redis refuses what polls ask of it, for a while: they look again by themselves, since nobody would wake them. */
import { describe, expect, test } from 'bun:test';
import type { RedisServer } from '../../support/redis/redis-server.ts';
import { startRedis } from '../../support/redis/start-redis.ts';
import { untilWaiting } from '../../support/until-waiting.ts';
import { poll, startSession } from '../../support/wire.ts';
import { makeCode } from '../support/person.ts';
import { startRelayPair } from '../support/relay-pair.ts';
import { bringCodeWhenPossible } from '../support/sign-in.ts';
import { tokenOf } from '../support/token-endpoint.ts';

type Cli = RedisServer['cli'];

const REFUSALS: [string, begin: (cli: Cli) => unknown, end: (cli: Cli) => unknown][] = [
  [
    'too few replicas (NOREPLICAS)',
    (cli) => cli('CONFIG', 'SET', 'min-replicas-to-write', 1),
    (cli) => cli('CONFIG', 'SET', 'min-replicas-to-write', 0),
  ],
  [
    'being a replica itself (READONLY)',
    (cli) => cli('REPLICAOF', '127.0.0.1', 1),
    (cli) => cli('REPLICAOF', 'NO', 'ONE'),
  ],
];

export function testRefusals(): void {
  describe.concurrent('Redis refuses claims for a while', () => {
    test.each(REFUSALS)(
      'for %s: a poll that began meanwhile is woken by its completion',
      async (_, begin, end) => {
        await using stack = new AsyncDisposableStack();
        const redis = await startRedis();
        stack.defer(() => redis.stop());
        const { relays } = stack.use(await startRelayPair(redis.url));
        const [waiting, finishing] = relays;
        const { session, state } = await startSession(waiting.baseUrl, 'mal');
        await begin(redis.cli);
        const answer = poll(waiting.baseUrl, session);
        await untilWaiting(waiting, 1);
        // Answered after the claim was: the relay refuses this one as well.
        expect(
          (
            await fetch(`${waiting.baseUrl}/auth/start`, {
              method: 'POST',
              body: '{"service":"mal"}',
            })
          ).status,
        ).toBe(503);
        await end(redis.cli);
        const code = makeCode();
        expect(await bringCodeWhenPossible([finishing, finishing], state, code)).toBe(200);
        expect((await answer).status).toBe(200);
        expect(await (await answer).json()).toEqual({ accessToken: tokenOf(code) });
      },
      60_000,
    );
  });
}
