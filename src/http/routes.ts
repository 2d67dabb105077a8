/** Every route of the relay in one table: path, methods, response to a fault, CORS. */
import type { Monitor } from '../monitor.ts';
import { type Branding, createPages } from '../pages/pages.ts';
import { createIcon } from '../pages/style.ts';
import type { BlindPolicy, Providers } from '../providers/provider.ts';
import type { RateLimiter, RateLimitPair } from '../relay/rate-limit.ts';
import type { Refreshes } from '../relay/refresh.ts';
import type { Relay } from '../relay/relay.ts';
import type { SessionStore } from '../relay/store.ts';
import type { Clock } from '../relay/time.ts';
import { createAdmission } from './admission.ts';
import type { Handler, Route } from './app.ts';
import { createContinueCookies } from './continue-cookies.ts';
import { createAuthorize } from './endpoints/authorize.ts';
import { createCallback } from './endpoints/callback.ts';
import {
  createDeviceAuthorization,
  createMetadata,
  createToken,
} from './endpoints/device-grant.ts';
import { createOpenApi } from './endpoints/openapi.ts';
import { createQr } from './endpoints/qr.ts';
import { createRefresh, refuseUnavailable } from './endpoints/refresh.ts';
import { createResult, respondToResultFault } from './endpoints/result.ts';
import { createServices, type OfferedService } from './endpoints/services.ts';
import { createStart } from './endpoints/start.ts';
import { createVerification } from './endpoints/verification.ts';
import { refuseOAuth } from './oauth-responses.ts';
import { basePathOf, createBodyReader, type RelayRequest } from './request.ts';
import {
  createPageResponses,
  createPictureResponse,
  refuse,
  textResponseWithoutNewline,
} from './responses.ts';
import type { SignInLog } from './sign-in-log.ts';

export interface RouteSettings {
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly branding: Branding;
  /** Names of the providers, for the home page. */
  readonly providerNames: readonly string[];
  readonly trustedProxyCidrs: readonly string[];
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  readonly deviceGrantRepeatSeconds: number;
  /** When users must confirm before the provider: docs/person.md "Settings". */
  readonly confirm: 'always' | 'code' | 'never';
  /** Whether devices may, or must, exchange the code themselves: docs/extensions.md. */
  readonly blind: BlindPolicy;
}

export interface RateLimits {
  readonly refreshLimiter: RateLimiter;
  /** Polls of the device grant, by device code. Local, because they load only this instance. */
  readonly pollLimiter: RateLimiter;
  readonly codeLimits: RateLimitPair;
  /** QR codes. Local, because they load only this instance. */
  readonly qrLimits: RateLimitPair;
}

export interface RouteParts {
  readonly relay: Relay;
  readonly store: SessionStore;
  readonly refreshes: Refreshes;
  readonly providers: Providers;
  /** Enabled providers, in the order of `PROVIDERS`. */
  readonly offered: readonly OfferedService[];
  readonly rateLimits: RateLimits;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
  readonly monitor: Monitor;
  readonly signInLog: SignInLog;
  /** Why requests should go elsewhere. Undefined: they need not. */
  readonly findUnreadiness: () => string | undefined;
}

