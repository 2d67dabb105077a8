/** Every route of the relay in one table: path, methods, response to a fault, CORS. */
import { createIcon } from '../pages/style.ts';
import type { Route } from './app.ts';
import {
  createDeviceAuthorization,
  createMetadata,
  createToken,
  refuseBlind,
} from './endpoints/device-grant.ts';
import {
  createClientDocument,
  createOpenCallback,
  createOpenLink,
  createOpenStart,
  isOpenLink,
} from './endpoints/open.ts';
import { createOpenApi } from './endpoints/openapi.ts';
import { createQr } from './endpoints/qr.ts';
import { createRefresh } from './endpoints/refresh.ts';
import { createRevocation, createRevoke, REVOCATION_UNAVAILABLE } from './endpoints/revoke.ts';
import { createServices } from './endpoints/services.ts';
import {
  createCallback,
  createLink,
  createResult,
  createStart,
  respondToResultFault,
} from './endpoints/sign-in.ts';
import {
  createCodeForm,
  createConfirmLink,
  createHome,
  createNotFound,
  createShortLink,
  createTakeCode,
} from './endpoints/verification.ts';
import { createHealthRoutes } from './health.ts';
import { refuseInOAuth, refuseOAuth } from './oauth-responses.ts';
import type { Parts } from './parts.ts';
import type { RelayRequest } from './request.ts';
import {
  createPictureResponse,
  type PageResponses,
  type Refused,
  refuse,
  refused,
  refuseInText,
} from './responses.ts';

/** The first route that matches responds. */
export function createRoutes(parts: Parts): Route[] {
  return [
    ...createDeviceRoutes(parts),
    ...createPageRoutes(parts),
    ...createOpenRoutes(parts),
    ...createOAuthRoutes(parts),
    ...createPictureRoutes(parts),
    ...createHealthRoutes(parts.health),
    // Devices and programs get plain text.
    ...['/auth/*', '/qr/*', '/.well-known/*'].map((path) => ({ path })),
    { path: '/*', respond: createNotFound(parts) },
  ];
}

const forDevices = { isForDevices: true };

/** What devices use. docs/protocol.md, docs/extensions.md. */
function createDeviceRoutes(parts: Parts): Route[] {
  return [
    { path: '/auth/start', methods: { POST: createStart(parts) }, ...forDevices },
    {
      path: '/auth/result',
      methods: { GET: createResult(parts) },
      onFault: respondToResultFault,
      ...forDevices,
    },
    {
      path: '/refresh',
      methods: { POST: createRefresh(parts) },
      // The token may still be valid, so the device keeps it.
      onFault: () => refuseInText(refused('refresh_unavailable')),
      ...forDevices,
    },
    {
      path: '/revoke',
      methods: { POST: createRevoke(parts) },
      onFault: () => refuseInText(REVOCATION_UNAVAILABLE),
      ...forDevices,
    },
    { path: '/services', methods: { GET: createServices(parts) }, ...forDevices },
    { path: '/qr/:file', methods: { GET: createQr(parts) }, ...forDevices },
    { path: '/openapi.json', methods: { GET: createOpenApi(parts) }, ...forDevices },
  ];
}

/** What a user sees of a refusal and of a fault. */
const createPageAnswers = (pages: PageResponses) => ({
  refuse: pages.refuse,
  onFault: (request: RelayRequest) =>
    pages.respondWithPage('fault', request, { names: { reference: request.id } }),
});

