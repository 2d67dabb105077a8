/**
 * The device authorization grant for any standard client, under `/oauth2/<service>/`:
 * device authorization (RFC 8628 §3.1), token polling (§3.4), refresh (RFC 6749 §6)
 * and metadata (RFC 8414). docs/device-grant.md.
 */
import type { Monitor } from '../../monitor.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { Provider } from '../../providers/provider.ts';
import type { RateLimiter } from '../../relay/rate-limit.ts';
import type { Relay } from '../../relay/relay.ts';
import { digestOf, isCapability } from '../../relay/secrets.ts';
import { type Handler, logFault } from '../app.ts';
import { formatUserCode, shortLinkOf } from '../links.ts';
import {
  describeOAuthTokens,
  oauthResponse,
  refuseOAuth,
  refuseOAuthAdmission,
  refuseUndiscovered,
} from '../oauth-responses.ts';
import { type BodyReader, parseMembers, parseParameters, type RelayRequest } from '../request.ts';
import { MAX_REFRESH_BODY_BYTES, type RefreshParts, refreshTokens } from './refresh.ts';

/** RFC 8628 §3.2, and its default. */
const POLL_INTERVAL_SECONDS = 5;

const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const REFRESH_GRANT = 'refresh_token';

const PARAMETERS = new Set(['grant_type', 'device_code', 'refresh_token', 'scope', 'device']);
type Parameters = ReadonlyMap<string, string>;

export interface DeviceGrantParts extends RefreshParts {
  /** Of polls, by device code. */
  readonly pollLimiter: RateLimiter;
  readonly relay: Relay;
  readonly monitor: Monitor;
  readonly baseUrl: string;
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  /** How long after its first delivery a device code gets the same tokens again. 0: once. */
  readonly deviceGrantRepeatSeconds: number;
}

/**
 * Anyone may start a sign-in, as at `/auth/start`. The client id is ignored, because a
 * device cannot keep a secret that would prove it (RFC 8628 §5.6).
 */
export function createDeviceAuthorization(parts: DeviceGrantParts): Handler {
  const { admission, bodies, providers, relay, signInLog, blind } = parts;
  const { baseUrl, sessionSeconds, deviceGrantRepeatSeconds } = parts;
  return async (request) => {
    if (blind === 'always') return refuseBlind();
    const service = request.parameter;
    const provider = providers.get(service);
    if (provider === undefined || provider === 'undiscovered') return refuseUndiscovered();
    const startedBy = admission.admitStart(request);
    if (typeof startedBy !== 'string') return refuseOAuthAdmission(startedBy);
    const parameters = await readParameters(request.raw, bodies);
    if (parameters === undefined) {
      const refused = await admission.takeStart(startedBy);
      return refused === undefined ? refuseOAuth('invalid_request') : refuseOAuthAdmission(refused);
    }
    const started = await relay.start(service, {
      withVerifier: provider.usesPkce,
      challenge: undefined,
      details: true,
      withUserCode: true,
      deviceName: cleanName(parameters.get('device')),
      // A standard client cannot acknowledge, and some poll twice at once: docs/device-grant.md "Repeated delivery".
      repeatMs: deviceGrantRepeatSeconds > 0 ? deviceGrantRepeatSeconds * 1_000 : undefined,
      keepsErrors: true,
      startedBy,
    });
    signInLog.started(request, service, started);
    if (typeof started === 'string') return refuseOAuth('temporarily_unavailable');
    if ('retryAfterMs' in started) {
      return refuseOAuthAdmission(admission.refuseStart(startedBy, started.retryAfterMs));
    }
    const { pollSecret, userCode = '' } = started;
    return oauthResponse({
      device_code: pollSecret,
      user_code: formatUserCode(userCode),
      verification_uri: `${baseUrl}/link`,
      verification_uri_complete: shortLinkOf(baseUrl, userCode),
      expires_in: sessionSeconds,
      interval: POLL_INTERVAL_SECONDS,
    });
  };
}

export function createToken(parts: DeviceGrantParts): Handler {
  const { bodies, providers, blind } = parts;
  return async (request) => {
    if (blind === 'always') return refuseBlind();
    const parameters = await readParameters(request.raw, bodies);
    if (parameters === undefined) return refuseOAuth('invalid_request');
    switch (parameters.get('grant_type')) {
      case DEVICE_CODE_GRANT:
        return poll(request, parameters.get('device_code'), parts);
      case REFRESH_GRANT: {
        const provider = providers.get(request.parameter);
        if (provider === undefined || provider === 'undiscovered') return refuseUndiscovered();
        return refresh(request, provider, parameters, parts);
      }
      case undefined:
        return refuseOAuth('invalid_request', { description: 'grant_type is missing' });
      default:
        return refuseOAuth('unsupported_grant_type');
    }
  };
}

