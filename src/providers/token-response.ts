/**
 * What a response of a token or revocation endpoint means: tokens, or why there are none. Nothing
 * in it is trusted, and only what is read here by name leaves this file.
 */
import { type Grant, type ProviderError, TOKEN_ERRORS } from '../monitor.ts';
import type { TokenResult } from '../sign-ins/session.ts';
import type { Expected, KnownError, ProviderConfig, ProviderQuirks } from './config.ts';
import type { ConnectProblem } from './connect-problem.ts';
import { showsSecret } from './credentials.ts';

export interface TokenResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if it is longer than TOKEN_RESPONSE_BYTES. */
  readonly text: string | undefined;
  readonly receivedAtMs: number;
}

type Json = Readonly<Record<string, unknown>>;

/** The request that was answered. */
interface TokenGrant {
  readonly grant: Grant;
  /** True if a refresh names a scope. Otherwise it asks for what the user has granted already. */
  readonly hasScope: boolean;
}

/** Why there are no tokens, or why a token was not revoked. */
export interface TokenFailure {
  readonly reason: 'timeout' | 'unreachable' | 'status' | 'too_large' | 'not_json' | 'no_token';
  /** Given with 'unreachable'. The code is the runtime's, such as ENOTFOUND. */
  readonly cause?: ConnectProblem;
  readonly code?: string;
  readonly status?: number;
  /** What the body is. */
  readonly answer?: BodyKind;
  /** The error of RFC 6749 §5.2 or RFC 7009 §2.2.1 that the response has, or stands for. */
  readonly providerError?: Exclude<KnownError['means'], 'temporarily_unavailable'>;
  /** The error that a device gets after such a refresh or revocation. Absent if its token may still be valid. */
  readonly refusal?: ProviderError;
  /** When the provider wants to be asked again. RFC 9110 §10.2.3. */
  readonly retryAfterMs?: number;
  /** The provider's own words, for the device that sent the token. Never logged. */
  readonly description?: string;
}

/**
 * `tokens`: with another status than 200. `temporary`: a JSON object with an error that says to
 * try again. `error`: one with another error that is not OAuth's. `json`: one without an error.
 * `nested`: one with the tokens in one of its members.
 */
type BodyKind =
  | 'tokens'
  | 'temporary'
  | 'error'
  | 'json'
  | 'nested'
  | 'form'
  | 'jsonp'
  | 'compressed'
  | 'html'
  | 'empty'
  | 'other';

/** True if the provider refuses: the user is late, or a setting is wrong. Otherwise it fails, or says to try again. */
export function isRefusal({ status = 200, answer, refusal }: TokenFailure): boolean {
  if (isTemporary(status) || answer === 'temporary') return false;
  return refusal !== undefined || status >= 400 || answer === 'error';
}

export interface Failed {
  readonly ok: false;
  readonly failure: TokenFailure;
}

/** The outcome of a request to a token endpoint. */
export type TokenOutcome = { readonly ok: true; readonly tokens: TokenResult } | Failed;

export function failed(failure: TokenFailure): Failed {
  return { ok: false, failure };
}

/**
 * What a token endpoint gave: JSON with status 200 (RFC 6749 §5.1). After a refresh any 2xx will do,
 * as the old token may have been replaced.
 */
export function readTokens(
  answer: TokenResponse,
  provider: ProviderConfig,
  asked: TokenGrant,
): TokenOutcome {
  const { status, text } = answer;
  const isSuccess = status === 200 || (asked.grant === 'refresh' && status > 200 && status < 300);
  const json = text === undefined ? undefined : parseObject(text);
  const tokens = isSuccess && json !== undefined ? parseTokens(json, provider) : undefined;
  if (tokens !== undefined) return { ok: true, tokens };
  const details = describeErrors(answer, json, provider, asked);
  if (status !== 200) return failed({ reason: 'status', status, ...details });
  if (text === undefined) return failed({ reason: 'too_large' });
  return failed({ reason: json === undefined ? 'not_json' : 'no_token', ...details });
}

