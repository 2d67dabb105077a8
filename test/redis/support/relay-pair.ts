/** Two relays on one Redis, as their operator starts them, and the provider that both know. */
import { randomUUID } from 'node:crypto';
import { startLocalRelay } from '../../support/local-relay.ts';
import type { RelayProcess, StartOptions } from '../../support/relay-process.ts';
import { startTokenEndpoint, type TokenEndpoint } from './token-endpoint.ts';

export interface RelayPair extends AsyncDisposable {
  readonly provider: TokenEndpoint;
  readonly relays: readonly [RelayProcess, RelayProcess];
}

export interface PairOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Of each relay in particular. */
  readonly each?: readonly [PartOptions, PartOptions];
}

export interface PartOptions extends StartOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** Longer than any test: who is answered before was woken. */
export const LONG_POLL_SECONDS = '230';

export async function startRelayPair(
  redisUrl: string,
  { env = {}, each = [{}, {}] }: PairOptions = {},
): Promise<RelayPair> {
  const stack = new AsyncDisposableStack();
  try {
    const provider = startTokenEndpoint();
    stack.defer(() => provider.stop());
    const shared = {
      REDIS_URL: redisUrl,
      REDIS_PREFIX: `test-${randomUUID()}:`,
      MAL_CLIENT_ID: 'mal-client',
      MAL_TOKEN_URL: provider.tokenUrl,
      START_BURST: '1000000',
      POLL_SECONDS: LONG_POLL_SECONDS,
      // As `npm start` has it: more exchanges at once than the runtime makes without.
      BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
      ...env,
    };
    async function start({ env: own = {}, ...options }: PartOptions): Promise<RelayProcess> {
      const relay = await startLocalRelay({ ...shared, ...own }, options);
      // A drain would ask a store that may be gone.
      stack.defer(async () => void (await relay.stop('SIGKILL')));
      return relay;
    }
    const relays = [await start(each[0]), await start(each[1])] as const;
    return { provider, relays, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