/** Looks for a result before it checks the poll rate, so that a device that polls too early still gets its tokens. */
async function poll(
  request: RelayRequest,
  deviceCode: string | undefined,
  { relay, pollLimiter, pollSeconds, monitor }: DeviceGrantParts,
): Promise<Response> {
  if (deviceCode === undefined) {
    return refuseOAuth('invalid_request', { description: 'device_code is missing' });
  }
  if (!isCapability(deviceCode)) return refuseOAuth('invalid_grant');
  const holdSeconds = Math.min(parsePreferredWait(request.header('prefer')), pollSeconds);
  // RFC 7240 §3.
  const headers = holdSeconds > 0 ? { 'Preference-Applied': `wait=${holdSeconds}` } : {};
  const claim = await relay.waitForResult(deviceCode, request.raw.signal, holdSeconds);
  switch (claim.state) {
    case 'gone':
      return refuseOAuth('expired_token');
    case 'pending': {
      const isEarly = (await pollLimiter.take(digestOf(deviceCode))) > 0;
      if (isEarly) monitor.rateLimited('poll');
      return refuseOAuth(isEarly ? 'slow_down' : 'authorization_pending', { headers });
    }
    case 'claimed': {
      const { result } = claim;
      if ('error' in result) return refuseOAuth(result.error, { headers });
      // A sign-in with a challenge of `/auth/start`, which this grant has no response for.
      if ('code' in result) return refuseOAuth('invalid_grant', { headers });
      return oauthResponse(describeOAuthTokens(result), headers);
    }
  }
}

/** No standard client brings a challenge, so the relay would see the tokens. */
function refuseBlind(): Response {
  return refuseOAuth('unauthorized_client', { description: 'This relay must not see tokens' });
}

/**
 * A device discards its tokens at `invalid_grant`, so it gets that only if the provider
 * refused them. If the outcome is unknown, it is told to try again later: with 503,
 * because some clients treat any 400 as `invalid_grant`.
 */
async function refresh(
  request: RelayRequest,
  provider: Provider,
  parameters: Parameters,
  parts: DeviceGrantParts,
): Promise<Response> {
  const refreshToken = parameters.get('refresh_token');
  if (refreshToken === undefined) {
    return refuseOAuth('invalid_request', { description: 'refresh_token is missing' });
  }
  try {
    const sent = { refreshToken, scope: parameters.get('scope') };
    const outcome = await refreshTokens(request, provider, sent, parts);
    switch (outcome.state) {
      case 'refreshed':
        return oauthResponse(describeOAuthTokens(outcome.tokens));
      case 'refused':
        return refuseOAuth(outcome.error);
      case 'unavailable':
        return refuseUnavailable();
      case 'not_admitted':
        // To many clients nearly any 400 is the end of their token.
        return refuseOAuthAdmission(outcome.refused, 429);
    }
  } catch (error) {
    // The route answers faults as polls need it, and a refresh is never pending.
    logFault(error, request, '/oauth2/:service/token');
    return refuseUnavailable();
  }
}

function refuseUnavailable(): Response {
  return refuseOAuth('temporarily_unavailable', { status: 503 });
}

/** The relay's own addresses, so a provider that is not discovered yet has metadata too. RFC 8414 §2, RFC 8628 §4. */
export function createMetadata(baseUrl: string): Handler {
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
    });
  };
}

/**
 * A form, or JSON as some clients send it. Undefined for what cannot be read, is too
 * long, or has a parameter twice (RFC 6749 §3.2). An empty parameter counts as absent
 * (§3.1). Other parameters are ignored, and may appear twice (RFC 8707 §2).
 */
async function readParameters(raw: Request, bodies: BodyReader): Promise<Parameters | undefined> {
  try {
    const { text, isCut } = await bodies.read(raw, MAX_REFRESH_BODY_BYTES);
    if (isCut) return undefined;
    const isJson = /^application\/json\b/i.test(raw.headers.get('content-type') ?? '');
    const pairs = isJson ? Object.entries(parseMembers(text)) : [...parseParameters(text)];
    const read = pairs.filter((pair): pair is [string, string] => {
      const [name, value] = pair;
      return PARAMETERS.has(name) && typeof value === 'string' && value !== '';
    });
    const parameters = new Map(read);
    return parameters.size === read.length ? parameters : undefined;
  } catch {
    return undefined;
  }
}

/** How many seconds the client would wait; 0 if it does not say. RFC 7240 §4.3. */
function parsePreferredWait(prefer = ''): number {
  const wait = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,6})"?\s*(?=$|[,;])/i.exec(prefer);
  return Number(wait?.[1] ?? 0);
}
