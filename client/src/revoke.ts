/** Revokes tokens at the provider (RFC 7009): through the relay, or directly after a blind sign-in. */
import { ask, type Call, originOf, stop } from './ask.ts';
import { type Request, within } from './platform.ts';
import {
  formTo,
  isPrintableAscii,
  type RelayService,
  relayRequest,
  type Tokens,
} from './tokens.ts';

/** The provider's answer. The app has deleted the tokens in any case. */
export interface SignedOut {
  /** False if the tokens may work until they expire. */
  readonly revoked: boolean;
  /** No revocation endpoint of the provider is known. */
  readonly unsupported?: true;
  /** Where the user can remove the app at such a provider: a URL, or the path through its settings. */
  readonly removeAt?: string;
  /** Why they were not revoked, for the app's developer. Contains no secret. */
  readonly detail?: string;
}

/** Short, because the user waits and is already signed out. */
const LONGEST_MS = 15_000;

export const notRevoked = (detail: string): SignedOut => ({ revoked: false, detail });

/** Resolves within 15 s, and never rejects. */
export function revoke(
  { platform, options }: Call<RelayService>,
  tokens: Tokens,
): Promise<SignedOut> {
  const call = { platform, options };
  return within(platform, LONGEST_MS, sendAll(call, requestsFor(options, tokens)))
    .catch(({ message }: Error) => notRevoked(message))
    .then((result) => {
      stop(call);
      return result;
    });
}

/** After a blind sign-in the relay must not see the tokens. They go only to the server that issued them. */
function requestsFor(options: RelayService, tokens: Tokens): readonly Request[] {
  const { refreshToken, accessToken, revocationUrl: url } = tokens;
  if (!tokens.tokenUrl) {
    const given = { service: options.service, refreshToken, accessToken };
    return [relayRequest(options, '/revoke', given)];
  }
  if (!isPrintableAscii(url) || originOf(url) !== originOf(tokens.tokenUrl)) return [];
  const given = [refreshToken, accessToken].filter(isPrintableAscii);
  return given.map((token) => formTo(url, { token, client_id: tokens.clientId }));
}

/** Revokes them one by one, and stops at a failure. */
const sendAll = (call: Call, requests: readonly Request[]): Promise<SignedOut> =>
  requests.reduce<Promise<SignedOut>>(
    (before, request, nth) =>
      before.then((result) => (nth && !result.revoked ? result : send(call, request))),
    Promise.resolve({ ...notRevoked('No revocation endpoint'), unsupported: true }),
  );

const send = (call: Call, request: Request): Promise<SignedOut> =>
  ask(call, request, ({ status, json, isJson, refusal, detail }) => {
    const { error, removeAt } = json;
    // RFC 7009 §2.2: a provider's response needs no content; some report an error with 200, or that
    // the token is unknown. A relay's response without JSON may come from a captive portal.
    const isDone = request.isProvider ? status > 0 && !error : isJson;
    if ((isDone && status < 300) || error === 'invalid_token') return { revoked: true };
    if (!refusal) return undefined;
    return {
      ...notRevoked(detail),
      ...(error === 'unsupported' && { unsupported: true as const }),
      ...(isPrintableAscii(removeAt) && { removeAt }),
    };
  });
