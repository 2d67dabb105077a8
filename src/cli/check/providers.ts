/** The providers: what to register there, whether their endpoints answer, and whether they accept the client. */
import { randomBytes } from 'node:crypto';
import { NO_MONITOR } from '../../monitor.ts';
import { type Fetch, type ProviderConfig, prefixOf } from '../../providers/config.ts';
import { discoverProvider, mustDiscover } from '../../providers/discovery.ts';
import { hintForTokenFailure, otherAuth } from '../../providers/hints.ts';
import { createProvider, redirectUriOf } from '../../providers/provider.ts';
import { TokenEndpoint } from '../../providers/token-endpoint.ts';
import type { TokenFailure } from '../../providers/token-response.ts';
import type { EnabledSettings } from '../../settings/index.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { hasUnverified } from '../show-providers.ts';
import { type Finding, fault, ok, warning } from './finding.ts';
import { ask } from './request.ts';

export async function checkProviders({ baseUrl, providers }: EnabledSettings, fetch: Fetch) {
  const checks = providers.map(async (enabled) => {
    const { name } = enabled;
    const register = `register exactly ${redirectUriOf(name, baseUrl)}`;
    const redirectUri = ok(`redirect URI of ${name}`, register);
    const { provider, problem } = mustDiscover(enabled)
      ? await discoverProvider(enabled, fetch)
      : { provider: enabled };
    if (provider === undefined) {
      const remedy = `correct ${prefixOf(name)}ISSUER, or set the provider's endpoints`;
      return [redirectUri, fault(`issuer of ${name}`, problem, remedy)];
    }
    const [authorize, client] = await Promise.all([
      checkAuthorizationEndpoint(provider, fetch),
      checkClient(provider, baseUrl, fetch),
    ]);
    return [redirectUri, ...describeProfile(provider), authorize, client];
  });
  return (await Promise.all(checks)).flat();
}

/** A provider that is configured by its issuer does not use its profile. */
function describeProfile({ name, callbackIssuer }: ProviderConfig): Finding[] {
  if (callbackIssuer !== undefined || !hasUnverified(name)) return [];
  const remedy = `run sign-in-relay providers ${name}`;
  return [warning(`profile of ${name}`, 'some facts are unverified', remedy)];
}

/** Sends no parameters: an error page of the provider is an answer too. */
async function checkAuthorizationEndpoint({ name, authorizeUrl }: ProviderConfig, fetch: Fetch) {
  const what = `authorization endpoint of ${name}`;
  const setting = `${prefixOf(name)}AUTHORIZE_URL`;
  const { host } = new URL(authorizeUrl);
  const answer = await ask(authorizeUrl, fetch);
  const { status } = answer;
  // Users have their own networks, so it may work for them.
  if (status === undefined) return warning(what, answer.problem, `check ${setting}`);
  if (status === 404) return fault(what, `${host} has no such page (404)`, `correct ${setting}`);
  if (status >= 500) return warning(what, `${host} answers ${status}`, 'wait, and check again');
  return ok(what, `${host} answers`);
}

async function checkClient(config: ProviderConfig, baseUrl: string, fetch: Fetch) {
  const { name, displayName, clientAuth, clientSecret } = config;
  const what = `client of ${name}`;
  const { provider, failure } = await sendMadeUpCode(config, baseUrl, fetch);
  if (failure === undefined) {
    const text = `${displayName} gives tokens for a made-up code`;
    return warning(what, text, `check ${prefixOf(name)}TOKEN_URL`);
  }
  if (isAccepted(failure)) {
    return ok(what, `${displayName} accepts the client, and refuses the made-up code`);
  }
  const problem = describe(failure);
  const { reason, status = 0 } = failure;
  if (clientSecret !== undefined && reason === 'status' && status >= 400 && status < 404) {
    const other = otherAuth(clientAuth);
    const again = await sendMadeUpCode({ ...config, clientAuth: other }, baseUrl, fetch);
    if (again.failure !== undefined && isAccepted(again.failure)) {
      const text = `${problem} to the secret sent by ${clientAuth}, and accepts it by ${other}`;
      return fault(what, text, `set ${prefixOf(name)}CLIENT_AUTH=${other}`);
    }
  }
  const hint = hintForTokenFailure(provider, failure, 'exchange');
  return isUndecided(failure) ? warning(what, problem, hint) : fault(what, problem, hint);
}

async function sendMadeUpCode(config: ProviderConfig, baseUrl: string, fetch: Fetch) {
  const tokenEndpoint = new TokenEndpoint({
    fetch,
    clock: systemClock,
    monitor: NO_MONITOR,
  });
  const provider = createProvider(config, baseUrl, tokenEndpoint, randomBytes);
  const code = `sign-in-relay-check-${randomBytes(9).toString('hex')}`;
  const outcome = await provider.resolveCode(code, provider.createDelivery(false));
  return { provider, failure: outcome.ok ? undefined : outcome.failure };
}

/** True if the provider refuses the code: then it has accepted the client. RFC 6749 §5.2. */
const isAccepted = ({ providerError }: TokenFailure) => providerError === 'invalid_grant';

/** True if the provider may be down for a moment, or have its own error for a wrong code. */
function isUndecided({ reason, status = 0, providerError, refusal }: TokenFailure): boolean {
  if (reason !== 'status') return reason === 'timeout';
  if (status >= 500 || status === 429) return true;
  return status === 400 && (providerError === 'invalid_request' || refusal === undefined);
}

function describe({ reason, status, providerError, cause }: TokenFailure): string {
  if (reason !== 'status') return cause === undefined ? reason : `${reason} (${cause})`;
  return providerError === undefined ? `answers ${status}` : `answers ${status} ${providerError}`;
}
