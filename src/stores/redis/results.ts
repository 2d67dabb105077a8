/** From the lease to the result: who may go to the provider, and where the answer is put down, sealed. */
import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { SessionResult } from '../../relay/session.ts';
import type { SessionStore } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import type { RedisClient } from './client.ts';
import type { TimeOf } from './clock.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import type { Wake } from './messages.ts';
import { nameOf, openedOf, sealResult } from './records.ts';
import { COMPLETE, DEVICE_KEY, LEASE, UNDO_LEASE } from './scripts.ts';
import { type Derived, deriveFromBrowserState } from './seal.ts';

export interface RedisResultsOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly timeOf: TimeOf;
  readonly createId: () => string;
  readonly wake: Wake;
}

export function createRedisResults(
  options: RedisResultsOptions,
): Pick<SessionStore, 'fail' | 'lease' | 'complete'> {
  const { client, commands, keys, clock, randomBytes, timeOf, wake } = options;
  const deviceKeys = createDeviceKeys(clock);

  /** Another instance than the one that took the lease asks for it. */
  async function readDeviceKey(session: Derived, service: string) {
    const args = [timeOf(), service];
    return (await commands.run(DEVICE_KEY, [keys.session(session)], args)) as string | null;
  }

  async function putDown(
    from: 'p' | 'x',
    { sealed, isError }: { sealed: string; isError: boolean },
    { session, service }: { session: Derived; service: string },
  ): Promise<boolean> {
    const channels = client.isCluster ? '' : keys.channelPrefix;
    const args = [service, from, sealed, channels, isError ? 'error' : ''];
    // After an exchange the tokens are in this hand and nowhere else.
    const done = await commands.repeat({ insist: from === 'x' }, () =>
      commands.run(COMPLETE, [keys.session(session)], [timeOf(), ...args]),
    );
    if (!Array.isArray(done)) return false;
    const [pollId, waiting] = done as [string, string[]];
    if (client.isCluster) for (const instance of waiting) void wake(instance, pollId);
    return true;
  }

  return {
    /** Repeated for a while. If that leaves it unknown, the person may reload, and is told when the link is used. */
    async fail(service, browserState, result) {
      const session = deriveFromBrowserState(browserState);
      // An error is no secret: the session's key alone will do.
      const sealed = sealResult(session, '', result, randomBytes);
      return putDown('p', { sealed, isError: true }, { session, service });
    },

    /**
     * Repeated for a while under one id. If that leaves it unknown, the code is not
     * exchanged and the lease is undone, so that the person can reload the page.
     */
    async lease(service, browserState) {
      const session = deriveFromBrowserState(browserState);
      const sessionKey = keys.session(session);
      const leaseId = options.createId();
      const args = [service, EXCHANGE_LEASE_MS, leaseId];
      function onUnknown(): void {
        const undoOnce = () => commands.run(UNDO_LEASE, [sessionKey], [timeOf(), service, leaseId]);
        void commands.undo(undoOnce, { isUnknown: true });
      }
      const reply = await commands.repeat({ insist: false, onUnknown }, () =>
        commands.run(LEASE, [sessionKey], [timeOf(), ...args]),
      );
      if (!Array.isArray(reply)) return undefined;
      const [sealedVerifier = '', sealedDeviceKey = '', sealedName = ''] = reply as string[];
      deviceKeys.keep(session.id, sealedDeviceKey);
      const authorization = openedOf(session, service, sealedVerifier);
      return { ...authorization, deviceName: nameOf(session, sealedName) };
    },

    /** Repeated while the store is away; a repetition of what was carried out succeeds. */
    async complete(service, browserState, result: SessionResult) {
      const session = deriveFromBrowserState(browserState);
      const sealedDeviceKey =
        deviceKeys.take(session.id) ??
        (await commands.repeat({ insist: true }, () => readDeviceKey(session, service)));
      if (sealedDeviceKey === null) return false;
      const sealed = sealResult(session, sealedDeviceKey, result, randomBytes);
      return putDown('x', { sealed, isError: 'error' in result }, { session, service });
    },
  };
}

/** The key of each device, from the lease, which reads it, to the completion, which needs it. */
function createDeviceKeys(clock: Clock) {
  const bySession = new Map<string, { sealed: string; untilMs: number }>();
  return {
    keep(sessionId: string, sealed: string): void {
      for (const [id, { untilMs }] of bySession) {
        if (untilMs >= clock.now()) break;
        bySession.delete(id);
      }
      bySession.set(sessionId, { sealed, untilMs: clock.now() + EXCHANGE_LEASE_MS });
    },
    take(sessionId: string): string | undefined {
      const kept = bySession.get(sessionId);
      bySession.delete(sessionId);
      return kept?.sealed;
    },
  };
}