/** The media type decides only if the body itself does not. */
function kindOf({ headers, text }: TokenResponse, json?: Json): BodyKind {
  if (json !== undefined) return kindOfJson(json);
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  const body = text?.slice(0, 1_000).trim() ?? '';
  if (body === '') return 'empty';
  // The first two bytes of gzip. The second is not UTF-8. RFC 1952 §2.3.1.
  const isEncoded = (headers.get('content-encoding') ?? 'identity') !== 'identity';
  if (isEncoded || body.startsWith('\x1f\ufffd')) return 'compressed';
  if (body.startsWith('<')) return 'html';
  if (/^[\w.$]{1,60}\(/.test(body)) return 'jsonp';
  if (/^(?:access_token|error|token_type|expires_in)=/.test(body)) return 'form';
  if (type.startsWith('application/x-www-form-urlencoded')) return 'form';
  return type.startsWith('text/html') ? 'html' : 'other';
}

function kindOfJson(json: Json): BodyKind {
  if (isFilled(json.access_token)) return 'tokens';
  const holds = (value: unknown) =>
    typeof value === 'object' && value !== null && 'access_token' in value;
  if (Object.values(json).some(holds)) return 'nested';
  return ERROR_MEMBERS.some((name) => json[name]) ? 'error' : 'json';
}

/** Where providers say what is wrong. */
const ERROR_MEMBERS = ['error', 'errors', 'error_code', 'errcode', 'code', 'message', 'msg'];

/**
 * What the provider's error is, and which one a device gets. A device discards its tokens after
 * `invalid_grant`, so it gets that only if the provider says so. A 401 without an OAuth error is
 * about the client, such as a secret that was rotated (RFC 6749 §5.2). Other responses do not
 * make the token invalid.
 */
export function describeErrors(
  answer: TokenResponse,
  json: Json | undefined,
  provider: ProviderConfig,
  asked: TokenGrant,
): Pick<TokenFailure, 'answer' | 'providerError' | 'refusal' | 'retryAfterMs' | 'description'> {
  const { status } = answer;
  const meaning = json && findMeaning(status, json, provider, asked);
  const passes = meaning === 'temporarily_unavailable';
  const providerError = passes ? undefined : meaning;
  const error = providerError ?? (status === 401 && !passes ? 'invalid_client' : undefined);
  const refusal = isTemporary(status) || error === 'redirect_uri_mismatch' ? undefined : error;
  const isShown = asked.grant === 'refresh' && refusal !== 'invalid_grant';
  const description = isShown && json ? describe(json, provider) : undefined;
  const retryAfterMs = refusal === undefined ? parseRetryAfter(answer) : undefined;
  return {
    answer: passes ? 'temporary' : kindOf(answer, json),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(providerError && { providerError }),
    ...(refusal && { refusal }),
    ...(description && { description }),
  };
}

/** Devices wait an hour at most, after which most limits reset. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Seconds, or a date. */
function parseRetryAfter({ headers, receivedAtMs }: TokenResponse): number | undefined {
  const value = headers.get('retry-after') ?? '';
  const seconds = parseSeconds(value) ?? parseSeconds((Date.parse(value) - receivedAtMs) / 1_000);
  return seconds && Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS);
}

/** RFC 6585 §4 has 429. */
const isTemporary = (status: number) => status >= 500 || status === 429;

function findMeaning(
  status: number,
  json: Json,
  { knownErrors = [] }: ProviderConfig,
  { grant, hasScope }: TokenGrant,
): KnownError['means'] | undefined {
  const found = [...knownErrors, ...KNOWN_ERRORS].find(
    (known) =>
      (known.status === undefined ? !isTemporary(status) : known.status === status) &&
      (known.grant === undefined || known.grant === grant) &&
      (known.hasScope === undefined || known.hasScope === hasScope) &&
      matches(json, known.body),
  );
  return found?.means ?? TOKEN_ERRORS.find((error) => error === json.error);
}

function matches(value: unknown, expected: Expected): boolean {
  if (Array.isArray(value)) return value.some((element) => matches(element, expected));
  if (typeof expected !== 'object') return value === expected;
  if (typeof value !== 'object' || value === null) return false;
  const members = value as Record<string, unknown>;
  return Object.entries(expected).every(
    ([name, member]) => Object.hasOwn(members, name) && matches(members[name], member),
  );
}

