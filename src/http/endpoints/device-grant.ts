/**
 * The device authorization grant for any standard client, under `/oauth2/<service>/`:
 * device authorization (RFC 8628 §3.1), token polling (§3.4), refresh (RFC 6749 §6)
 * and metadata (RFC 8414). Revocation is in revoke.ts. docs/device-grant.md.
 */
import { REDELIVERY_MS } from '../../limits.ts';
import { codeFormOf } from '../../pages/pages.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { Provider } from '../../providers/provider.ts';
import { formatUserCode, isCapability } from '../../sign-ins/secrets.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { type Handler, logFault } from '../app.ts';
import type { Dependencies, StartDependencies, TokenDependencies } from '../dependencies.ts';
import {
  describeOAuthTokens,
  missingParameter,
  oauthErrorResponse,
  oauthResponse,
  oauthResponseTo,
} from '../oauth-responses.ts';
import {
  parseMembers,
  parseParameters,
  type RelayRequest,
  readBody,
  shortLinkOf,
} from '../request.ts';
import { type Refusal, refuse, undecided } from '../responses.ts';
import { askProvider, isToken, MAX_TOKEN_REQUEST_BYTES } from './refresh.ts';
import { canRevoke } from './services.ts';

/** The default of RFC 8628 §3.2. */
const POLL_INTERVAL_SECONDS = 5;

const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const REFRESH_GRANT = 'refresh_token';

const PARAMETERS = ['grant_type', 'device_code', 'refresh_token', 'scope', 'device'];

/**
 * Anyone may start a sign-in, as at `/auth/start`. The client id is ignored, because a
 * device cannot keep a secret that would prove it (RFC 8628 §5.6).
 */
export function createDeviceAuthorization(dependencies: StartDependencies): Handler {
  const { signIns, providers, admission, clock, signInLog } = dependencies;
  const { baseUrl, sessionSeconds } = dependencies;
  return async (request) => {
    const service = request.parameter;
    const found = providers.find(service);
    if (!found.ok) return found;
    const admitted = await admission.admit(request, 'start');
    if (!admitted.ok) return admitted;
    const parameters = await readParameters(request.raw, clock, PARAMETERS);
    if (parameters === undefined) return refuse('invalid_request');
    const device = parameters.get('device');
    const started = await signIns.start(service, {
      delivery: found.provider.createDelivery(true),
      withUserCode: true,
      deviceName: device ? cleanName(device) : undefined,
      // A standard client cannot acknowledge, and some poll twice at once: docs/device-grant.md "Repeated delivery".
      redeliveryMs: REDELIVERY_MS,
    });
    signInLog.started(request, service, started);
    if (!started.ok) return started;
    const { pollSecret, userCode = '' } = started.secrets;
    return oauthResponse({
      device_code: pollSecret,
      user_code: formatUserCode(userCode),
      verification_uri: codeFormOf(baseUrl),
      verification_uri_complete: shortLinkOf(baseUrl, userCode),
      expires_in: sessionSeconds,
      interval: POLL_INTERVAL_SECONDS,
    });
  };
}

export function createToken(dependencies: TokenDependencies): Handler {
  const { clock, providers } = dependencies;
  return async (request) => {
    const parameters = await readParameters(request.raw, clock, PARAMETERS);
    if (parameters === undefined) return refuse('invalid_request');
    switch (parameters.get('grant_type')) {
      case DEVICE_CODE_GRANT:
        return poll(request, parameters.get('device_code'), dependencies);
      case REFRESH_GRANT: {
        const found = providers.find(request.parameter);
        return found.ok ? refresh(dependencies, request, found.provider, parameters) : found;
      }
      case undefined:
        return missingParameter('grant_type');
      default:
        return oauthErrorResponse('unsupported_grant_type');
    }
  };
}

/** The response of all three endpoints with BLIND=always: standard clients send no challenge, so the relay would see the tokens. */
export function blindResponse(): Response {
  return oauthErrorResponse('unauthorized_client', {
    description: 'This relay must not see tokens',
  });
}

