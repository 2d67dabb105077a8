/**
 * Open sign-ins, if the operator enables them (OPEN_ENDPOINTS): a client with its own client id
 * borrows the relay's https address. The relay sees no verifier and no token, and makes no request
 * to anyone. docs/open.md.
 */
import { MAX_CALLBACK_CHARACTERS } from '../../limits.ts';
import {
  callbackForClient,
  findAuthorizationUrlProblem,
  OPEN_SERVICE,
  type OpenEndpoints,
  openDestinationOf,
  openRedirectUri,
} from '../../providers/open.ts';
import { isCapability } from '../../sign-ins/secrets.ts';
import { isFinal } from '../../sign-ins/sign-ins.ts';
import type { Handler } from '../app.ts';
import type { Dependencies, PageDependencies, StartDependencies } from '../dependencies.ts';
import { parseMembers, type RelayRequest, readBody, textOf } from '../request.ts';
import { jsonResponse, refuse, textResponse } from '../responses.ts';
import {
  cancelledPageOf,
  errorOf,
  respondToOtherBrowser,
  respondToSecondCallback,
} from './callback.ts';
import { startSignIn } from './device.ts';

/** Enough for an authorization URL of 2,000 characters, escaped in JSON. */
const MAX_BODY_BYTES = 4_096;

/** `POST /open` without a state. Refuses as a start does, and while half of MAX_SESSIONS is live: the rest is for the relay's own services. */
export function createOpenStart(
  dependencies: StartDependencies,
  endpoints: OpenEndpoints,
): Handler {
  const { signIns, admission, clock, signInLog, maxSessions, baseUrl } = dependencies;
  return async (request) => {
    const admitted = await admission.admit(request, 'open');
    if (!admitted.ok) return admitted;
    const { text } = await readBody(request.raw, MAX_BODY_BYTES, clock);
    const body = parseMembers(text);
    if (body === undefined) return refuse('invalid_json');
    const authorizationUrl = textOf(body.authorizationUrl) ?? '';
    const problem = findAuthorizationUrlProblem(authorizationUrl, endpoints);
    if (problem !== undefined) return textResponse(400, `Invalid request: ${problem}\n`);
    if ((await signIns.countLive()) >= maxSessions / 2) {
      signInLog.warnOfOpenFull();
      return refuse('busy');
    }
    const delivery = { kind: 'callback', authorizationUrl } as const;
    const more = { redirectUri: openRedirectUri(baseUrl) };
    return startSignIn(dependencies, request, OPEN_SERVICE, delivery, body, more);
  };
}

/** True if a browser opens a link, which has a state. Otherwise a client starts a sign-in. */
export const isOpenLink = (request: RelayRequest) => request.query('state') !== undefined;

/** `GET /open/callback`, only for the browser in which the user pressed Continue. */
export function createOpenCallback(dependencies: PageDependencies): Handler {
  const { signIns, cookies, signInLog, pages, baseUrl } = dependencies;
  return async (request) => {
    const browserState = request.query('state') ?? '';
    const session = { service: OPEN_SERVICE, browserState };
    if (!isCapability(browserState)) return pages.respondWithPage('link_invalid', request, session);
    if (!cookies.hasContinued(request, browserState)) {
      return respondToOtherBrowser(dependencies, request, session);
    }
    const found = await signIns.find({ browserState }, OPEN_SERVICE);
    if (!found || 'outcome' in found || found.delivery.kind !== 'callback') {
      return respondToSecondCallback(dependencies, request, session, 'link_invalid', true);
    }
    const { authorizationUrl } = found.delivery;
    const query = request.parameters(MAX_CALLBACK_CHARACTERS);
    const error = query === undefined ? 'too long' : query.get('error');
    const { outcome } =
      query === undefined || error || !query.get('code')
        ? await signIns.fail(OPEN_SERVICE, browserState, errorOf(error ?? ''))
        : await signIns.finish(OPEN_SERVICE, browserState, () => {
            return { ok: true, result: callbackForClient(query, authorizationUrl, baseUrl) };
          });
    signInLog.finished(request, OPEN_SERVICE, browserState, outcome);
    if (!isFinal(outcome)) {
      return respondToSecondCallback(dependencies, request, session, outcome, true);
    }
    const { host } = openDestinationOf(authorizationUrl, baseUrl);
    const names = { deviceName: found.deviceName, provider: host };
    const page = cancelledPageOf(outcome, request);
    return pages.respondWithPage(page, request, { service: OPEN_SERVICE, names });
  };
}

/** `GET /open/client.json`: a client id that nobody has to register (draft-ietf-oauth-client-id-metadata-document). */
export function createClientDocument({ baseUrl }: Dependencies): Handler {
  const document = {
    client_id: `${baseUrl}/open/client.json`,
    // Not the operator's name: anybody may use this client id.
    client_name: `A device, by ${new URL(baseUrl).host}`,
    client_uri: baseUrl,
    redirect_uris: [openRedirectUri(baseUrl)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    software_id: 'sign-in-relay',
  };
  return () => jsonResponse(document);
}
