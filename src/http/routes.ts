/** Every route of the relay in one table: path, methods, response to a fault, CORS. */
import type { Monitor } from '../monitor.ts';
import { type Branding, createPages } from '../pages/pages.ts';
import { createIcon } from '../pages/style.ts';
import type { BlindPolicy } from '../providers/config.ts';
import type { Providers } from '../providers/provider.ts';
import type { RateLimiter, RateLimitPair } from '../relay/rate-limit.ts';
import type { Refreshes } from '../relay/refresh.ts';
import type { Relay } from '../relay/relay.ts';
import type { Revocations } from '../relay/revoke.ts';
import type { SessionStore } from '../relay/store.ts';
import type { Clock } from '../relay/time.ts';
import { createAdmission } from './admission.ts';
import type { Handler, Route } from './app.ts';
import { createContinueCookies } from './continue-cookies.ts';
import { createConfirmation } from './endpoints/confirmation.ts';
import {
  createDeviceAuthorization,
  createMetadata,
  createToken,
  refuseBlind,
} from './endpoints/device-grant.ts';
import { createOpenApi } from './endpoints/openapi.ts';
import { createQr } from './endpoints/qr.ts';
import { createRefresh, createRefreshTokens } from './endpoints/refresh.ts';
import {
  createCanRevoke,
  createRevocation,
  createRevoke,
  createRevokeAtProvider,
  REVOCATION_UNAVAILABLE,
} from './endpoints/revoke.ts';
import { createServices } from './endpoints/services.ts';
import {
  createCallback,
  createLink,
  createResult,
  createStart,
  respondToResultFault,
} from './endpoints/sign-in.ts';
import { createConfirmLink, createVerification } from './endpoints/verification.ts';
import { createHealthRoutes, type Health } from './health.ts';
import { refuseInOAuth, refuseOAuth } from './oauth-responses.ts';
import { basePathOf, createBodyReader, type RelayRequest } from './request.ts';
import {
  createPageResponses,
  createPictureResponse,
  type Refused,
  refused,
  refuseInText,
} from './responses.ts';
import type { SignInLog } from './sign-in-log.ts';

export interface RouteSettings {
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly branding: Branding;
  /** Names of the providers, for the home page. */
  readonly providerNames: readonly string[];
  readonly trustedProxyCidrs: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  /** When users must confirm before the provider: docs/person.md "Whom the confirmation page protects". */
  readonly confirm: 'always' | 'code';
  /** Whether devices may, or must, exchange the code themselves: docs/extensions.md. */
  readonly blind: BlindPolicy;
}

export interface RateLimits {
  readonly startLimiter: RateLimiter;
  readonly refreshLimiter: RateLimiter;
  readonly revokeLimiter: RateLimiter;
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
  readonly revocations: Revocations;
  readonly providers: Providers;
  readonly rateLimits: RateLimits;
  readonly clock: Clock;
  readonly monitor: Monitor;
  readonly signInLog: SignInLog;
  readonly health: Health;
}

const forDevices = { isForDevices: true };

