/**
 * Reports to the operator when a primary has no replica that keeps up: a failover would
 * then lose what is in progress, or is impossible. docs/scaling.md "When no replica keeps up".
 */
import type { Clock } from '../../relay/time.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisClient } from './connect.ts';

/** A primary has no replica that keeps up, or each has one again. */
export interface ReplicationEvent {
  readonly type: 'store_unreplicated' | 'store_replicated';
}

export interface ReplicationOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly clock: Clock;
  readonly onEvent: (event: ReplicationEvent) => void;
}

/** Only the log depends on it. */
export const CHECK_MS = 5_000;

/** A replica reports to its primary every second. */
const MAX_LAG_SECONDS = 5;

export function watchReplication(options: ReplicationOptions): () => void {
  const { client, commands, clock, onEvent } = options;
  const { describeReplication } = client;
  if (describeReplication === undefined) return () => {};
  const ask = describeReplication;
  // Sentinels need a replica to promote. A Cluster may have none.
  let isExpected = !client.isCluster;
  let isBehind = false;
  let cancel: () => void = () => {};

  async function check(): Promise<void> {
    const keepUp = (await commands.within(ask())).map(hasReplica);
    isExpected ||= keepUp.includes(true);
    const wasBehind = isBehind;
    isBehind = isExpected && keepUp.includes(false);
    if (isBehind === wasBehind) return;
    onEvent({ type: isBehind ? 'store_unreplicated' : 'store_replicated' });
  }

  function keepChecking(): void {
    // A primary that does not answer is reported by primaries.ts.
    void check().catch(() => {});
    cancel = clock.setTimer(CHECK_MS, keepChecking);
  }

  // At once, because a replica that is lost before the second check must have been seen.
  keepChecking();
  return () => cancel();
}

/**
 * Whether a primary has a replica that keeps up.
 * @see https://redis.io/docs/latest/commands/info/
 */
function hasReplica(info: string): boolean {
  const replicas = info.split('\n').filter((line) => /^slave\d+:/.test(line));
  return replicas.some((line) => {
    const [, lag] = /\blag=(\d+)/.exec(line) ?? [];
    return /\bstate=online\b/.test(line) && Number(lag) <= MAX_LAG_SECONDS;
  });
}
