/**
 * All groups, in the order of the report: slow ones come last. A group of an
 * extension runs when `--with` names the extension, or `--only` the group.
 */

import type { Group } from '../runner.ts';
import { authorize } from './authorize.ts';
import { callback, refused } from './callback.ts';
import { challenge } from './challenge.ts';
import { confirm } from './confirm.ts';
import { cors } from './cors.ts';
import { deviceAuthorization } from './device-authorization.ts';
import { deviceToken } from './device-token.ts';
import { requests, tokenResponses, upstream, upstreamTimeout } from './exchange.ts';
import { deviceExpiry, expiry } from './expiry.ts';
import { open } from './open.ts';
import { ack, wait } from './poll-options.ts';
import { cancel, progress } from './progress.ts';
import { qr } from './qr.ts';
import { races } from './races.ts';
import { deviceRefresh, refresh } from './refresh.ts';
import { hold, result } from './result.ts';
import { revoke } from './revoke.ts';
import { methods, paths, unconfigured } from './routes.ts';
import { details, services } from './services.ts';
import { capabilities, journey } from './sign-in.ts';
import { clientAddress, start } from './start.ts';
import { cap, rateLimit } from './start-limits.ts';
import { codeLimits, userCode } from './user-code.ts';

export const GROUPS: readonly Group[] = [
  { name: 'journey', cases: journey },
  { name: 'start', cases: start },
  { name: 'client-address', cases: clientAddress },
  { name: 'authorize', cases: authorize },
  { name: 'callback', cases: callback },
  { name: 'refused', cases: refused },
  { name: 'exchange', cases: requests },
  { name: 'token-response', cases: tokenResponses },
  { name: 'result', cases: result },
  { name: 'capabilities', cases: capabilities },
  { name: 'paths', cases: paths },
  { name: 'methods', cases: methods },
  { name: 'unconfigured', cases: unconfigured },
  { name: 'upstream', cases: upstream },
  { name: 'races', cases: races },
  { name: 'rate-limit', cases: rateLimit },
  { name: 'user-code', extension: 'user-code', cases: userCode },
  { name: 'code-limits', extension: 'user-code', cases: codeLimits },
  { name: 'confirm', extension: 'confirm', cases: confirm },
  { name: 'wait', extension: 'wait', parallel: true, cases: wait },
  { name: 'ack', extension: 'ack', parallel: true, cases: ack },
  { name: 'services', extension: 'services', cases: services },
  { name: 'refresh', extension: 'refresh', parallel: true, cases: refresh },
  { name: 'revoke', extension: 'revoke', parallel: true, cases: revoke },
  { name: 'details', extension: 'details', cases: details },
  { name: 'challenge', extension: 'challenge', cases: challenge },
  { name: 'open', extension: 'open', cases: open },
  { name: 'progress', extension: 'progress', parallel: true, cases: progress },
  { name: 'cancel', extension: 'cancel', parallel: true, cases: cancel },
  { name: 'qr', extension: 'qr', cases: qr },
  { name: 'cors', extension: 'cors', cases: cors },
  { name: 'device-grant', extension: 'device-grant', cases: deviceAuthorization },
  { name: 'device-token', extension: 'device-grant', parallel: true, cases: deviceToken },
  { name: 'device-refresh', extension: 'device-grant', parallel: true, cases: deviceRefresh },
  { name: 'upstream-timeout', parallel: true, cases: upstreamTimeout },
  { name: 'hold', parallel: true, cases: hold },
  { name: 'cap', isFirst: true, cases: cap },
  { name: 'expiry', parallel: true, cases: expiry },
  { name: 'device-expiry', extension: 'device-grant', cases: deviceExpiry },
];