export function createRoutes(settings: RouteSettings, parts: RouteParts): Route[] {
  const { baseUrl, branding, sessionSeconds, pollSeconds, confirm, blind } = settings;
  const { relay, store, providers, rateLimits, clock, monitor, signInLog, health } = parts;
  const basePath = basePathOf(baseUrl);
  const pages = createPageResponses(
    createPages({
      branding,
      host: new URL(baseUrl).host,
      basePath,
      providers: settings.providerNames,
    }),
  );
  const admission = createAdmission(
    settings.trustedProxyCidrs,
    [new URL(baseUrl).origin, ...settings.corsOrigins],
    rateLimits.startLimiter,
    monitor,
  );
  const bodies = createBodyReader(clock);
  const cookies = createContinueCookies(baseUrl, sessionSeconds, confirm === 'always');

  const start = createStart({
    admission,
    bodies,
    providers,
    relay,
    signInLog,
    baseUrl,
    sessionSeconds,
    blind,
  });
  const openLink = createLink(providers, store, signInLog, pages);
  const callback = createCallback(providers, relay, store, cookies, signInLog, pages);
  const done: Handler = (request) => pages.respondWithPage('signed_in', request);
  const result = createResult(store, relay, pollSeconds);
  const { refreshLimiter } = rateLimits;
  const refreshTokens = createRefreshTokens(admission, refreshLimiter, parts.refreshes, signInLog);
  const refresh = createRefresh(bodies, providers, refreshTokens, blind);
  const revokeParts = {
    bodies,
    providers,
    revocations: parts.revocations,
    revokeAtProvider: createRevokeAtProvider(admission, rateLimits.revokeLimiter, signInLog),
    blind,
  };
  const confirmation = createConfirmation({
    pages,
    bodies,
    providers,
    store,
    cookies,
    signInLog,
    baseUrl,
  });
  const { home, codeForm, takeCode, shortLink, notFound } = createVerification({
    pages,
    admission,
    codeLimits: rateLimits.codeLimits,
    bodies,
    store,
    confirmation,
    baseUrl,
  });
  const confirmLink = createConfirmLink(pages, providers, store, confirmation);
  const link = confirm === 'always' ? { GET: confirmLink, POST: confirmLink } : { GET: openLink };
  const token = createToken({
    bodies,
    providers,
    relay,
    refreshTokens,
    pollLimiter: rateLimits.pollLimiter,
    monitor,
    pollSeconds,
  });
  const deviceAuthorization = createDeviceAuthorization({
    admission,
    bodies,
    providers,
    relay,
    signInLog,
    baseUrl,
    sessionSeconds,
  });
  const qr = createQr(store, admission, rateLimits.qrLimits, baseUrl);
  const openApi = createOpenApi(baseUrl);
  const canRevoke = createCanRevoke(providers, blind);
  const services = createServices(providers, blind, canRevoke);

  const page = {
    refuse: pages.refuse,
    onFault: (request: RelayRequest) =>
      pages.respondWithPage('fault', request, { names: { reference: request.id } }),
  };
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
      methods: { POST: refresh },
      // The token may still be valid, so the device keeps it.
      onFault: () => refuseInText(refused('refresh_unavailable')),
      ...forDevices,
    },
    {
      path: '/revoke',
      methods: { POST: createRevoke(revokeParts) },
      onFault: () => refuseInText(REVOCATION_UNAVAILABLE),
      ...forDevices,
    },
    { path: '/services', methods: { GET: services }, ...forDevices },
    { path: '/auth/done', methods: { GET: done }, ...page },
    { path: '/auth/:service', methods: link, ...page },
    { path: '/auth/:service/callback', methods: { GET: callback }, ...page },

    ...createOAuthRoutes(
      providers,
      blind === 'always'
        ? BLIND_ENDPOINTS
        : { token, deviceAuthorization, revocation: createRevocation(revokeParts) },
      createMetadata(baseUrl, canRevoke),
    ),

    { path: '/', methods: { GET: home, HEAD: home }, ...page },
    { path: '/link', methods: { GET: codeForm, HEAD: codeForm, POST: takeCode }, ...page },
    { path: '/L/:code', methods: { GET: shortLink, POST: shortLink }, ...page },
    // For users who type the whole URL in lower case.
    { path: '/l/:code', methods: { GET: shortLink, POST: shortLink }, ...page },
    ...createPictureRoutes(branding),

    { path: '/qr/:file', methods: { GET: qr }, ...forDevices },
    { path: '/openapi.json', methods: { GET: openApi }, ...forDevices },
    ...createHealthRoutes(health),
    // Devices and programs get plain text.
    ...['/auth/*', '/qr/*', '/.well-known/*'].map((path) => ({ path })),
    { path: '/*', respond: notFound },
  ];
}

interface OAuthEndpoints {
  readonly token: Handler;
  readonly deviceAuthorization: Handler;
  readonly revocation: Handler;
}

const BLIND_ENDPOINTS: OAuthEndpoints = {
  token: refuseBlind,
  deviceAuthorization: refuseBlind,
  revocation: refuseBlind,
};

/** The device grant. Devices get JSON, even for an unknown path or method. */
function createOAuthRoutes(
  { has }: Providers,
  { token, deviceAuthorization, revocation }: OAuthEndpoints,
  metadata: Handler,
): Route[] {
  const oauth = {
    ...forDevices,
    isKnown: has,
    refuse: (reason: Refused) => refuseInOAuth(reason),
    refuseMethod: (allow: string) =>
      refuseOAuth('method_not_allowed', { status: 405, headers: { Allow: allow } }),
    onFault: () => refuseOAuth('temporarily_unavailable'),
  };
  // After a fault the device must poll again. To many clients any other error is final.
  const polled = { ...oauth, onFault: () => refuseOAuth('authorization_pending') };
  const revoked = { ...oauth, onFault: () => refuseInOAuth(REVOCATION_UNAVAILABLE) };
  const notFound = { ...forDevices, respond: () => refuseOAuth('not_found', { status: 404 }) };
  const metadataOf = (path: string) => ({ path, methods: { GET: metadata }, ...oauth });
  const deviceMethods = { POST: deviceAuthorization };
  return [
    { path: '/oauth2/:service/token', methods: { POST: token }, ...polled },
    { path: '/oauth2/:service/device_authorization', methods: deviceMethods, ...oauth },
    { path: '/oauth2/:service/revoke', methods: { POST: revocation }, ...revoked },
    metadataOf('/oauth2/:service/.well-known/openid-configuration'),
    metadataOf('/.well-known/oauth-authorization-server/oauth2/:service'),
    { path: '/oauth2/*', ...notFound },
    { path: '/.well-known/oauth-authorization-server/*', ...notFound },
  ];
}

/** The logo and the favicon. */
function createPictureRoutes({ logo, accent }: Branding): Route[] {
  const respond = createPictureResponse(logo ?? createIcon(accent));
  const methods = { GET: respond, HEAD: respond };
  const icon = { path: '/favicon.ico', methods };
  return logo === undefined ? [icon] : [icon, { path: '/logo', methods }];
}
