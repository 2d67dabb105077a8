/** Tokens: how they are received, refreshed and kept. */
import { AGAIN, ask, type Reply } from './ask.ts';
import { fail } from './errors.ts';
import {
  attempt,
  type Call,
  type Done,
  type Operation,
  type Platform,
  type Request,
  type RequestOptions,
} from './platform.ts';

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
}

/** Which relay, and which of its providers. */
export interface Place {
  /** The relay's address, such as `https://relay.example`. */
  readonly relay: string;
  /** The provider, as the relay names it. */
  readonly service: string;
}

const MEMBERS = 'accessToken refreshToken tokenType scope idToken'.split(' ');
/** A century: more is no duration, and its end may be no date. */
const MAX_EXPIRES_IN_SECONDS = 3e9;

/** Without the slashes at its end. */
export const addressOf = (relay: string): string => `${relay}`.replace(/\/+$/, '');

/** What RFC 6749 (appendix A) has in tokens, codes and ids, and what a header and a form can carry. */
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && /^[ -~]+$/.test(value);

/** Undefined: the response has no tokens. What it does not say stays as in `before`, apart from the expiry. */
export function tokensOf(json: Reply['json'], before: object = {}): Tokens | undefined {
  const tokens: Record<string, unknown> = {};
  for (const name in before) {
    if (!/^(access|expires)/.test(name)) tokens[name] = before[name as never];
  }
  MEMBERS.forEach((name) => {
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

/** Asks a provider's token endpoint, RFC 6749 §3.2. */
export function requestTokens(
  call: Call,
  url: string,
  form: Readonly<Record<string, unknown>>,
  before: object,
  done: Done<Tokens>,
): void {
  const pairs = Object.keys(form).map((name) => {
    const value = form[name];
    return isText(value) ? `${name}=${encodeURIComponent(value)}` : '';
  });
  askForTokens(
    call,
    { url, body: pairs.filter(Boolean).join('&'), isProvider: true },
    before,
    done,
  );
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

/** The storage of the app. In the TV build its functions return at once; elsewhere they may return a promise. */
export interface KeeperOptions extends Place, RequestOptions {
  load(): Stored | PromiseLike<Stored>;
  save(tokens: Tokens): unknown;
}

/** Tokens are refreshed so long before they expire, but not in the first half of their life. */
const EARLY_MS = 60_000;

type Stored = Tokens | undefined | null;

/**
 * Gives an access token that is good for a while, to many callers. All that ask at
 * the same time share one look into the storage and one refresh.
 */
export function createKeeper(
  platform: Platform,
  options: KeeperOptions,
): (done: Done<string>, rejected?: string) => void {
  const { relay, service, headers, timeoutMs } = options;
  let waiting: { rejected: string | undefined; done: Done<string> }[] = [];

  function get(done: Done<string>, rejected?: string): void {
    if (waiting.push({ rejected, done }) > 1) return;
    attempt(
      () => options.load(),
      (failure, tokens) => {
        if (!tokens) return settle(failure || fail('invalid_grant', 'There are no tokens'));
        const { accessToken, refreshToken, expiresAt = 1 / 0, expiresIn = 1 / 0 } = tokens;
        const leftMs = expiresAt - Date.now();
        const earlyMs = Math.min(EARLY_MS, expiresIn * 500);
        const isGood = accessToken !== rejected && leftMs > 0;
        if (isGood && (leftMs > earlyMs || !refreshToken)) return settle(undefined, accessToken);
        refresh({ platform, headers, timeoutMs }, { relay, service, tokens }, (reason, fresh) => {
          if (fresh) {
            attempt(
              () => options.save(fresh),
              (trouble) => settle(trouble, fresh.accessToken),
            );
          } else if (isGood) settle(undefined, accessToken);
          else settle(reason);
        });
      },
    );
  }

  function settle(failure: unknown, accessToken?: string): void {
    const all = waiting;
    waiting = [];
    all.forEach(({ rejected, done }, index) => {
      // The first caller was content with a token that the API rejected for another.
      if (!failure && index && accessToken === rejected) get(done, rejected);
      else done(failure, accessToken);
    });
  }

  return get;
}
