/** Every route of the relay in one table: path, methods, response to a fault, CORS. */
import type { RequestKind } from '../monitor.ts';
import type { Branding } from '../pages/pages.ts';
import { createIcon } from '../pages/style.ts';
import { OPEN_SERVICE } from '../providers/open.ts';
import { METADATA_PATH, type Route } from './app.ts';
import type { Dependencies } from './dependencies.ts';
import { createCallback, createLink } from './endpoints/callback.ts';
import { confirmLink } from './endpoints/confirmation.ts';
import { createResult, createStart, respondToResultFault } from './endpoints/device.ts';
import {
  blindResponse,
  createDeviceAuthorization,
  createMetadata,
  createToken,
} from './endpoints/device-grant.ts';
import {
  createClientDocument,
  createOpenCallback,
  createOpenStart,
  isOpenLink,
} from './endpoints/open.ts';
import { createQr } from './endpoints/qr.ts';
import { createRefresh } from './endpoints/refresh.ts';
import { createRevocation, createRevoke } from './endpoints/revoke.ts';
import { createServices } from './endpoints/services.ts';
import {
  createCodeForm,
  createNotFound,
  createShortLink,
  createSubmitCode,
} from './endpoints/verification.ts';
import { oauthErrorResponse, oauthResponseTo } from './oauth-responses.ts';
import type { RelayRequest } from './request.ts';
import {
  createPictureResponse,
  errorResponse,
  JSON_RESPONSE,
  type PageResponses,
  type Refusal,
  textResponseTo,
  undecided,
} from './responses.ts';

/** An exact path takes precedence over patterns, and an earlier pattern over a later one. */
export function createRoutes(endpoints: Dependencies, branding: Branding): Route[] {
  return [
    ...createDeviceRoutes(endpoints),
    ...createPageRoutes(endpoints),
    ...createOpenRoutes(endpoints),
    ...createOAuthRoutes(endpoints),
    ...createPictureRoutes(branding),
    // Devices and programs get plain text.
    ...['/auth/*', '/qr/*', '/.well-known/*'].map((path) => ({ path })),
    // So does an app whose base URL has a wrong path, and CORS lets a web app read that.
    ...['*/services', '*/auth/start'].map((path) => ({ path, ...forDevices })),
    { path: '/*', respond: createNotFound(endpoints) },
  ];
}

/** A path, or the path of a route, at which sign-ins start. At `/open` it may be the user's link. */
export const START_PATH = /^\/(?:auth\/start|open|oauth2\/[^/]+\/device_authorization)$/;

/** The kind of a request, for the metric of failures. Undefined for a probe: its 503 is an answer, not a failure. */
export function findRequestKind({ path, isForDevices }: Route): RequestKind | undefined {
  if (path === '/health' || path === '/ready') return undefined;
  if (START_PATH.test(path)) return 'start';
  return isForDevices ? 'device' : 'browser';
}

const forDevices = { isForDevices: true };

/** What devices use. docs/protocol.md, docs/extensions.md. */
function createDeviceRoutes(endpoints: Dependencies): Route[] {
  let api: string | undefined;
  const forTokens = { ...forDevices, onFault: () => textResponseTo(undecided()) };
  return [
    { path: '/auth/start', methods: { POST: createStart(endpoints) }, ...forDevices },
    {
      path: '/auth/result',
      methods: { GET: createResult(endpoints) },
      onFault: respondToResultFault,
      ...forDevices,
    },
    { path: '/refresh', methods: { POST: createRefresh(endpoints) }, ...forTokens },
    { path: '/revoke', methods: { POST: createRevoke(endpoints) }, ...forTokens },
    { path: '/services', methods: { GET: createServices(endpoints) }, ...forDevices },
    { path: '/qr/:file', methods: { GET: createQr(endpoints) }, ...forDevices },
    {
      path: '/openapi.json',
      methods: {
        async GET() {
          // Loaded when needed, because few relays get such a request.
          api ??= (await import('./openapi/document.ts')).describeApi(endpoints.baseUrl);
          return new Response(api, JSON_RESPONSE);
        },
      },
      ...forDevices,
    },
  ];
}

/** The pages for a refusal and for a fault. */
const createPageAnswers = (pages: PageResponses) => ({
  onRefusal: pages.responseTo,
  onFault: (request: RelayRequest) =>
    pages.respondWithPage('fault', request, { names: { reference: request.id } }),
});

