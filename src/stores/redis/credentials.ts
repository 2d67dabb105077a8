/** Replaces user and password of Redis while the relay runs. docs/rotating.md "Redis". */
import { STORE_LATEST_MS } from '../../limits.ts';
import { connectRedis } from './connect.ts';
import { describeConnectFailure } from './failures.ts';
import type { RedisTarget } from './url.ts';

/** With a problem the old ones stay in use. */
export type CredentialsOutcome = 'unchanged' | 'renewed' | { readonly problem: string };

/** Every new connection reads `current`. Open ones stay: Redis does not close them when a password is removed. */
export async function renewCredentials(
  current: RedisTarget,
  next: RedisTarget,
): Promise<CredentialsOutcome> {
  const { username, password } = next;
  if (serverOf(next) !== serverOf(current)) {
    return { problem: 'differs in more than user and password: restart the relay to use it' };
  }
  if (username === current.username && password === current.password) return 'unchanged';
  const problem = await findRefusal(next);
  if (problem !== undefined) return { problem };
  Object.assign(current, { username, password });
  return 'renewed';
}

/** Also without the credentials of the Sentinels, which are read at a start only. */
const serverOf = ({ type, addresses, primaryName, tls, database }: RedisTarget) =>
  JSON.stringify({ type, addresses, primaryName, tls, database });

/** Undefined also if Redis cannot be reached, because then the old ones are of no use either. */
async function findRefusal(target: RedisTarget): Promise<string | undefined> {
  const ending = new AbortController();
  const { signal } = ending;
  const late = setTimeout(() => ending.abort(), STORE_LATEST_MS);
  const unanswered = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined));
  });
  try {
    const options = { onCut: () => {}, onEvent: () => {}, signal };
    const client = await Promise.race([connectRedis(target, options), unanswered]);
    client?.close();
    return undefined;
  } catch (error) {
    const failure = describeConnectFailure(error, target);
    return failure?.isFinal ? failure.problem : undefined;
  } finally {
    clearTimeout(late);
    ending.abort();
  }
}