const tryLater = (body: Expected): KnownError => ({ means: 'temporarily_unavailable', body });
const badClient = (body: Expected): KnownError => ({ means: 'invalid_client', body });
const badGrant =
  (grant: Grant) =>
  (body: Expected): KnownError => ({ means: 'invalid_grant', grant, body });
const badCode = badGrant('exchange');
const badRefreshToken = badGrant('refresh');

/**
 * The provider has to ask the user. If the refresh named a scope, the reason may be that the user has
 * not granted it, and the refresh token is still valid. OpenID Connect Core §3.1.2.6.
 */
const needsUser = (error: string): KnownError => ({
  ...badRefreshToken({ error }),
  hasScope: false,
});

/**
 * Errors that mean the same at every provider, so that one without a profile is understood too. An
 * error that a provider also sends for a wrong client is not `invalid_grant` here: devices would
 * discard tokens that are still valid.
 */
const KNOWN_ERRORS: readonly KnownError[] = [
  // PHP League's server up to version 8, on which MyAnimeList, AniList and Laravel Passport are built.
  { means: 'invalid_grant', body: { error: 'invalid_request', hint: 'Token has expired' } },
  { means: 'invalid_grant', body: { error: 'invalid_request', hint: 'Token has been revoked' } },
  badRefreshToken({ error: 'invalid_request', hint: 'Cannot decrypt the refresh token' }),
  // GitHub, Slack, Twitch.
  { means: 'invalid_grant', body: { error: 'bad_refresh_token' } },
  { means: 'invalid_grant', body: { error: 'invalid_refresh_token' } },
  { means: 'invalid_grant', body: { message: 'Invalid refresh token' } },
  badRefreshToken({ ok: false, error: 'token_expired' }),
  // HubSpot, Fitbit, and Apigee, on which Hue is built.
  badRefreshToken({ status: 'BAD_REFRESH_TOKEN' }),
  badRefreshToken({ errors: { errorType: 'invalid_grant' } }),
  badRefreshToken({ ErrorCode: 'invalid_request', Error: 'Refresh Token expired' }),
  badRefreshToken({
    fault: { detail: { errorcode: 'keymanagement.service.invalid_refresh_token' } },
  }),
  // Zoho, Spring and UAA, Baidu, Yahoo, EVE Online, older Ory Hydra and Authelia, Pocket ID before 2.10.
  ...[
    'invalid_code',
    'invalid_token',
    'expired_token',
    'INVALID_REFRESH_TOKEN',
    'invalid_grant: Token is expired or invalid.',
    'token_inactive',
    'Refresh token is invalid or expired',
  ].map((error) => badRefreshToken({ error })),
  // Supabase.
  ...[
    'refresh_token_not_found',
    'refresh_token_already_used',
    'session_not_found',
    'session_expired',
  ].map((error_code) => badRefreshToken({ error_code })),
  // Rauthy.
  badRefreshToken({ error: 'NotFound', message: 'Refresh Token does not exist' }),
  badRefreshToken({ error: 'JwtToken', message: 'Token has expired' }),
  // Atlassian, Gitea, Forgejo.
  ...['refresh_token is invalid', 'unable to parse refresh token', 'token was already used'].map(
    (error_description) => badRefreshToken({ error: 'unauthorized_client', error_description }),
  ),
  // Bungie.
  ...['AuthorizationRecordExpired', 'AuthorizationRecordRevoked', 'AuthorizationCodeInvalid'].map(
    (error_description) => badRefreshToken({ error: 'server_error', error_description }),
  ),
  // DeviantArt, LinkedIn, Baidu, Dex, ZITADEL, better-auth before 2026 (https://github.com/better-auth/better-auth/pull/8103).
  ...[
    'The refresh_token is invalid.',
    'The provided authorization grant or refresh token is invalid, expired or revoked',
    'invalid refresh token',
    'Refresh token is invalid or has already been claimed by another client.',
    'Refresh token expired.',
    'Errors.OIDCSession.RefreshTokenInvalid',
    'session not found',
  ].map((error_description) => badRefreshToken({ error: 'invalid_request', error_description })),
  ...['interaction_required', 'login_required', 'consent_required'].map(needsUser),
  // Microsoft, also if only a scope that the refresh names lacks the user's consent.
  {
    means: 'invalid_scope',
    grant: 'refresh',
    hasScope: true,
    body: { error: 'invalid_grant', suberror: 'consent_required' },
  },
  // X, Keycloak and others: a 401 is about the client (RFC 6749 §5.2).
  { means: 'invalid_client', status: 401, body: { error: 'unauthorized_client' } },
  // GitHub, Slack, Twitch, WeChat.
  badClient({ error: 'incorrect_client_credentials' }),
  badCode({ error: 'bad_verification_code' }),
  { means: 'redirect_uri_mismatch', body: { error: 'redirect_uri_mismatch' } },
  badClient({ error: 'invalid_client_id' }),
  badClient({ error: 'bad_client_secret' }),
  badCode({ error: 'invalid_code' }),
  badCode({ error: 'code_already_used' }),
  { means: 'redirect_uri_mismatch', body: { error: 'bad_redirect_uri' } },
  badClient({ message: 'invalid client secret' }),
  badClient({ message: 'invalid client' }),
  badCode({ message: 'Invalid authorization code' }),
  badClient({ errcode: 40_013 }),
  badClient({ errcode: 40_125 }),
  badCode({ errcode: 40_029 }),
  badCode({ errcode: 40_163 }),
  badRefreshToken({ errcode: 40_030 }),
  badRefreshToken({ errcode: 42_002 }),
  // Microsoft after many refreshes in a row, and Salesforce during another one.
  tryLater({ error: 'invalid_grant', error_codes: 50_196 }),
  tryLater({
    error: 'invalid_grant',
    error_description: 'token request is already being processed',
  }),
  // RFC 6749 §4.1.2.1, RFC 8628 §3.5, and others in use.
  ...[
    'temporarily_unavailable',
    'server_error',
    'slow_down',
    'rate_limit_exceeded',
    'too_many_requests',
  ].map((error) => tryLater({ error })),
];