export function createRoutes(settings: RouteSettings, parts: RouteParts): Route[] {
  const { baseUrl, branding, sessionSeconds, pollSeconds, confirm } = settings;
  const { relay, store, providers, rateLimits, clock, monitor, signInLog } = parts;
  const basePath = basePathOf(baseUrl);
  const pages = createPageResponses(
    createPages({ branding, basePath, providers: settings.providerNames }),
  );
  const { respondWithPage } = pages;
  const admission = createAdmission(settings.trustedProxyCidrs, store.startLimiter, monitor, clock);
  const bodies = createBodyReader(clock);
  const cookies = createContinueCookies(baseUrl, sessionSeconds, confirm === 'always');
  const shared = { ...settings, ...parts, ...rateLimits, admission, bodies };

  const start = createStart(shared);
  const authorize = createAuthorize(providers, store, signInLog, respondWithPage);
  const callback = createCallback(providers, relay, cookies, signInLog, respondWithPage);
  const done: Handler = (request) => respondWithPage('signed_in', request);
  const result = createResult(store, relay, pollSeconds);
  const verification = createVerification({ ...shared, pages, cookies });
  const { home, codeForm, takeCode, shortLink, confirmLink, notFound } = verification;
  const link = confirm === 'always' ? { GET: confirmLink, POST: confirmLink } : { GET: authorize };
  const metadata = { GET: createMetadata(baseUrl) };
  const qr = createQr(store, admission, rateLimits.qrLimits, baseUrl);
  const openApi = createOpenApi(baseUrl);
  const services = createServices(parts.offered, providers, settings.blind);

  const page = {
    onFault: (request: RelayRequest) =>
      respondWithPage('fault', request, { names: { reference: request.id } }),
  };
  const forDevices = { isForDevices: true };
  const oauth = {
    ...forDevices,
    isKnown: (service: string) => providers.has(service),
    refuseMethod: (allow: string) =>
      refuseOAuth('method_not_allowed', { status: 405, headers: { Allow: allow } }),
    onFault: () => refuseOAuth('temporarily_unavailable'),
  };
  const token = {
    ...oauth,
    // After a fault the device polls again: to many clients any other error is final.
    onFault: () => refuseOAuth('authorization_pending'),
  };
  const oauthNotFound = { ...forDevices, refusal: () => refuseOAuth('not_found', { status: 404 }) };

  return [
    { path: '/auth/start', methods: { POST: start }, ...forDevices },
    {
      path: '/auth/result',
      methods: { GET: result },
      onFault: respondToResultFault,
      ...forDevices,
    },
    {
      path: '/refresh',
      methods: { POST: createRefresh(shared) },
      onFault: refuseUnavailable,
      ...forDevices,
    },
    { path: '/services', methods: { GET: services }, ...forDevices },
    { path: '/auth/done', methods: { GET: done }, ...page },
    { path: '/auth/:service', methods: link, ...page },
    { path: '/auth/:service/callback', methods: { GET: callback }, ...page },

    { path: '/oauth2/:service/token', methods: { POST: createToken(shared) }, ...token },
    {
      path: '/oauth2/:service/device_authorization',
      methods: { POST: createDeviceAuthorization(shared) },
      ...oauth,
    },
    { path: '/oauth2/:service/.well-known/openid-configuration', methods: metadata, ...oauth },
    {
      path: '/.well-known/oauth-authorization-server/oauth2/:service',
      methods: metadata,
      ...oauth,
    },
    { path: '/oauth2/*', ...oauthNotFound },
    { path: '/.well-known/oauth-authorization-server/*', ...oauthNotFound },

    { path: '/', methods: { GET: home, HEAD: home }, ...page },
    { path: '/link', methods: { GET: codeForm, HEAD: codeForm, POST: takeCode }, ...page },
    { path: '/L/:code', methods: { GET: shortLink, POST: shortLink }, ...page },
    // For users who type the whole address in lower case.
    { path: '/l/:code', methods: { GET: shortLink, POST: shortLink }, ...page },
    ...createPictureRoutes(branding),

    { path: '/qr/:file', methods: { GET: qr }, ...forDevices },
    { path: '/openapi.json', methods: { GET: openApi }, ...forDevices },
    healthRoute(parts.isDraining),
    readyRoute(parts.findUnreadiness),
    // What devices and programs ask for is refused in plain text.
    ...['/auth/*', '/qr/*', '/.well-known/*'].map((path) => ({ path })),
    { path: '/*', refusal: notFound },
  ];
}

/** The logo, and the picture that a browser shows beside a title. */
function createPictureRoutes({ logo, accent }: Branding): Route[] {
  const respond = createPictureResponse(logo ?? createIcon(accent));
  const methods = { GET: respond, HEAD: respond };
  const icon = { path: '/favicon.ico', methods };
  return logo === undefined ? [icon] : [icon, { path: '/logo', methods }];
}

/** Without a base URL the relay is disabled: it answers only that it is not configured. */
export function createDisabledRoutes(): Route[] {
  const notConfigured = () => refuse('not_configured');
  return [
    healthRoute(() => false),
    readyRoute(() => 'not configured: OAUTH_BASE_URL is not set'),
    { path: '/services', refusal: notConfigured },
    { path: '/refresh', refusal: notConfigured },
    { path: '/auth/*', refusal: notConfigured },
    { path: '/oauth2/*', refusal: notConfigured },
  ];
}

/** 503 with the reason, so that a load balancer sends new sign-ins elsewhere. docs/operating.md "Health". */
function readyRoute(findUnreadiness: () => string | undefined): Route {
  const ready: Handler = () => {
    const reason = findUnreadiness();
    return reason === undefined
      ? textResponseWithoutNewline(200, 'ready')
      : textResponseWithoutNewline(503, reason);
  };
  return { path: '/ready', methods: { GET: ready, HEAD: ready } };
}

/** 503 while draining, so that a load balancer stops sending requests here. */
function healthRoute(isDraining: () => boolean): Route {
  const health: Handler = () =>
    isDraining()
      ? textResponseWithoutNewline(503, 'draining')
      : textResponseWithoutNewline(200, 'ok');
  return { path: '/health', methods: { GET: health, HEAD: health } };
}