/** What users' browsers open. docs/protocol.md §5, docs/person.md. */
function createPageRoutes(parts: Parts): Route[] {
  const { pages } = parts;
  const page = createPageAnswers(pages);
  const done = (request: RelayRequest) => pages.respondWithPage('signed_in', request);
  const confirmLink = createConfirmLink(parts);
  const link =
    parts.confirm === 'always'
      ? { GET: confirmLink, POST: confirmLink }
      : { GET: createLink(parts) };
  const home = createHome(parts);
  const codeForm = createCodeForm(parts);
  const form = { GET: codeForm, HEAD: codeForm, POST: createTakeCode(parts) };
  const shortLink = createShortLink(parts);
  const code = { GET: shortLink, POST: shortLink };
  return [
    { path: '/auth/done', methods: { GET: done }, ...page },
    { path: '/auth/:service', methods: link, ...page },
    { path: '/auth/:service/callback', methods: { GET: createCallback(parts) }, ...page },
    { path: '/', methods: { GET: home, HEAD: home }, ...page },
    { path: '/link', methods: form, ...page },
    { path: '/L/:code', methods: code, ...page },
    // For users who type the whole URL in lower case.
    { path: '/l/:code', methods: code, ...page },
  ];
}

/** Open sign-ins, if they are enabled. docs/open.md. */
function createOpenRoutes(parts: Parts): Route[] {
  const { openEndpoints, pages } = parts;
  if (openEndpoints === undefined) return [];
  const page = createPageAnswers(pages);
  const link = createOpenLink(parts);
  const start = createOpenStart(parts, openEndpoints);
  return [
    {
      path: '/open',
      methods: {
        GET: link,
        POST: (request) => (isOpenLink(request) ? link(request) : start(request)),
      },
      refuse: (reason, request) =>
        isOpenLink(request) ? page.refuse(reason, request) : refuseInText(reason),
      onFault: (request) => (isOpenLink(request) ? page.onFault(request) : refuse('busy')),
      ...forDevices,
    },
    { path: '/open/callback', methods: { GET: createOpenCallback(parts) }, ...page },
    { path: '/open/client.json', methods: { GET: createClientDocument(parts) }, ...forDevices },
  ];
}

/** The device grant. Devices get JSON, even for an unknown path or method. */
function createOAuthRoutes(parts: Parts): Route[] {
  const { providers, blind } = parts;
  const oauth = {
    ...forDevices,
    isKnown: providers.has,
    refuse: (reason: Refused) => refuseInOAuth(reason),
    refuseMethod: (allow: string) =>
      refuseOAuth('method_not_allowed', { status: 405, headers: { Allow: allow } }),
    onFault: () => refuseOAuth('temporarily_unavailable'),
  };
  // After a fault the device must poll again. To many clients any other error is final.
  const polled = { ...oauth, onFault: () => refuseOAuth('authorization_pending') };
  const revoked = { ...oauth, onFault: () => refuseInOAuth(REVOCATION_UNAVAILABLE) };
  const notFound = { ...forDevices, respond: () => refuseOAuth('not_found', { status: 404 }) };
  const isBlind = blind === 'always';
  const token = { POST: isBlind ? refuseBlind : createToken(parts) };
  const authorization = { POST: isBlind ? refuseBlind : createDeviceAuthorization(parts) };
  const revocation = { POST: isBlind ? refuseBlind : createRevocation(parts) };
  const metadata = { GET: createMetadata(parts) };
  return [
    { path: '/oauth2/:service/token', methods: token, ...polled },
    { path: '/oauth2/:service/device_authorization', methods: authorization, ...oauth },
    { path: '/oauth2/:service/revoke', methods: revocation, ...revoked },
    {
      path: '/oauth2/:service/.well-known/openid-configuration',
      methods: metadata,
      ...oauth,
    },
    {
      path: '/.well-known/oauth-authorization-server/oauth2/:service',
      methods: metadata,
      ...oauth,
    },
    { path: '/oauth2/*', ...notFound },
    { path: '/.well-known/oauth-authorization-server/*', ...notFound },
  ];
}

/** The logo and the favicon. */
function createPictureRoutes({ branding: { logo, accent } }: Parts): Route[] {
  const respond = createPictureResponse(logo ?? createIcon(accent));
  const methods = { GET: respond, HEAD: respond };
  const icon = { path: '/favicon.ico', methods };
  return logo === undefined ? [icon] : [icon, { path: '/logo', methods }];
}
