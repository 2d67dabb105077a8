/** Tokens: how they are received and refreshed. */
import { AGAIN, ask, type Reply } from './ask.ts';
import { fail } from './errors.ts';
import type { Call, Done, Operation, Request, RequestOptions } from './platform.ts';

/** Plain JSON, to be stored as it is. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Seconds, from when the tokens were received. */
  readonly expiresIn?: number;
  /** When that is, in milliseconds of `Date.now()`. */
  readonly expiresAt?: number;
  readonly tokenType?: string;
  readonly scope?: string;
  readonly idToken?: string;
  /** Where this device refreshes by itself, if it exchanged the code by itself. */
  readonly tokenUrl?: string;
  readonly clientId?: string;
  /** Where this device revokes them, if it can. */
  readonly revocationUrl?: string;
}

/** Which relay, and which of its providers. */
export interface Place {
  /** The relay's address, such as `https://relay.example`. */
  readonly relay: string;
  /** The provider, as the relay names it. */
  readonly service: string;
}

/** The members of `Tokens` that are text: what a response may have, and what this device adds to it. */
const GIVEN = 'accessToken refreshToken tokenType scope idToken'.split(' ');
const OWN = 'tokenUrl clientId revocationUrl'.split(' ');
/** A century: more is no duration, and its end may be no date. */
const MAX_EXPIRES_IN_SECONDS = 3e9;

/** Without the slashes at its end. */
export const addressOf = (relay: string): string => `${relay}`.replace(/^(.*[^/])\/+$/, '$1');

/** What RFC 6749 (appendix A) has in tokens, codes and ids, and what a header and a form can carry. */
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && /^[ -~]+$/.test(value);

type Members = Record<string, unknown>;

/** The texts of these names. Whatever else there is, nobody reads it. */
function textsFrom(from: object, names: readonly string[]): Members {
  const members: Members = {};
  names.forEach((name) => {
    const value = from[name as never];
    if (isText(value)) members[name] = value;
  });
  return members;
}

/** Undefined: the response has no tokens. What it does not say stays as in `before`, apart from the expiry. */
export function tokensOf(json: Reply['json'], before: object = {}): Tokens | undefined {
  const tokens = textsFrom(before, GIVEN.concat(OWN));
  delete tokens.accessToken;
  GIVEN.forEach((name) => {
    // RFC 6749 §5.1 writes `access_token`.
    const value = json[name] || json[name.replace(/[A-Z]/, '_$&').toLowerCase()];
    if (isText(value)) tokens[name] = value;
  });
  const given = json.expiresIn || json.expires_in;
  const expiresIn = isText(given) || typeof given === 'number' ? Number(given) : 0;
  if (expiresIn > 0 && expiresIn < MAX_EXPIRES_IN_SECONDS) {
    tokens.expiresIn = expiresIn;
    tokens.expiresAt = Date.now() + expiresIn * 1_000;
  }
  return tokens.accessToken ? (tokens as object as Tokens) : undefined;
}

/**
 * Storages are edited by hand, and written by older versions of the app: a member of another
 * type is as if it were not there. `tokenUrl`: the app's own, if it has one.
 */
export function storedTokens(stored: object, tokenUrl: string | undefined): Tokens {
  const tokens = textsFrom(stored, GIVEN.concat(OWN));
  ['expiresIn', 'expiresAt'].forEach((name) => {
    const value = stored[name as never];
    if (typeof value === 'number') tokens[name] = value;
  });
  if (tokens.tokenUrl && tokenUrl) tokens.tokenUrl = tokenUrl;
  if (!tokens.accessToken) tokens.accessToken = '';
  return tokens as object as Tokens;
}

/** Asks a provider's token endpoint, RFC 6749 §3.2. */
export function requestTokens(
  call: Call,
  url: string,
  form: Readonly<Record<string, unknown>>,
  before: object,
  done: Done<Tokens>,
): void {
  askForTokens(call, { url, body: formOf(form), isProvider: true }, before, done);
}

/** Without what is no text. */
export function formOf(form: Readonly<Record<string, unknown>>): string {
  const pairs = Object.keys(form).map((name) => {
    const value = form[name];
    return isText(value) ? `${name}=${encodeURIComponent(value)}` : '';
  });
  return pairs.filter(Boolean).join('&');
}

function askForTokens(call: Call, request: Request, before: object, done: Done<Tokens>): void {
  ask(
    call,
    request,
    ({ status, json, isJson, refusal, detail }) => {
      const tokens = status === 200 ? tokensOf(json, before) : undefined;
      if (tokens) done(undefined, tokens);
      else if (refusal) {
        done(json.error === 'invalid_grant' ? fail('invalid_grant', detail) : refusal);
      } else if (status === 200 && isJson) done(fail('refused', detail));
      else return AGAIN;
      return undefined;
    },
    done,
  );
}

export interface RefreshOptions extends Place, RequestOptions {
  readonly tokens: Tokens;
}

/** The new tokens, with the old refresh token if there is no new one. */
export const refresh: Operation<RefreshOptions, Tokens> = (call, options, done) => {
  const { relay, service, tokens } = options;
  const { refreshToken, tokenUrl, clientId, tokenType } = tokens;
  if (!isText(refreshToken)) done(fail('invalid_grant', 'There is no refresh token'));
  else if (tokenUrl) {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId };
    requestTokens(call, tokenUrl, form, tokens, done);
  } else {
    const body = JSON.stringify({ service, refreshToken, details: !!tokenType });
    askForTokens(call, { url: `${addressOf(relay)}/refresh`, body }, tokens, done);
  }
};
