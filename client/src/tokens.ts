/** Tokens: reading, refreshing, their expiry and their user. */
import { ask, type Call, isPrivate, type Members, parse } from './ask.ts';
import { attempt, SignInError, visible } from './errors.ts';
import type { Request, RequestOptions } from './platform.ts';

/** Plain JSON, stored as it is. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** For how many seconds the access token is valid, from when it was received. */
  readonly expiresIn?: number;
  /** When it expires, in milliseconds of `Date.now()`. */
  readonly expiresAt?: number;
  readonly tokenType?: string;
  readonly scope?: string;
  readonly idToken?: string;
  /** Where this device refreshes, if it exchanged the code itself. */
  readonly tokenUrl?: string;
  readonly clientId?: string;
  /** Where this device revokes them, if it can. */
  readonly revocationUrl?: string;
}

/**
 * The user that the ID token names, for a greeting. NOT VERIFIED: its signature, issuer, audience
 * and time were not checked. Base no decision on it; a server asks the provider.
 */
export interface UnverifiedUser {
  readonly sub?: string;
  readonly name?: string;
  readonly email?: string;
  /** A URL. */
  readonly picture?: string;
}

export interface Relay extends RequestOptions {
  /** The relay's address, such as `https://relay.example`. */
  readonly relay: string;
}

/** A provider of a relay. */
export interface RelayService extends Relay {
  /** The provider, as the relay names it. */
  readonly service: string;
}

/** The text members: those of a response, then those that this device adds too. */
const IN_RESPONSE = ['accessToken', 'refreshToken', 'tokenType', 'scope', 'idToken'];
const TEXTS = IN_RESPONSE.concat('tokenUrl', 'clientId', 'revocationUrl');
/** A century: more is not a duration, and its end may not be a valid date. */
const MAX_TOKEN_SECONDS = 3e9;
/** How long before their expiry tokens are refreshed, but not in the first half of their life. */
const EARLY_MS = 60_000;
/** Claims are for a greeting. */
const MAX_CLAIM_CHARACTERS = 1_000;

/** Removes trailing slashes. */
export const addressOf = ({ relay }: Relay): string => `${relay}`.replace(/^(.*[^/])\/+$/, '$1');

/** True if it has only the characters of tokens, codes and ids (RFC 6749 appendix A), which a header and a form can carry. */
export const isPrintableAscii = (value: unknown): value is string =>
  typeof value === 'string' && /^[ -~]+$/.test(value);

function textsFrom(from: object): Members {
  const members: Members = {};
  TEXTS.forEach((name) => {
    const value = from[name as never];
    if (isPrintableAscii(value)) members[name] = value;
  });
  return members;
}

/** Undefined if the response has no tokens. Missing members stay as in `before`, except for the expiry. */
export function tokensOf(json: Members, dateMs: number, before: object = {}): Tokens | undefined {
  const tokens = textsFrom(before);
  delete tokens.accessToken;
  IN_RESPONSE.forEach((name) => {
    // RFC 6749 §5.1 writes `access_token`.
    const value = json[name] || json[name.replace(/[A-Z]/, '_$&').toLowerCase()];
    if (isPrintableAscii(value)) tokens[name] = value;
  });
  const given = json.expiresIn || json.expires_in;
  const expiresIn = isPrintableAscii(given) || typeof given === 'number' ? Number(given) : 0;
  if (expiresIn > 0 && expiresIn < MAX_TOKEN_SECONDS) {
    tokens.expiresIn = expiresIn;
    tokens.expiresAt = dateMs + expiresIn * 1_000;
  }
  return tokens.accessToken ? (tokens as object as Tokens) : undefined;
}

/** Members of another type count as missing. `tokenUrl`: the app's own. Undefined if there are no tokens. */
export function storedTokens(stored: object, tokenUrl: string | undefined): Tokens | undefined {
  const tokens = textsFrom(stored);
  ['expiresIn', 'expiresAt'].forEach((name) => {
    const value = stored[name as never];
    if (typeof value === 'number') tokens[name] = value;
  });
  if (tokens.tokenUrl && tokenUrl) tokens.tokenUrl = tokenUrl;
  return tokens.accessToken ? (tokens as object as Tokens) : undefined;
}

