/** Asks the provider to accept tokens no longer (RFC 7009): through the relay, or directly after a blind sign-in. */
import { AGAIN, ask, originOf, stop, type Take } from './ask.ts';
import type { Call, Request } from './platform.ts';
import { addressOf, formOf, isText, type Place, type Tokens } from './tokens.ts';

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

type Finish = (result: SignedOut) => void;

const notRevoked = (detail: string): SignedOut => ({ revoked: false, detail });

/** Calls back within 15 s. */
export function revoke(call: Call, place: Place, tokens: Tokens, done: Finish): void {
  const finish: Finish = (result) => {
    cancelTimer();
    stop(call);
    done(result);
  };
  const cancelTimer = call.platform.later(LONGEST_MS, () =>
    finish(notRevoked('No answer in time')),
  );
  send(call, requestsFor(place, tokens), finish);
}

/** After a blind sign-in the relay must not see the tokens. They go to the server that made them, and nowhere else. */
function requestsFor({ relay, service }: Place, tokens: Tokens): readonly Request[] {
  const { refreshToken, accessToken, tokenUrl, revocationUrl: url, clientId } = tokens;
  if (!tokenUrl) {
    const body = JSON.stringify({ service, refreshToken, accessToken });
    return [{ url: `${addressOf(relay)}/revoke`, body }];
  }
  if (!isText(url) || originOf(url) !== originOf(tokenUrl)) return [];
  return [refreshToken, accessToken]
    .filter(isText)
    .map((token) => ({ url, body: formOf({ token, client_id: clientId }), isProvider: true }));
}

/** One request after the other. */
function send(call: Call, requests: readonly Request[], finish: Finish): void {
  const request = requests[0];
  if (!request) {
    finish({ ...notRevoked('No revocation endpoint'), unsupported: true });
    return;
  }
  const take: Take = ({ status, json, isJson, refusal, detail }) => {
    const { error, removeAt } = json;
    // RFC 7009 §2.2: a provider's response needs no content. What answers without JSON may be a captive portal.
    if (status === 200 && (isJson || request.isProvider)) {
      if (requests.length > 1) send(call, requests.slice(1), finish);
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
