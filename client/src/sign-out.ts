/** Signing out: the app forgets the tokens, and the provider is asked to accept them no longer (RFC 7009). */
import { AGAIN, another, ask, stop, type Take } from './ask.ts';
import {
  attempt,
  type Call,
  type Operation,
  type Request,
  type RequestOptions,
} from './platform.ts';
import { addressOf, formOf, isText, type Place, type Tokens } from './tokens.ts';

export interface SignOutOptions extends Place, RequestOptions {
  readonly tokens: Tokens;
  /** Deletes the tokens from the app's storage. Called first, whatever the network will say. */
  readonly forget?: (() => unknown) | undefined;
}

/** What came of asking the provider. The app has forgotten the tokens anyway. */
export interface SignedOut {
  /** False: the tokens may work until they expire. */
  readonly revoked: boolean;
  /** The provider has no revocation endpoint that is known. */
  readonly unsupported?: true;
  /** Where the user can remove the app at such a provider: a URL, or the way through its settings. */
  readonly removeAt?: string;
  /** For the app's developer: why they were not revoked. It has no secret. */
  readonly detail?: string;
}

/** The user waits for it, and has signed out already. */
const LONGEST_MS = 15_000;

/** The last ones of this process, by `placeOf`. A refresh of their tokens may still be running. */
export const signOuts: Record<string, SignOutOptions | undefined> = {};
export const placeOf = ({ relay, service }: Place): string => `${addressOf(relay)} ${service}`;

const originOf = (url: string) => /^https?:\/\/[^/?#]+/i.exec(url)?.[0];

export const signOut: Operation<SignOutOptions, SignedOut> = (call, options, done) => {
  signOuts[placeOf(options)] = options;
  attempt(
    () => options.forget?.(),
    (failure) => {
      if (call.isStopped) return;
      const asking = another(call);
      const leave = () => {
        cancelTimer();
        stop(asking);
      };
      const finish: Finish = (result) => {
        leave();
        done(failure, result);
      };
      const cancelTimer = call.platform.later(LONGEST_MS, () =>
        finish(notRevoked('No answer in time')),
      );
      call.abandon = leave;
      revoke(asking, requestsFor(options), finish);
    },
  );
};

type Finish = (result: SignedOut) => void;

const notRevoked = (detail: string): SignedOut => ({ revoked: false, detail });

/** After a blind sign-in the relay must not see the tokens. They go to the server that made them, and nowhere else. */
function requestsFor({ relay, service, tokens }: SignOutOptions): readonly Request[] {
  const { refreshToken, accessToken, tokenUrl, revocationUrl: url, clientId } = tokens;
  if (!tokenUrl) {
    const body = JSON.stringify({ service, refreshToken, accessToken });
    return [{ url: `${addressOf(relay)}/revoke`, body }];
  }
  if (!isText(url) || !isText(tokenUrl) || originOf(url) !== originOf(tokenUrl)) return [];
  return [refreshToken, accessToken]
    .filter(isText)
    .map((token) => ({ url, body: formOf({ token, client_id: clientId }), isProvider: true }));
}

/** One request after the other. */
function revoke(call: Call, requests: readonly Request[], finish: Finish): void {
  const request = requests[0];
  if (!request) {
    finish({ ...notRevoked('No revocation endpoint'), unsupported: true });
    return;
  }
  const take: Take = ({ status, json, isJson, refusal, detail }) => {
    const { error, removeAt } = json;
    // RFC 7009 §2.2: a provider's response needs no content. What answers without JSON may be a captive portal.
    if (status === 200 && (isJson || request.isProvider)) {
      if (requests.length > 1) revoke(call, requests.slice(1), finish);
      else finish({ revoked: true });
    } else if (refusal) {
      finish({
        ...notRevoked(detail),
        ...(error === 'unsupported' && { unsupported: true }),
        ...(isText(removeAt) && { removeAt }),
      });
    } else return AGAIN;
    return undefined;
  };
  ask(call, request, take, (failure) => finish(notRevoked(failure.detail)));
}
