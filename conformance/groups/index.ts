/**
 * All groups, in the order they are reported: what is slow comes last. Those of
 * an extension run when `--with` names it, or `--only` the group.
 */

import type { Group } from '../engine/case.ts';
import { authorize } from './authorize.ts';
import { authorizeRefused } from './authorize-refused.ts';
import { callback } from './callback.ts';
import { callbackPages } from './callback-pages.ts';
import { callbackRefused } from './callback-refused.ts';
import { capGroup } from './cap.ts';
import { capabilities } from './capabilities.ts';
import { clientAddress } from './client-address.ts';
import { exchange } from './exchange.ts';
import { expiry } from './expiry.ts';
import { ack } from './extensions/ack.ts';
import { codeLimits, codeLimitsOverall } from './extensions/code-limits.ts';
import { confirm } from './extensions/confirm.ts';
import { cors } from './extensions/cors.ts';
import { deviceAuthorization } from './extensions/device-authorization.ts';
import { deviceRefresh } from './extensions/device-refresh.ts';
import { deviceExpiry, deviceToken } from './extensions/device-token.ts';
import { qr } from './extensions/qr.ts';
import { userCode } from './extensions/user-code.ts';
import { wait } from './extensions/wait.ts';
import { headers } from './headers.ts';
import { hold } from './hold.ts';
import { journey } from './journey.ts';
import { methods } from './methods.ts';
import { paths } from './paths.ts';
import { races } from './races.ts';
import { rateLimit } from './rate-limit.ts';
import { result } from './result.ts';
import { start } from './start.ts';
import { startRefused } from './start-refused.ts';
import { tokenResponses } from './token-response.ts';
import { unconfigured } from './unconfigured.ts';
import { upstream, upstreamTimeout } from './upstream.ts';

export const GROUPS: readonly Group[] = [
  journey,
  start,
  startRefused,
  clientAddress,
  authorize,
  authorizeRefused,
  callback,
  callbackPages,
  callbackRefused,
  exchange,
  tokenResponses,
  result,
  capabilities,
  paths,
  methods,
  headers,
  unconfigured,
  upstream,
  races,
  rateLimit,
  userCode,
  codeLimits,
  confirm,
  wait,
  ack,
  qr,
  cors,
  deviceAuthorization,
  deviceToken,
  deviceRefresh,
  upstreamTimeout,
  hold,
  capGroup,
  codeLimitsOverall,
  expiry,
  deviceExpiry,
];