/** What users' browsers open. docs/protocol.md §5, docs/user-pages.md. */
function createPageRoutes(endpoints: Dependencies): Route[] {
  const { pages, confirm } = endpoints;
  const page = createPageAnswers(pages);
  const done = (request: RelayRequest) => pages.respondWithPage('signed_in', request);
  const confirmed = (request: RelayRequest) => confirmLink(endpoints, request, request.parameter);
  const link =
    confirm === 'always' ? { GET: confirmed, POST: confirmed } : { GET: createLink(endpoints) };
  const home = (request: RelayRequest) => pages.respond(200, pages.pagesFor(request).home, 'code');
  const codeForm = createCodeForm(endpoints);
  const form = { GET: codeForm, HEAD: codeForm, POST: createSubmitCode(endpoints) };
  const shortLink = createShortLink(endpoints);
  const code = { GET: shortLink, POST: shortLink };
  return [
    { path: '/auth/done', methods: { GET: done }, ...page },
    { path: '/auth/:service', methods: link, ...page },
    { path: '/auth/:service/callback', methods: { GET: createCallback(endpoints) }, ...page },
    { path: '/', methods: { GET: home, HEAD: home }, ...page },
    { path: '/link', methods: form, ...page },
    { path: '/L/:code', methods: code, ...page },
    // For users who type the whole URL in lower case.
    { path: '/l/:code', methods: code, ...page },
  ];
}

/** Open sign-ins, if they are enabled. docs/open.md. */
function createOpenRoutes(endpoints: Dependencies): Route[] {
  const { openEndpoints, pages } = endpoints;
  if (openEndpoints === undefined) return [];
  const page = createPageAnswers(pages);
  // Always shows the confirmation page first.
  const link = (request: RelayRequest) => confirmLink(endpoints, request, OPEN_SERVICE);
  const start = createOpenStart(endpoints, openEndpoints);
  return [
    {
      path: '/open',
      methods: {
        GET: link,
        POST: (request) => (isOpenLink(request) ? link(request) : start(request)),
      },
      onRefusal: (refusal, request) =>
        isOpenLink(request) ? page.onRefusal(refusal, request) : textResponseTo(refusal),
      onFault: (request) => (isOpenLink(request) ? page.onFault(request) : errorResponse('busy')),
      ...forDevices,
    },
    { path: '/open/callback', methods: { GET: createOpenCallback(endpoints) }, ...page },
    { path: '/open/client.json', methods: { GET: createClientDocument(endpoints) }, ...forDevices },
  ];
}

/** The device grant. Devices get JSON, even for an unknown path or method. */
function createOAuthRoutes(endpoints: Dependencies): Route[] {
  const { providers, blind } = endpoints;
  const oauth = {
    ...forDevices,
    isKnown: providers.has,
    onRefusal: (refusal: Refusal) => oauthResponseTo(refusal),
    onFault: () => oauthErrorResponse('temporarily_unavailable'),
  };
  // After a fault the device must poll again, and many clients treat any other error as final.
  const polled = { ...oauth, onFault: () => oauthErrorResponse('authorization_pending') };
  const revoked = { ...oauth, onFault: () => oauthResponseTo(undecided()) };
  const isBlind = blind === 'always';
  const token = { POST: isBlind ? blindResponse : createToken(endpoints) };
  const authorization = { POST: isBlind ? blindResponse : createDeviceAuthorization(endpoints) };
  const revocation = { POST: isBlind ? blindResponse : createRevocation(endpoints) };
  const metadata = { ...oauth, methods: { GET: createMetadata(endpoints) } };
  return [
    { path: '/oauth2/:service/token', methods: token, ...polled },
    { path: '/oauth2/:service/device_authorization', methods: authorization, ...oauth },
    { path: '/oauth2/:service/revoke', methods: revocation, ...revoked },
    { path: '/oauth2/:service/.well-known/openid-configuration', ...metadata },
    { path: `${METADATA_PATH}/oauth2/:service`, ...metadata },
    { path: '/oauth2/*', ...oauth },
    { path: `${METADATA_PATH}/*`, ...oauth },
  ];
}

/** The logo and the favicon. */
function createPictureRoutes({ logo, accent }: Branding): Route[] {
  const respond = createPictureResponse(logo ?? createIcon(accent));
  const methods = { GET: respond, HEAD: respond };
  const icon = { path: '/favicon.ico', methods };
  return logo === undefined ? [icon] : [icon, { path: '/logo', methods }];
}
