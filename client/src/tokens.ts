/** Tokens: how they are received, refreshed and kept. */
import { AGAIN, ask, type Reply } from './ask.ts';
import { fail } from './errors.ts';
import type { Call, Done, Operation, Platform } from './platform.ts';

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
  /** Where this device refreshes itself, if it exchanged the code itself. */
  readonly tokenUrl?: string;
  readonly clientId?: string;
}

/** Which relay, and which of its providers. */
export interface Place {
  /** The relay's base URL, such as `https://relay.example`. */
  readonly relay: string;
  /** The provider, as the relay names it. */
  readonly service: string;
}

const MEMBERS = 'accessToken refreshToken expiresIn tokenType scope idToken'.split(' ');

export const baseUrlOf = (relay: string): string => relay.replace(/\/+$/, '');

/** Undefined: the response has no tokens. Absent members stay as in `before`, apart from the expiry. */
export function tokensOf(json: Reply['json'], before: object = {}): Tokens | undefined {
  const tokens: Record<string, unknown> = {};
  for (const name in before) {
    if (!/^(access|expires)/.test(name)) tokens[name] = before[name as never];
  }
  MEMBERS.forEach((name) => {
    // RFC 6749 §5.1 writes `access_token`.
    const value = json[name] || json[name.replace(/[A-Z]/, '_$&').toLowerCase()];
    if (value) tokens[name] = value;
  });
  const expiresIn = Number(tokens.expiresIn);
  if (expiresIn) tokens.expiresAt = Date.now() + expiresIn * 1_000;
  return tokens.accessToken ? (tokens as object as Tokens) : undefined;
}

/** A request to a provider's token endpoint, RFC 6749 §3.2. */
export function requestTokens(
  call: Call,
  url: string,
  form: Readonly<Record<string, unknown>>,
  before: object,
  done: Done<Tokens>,
): void {
  const pairs = Object.keys(form).map((name) => `${name}=${encodeURIComponent(`${form[name]}`)}`);
  askForTokens(call, { url, body: pairs.join('&'), isForm: true }, before, done);
}

function askForTokens(
  call: Call,
  request: Parameters<typeof ask>[1],
  before: object,
  done: Done<Tokens>,
): void {
  ask(
    call,
    request,
    ({ status, json, refusal }) => {
      const tokens = status === 200 ? tokensOf(json, before) : undefined;
      if (tokens) done(undefined, tokens);
      else if (refusal) done(json.error === 'invalid_grant' ? fail('invalid_grant') : refusal);
      else return AGAIN;
      return undefined;
    },
    done,
  );
}

export interface RefreshOptions extends Place {
  readonly tokens: Tokens;
}

/** The new tokens, with the old refresh token if there is no new one. */
export const refresh: Operation<RefreshOptions, Tokens> = (call, options, done) => {
  const { relay, service, tokens } = options;
  const { refreshToken, tokenUrl, clientId, tokenType } = tokens;
  if (!refreshToken) done(fail('invalid_grant'));
  else if (tokenUrl) {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId };
    requestTokens(call, tokenUrl, form, tokens, done);
  } else {
    const body = JSON.stringify({ service, refreshToken, details: !!tokenType });
    askForTokens(call, { url: `${baseUrlOf(relay)}/refresh`, body }, tokens, done);
  }
};

/** The storage of the app. In the TV build its functions return at once; elsewhere they may return a promise. */
export interface KeeperOptions extends Place {
  load(): Stored | PromiseLike<Stored>;
  save(tokens: Tokens): unknown;
}

/** Tokens are refreshed this long before they expire, but not in the first half of their lifetime. */
const EARLY_MS = 60_000;

type Stored = Tokens | undefined | null;

/**
 * Gives an access token that stays valid for a while. Concurrent callers share one read of the
 * storage and one refresh.
 */
export function createKeeper(
  platform: Platform,
  options: KeeperOptions,
): (done: Done<string>, rejected?: string) => void {
  const { relay, service } = options;
  let waiting: { rejected: string | undefined; done: Done<string> }[] = [];

  function get(done: Done<string>, rejected?: string): void {
    if (waiting.push({ rejected, done }) > 1) return;
    platform.attempt(
      () => options.load(),
      (failure, tokens) => {
        if (!tokens) return settle(failure || fail('invalid_grant'));
        const { accessToken, refreshToken, expiresAt = 1 / 0, expiresIn = 1 / 0 } = tokens;
        const leftMs = expiresAt - Date.now();
        const earlyMs = Math.min(EARLY_MS, expiresIn * 500);
        const isGood = accessToken !== rejected && leftMs > 0;
        if (isGood && (leftMs > earlyMs || !refreshToken)) return settle(undefined, accessToken);
        refresh({ platform }, { relay, service, tokens }, (reason, fresh) => {
          if (fresh) {
            platform.attempt(
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
      // The first caller accepted a token that the API has rejected for another.
      if (!failure && index && accessToken === rejected) get(done, rejected);
      else done(failure, accessToken);
    });
  }

  return get;
}
