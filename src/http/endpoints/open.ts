/**
 * Open sign-ins, if the operator enables them (OPEN_ENDPOINTS): a client with its own client id
 * borrows the relay's https address. The relay sees neither verifier nor token, and makes no
 * request to anyone. docs/open.md.
 */
import { MAX_CALLBACK_CHARACTERS } from '../../limits.ts';
import { cleanName } from '../../pages/shown-name.ts';
import {
  callbackForClient,
  OPEN_SERVICE,
  type OpenEndpoints,
  openDestinationOf,
  openRedirectUri,
  readAuthorizationUrl,
} from '../../providers/open.ts';
import { isCapability } from '../../relay/secrets.ts';
import type { Handler } from '../app.ts';
import type { Parts } from '../parts.ts';
import type { RelayRequest } from '../request.ts';
import { jsonResponse, refused, textResponse } from '../responses.ts';
import { endsSignIn } from '../sign-in-log.ts';
import { confirmLink } from './confirmation.ts';
import { ACK_MS, describeStarted, errorOf, readMembers } from './sign-in.ts';

/** An authorization URL of 2,000 characters, escaped in JSON. */
const MAX_BODY_BYTES = 4_096;

/** `POST /open` without a state. Refuses as a start does; the rest of MAX_SESSIONS is for the relay's own services. */
export function createOpenStart(parts: Parts, endpoints: OpenEndpoints): Handler {
  const { admission, bodies, relay, signInLog, openLimiter, store, maxSessions } = parts;
  return async (request) => {
    const admitted = await admission.admitStart(request, openLimiter, 'open');
    if (!admitted.ok) return admitted;
    const asked = await readMembers(request, bodies, MAX_BODY_BYTES);
    if (asked === undefined) return refused('invalid_json');
    const read = readAuthorizationUrl(asked.authorizationUrl, endpoints);
    if (!read.ok) return textResponse(400, `Invalid request: ${read.problem}`);
    if ((await store.countLive()) >= maxSessions / 2) return refused('busy');
    const { challenge, authorizationUrl } = read;
    const started = await relay.start(OPEN_SERVICE, {
      withVerifier: false,
      challenge,
      authorizationUrl,
      details: false,
      withUserCode: asked.code === true,
      deviceName: cleanName(asked.device),
      repeatMs: asked.ack === true ? ACK_MS : undefined,
      keepsErrors: false,
    });
    signInLog.started(request, OPEN_SERVICE, started);
    if (!started.ok) return started;
    const { baseUrl } = parts;
    const url = `${baseUrl}/open?state=${started.secrets.browserState}`;
    const described = describeStarted(started.secrets, url, parts);
    return jsonResponse({ ...described, redirectUri: openRedirectUri(baseUrl) });
  };
}

/** `/open`: with a state it is a link, which a browser opens; without, a client starts. */
export const isOpenLink = (request: RelayRequest) => request.query('state') !== undefined;

/** `/open?state=`, by GET and POST: always the confirmation page first. */
export function createOpenLink(parts: Parts): Handler {
  return (request) => confirmLink(parts, request, (service) => service === OPEN_SERVICE);
}

/** `GET /open/callback`, only for the browser in which the user pressed Continue. */
export function createOpenCallback(parts: Parts): Handler {
  const { store, relay, signInLog, openCookies, pages, baseUrl } = parts;
  return async (request) => {
    const browserState = request.query('state') ?? '';
    if (!isCapability(browserState)) return pages.respondWithPage('link_invalid', request);
    const found = await store.getSession({ browserState });
    if (typeof found !== 'object' || found.service !== OPEN_SERVICE) {
      return pages.respondWithPage('link_invalid', request);
    }
    const { service, deviceName, authorizationUrl = '' } = found;
    if (!openCookies.allowsCallback(request, browserState)) {
      return pages.respondWithPage('other_browser', request);
    }
    const query = request.parameters(MAX_CALLBACK_CHARACTERS);
    const error = query === undefined ? 'too long' : query.get('error');
    const code = query?.get('code') ?? '';
    const client = {
      name: service,
      reserve: () => true,
      release: () => {},
      codeForDevice: (_code: string, leased: Parameters<typeof callbackForClient>[1]) =>
        callbackForClient(query ?? new URLSearchParams(), leased, baseUrl),
      exchange: () => Promise.reject(new Error('an open sign-in is exchanged by its client')),
    };
    const { outcome } =
      error || !code
        ? await relay.endWithError(service, browserState, errorOf(error ?? ''))
        : await relay.endWithCode(client, browserState, code);
    signInLog.finished(request, service, browserState, outcome);
    if (!endsSignIn(outcome)) return pages.respondWithPage(outcome, request);
    const names = { deviceName, provider: openDestinationOf(authorizationUrl, baseUrl).host };
    return pages.respondWithPage(outcome, request, { names });
  };
}

/** `GET /open/client.json`: a client id that nobody has to register (draft-ietf-oauth-client-id-metadata-document). */
export function createClientDocument({ baseUrl }: Parts): Handler {
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