/** Takes the result before it checks the poll rate, so that a device that polls too early still gets its tokens. */
async function poll(
  request: RelayRequest,
  deviceCode: string | undefined,
  { signIns, admission, pollSeconds }: TokenDependencies,
): Promise<Response> {
  if (deviceCode === undefined) return missingParameter('device_code');
  if (!isCapability(deviceCode)) return oauthErrorResponse('invalid_grant');
  const holdSeconds = Math.min(parsePreferredWait(request.header('prefer')), pollSeconds);
  // RFC 7240 §3.
  const headers = holdSeconds > 0 ? { 'Preference-Applied': `wait=${holdSeconds}` } : {};
  const options = { ofService: request.parameter };
  const polled = await signIns.poll(deviceCode, request.release(), holdSeconds, options);
  switch (polled.state) {
    case 'gone':
      return oauthErrorResponse('expired_token');
    case 'pending': {
      const isEarly = await admission.isEarlyPoll(deviceCode);
      return oauthErrorResponse(isEarly ? 'slow_down' : 'authorization_pending', { headers });
    }
    case 'delivered': {
      const { result } = polled;
      if ('error' in result) return oauthErrorResponse(result.error, { headers });
      // The sign-in has a challenge (`/auth/start`), and this grant has no response for a code.
      if (!('accessToken' in result)) return oauthErrorResponse('invalid_grant', { headers });
      return oauthResponse(describeOAuthTokens(result), headers);
    }
  }
}

/**
 * A device discards its tokens after `invalid_grant`, so it gets that only if the provider
 * refused them. If the outcome is unknown, it gets a 503, because some clients treat any 400
 * as `invalid_grant`.
 */
async function refresh(
  dependencies: TokenDependencies,
  request: RelayRequest,
  provider: Provider,
  parameters: ReadonlyMap<string, string>,
): Promise<Response | Refusal> {
  const refreshToken = parameters.get('refresh_token');
  if (refreshToken === undefined) return missingParameter('refresh_token');
  if (!isToken(refreshToken)) return refuse('invalid_request');
  try {
    const scope = parameters.get('scope');
    const outcome = await askProvider(dependencies, request, provider, 'refresh', () =>
      dependencies.refreshes.refresh(provider, refreshToken, scope),
    );
    // 429, because many clients discard their token after any 400.
    return outcome.ok
      ? oauthResponse(describeOAuthTokens(outcome.tokens))
      : oauthResponseTo(outcome, 429);
  } catch (error) {
    // The route's own response to a fault is for polls.
    logFault(error, request, '/oauth2/:service/token');
    return undecided();
  }
}

/** Lists only the relay's own endpoints, so an undiscovered provider has metadata too. RFC 8414 §2, RFC 8628 §4. */
export function createMetadata({ baseUrl, providers, blind }: Dependencies): Handler {
  return (request) => {
    const issuer = `${baseUrl}/oauth2/${request.parameter}`;
    return oauthResponse({
      issuer,
      device_authorization_endpoint: `${issuer}/device_authorization`,
      token_endpoint: `${issuer}/token`,
      grant_types_supported: [DEVICE_CODE_GRANT, REFRESH_GRANT],
      // RFC 8414 §2 requires the member; §3.2 says to omit empty arrays. Clients need it, and accept it empty.
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
      ...(canRevoke(providers.find(request.parameter), blind) && {
        revocation_endpoint: `${issuer}/revoke`,
        revocation_endpoint_auth_methods_supported: ['none'],
      }),
    });
  };
}

/**
 * A form, or JSON, which some clients send. Undefined if it cannot be read, is too long, or has a
 * parameter twice (RFC 6749 §3.2). An empty parameter counts as absent (§3.1). Other parameters are
 * ignored, and may appear twice (RFC 8707 §2).
 */
export async function readParameters(raw: Request, clock: Clock, names: readonly string[]) {
  const { text, isTruncated } = await readBody(raw, MAX_TOKEN_REQUEST_BYTES, clock);
  const isJson = /^application\/json\b/i.test(raw.headers.get('content-type') ?? '');
  const members = isJson && text !== '' ? parseMembers(text) : parseParameters(text);
  if (isTruncated || members === undefined) return undefined;
  const pairs: [string, unknown][] =
    members instanceof URLSearchParams ? [...members] : Object.entries(members);
  const read = pairs.filter((pair): pair is [string, string] => {
    const [name, value] = pair;
    return names.includes(name) && typeof value === 'string' && value !== '';
  });
  const parameters = new Map(read);
  return parameters.size === read.length ? parameters : undefined;
}

/** How many seconds the client is willing to wait; 0 without that preference. RFC 7240 §4.3. */
function parsePreferredWait(prefer = ''): number {
  const wait = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,6})"?\s*(?=$|[,;])/i.exec(prefer);
  return Number(wait?.[1] ?? 0);
}
