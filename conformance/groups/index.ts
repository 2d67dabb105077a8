/**
 * All groups, in the order of the report: slow ones come last. A group of an
 * extension runs when `--with` names the extension, or `--only` the group.
 */

import type { Group } from '../runner.ts';
import { authorize, authorizeRefused } from './authorize.ts';
import { callback, callbackPages, callbackRefused } from './callback.ts';
import { challenge } from './challenge.ts';
import { confirm } from './confirm.ts';
import { cors } from './cors.ts';
import { deviceAuthorization } from './device-authorization.ts';
import { deviceRefresh } from './device-refresh.ts';
import { deviceToken } from './device-token.ts';
import { requests, tokenResponses, upstream, upstreamTimeout } from './exchange.ts';
import { deviceExpiry, expiry } from './expiry.ts';
import { ack, wait } from './poll-options.ts';
import { cancel, progress } from './progress.ts';
import { qr } from './qr.ts';
import { races } from './races.ts';
import { hold, result } from './result.ts';
import { headers, methods, paths, unconfigured } from './routes.ts';
import { details, refresh, services } from './services.ts';
import { capabilities, journey } from './sign-in.ts';
import { clientAddress, start, startRefused } from './start.ts';
import { cap, rateLimit } from './start-limits.ts';
import { codeLimits, codeLimitsOverall, userCode } from './user-code.ts';

export const GROUPS: readonly Group[] = [
  { name: 'journey', about: 'a whole sign-in', cases: journey },
  { name: 'start', about: 'POST /auth/start, accepted', cases: start },
  { name: 'start-refused', about: 'POST /auth/start, refused', cases: startRefused },
  { name: 'client-address', about: 'client addresses that cannot be found', cases: clientAddress },
  { name: 'authorize', about: 'the link, accepted', cases: authorize },
  { name: 'authorize-refused', about: 'the link, refused', cases: authorizeRefused },
  { name: 'callback', about: 'the callback, each outcome', cases: callback },
  { name: 'callback-pages', about: 'the pages of the callback', cases: callbackPages },
  { name: 'callback-refused', about: 'the callback, refused', cases: callbackRefused },
  { name: 'exchange', about: 'the request to the provider', cases: requests },
  { name: 'token-response', about: "the provider's response, accepted", cases: tokenResponses },
  { name: 'result', about: 'GET /auth/result, delivered once', cases: result },
  { name: 'capabilities', about: 'what the two secrets give access to', cases: capabilities },
  { name: 'paths', about: 'which paths there are', cases: paths },
  { name: 'methods', about: 'wrong methods', cases: methods },
  { name: 'headers', about: 'Cache-Control; for 503 see cap, for 204 see hold', cases: headers },
  { name: 'unconfigured', about: 'a relay without OAUTH_BASE_URL', cases: unconfigured },
  { name: 'upstream', about: "the provider's response, refused", cases: upstream },
  { name: 'races', about: 'many requests at once', cases: races },
  { name: 'rate-limit', about: 'the rate limit on starts', cases: rateLimit },
  { name: 'user-code', about: 'a code to type', extension: 'user-code', cases: userCode },
  {
    name: 'code-limits',
    about: 'how often one address may guess user codes',
    extension: 'user-code',
    cases: codeLimits,
  },
  { name: 'confirm', about: 'CONFIRM=always: the link asks', extension: 'confirm', cases: confirm },
  { name: 'wait', about: 'shorter waits', extension: 'wait', parallel: true, cases: wait },
  { name: 'ack', about: 'confirmed deliveries', extension: 'ack', parallel: true, cases: ack },
  { name: 'services', about: 'what is offered', extension: 'services', cases: services },
  {
    name: 'refresh',
    about: 'POST /refresh',
    extension: 'refresh',
    parallel: true,
    cases: refresh,
  },
  { name: 'details', about: 'all that the provider gave', extension: 'details', cases: details },
  {
    name: 'challenge',
    about: 'RFC 7636: devices that exchange the code themselves',
    extension: 'challenge',
    cases: challenge,
  },
  {
    name: 'progress',
    about: 'reporting that the link was opened',
    extension: 'progress',
    parallel: true,
    cases: progress,
  },
  {
    name: 'cancel',
    about: 'a device ends its sign-in',
    extension: 'cancel',
    parallel: true,
    cases: cancel,
  },
  { name: 'qr', about: 'the link as a QR code', extension: 'qr', cases: qr },
  { name: 'cors', about: 'web apps of listed origins', extension: 'cors', cases: cors },
  {
    name: 'device-grant',
    about: 'RFC 8628: how a device gets its codes; metadata',
    extension: 'device-grant',
    cases: deviceAuthorization,
  },
  {
    name: 'device-token',
    about: 'RFC 8628: how a device gets its tokens',
    extension: 'device-grant',
    parallel: true,
    cases: deviceToken,
  },
  {
    name: 'device-refresh',
    about: 'RFC 6749 §6: how a device refreshes its tokens',
    extension: 'device-grant',
    parallel: true,
    cases: deviceRefresh,
  },
  { name: 'upstream-timeout', about: 'slow providers', parallel: true, cases: upstreamTimeout },
  { name: 'hold', about: 'how long a poll is held', parallel: true, cases: hold },
  { name: 'cap', about: 'the maximum of open sessions', when: 'alone', cases: cap },
  {
    name: 'code-limits-all',
    about: 'how often all addresses together may guess user codes',
    extension: 'user-code',
    when: 'alone',
    cases: codeLimitsOverall,
  },
  {
    name: 'expiry',
    about: 'the session lifetime',
    parallel: true,
    when: 'lifetime',
    cases: expiry,
  },
  {
    name: 'device-expiry',
    about: 'RFC 8628: codes that expire',
    extension: 'device-grant',
    when: 'lifetime',
    cases: deviceExpiry,
  },
];
