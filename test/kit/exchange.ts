/** The relay's own token request, with the fetch that it has in production. */
import { NO_MONITOR } from '../../src/monitor.ts';
import type { ProviderConfig } from '../../src/providers/config.ts';
import { createProvider } from '../../src/providers/provider.ts';
import { createTokenEndpoint } from '../../src/providers/token-endpoint.ts';
import { systemClock } from '../../src/relay/time.ts';
import { bun } from '../../src/server/runtime-bun.ts';

export const { fetch: fetchUpstream } = bun;

const BASE_URL = 'https://relay.test';

const PROVIDER: ProviderConfig = {
  name: 'x',
  displayName: 'X',
  authorizeUrl: 'https://provider.test/authorize',
  tokenUrl: '',
  clientId: 'client',
  clientAuth: 'post',
  pkce: 'none',
  authorizeParams: {},
};

/** Exchanges codes at any address; all of its requests share their connections. */
export function createExchange() {
  const tokenEndpoint = createTokenEndpoint({
    fetch: fetchUpstream,
    clock: systemClock,
    fetchesAtOnce: Number.POSITIVE_INFINITY,
    monitor: NO_MONITOR,
    onFull: () => {},
  });
  return (tokenUrl: string, overrides: Partial<ProviderConfig> = {}, code = 'the code') => {
    const config = { ...PROVIDER, tokenUrl, ...overrides };
    return createProvider(config, BASE_URL, tokenEndpoint).exchange(code, undefined);
  };
}

/** The access token, or the reason of the failure in one word. */
export async function outcomeOf(exchanged: ReturnType<ReturnType<typeof createExchange>>) {
  const outcome = await exchanged;
  return outcome.ok ? outcome.tokens.accessToken : outcome.failure.reason;
}