const lifeMs = ({ expiresIn }: Tokens) => (expiresIn || Infinity) * 1_000;
const leftMs = ({ expiresAt = Infinity }: Tokens, dateMs: number) => expiresAt - dateMs;
const earlyMs = (tokens: Tokens) => Math.min(EARLY_MS, lifeMs(tokens) / 2);

export const isExpired = (tokens: Tokens, dateMs: number): boolean => leftMs(tokens, dateMs) <= 0;

export const isDue = (tokens: Tokens, dateMs: number): boolean =>
  !!tokens.refreshToken && leftMs(tokens, dateMs) <= earlyMs(tokens);

/** An expiry further away than the token's lifetime means that the clock was set back. */
export const isClockPlausible = (tokens: Tokens, dateMs: number): boolean =>
  leftMs(tokens, dateMs) <= lifeMs(tokens) + earlyMs(tokens);

/** Reads untrusted claims: visible characters only, and an https picture. */
export function userOf({ idToken }: Tokens): UnverifiedUser | undefined {
  const claims = parse(decodePart(`${idToken}`.split('.')[1] || '')) as Members | undefined;
  if (!claims) return undefined;
  const user: Members = {};
  ['sub', 'name', 'email', 'picture'].forEach((name) => {
    const value = claims[name];
    const text = typeof value === 'string' ? visible(value.slice(0, MAX_CLAIM_CHARACTERS)) : '';
    if (text && (name !== 'picture' || isPrivate(text))) user[name] = text;
  });
  return user;
}

/** Base64url of UTF-8. Some engines have no `TextDecoder`. */
const decodePart = (part: string): string | undefined =>
  attempt(() => decodeURIComponent(escape(atob(part.replace(/-/g, '+').replace(/_/g, '/')))));

/** Leaves out members that are not text. */
export const formOf = (form: Members): string =>
  Object.keys(form)
    .filter((name) => isPrintableAscii(form[name]))
    .map((name) => `${name}=${encodeURIComponent(form[name] as string)}`)
    .join('&');

/** A request to the relay, with JSON if anything is given. */
export const relayRequest = (options: Relay, path: string, given?: object): Request => ({
  url: addressOf(options) + path,
  ...(given && { body: JSON.stringify(given) }),
});

/** A request to an endpoint of the provider. */
export const formTo = (url: string, form: Members): Request => ({
  url,
  body: formOf(form),
  isProvider: true,
});

export const askForTokens = (call: Call, request: Request, before: object): Promise<Tokens> =>
  ask(call, request, ({ status, json, refusal, detail }) => {
    if (refusal && json.error === 'invalid_grant') throw new SignInError('invalid_grant', detail);
    // With a 201 too, the old refresh token may have been replaced.
    const tokens = status < 300 ? tokensOf(json, call.platform.date(), before) : undefined;
    const isRefresh = 'refreshToken' in before;
    // A code works once (RFC 6749 §4.1.2), so any response to it is final.
    if (refusal || (status && !isRefresh && !tokens)) {
      // Some providers refuse an invalid refresh token in words that the relay does not know.
      throw new SignInError('refused', detail + (isRefresh ? '. Signing in again may help' : ''));
    }
    return tokens;
  });

/** Returns the new tokens, with the old refresh token if there is no new one. */
export function refresh(call: Call<RelayService>, tokens: Tokens): Promise<Tokens> {
  const { tokenUrl, refreshToken, clientId, tokenType } = tokens;
  const { options } = call;
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId };
  const given = { service: options.service, refreshToken, details: !!tokenType };
  const request = tokenUrl ? formTo(tokenUrl, form) : relayRequest(options, '/refresh', given);
  return askForTokens(call, request, tokens);
}
