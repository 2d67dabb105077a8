/** The relay's own token request, with the fetch that it has in production. */
import { exchangeCode } from '../../src/providers/exchange.ts';
import { keepConnections } from '../../src/providers/kept-connections.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createRequestTokens } from '../../src/providers/token-endpoint.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { fetchUpstream } from '../../src/serve.ts';

export { fetchUpstream };

export const CODE = 'the code';
export const REDIRECT_URI = 'https://relay.test/auth/x/callback';

const PROVIDER: Provider = {
  name: 'x',
  displayName: 'X',
  authorizeUrl: 'https://provider.test/authorize',
  tokenUrl: '',
  clientId: 'client',
  clientAuth: 'post',
  pkce: 'none',
  authorizeParams: {},
};

export interface ExchangeOptions {
  readonly timeoutMs?: number;
  readonly keepAlive?: boolean;
}

/** Exchanges codes at any address; all of its requests share their connections. */
export function createExchange(options: ExchangeOptions = {}) {
  const requestTokens = createRequestTokens(keepConnections(fetchUpstream), systemClock, options);
  return (tokenUrl: string, overrides: Partial<Provider> = {}, code = CODE) =>
    exchangeCode(
      requestTokens,
      { ...PROVIDER, tokenUrl, ...overrides },
      {
        code,
        redirectUri: REDIRECT_URI,
      },
    );
}

/** The access token, or the reason of the failure in one word. */
export async function outcomeOf(exchanged: ReturnType<ReturnType<typeof createExchange>>) {
  const outcome = await exchanged;
  return outcome.ok ? outcome.tokens.accessToken : outcome.failure.reason;
}