/** The longest description that is passed on. */
const DESCRIPTION_CHARACTERS = 200;

/** The characters that an `error_description` may have (RFC 6749 §5.2). */
function describe(json: Json, provider: ProviderConfig): string | undefined {
  const text = [json.error_description, json.message, json.msg, json.error].find(isFilled);
  if (text === undefined || showsSecret(text, provider)) return undefined;
  return text
    .replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, ' ')
    .slice(0, DESCRIPTION_CHARACTERS)
    .trim();
}

/** Empty and zero fields are left out. docs/protocol.md §3. */
function parseTokens(json: Json, { quirks }: ProviderConfig): TokenResult | undefined {
  const { access_token: accessToken, refresh_token: refreshToken } = json;
  const { token_type: tokenType, id_token: idToken } = json;
  const scope = parseScope(json.scope, quirks);
  if (!isFilled(accessToken)) return undefined;
  const tokens: { -readonly [Name in keyof TokenResult]: TokenResult[Name] } = { accessToken };
  const expiresIn = parseSeconds(json.expires_in);
  if (isFilled(refreshToken)) tokens.refreshToken = refreshToken;
  if (expiresIn !== undefined) tokens.expiresIn = expiresIn;
  if (isFilled(tokenType)) tokens.tokenType = tokenType;
  if (isFilled(scope)) tokens.scope = scope;
  if (isFilled(idToken)) tokens.idToken = idToken;
  return tokens;
}

/** Twitch sends an array. RFC 6749 §3.3: one space between two scopes. */
function parseScope(value: unknown, quirks?: ProviderQuirks): unknown {
  if (Array.isArray(value) && value.every(isFilled)) return value.join(' ');
  return isFilled(value) && quirks?.commaInScope ? value.replaceAll(',', ' ') : value;
}

/** Some providers send the number as a string, or a fraction, which is rounded down. Anything below 1 is left out. */
function parseSeconds(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const seconds = Math.floor(Number(value));
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
